// An operator: records in, joined records out.

import { Calls } from "./calls.js";
import { ByteStringsBuilder, bytesAt, decodeText, textAt } from "./columns.js";
import { parse, stringify } from "./json.js";
import { decodeKey, encodeKey } from "./keys.js";
import { instantiateComponent, startHost } from "./modules.js";
import { toPairs } from "./options.js";

/** Records that cross to the operator together at most. */
const BATCH = 1_024;
/** Bytes of payloads at which a batch is not made longer. */
const BATCH_BYTES = 1 << 20;
const NO_EVENT_TIME = -(2n ** 63n);
const OUTCOMES = ["found", "missing", "failed", "timed-out"];
const WATERMARK = 4;
const IDLE = 5;

/** The operator refused something, or failed; `code` says which, as in the contract. */
export class OperatorError extends Error {
  constructor(code, message, lookup) {
    super(message);
    this.name = "OperatorError";
    this.code = code;
    this.lookup = lookup;
  }

  /** What a call threw, as one of these where the component threw it. */
  static from(error) {
    const { code, message, lookup } = error?.payload ?? {};
    if (code === undefined) return error;
    return new OperatorError(code, message, lookup && { ...lookup, key: lookup.key && decodeKey(decodeText(lookup.key)) });
  }
}

/** The time of the platform. */
const platformClock = {
  now: () => performance.now(),
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer),
};

/** Opens an operator; where `snapshot` is given, where that left off. */
export async function createOperator(options, snapshot) {
  const { lookup, signal, payloads = "json", rows = "json", clock = platformClock } = options;
  if (typeof lookup !== "function") throw new TypeError("lookup: a function from keys to rows is needed");
  for (const [name, value] of Object.entries({ payloads, rows })) {
    if (!["json", "bytes"].includes(value)) throw new TypeError(`${name}: write "json" or "bytes", not ${String(value)}`);
  }
  for (const method of ["now", "setTimeout", "clearTimeout"]) {
    if (typeof clock?.[method] !== "function") throw new TypeError(`clock: it has no function ${method}`);
  }
  signal?.throwIfAborted();
  const pairs = toPairs(options);
  const { Driver, Imports, Operator: Instance } = await startHost();
  const imports = new Imports();
  const exports = await instantiateComponent(imports.lookup());
  const now = BigInt(Math.floor(clock.now() * 1e6));
  let instance;
  try {
    instance = Instance.open(imports, exports, pairs, now, snapshot);
  } catch (error) {
    throw OperatorError.from(error);
  }
  const capacity = Number(pairs.find(([name]) => name === "capacity")?.[1] ?? 100);
  return new Operator({ Driver, instance, capacity, calls: new Calls(lookup, clock), clock, signal, payloads, rows });
}

class Operator {
  #driver;
  #calls;
  #payloads;
  #rows;
  /** Records that have not crossed yet. */
  #batch;
  #flushing = false;
  /** Batches of outputs that nobody has read yet. */
  #outputs = [];
  #wakeReader;
  #wakeWriters = [];
  #ended = false;
  #drained = false;
  #failure;
  #closed = false;
  #reading = false;
  #wanted = false;

