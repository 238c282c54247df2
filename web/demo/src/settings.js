// What the visitor can set, and what of it the operator is opened with.

/** What it starts with; a name in the page's address takes its place, such as `?order=unordered&capacity=1000`. */
const DEFAULTS = {
  order: "ordered",
  rate: 60,
  capacity: 60,
  latency: 600,
  spread: 60,
  failures: 5,
  timeout: 4000,
  attempts: 3,
  watermarks: 20,
};

const RANGES = { rate: [1, 5000], capacity: [4, 1000], latency: [1, 3000], spread: [0, 100], failures: [0, 50], timeout: [0, 60_000], attempts: [1, 9], watermarks: [0, 1000] };
const ORDERS = ["ordered", "unordered", "key-ordered"];

/** The settings of a page's address; what makes no sense is as if it were not there. */
export function readSettings(search) {
  const settings = { ...DEFAULTS };
  for (const [name, text] of new URLSearchParams(search)) {
    if (name === "order" && ORDERS.includes(text)) settings.order = text;
    const number = Number(text);
    if (RANGES[name] && Number.isInteger(number) && number >= RANGES[name][0] && number <= RANGES[name][1]) settings[name] = number;
  }
  return settings;
}

/** The address that leads back to these settings. */
export function writeSettings(settings) {
  const changed = Object.entries(settings).filter(([name, value]) => DEFAULTS[name] !== value);
  return changed.length === 0 ? "." : `?${new URLSearchParams(changed)}`;
}

/** Whether a change needs an operator that is opened anew. */
export function isOfTheOperator(name) {
  return ["order", "capacity", "timeout", "attempts"].includes(name);
}

/** For `createOperator`. */
export function toOptions({ order, capacity, timeout, attempts }) {
  return {
    order,
    capacity,
    timeout: timeout === 0 ? null : timeout,
    onFailure: "emit",
    onTimeout: "emit",
    retry: attempts > 1 ? { on: "failure", attempts: attempts - 1, delay: 150, multiplier: 2 } : undefined,
  };
}
