import { createOperator } from "../../package/index.js";

self.onmessage = async ({ data: count }) => {
  const op = await createOperator({ order: "unordered", capacity: 1_000, lookup: async (keys) => keys.map((key) => ({ double: key * 2 })) });
  const records = Array.from({ length: count }, (_, id) => ({ id }));
  let right = 0;
  for await (const { record, rows } of op.enrich(records, { key: (record) => record.id })) right += rows[0].double === record.id * 2;
  self.postMessage(right);
};
