// Calls of the user's lookup: requests become keys, and what comes back becomes answers.

import { Answers, isFailure } from "./answers.js";
import { decodeText } from "./columns.js";
import { LookupFailure } from "./failure.js";
import { RawJson, stringify, valuesOf } from "./json.js";
import { keyOf } from "./keys.js";
import { nextTurn } from "./turn.js";

const NEVER = 0xffff_ffff_ffff_ffffn;
/** The longest that a timer can wait, in milliseconds. */
const LONGEST = 0x7fff_ffff;

/** Makes the lookups of one operator. */
export class Calls {
  #lookup;
  #clock;
  /** Whether rows are parsed when they leave. */
  #areParsed;
  #driver;
  /** Attempts in flight whose signals somebody has asked for. */
  #watched = new Set();
  #gathered = [];
  /** What was answered and has not gone on yet. */
  #answers;
  /** What will have it go on: `queueMicrotask`, `nextTurn`. */
  #scheduled = new Set();
  #over;

  constructor(lookup, clock, rows) {
    this.#lookup = lookup;
    this.#clock = clock;
    this.#areParsed = rows === "json";
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
      const requests = { halves: new Uint32Array(ids.buffer, ids.byteOffset, 2 * ids.length), attempts: numbers, deadlines };
      const keyAt = valuesOf(keys);
      for (let row = 0; row < ids.length; row++) attempts.push(new Attempt(requests, row, keyOf(keyAt(row))));
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
    const abort = () => {
      this.#watched.delete(attempt);
      attempt.timer = undefined;
      attempt.abort(new DOMException("the record timed out", "TimeoutError"), this.#clock);
    };
    attempt.timer = this.#clock.setTimeout(() => {
      // After a pause of the process, what came meanwhile is read first.
      const grace = this.#driver.grace(attempt.deadline);
      if (grace === 0) return abort();
      attempt.timer = this.#clock.setTimeout(abort, grace);
    }, milliseconds);
  }

  #settleAll(attempts, error) {
    const arrival = this.#driver.arrival();
    for (const attempt of attempts) this.#fail(attempt, error, arrival);
  }

  #settleEach(attempts, found) {
    let rows;
    try {
      rows = Array.isArray(found) ? found : found?.[Symbol.iterator] && typeof found !== "string" ? [...found] : undefined;
    } catch (error) {
      return this.#settleAll(attempts, error);
    }
    if (!rows || rows.length !== attempts.length) {
      const gave = rows ? `${rows.length} results` : "no list of results";
      const error = new LookupFailure("malformed", `the lookup was asked for ${attempts.length} keys and gave ${gave}`);
      return this.#settleAll(attempts, error);
    }
    const arrival = this.#driver.arrival();
    for (let place = 0; place < rows.length; place++) {
      const [value, attempt] = [rows[place], attempts[place]];
      if (typeof value?.then === "function") {
        value.then(
          (value) => this.#settle(attempt, value, this.#driver.arrival(), nextTurn),
          (error) => this.#fail(attempt, error, this.#driver.arrival(), nextTurn),
        );
      } else {
        this.#settle(attempt, value, arrival);
      }
    }
  }

  #settle(attempt, value, arrival, schedule) {
    if (value instanceof Error) return this.#fail(attempt, value, arrival, schedule);
    let rows;
    try {
      rows = rowsOf(value);
      // Bytes that are no JSON are this record's failure, and not its reader's.
      if (this.#areParsed) rows.forEach((row) => typeof row === "string" || JSON.parse(decodeText(row)));
    } catch (error) {
      return this.#fail(attempt, new LookupFailure("malformed", `a row cannot be written: ${error.message}`), arrival, schedule);
    }
    this.#answer(attempt, arrival, "answered", rows, 0n, schedule);
  }

  #fail(attempt, error, arrival, schedule) {
    const message = (error instanceof Error ? error.message : String(error)) || "the lookup failed";
    const kind = error instanceof LookupFailure ? error.kind : undefined;
    // Whoever throws anything else does not say that another attempt may not help.
    const status = isFailure(kind) ? kind : "unavailable";
    this.#answer(attempt, arrival, status, [message], nanosecondsOf(error?.retryAfter), schedule);
  }

  /** Answers of a batch go on in a microtask, and those that come one by one in the next turn: then there may be more of them. */
  #answer(attempt, arrival, status, rows, retryAfter, schedule = queueMicrotask) {
    if (!attempt.isOpen || this.#over) return;
    attempt.isOpen = false;
    if (attempt.controller && this.#watched.delete(attempt)) attempt.stopTimer(this.#clock);
    this.#answers ??= new Answers();
    this.#answers.push(attempt, arrival, status, rows, retryAfter);
    if (this.#scheduled.has(schedule)) return;
    this.#scheduled.add(schedule);
    schedule(() => {
      this.#scheduled.delete(schedule);
      this.flush();
    });
  }

  /** Has answers that wait for more go on: before any other call of the driver, in which time may end their records. */
  flush() {
    const answers = this.#answers;
    this.#answers = undefined;
    if (answers !== undefined && !this.#over) this.#driver.answer(answers.build());
  }
}

/** One attempt of one record. */
class Attempt {
  isOpen = true;
  controller = undefined;
  timer = undefined;

  /** Row `row` of `requests`. */
  constructor(requests, row, key) {
    this.requests = requests;
    this.row = row;
    this.key = key;
  }

  get deadline() {
    return this.requests.deadlines[this.row];
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

/** Nanoseconds of milliseconds; none of what is no such number, since anybody's error may say anything. */
function nanosecondsOf(milliseconds) {
  const nanoseconds = Math.round(Number(milliseconds ?? 0) * 1e6);
  return nanoseconds > 0 && nanoseconds < Number(NEVER) ? BigInt(nanoseconds) : 0n;
}

/** The rows that a value stands for, as texts and `Uint8Array`s. */
function rowsOf(value) {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.flatMap(rowTexts) : rowTexts(value);
}

function rowTexts(row) {
  if (row instanceof Uint8Array) return [row];
  if (row instanceof RawJson) return row.rows();
  return [stringify(row)];
}