  constructor({ Driver, instance, capacity, calls, clock, signal, payloads, rows }) {
    this.#calls = calls;
    this.#payloads = payloads;
    this.#rows = rows;
    this.#driver = new Driver(
      instance,
      clock,
      capacity,
      (requests) => calls.start(requests),
      (outputs) => this.#emitted(outputs),
      (change) => this.#changed(change),
    );
    calls.driver = this.#driver;
    signal?.addEventListener("abort", () => this.close(signal.reason), { once: true });
  }

  /** Offers a record; resolves once it has room. */
  async push(record, { key, orderKey, eventTime } = {}) {
    this.#check();
    if (this.#ended) throw new OperatorError("after-end", "the input was ended; no record can follow");
    this.#add(record, encodeKey(key), orderKey === undefined ? null : encodeKey(orderKey), eventTime);
    if (this.#driver.waiting() > 0 || this.#batch?.eventTimes.length > this.#driver.room()) await this.#room();
  }

  /** How many more records, watermarks and statuses have room now. */
  room() {
    this.#check();
    return Math.max(0, this.#driver.room() - (this.#batch?.eventTimes.length ?? 0));
  }

  /** Offers a watermark: records with event times at or before it have been pushed. */
  async pushWatermark(time) {
    this.#check();
    this.#flush();
    this.#driver.pushWatermark(BigInt(time));
    await this.#room();
  }

  /** Offers a status: the input is idle, or active again. */
  async pushIdle(idle) {
    this.#check();
    this.#flush();
    this.#driver.pushIdle(idle);
    await this.#room();
  }

  /** Says that no more input comes; `outputs()` ends once everything has left. */
  end() {
    this.#check();
    this.#ended = true;
    this.#flush();
    this.#driver.end();
  }

  /** What leaves, in order: joined records, watermarks and statuses. One reader at a time. */
  async *outputs() {
    if (this.#reading) throw new Error("outputs() is being read already");
    this.#reading = true;
    try {
      for (;;) {
        const batch = await this.#nextBatch();
        if (batch === undefined) return;
        const keyless = new Set(batch.keyless);
        for (let row = 0, next = 0; row < batch.kinds.length; row++) {
          const output = this.#decode(batch, row, next, keyless);
          next += batch.rowCounts[row];
          yield output;
        }
      }
    } finally {
      this.#reading = false;
      if (!this.#closed) this.#want(false);
    }
  }

  /** Joins each record of `records`, an iterable or asynchronous iterable; the input ends with it. */
  async *enrich(records, { key, orderKey, eventTime } = {}) {
    if (typeof key !== "function") throw new TypeError("key: a function from a record to its key is needed");
    let failure;
    const feeding = this.#feed(records, { key, orderKey, eventTime }).catch((error) => {
      failure = { error };
      this.close();
    });
    try {
      for await (const output of this.outputs()) {
        if (output.type === "record") yield output;
      }
    } catch (error) {
      throw failure ? failure.error : error;
    } finally {
      // A reader that stops early stops the source, too.
      if (!this.#drained) this.close();
      await feeding;
    }
    if (failure) throw failure.error;
  }

  /** The operator as a TransformStream: records in, joined records out. */
  transform({ key, orderKey, eventTime }) {
    const operator = this;
    const outputs = this.outputs();
    return {
      writable: new WritableStream({
        write: (record) => operator.push(record, { key: key(record), orderKey: orderKey?.(record), eventTime: eventTime?.(record) }),
        close: () => operator.end(),
        abort: (reason) => operator.close(reason),
      }),
      readable: new ReadableStream({
        async pull(controller) {
          for (;;) {
            const { value, done } = await outputs.next();
            if (done) return controller.close();
            if (value.type === "record") return controller.enqueue(value);
          }
        },
        cancel: (reason) => operator.close(reason),
      }),
    };
  }

  /** All that was pushed and has not been read: `createOperator(options, snapshot)` goes on with it. */
  snapshot() {
    this.#check();
    if (this.#outputs.length > 0) throw new Error("outputs have left and were not read, and would not be in the snapshot; read them first");
    // What leaves while records cross would not be in it.
    if (this.#wanted) this.#driver.wantOutputs(false);
    try {
      this.#flush();
      if (this.#driver.waiting() > 0) {
        throw new Error("records wait for room, and would not be in the snapshot; await what push() gave first");
      }
      return this.#driver.snapshot();
    } finally {
      if (this.#wanted) this.#driver.wantOutputs(true);
    }
  }

  /** Counters and gauges, by name. */
  stats() {
    if (this.#closed) return this.#lastStats;
    return Object.fromEntries(this.#driver.stats().map(([name, count]) => [name, Number(count)]));
  }

  /** What is in flight, oldest first. */
  inspect(max = 1_000) {
    this.#check();
    return this.#driver.inspect(max).map((element) => ({
      ...element,
      key: element.key && decodeKey(decodeText(element.key)),
    }));
  }

  #lastStats = {};

  /** Ends it: lookups are aborted, readers and writers end. A second call changes nothing. */
  close(reason) {
    if (this.#closed) return;
    this.#lastStats = this.stats();
    this.#closed = true;
    this.#failure ??= reason === undefined ? undefined : { error: reason };
    this.#driver.close();
    this.#calls.abort(reason ?? new DOMException("the operator was closed", "AbortError"));
    this.#wake();
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.close();
  }

  #check() {
    if (this.#failure) throw this.#failure.error;
    if (this.#closed) throw new DOMException("the operator was closed", "AbortError");
  }

  async #feed(records, { key, orderKey, eventTime }) {
    for await (const record of records) {
      if (this.#closed || this.#failure) return;
      this.#add(record, encodeKey(key(record)), orderKey ? encodeKey(orderKey(record)) : null, eventTime?.(record));
      if (this.#driver.waiting() > 0 || this.#isLong()) await this.#room();
    }
    if (!this.#closed && !this.#failure) this.end();
  }

  #add(record, key, orderKey, eventTime) {
    const batch = (this.#batch ??= newBatch());
    if (this.#payloads === "bytes") batch.payloads.pushBytes(record);
    else batch.payloads.pushText(stringify(record));
    if (key === null) {
      batch.keyless.push(batch.eventTimes.length);
      batch.keys.pushEmpty();
    } else {
      batch.keys.pushText(key);
    }
    if (orderKey !== null && !batch.orderKeys) {
      batch.orderKeys = new ByteStringsBuilder();
      for (let row = 0; row < batch.eventTimes.length; row++) batch.orderKeys.pushEmpty();
    }
    if (batch.orderKeys) {
      if (orderKey === null) batch.orderKeys.pushEmpty();
      else batch.orderKeys.pushText(orderKey);
    }
    batch.eventTimes.push(eventTime === undefined || eventTime === null ? NO_EVENT_TIME : BigInt(eventTime));
    if (this.#isLong()) return this.#flush();
    if (this.#flushing) return;
    // What comes in the same turn of the event loop crosses together.
    this.#flushing = true;
    nextTurn(() => {
      this.#flushing = false;
      if (!this.#closed) this.#flush();
    });
  }

  #isLong() {
    return this.#batch !== undefined && (this.#batch.eventTimes.length >= BATCH || this.#batch.payloads.byteLength >= BATCH_BYTES);
  }

  #flush() {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    this.#driver.push({
      eventTimes: BigInt64Array.from(batch.eventTimes),
      keys: batch.keys.build(),
      keyless: Uint32Array.from(batch.keyless),
      orderKeys: batch.orderKeys?.build(),
      payloads: batch.payloads.build(),
    });
  }

  /** Resolves once nothing waits for room. */
  async #room() {
    this.#flush();
    while (this.#driver.waiting() > 0 && !this.#closed && !this.#failure) {
      await new Promise((resolve) => this.#wakeWriters.push(resolve));
    }
    this.#check();
  }

  async #nextBatch() {
    for (;;) {
      const batch = this.#outputs.shift();
      if (batch) return batch;
      if (this.#failure) throw this.#failure.error;
      if (this.#drained || this.#closed) return undefined;
      this.#want(true);
      if (this.#outputs.length > 0 || this.#drained || this.#failure) continue;
      await new Promise((resolve) => (this.#wakeReader = resolve));
    }
  }

  #emitted(outputs) {
    this.#outputs.push(outputs);
    // The next batch is asked for once this one is read.
    this.#want(false);
    this.#wakeReader?.();
  }

  /** Says whether anybody waits for outputs. */
  #want(wanted) {
    this.#wanted = wanted;
    this.#driver.wantOutputs(wanted);
  }

  #changed(change) {
    if (change === true) {
      this.#drained = true;
    } else if (change !== undefined) {
      this.#failure ??= { error: OperatorError.from(change) };
      this.#calls.abort(this.#failure.error);
    }
    this.#wake();
  }

  #wake() {
    this.#wakeReader?.();
    for (const wake of this.#wakeWriters.splice(0)) wake();
  }

  #decode(batch, row, next, keyless) {
    const kind = batch.kinds[row];
    if (kind === WATERMARK) return { type: "watermark", eventTime: batch.eventTimes[row] };
    if (kind > WATERMARK) return { type: kind === IDLE ? "idle" : "active" };
    const time = batch.eventTimes[row];
    const output = {
      type: "record",
      record: this.#payloads === "bytes" ? bytesAt(batch.payloads, row) : parse(textAt(batch.payloads, row)),
      key: keyless.has(row) ? undefined : decodeKey(textAt(batch.keys, row)),
      outcome: OUTCOMES[kind],
      rows: [],
      attempts: batch.attempts[row],
      eventTime: time === NO_EVENT_TIME ? undefined : time,
    };
    const count = batch.rowCounts[row];
    if (kind >= 2) {
      output.error = textAt(batch.rows, next);
      return output;
    }
    for (let found = next; found < next + count; found++) {
      output.rows.push(this.#rows === "bytes" ? bytesAt(batch.rows, found) : parse(textAt(batch.rows, found)));
    }
    return output;
  }
}

function newBatch() {
  return { eventTimes: [], keys: new ByteStringsBuilder(), keyless: [], orderKeys: undefined, payloads: new ByteStringsBuilder() };
}

/** Calls back in the next turn of the event loop, after promises and before timers where it can. */
const nextTurn = globalThis.setImmediate ?? messageChannelTurn();

function messageChannelTurn() {
  const callbacks = [];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => callbacks.shift()();
  return (callback) => {
    callbacks.push(callback);
    port2.postMessage(undefined);
  };
}
