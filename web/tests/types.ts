// The types fit how the package is used; compiled and never run.

import { createOperator, fetchLookup, indexedDbLookup, LookupFailure, mapLookup, OperatorError } from "../package/index.js";

interface Flight {
  origin: string;
  date: number;
}

export async function use(flights: AsyncIterable<Flight>, stream: ReadableStream<Flight>): Promise<void> {
  const op = await createOperator({
    order: "unordered",
    capacity: 100,
    timeout: "2s",
    onFailure: "emit",
    retry: { on: "failure", attempts: 2, delay: 50 },
    cache: { maxBytes: 1 << 20, expireAfterWrite: "1m" },
    lookup: fetchLookup({ url: (key) => `/airports/${encodeURIComponent(String(key))}` }),
  });
  for await (const joined of op.enrich<Flight, { name: string }>(flights, { key: (flight) => flight.origin })) {
    const name: string | undefined = joined.rows[0]?.name;
    const origin: string = joined.record.origin;
    console.log(origin, name, joined.outcome === "timed-out", joined.error?.length);
  }
  const piped = stream.pipeThrough(op.transform<Flight>({ key: (flight) => flight.origin, eventTime: (flight) => flight.date }));
  for await (const joined of piped) console.log(joined.record.date);
  await op.push({ any: "record" }, { key: [1, "a", 2n, true], eventTime: 7 });
  await op.pushWatermark(7n);
  for await (const output of op.outputs()) if (output.type === "watermark") console.log(output.eventTime);
  const restored = await createOperator({ lookup: mapLookup(new Map([["a", 1]])) }, op.snapshot());
  restored.close();
  await createOperator({ lookup: indexedDbLookup({ database: "db", store: "users", index: "by-name" }) });
  await createOperator({ lookup: async (keys, { signal }) => keys.map((key) => (signal.aborted ? null : { key })) });
  throw new LookupFailure("throttled", "later", { retryAfter: 100 }) ?? new OperatorError();
}

// @ts-expect-error a lookup is needed
void createOperator({});
// @ts-expect-error there is no such order
void createOperator({ order: "sorted", lookup: () => [] });
