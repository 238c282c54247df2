// Calls of the user's lookup: requests become keys, and what comes back becomes answers.

import { encodeText, textAt } from "./columns.js";
import { LookupFailure } from "./failure.js";
import { RawJson, stringify } from "./json.js";
import { decodeKey } from "./keys.js";

/** The positions of the contract's `completion-status`. */
const STATUSES = { answered: 0, unavailable: 1, throttled: 2, rejected: 3, malformed: 4 };
const NEVER = 0xffff_ffff_ffff_ffffn;
/** The longest that a timer can wait, in milliseconds. */
const LONGEST = 0x7fff_ffff;

/** Makes the lookups of one operator. */
export class Calls {
  #lookup;
  #clock;
  #driver;
  /** Attempts in flight whose signals somebody has asked for. */
  #watched = new Set();
  #gathered = [];
  #answered = false;
  #over;

  constructor(lookup, clock) {
    this.#lookup = lookup;
    this.#clock = clock;
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
      if (!this.#over) this.#ask(gathered);
    });
  }

  /** Gives up all that runs. */
  abort(reason) {
    this.#over ??= { reason };
    for (const attempt of this.#watched) attempt.abort(reason, this.#clock);
    this.#watched.clear();
  }

  #ask(gathered) {
    const attempts = [];
    for (const { ids, attempts: numbers, deadlines, keys } of gathered) {
      for (let row = 0; row < ids.length; row++) {
        attempts.push(new Attempt(ids[row], numbers[row], deadlines[row], decodeKey(textAt(keys, row))));
      }
    }
    const keys = attempts.map((attempt) => attempt.key);
    let found;
    try {
      found = this.#lookup(keys, new Context(attempts, (attempt) => this.#watch(attempt)));
    } catch (error) {
      return this.#settleAll(attempts, error);
    }
    if (typeof found?.then === "function") {
      found.then((found) => this.#settleEach(attempts, found), (error) => this.#settleAll(attempts, error));
    } else {
      this.#settleEach(attempts, found);
    }
  }

  /** A signal that is aborted when the attempt's record times out, and when all is given up. */
  #watch(attempt) {
    if (attempt.controller) return attempt.controller.signal;
    attempt.controller = new AbortController();
    if (this.#over) {
      attempt.controller.abort(this.#over.reason);
    } else if (attempt.isOpen) {
      this.#watched.add(attempt);
      if (attempt.deadline !== NEVER) this.#startTimer(attempt);
    }
    return attempt.controller.signal;
  }

  /** The operator ends the record by itself; this ends the work for it. */
  #startTimer(attempt) {
    const milliseconds = Math.max(0, Number(attempt.deadline - this.#driver.now()) / 1e6);
    if (milliseconds > LONGEST) return;
    attempt.timer = this.#clock.setTimeout(() => {
      this.#watched.delete(attempt);
      attempt.timer = undefined;
      attempt.abort(new DOMException("the record timed out", "TimeoutError"), this.#clock);
    }, milliseconds);
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
    if (!attempt.isOpen || this.#over) return;
    attempt.isOpen = false;
    if (attempt.controller && this.#watched.delete(attempt)) attempt.stopTimer(this.#clock);
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

/** One attempt of one record. */
class Attempt {
  isOpen = true;
  controller = undefined;
  timer = undefined;

  constructor(id, number, deadline, key) {
    this.id = id;
    this.number = number;
    this.deadline = deadline;
    this.key = key;
  }

  stopTimer(clock) {
    if (this.timer !== undefined) clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Ends the work for it; what it answers all the same does not count. */
  abort(reason, clock) {
    this.isOpen = false;
    this.stopTimer(clock);
    this.controller.abort(reason);
  }
}

/** What a lookup is told beside its keys. Signals cost, so they are made for those who ask. */
class Context {
  #attempts;
  #watch;
  #signals;
  #signal;

  constructor(attempts, watch) {
    this.#attempts = attempts;
    this.#watch = watch;
  }

  get signals() {
    return (this.#signals ??= this.#attempts.map(this.#watch));
  }

  /** Aborted when the last of the keys times out. */
  get signal() {
    return (this.#signal ??= lastOf(this.signals));
  }
}

/** A signal that is aborted once all of them are. */
function lastOf(signals) {
  const last = new AbortController();
  let open = 0;
  for (const signal of signals) {
    if (signal.aborted) continue;
    open++;
    signal.addEventListener("abort", () => --open === 0 && last.abort(signal.reason), { once: true });
  }
  if (open === 0) last.abort(signals[0]?.reason);
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

