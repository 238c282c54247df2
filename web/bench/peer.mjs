// The package in Node as one of several that are measured side by side: the same records, lookups and checks in each, and one
// line of JSON a repetition. The options are those of `lookaside-bench --help`.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { createOperator } from "../package/index.js";

/** Every so many records one is timed. */
const SAMPLE = 61;
const POOL = 1 << 16;
const STORED = 1_000_000;
const STRIDE = 7_919;
const FOUND = Buffer.alloc(100, "f");
const VALUE = Buffer.alloc(108, "v");

const text = (value) => ({ type: "string", default: value });
const { values: given } = parseArgs({
  options: {
    peer: text("project-node"),
    workload: text("w1"),
    mode: text("ordered"),
    capacity: text("100"),
    records: text("1000000"),
    warmup: text("200000"),
    reps: text("3"),
    "watermark-every": text("0"),
    "timeout-ms": text("0"),
    payload: text("own"),
    "redis-port": text("6399"),
  },
});
const isStore = given.workload === "w4";
const keys = Array.from({ length: isStore ? STORED : POOL }, (_, number) => String(number).padStart(12, "0"));
const isOrdered = given.mode !== "unordered";
const timeout = Number(given["timeout-ms"]) || null;

async function lookupOf(workload) {
  if (workload === "w1") return (keys) => keys.map(() => Buffer.from(FOUND));
  if (workload === "w2") return (keys) => new Promise((resolve) => setTimeout(() => resolve(keys.map(() => Buffer.from(FOUND))), 2));
  if (workload === "w3") return (keys) => keys.map((key) => new Promise((resolve) => setTimeout(() => resolve(Buffer.from(FOUND)), delayOf(key))));
  if (workload !== "w4") throw new Error(`--workload ${workload}: there are w1 to w4`);
  const { createClient, RESP_TYPES } = await import("redis");
  const client = createClient({ url: `redis://127.0.0.1:${given["redis-port"]}` });
  await client.connect();
  const redis = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  return (keys) => redis.mGet(keys);
}

/** One key in a hundred is slow. */
const delayOf = (key) => (Number(key) % 100 === 99 ? 50 : 1);

/** A record is its number and 100 bytes; each is a fresh copy. */
function* make(count, made) {
  for (let number = 0; number < count; number++) {
    if (number % SAMPLE === 0) made.push(performance.now());
    const record = Buffer.from(VALUE);
    record.writeDoubleLE(number, 0);
    yield record;
  }
}

const numberOf = (record) => new DataView(record.buffer, record.byteOffset).getFloat64(0, true);
const keyOf = (record) => keys[(numberOf(record) * (isStore ? STRIDE : 1)) % keys.length];

async function once(count, lookup) {
  const op = await createOperator({
    order: given.mode,
    capacity: Number(given.capacity),
    timeout,
    payloads: "bytes",
    rows: "bytes",
    lookup,
  });
  const made = [];
  const latencies = [];
  let [arrived, sum] = [0, 0];
  const cpu = process.cpuUsage();
  const start = performance.now();
  for await (const { record, rows } of op.enrich(make(count, made), { key: keyOf })) {
    const number = numberOf(record);
    if (rows.length !== 1 || rows[0].length !== 100) throw new Error(`record ${number} lacks its row`);
    if (isOrdered && number !== arrived) throw new Error(`record ${number} came as number ${arrived}`);
    arrived++;
    sum += number;
    if (number % SAMPLE === 0) latencies.push(performance.now() - made[number / SAMPLE]);
  }
  const seconds = (performance.now() - start) / 1_000;
  const used = process.cpuUsage(cpu);
  if (arrived !== count || sum !== (count * (count - 1)) / 2) throw new Error(`${arrived} of ${count} records arrived`);
  return { seconds, cpu: (used.user + used.system) / count, latencies: latencies.sort((a, b) => a - b) };
}

const lookup = await lookupOf(given.workload);
const count = Number(given.records);
await once(Number(given.warmup), lookup);
for (let rep = 1; rep <= Number(given.reps); rep++) {
  const { seconds, cpu, latencies } = await once(count, lookup);
  const quantile = (part) => Number((latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))] * 1e3).toFixed(1));
  console.log(
    JSON.stringify({
      peer: given.peer,
      version: process.version,
      workload: given.workload,
      mode: given.mode,
      capacity: Number(given.capacity),
      watermark_every: 0,
      timeout_ms: timeout ?? 0,
      payload: given.payload,
      rep,
      records: count,
      seconds: Number(seconds.toFixed(3)),
      records_per_second: Math.round(count / seconds),
      cpu_us_per_record: Number(cpu.toFixed(4)),
      p50_us: quantile(0.5),
      p99_us: quantile(0.99),
      max_rss_mb: Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024),
    }),
  );
}
process.exit(0);
