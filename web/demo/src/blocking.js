// What holds the others back, in words.

/** Fewer that are held are nothing to tell about. */
const WORTH_TELLING = 3;

/** A sentence about the record that holds back the most, or nothing. */
export function blockingOf(elements, order, clock) {
  const held = elements.filter(({ waitsFor, barrier }) => waitsFor === "order" && !barrier).length;
  if (held < WORTH_TELLING) return "";
  const { key, age, attempts, waitsFor } = elements.find(({ barrier, outcome }) => !barrier && !outcome) ?? {};
  if (key === undefined) return "";
  const since = clock.paused ? "" : ` for ${(Number(age) / 1e9).toFixed(1)} s`;
  const doing = waitsFor === "retry" ? `waits for attempt ${attempts + 1}` : `has been looked up${since}`;
  const why = { ordered: "order is kept", unordered: "no record passes a watermark", "key-ordered": "watermarks and keys keep their order" }[order];
  return `${key} ${doing}; ${held} answered records stay behind it, since ${why}.`;
}
