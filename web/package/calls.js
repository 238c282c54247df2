// Calls of the user's lookup: requests become keys, and what comes back becomes answers.

import { encodeText, textAt } from "./columns.js";
import { LookupFailure } from "./failure.js";
import { RawJson, stringify } from "./json.js";
import { decodeKey } from "./keys.js";

/** The positions of the contract's `completion-status`. */
const STATUSES = { answered: 0, unavailable: 1, throttled: 2, rejected: 3, malformed: 4 };
const NEVER = 0xffff_ffff_ffff_ffffn;

/** Makes the lookups of one operator. */
export class Calls {
  #lookup;
  #driver;
  #running = new Set();
  #gathered = [];
  #answered = false;

  constructor(lookup) {
    this.#lookup = lookup;
  }

  /** Where answers go. */
  set driver(driver) {
    this.#driver = driver;
  }

  /** Takes a batch of requests; those of one microtask are asked for together. */
  start(requests) {
    if (this.#gathered.push(requests) > 1) return;
    queueMicrotask(() => {
      const gathered = this.#gathered;
      this.#gathered = [];
      this.#ask(gathered);
    });
  }

  /** Gives up all that runs. */
  abort(reason) {
    for (const attempt of this.#running) attempt.end(reason);
    this.#running.clear();
  }

  #ask(gathered) {
    const attempts = [];
    for (const { ids, attempts: numbers, deadlines, keys } of gathered) {
      for (let row = 0; row < ids.length; row++) {
        attempts.push(new Attempt(ids[row], numbers[row], deadlines[row], decodeKey(textAt(keys, row))));
      }
    }
    const now = this.#driver.now();
    for (const attempt of attempts) {
      this.#running.add(attempt);
      attempt.startTimer(now, () => this.#running.delete(attempt));
    }
    const keys = attempts.map((attempt) => attempt.key);
    const signals = attempts.map((attempt) => attempt.controller.signal);
    const context = {
      signals,
      /** Aborted when the last of the keys times out. */
      get signal() {
        return lastOf(signals);
      },
    };
    let found;
    try {
      found = this.#lookup(keys, context);
    } catch (error) {
      return this.#settleAll(attempts, error);
    }
    if (typeof found?.then === "function") {
      found.then((found) => this.#settleEach(attempts, found), (error) => this.#settleAll(attempts, error));
    } else {
      this.#settleEach(attempts, found);
    }
  }

  #settleAll(attempts, error) {
    for (const attempt of attempts) this.#answer(attempt, failed(error));
  }

  #settleEach(attempts, found) {
    const rows = Array.isArray(found) ? found : found?.[Symbol.iterator] && typeof found !== "string" ? [...found] : undefined;
    if (!rows || rows.length !== attempts.length) {
      const gave = rows ? `${rows.length} results` : "no list of results";
      const error = new LookupFailure("malformed", `the lookup was asked for ${attempts.length} keys and gave ${gave}`);
      return this.#settleAll(attempts, error);
    }
    rows.forEach((value, place) => {
      const attempt = attempts[place];
      if (typeof value?.then === "function") {
        value.then((value) => this.#answer(attempt, answered(value)), (error) => this.#answer(attempt, failed(error)));
      } else {
        this.#answer(attempt, answered(value));
      }
    });
  }

  #answer(attempt, { status, rows, retryAfter = 0 }) {
    if (!this.#running.delete(attempt)) return;
    attempt.stopTimer();
    this.#driver.answer(attempt.id, attempt.number, STATUSES[status], rows, BigInt(Math.round(retryAfter * 1e6)));
    // Answers of one microtask are taken together.
    if (this.#answered) return;
    this.#answered = true;
    queueMicrotask(() => {
      this.#answered = false;
      this.#driver.answered();
    });
  }
}

/** One attempt of one record, until its deadline. */
class Attempt {
  controller = new AbortController();
  #timer;

  constructor(id, number, deadline, key) {
    this.id = id;
    this.number = number;
    this.deadline = deadline;
    this.key = key;
  }

  startTimer(now, ended) {
    if (this.deadline === NEVER) return;
    const milliseconds = Math.max(0, Number(this.deadline - now) / 1e6);
    // The operator ends the record by itself; this ends the work for it.
    if (milliseconds < 0x7fff_ffff) {
      this.#timer = setTimeout(() => {
        ended();
        this.end(new DOMException("the record timed out", "TimeoutError"));
      }, milliseconds);
    }
  }

  stopTimer() {
    clearTimeout(this.#timer);
  }

  end(reason) {
    this.stopTimer();
    this.controller.abort(reason);
  }
}

/** A signal that is aborted once all of them are. */
function lastOf(signals) {
  const last = new AbortController();
  let open = signals.length;
  for (const signal of signals) {
    signal.addEventListener("abort", () => --open === 0 && last.abort(signal.reason), { once: true });
  }
  return last.signal;
}

function answered(value) {
  if (value instanceof Error) return failed(value);
  try {
    const rows = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
    return { status: "answered", rows: rows.flatMap(encodeRow) };
  } catch (error) {
    return failed(new LookupFailure("malformed", `a row cannot be written: ${error.message}`));
  }
}

function encodeRow(row) {
  if (row instanceof Uint8Array) return [row];
  if (row instanceof RawJson) return row.rows().map(encodeText);
  return [encodeText(stringify(row))];
}

function failed(error) {
  const kind = error instanceof LookupFailure ? error.kind : error?.name === "AbortError" || error?.name === "TimeoutError" ? "unavailable" : undefined;
  const message = error instanceof Error ? error.message : String(error);
  // Whoever throws anything else does not say that another attempt may not help.
  const status = Object.hasOwn(STATUSES, kind) && kind !== "answered" ? kind : "unavailable";
  return { status, rows: [encodeText(message || "the lookup failed")], retryAfter: error?.retryAfter ?? 0 };
}

