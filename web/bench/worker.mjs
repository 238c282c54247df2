// Enriches so many records by lookups that end at once, and says how many were right and how long it took.

import { createOperator } from "../package/index.js";

/** Lines of 40 bytes, as they come of a file that was fetched. */
const lines = new Uint8Array(256 * 40).map((_, place) => place / 40);
/** By the form of payloads and rows: the records, a record's key, a key's row, and whether they belong together. */
const FORMS = {
  json: {
    record: (id) => ({ id, text: "carried along" }),
    keyOf: ({ id }) => id,
    rowOf: (key) => ({ double: key * 2 }),
    isRight: ({ id }, row) => row.double === id * 2,
  },
  bytes: {
    record: (id) => lines.subarray((id & 255) * 40, (id & 255) * 40 + 40),
    keyOf: (record) => record[39],
    rowOf: (key) => lines.subarray(key * 40, key * 40 + 40),
    isRight: (record, row) => row[0] === record[39],
  },
};

self.onmessage = async ({ data: { form, count } }) => {
  const { record, keyOf, rowOf, isRight } = FORMS[form];
  const op = await createOperator({ capacity: 1_000, payloads: form, rows: form, lookup: async (keys) => keys.map(rowOf) });
  function* records() {
    for (let id = 0; id < count; id++) yield record(id);
  }
  const start = performance.now();
  let right = 0;
  for await (const { record, rows } of op.enrich(records(), { key: keyOf })) right += isRight(record, rows[0]);
  self.postMessage({ right, seconds: (performance.now() - start) / 1_000 });
};
