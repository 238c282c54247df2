// The operator's options, as pairs of name and text that the component takes.

const UNITS = { ns: 1n, us: 1_000n, ms: 1_000_000n, s: 1_000_000_000n, m: 60_000_000_000n, h: 3_600_000_000_000n };

/** Nanoseconds of "250ms", "2s" or a number of milliseconds; none for null and "none". */
function nanoseconds(name, value) {
  if (value === null || value === "none") return "none";
  if (typeof value === "number" && value >= 0 && Number.isFinite(value)) return BigInt(Math.round(value * 1e6)).toString();
  const match = typeof value === "string" && /^(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h)$/.exec(value);
  if (!match) throw new TypeError(`${name}: ${String(value)} is no duration; write "250ms", "2s", or a number of milliseconds`);
  return BigInt(Math.round(Number(match[1]) * Number(UNITS[match[2]]))).toString();
}

const text = (_, value) => (value === null ? "none" : String(value));

/** Each option, the component's name for it, and how its value is written. */
const KNOWN = {
  order: ["order", text],
  capacity: ["capacity", text],
  maxBytes: ["max-bytes", text],
  timeout: ["timeout", nanoseconds],
  onMissing: ["on-missing", text],
  onFailure: ["on-failure", text],
  onTimeout: ["on-timeout", text],
};
const RETRY = {
  on: ["retry-on", text],
  attempts: ["retry-attempts", text],
  delay: ["retry-delay", nanoseconds],
  multiplier: ["retry-multiplier", text],
  maxDelay: ["retry-max-delay", nanoseconds],
  jitterSeed: ["retry-jitter-seed", text],
};
const CACHE = {
  maxBytes: ["cache-max-bytes", text],
  expireAfterWrite: ["cache-expire-after-write", nanoseconds],
  expireAfterAccess: ["cache-expire-after-access", nanoseconds],
  missingExpireAfterWrite: ["cache-missing-expire-after-write", nanoseconds],
};
/** What is not the component's. */
const OWN = ["lookup", "signal", "clock", "payloads", "rows", "retry", "cache"];

/** The pairs; an option that is not known is refused. */
export function toPairs(options) {
  return [...group("", options, KNOWN, OWN), ...group("retry.", options.retry, RETRY), ...group("cache.", options.cache, CACHE)];
}

function group(prefix, options, known, others = []) {
  const pairs = [];
  for (const [name, value] of Object.entries(options ?? {})) {
    if (others.includes(name) || value === undefined) continue;
    const option = known[name];
    if (!option) throw new TypeError(`there is no option ${prefix}${name}; there are ${Object.keys(known).join(", ")}`);
    pairs.push([option[0], option[1](`${prefix}${name}`, value)]);
  }
  return pairs;
}
