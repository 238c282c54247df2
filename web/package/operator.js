// An operator: records in, joined records out.

import { Calls } from "./calls.js";
import { decodeText } from "./columns.js";
import { OperatorError } from "./failure.js";
import { decodeKey, encodeKey } from "./keys.js";
import { instantiateComponent, startHost } from "./modules.js";
import { toPairs } from "./options.js";
import { Outputs } from "./outputs.js";
import { Reader } from "./reader.js";
import { Records } from "./records.js";
import { nextTurn } from "./turn.js";

/** Records that cross to the operator together at most. */
const BATCH = 1_024;
/** Bytes of payloads at which a batch is not made longer. */
const BATCH_BYTES = 1 << 20;
/** Milliseconds that it may go on before others have their turn. */
const TURN = 8;

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
  return new Operator({ Driver, instance, capacity, calls: new Calls(lookup, clock, rows), clock, signal, payloads, rows });
}

class Operator {
  #driver;
  #calls;
  /** How payloads and rows are given. */
  #forms;
  /** Records that have not crossed yet. */
  #batch;
  /** Bytes of payloads of the last ones that have. */
  #lastBytes = 0;
  #flushing = false;
  /** Records that cross together at most: more than there is ever room for would wait at the border. */
  #most;
  /** Batches of outputs that were not read to their ends. */
  #outputs = [];
  /** When it last gave others their turn. */
  #turned = performance.now();
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
    this.#forms = { payloads, rows };
    this.#most = Math.min(BATCH, capacity);
    this.#driver = new Driver(
      instance,
      {
        now: () => clock.now(),
        setTimeout: (callback, milliseconds) => clock.setTimeout(() => (calls.flush(), callback()), milliseconds),
        clearTimeout: (timer) => clock.clearTimeout(timer),
      },
      clock === platformClock,
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
    if (this.#driver.waiting() > 0 || this.#batch?.length > this.#driver.room()) await this.#room();
  }

  /** How many more records, watermarks and statuses have room now. */
  room() {
    this.#check();
    return Math.max(0, this.#driver.room() - (this.#batch?.length ?? 0));
  }

  /** Offers a watermark: records with event times at or before it have been pushed. */
  async pushWatermark(time) {
    this.#check();
    this.#flush();
    this.#driving().pushWatermark(BigInt(time));
    await this.#room();
  }

  /** Offers a status: the input is idle, or active again. */
  async pushIdle(idle) {
    this.#check();
    this.#flush();
    this.#driving().pushIdle(idle);
    await this.#room();
  }

  /** Says that no more input comes; `outputs()` ends once everything has left. */
  end() {
    this.#check();
    this.#ended = true;
    this.#flush();
    this.#driving().end();
  }

  /** What leaves, in order: joined records, watermarks and statuses. One reader at a time. */
  outputs() {
    return new Reader({
      start: () => this.#startReading(),
      take: () => this.#take(),
      wait: () => this.#more(),
      finish: () => this.#stopReading(),
    });
  }

  /** Joins each record of `records`, an iterable or asynchronous iterable; the input ends with it. */
  enrich(records, { key, orderKey, eventTime } = {}) {
    if (typeof key !== "function") throw new TypeError("key: a function from a record to its key is needed");
    let feeding;
    let failure;
    return new Reader({
      start: () => {
        this.#startReading();
        feeding = this.#feed(records, { key, orderKey, eventTime }).catch((error) => {
          failure = { error };
          this.close();
        });
      },
      take: () => {
        for (;;) {
          const output = this.#take();
          if (output === undefined || output.type === "record") return output;
        }
      },
      wait: async () => {
        try {
          if (await this.#more()) return true;
        } catch (error) {
          throw failure ? failure.error : error;
        }
        await feeding;
        if (failure) throw failure.error;
        return false;
      },
      finish: () => {
        this.#stopReading();
        // A reader that stops early stops the source, too.
        if (!this.#drained) this.close();
        return feeding;
      },
    });
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
    const unread = this.unread();
    if (unread > 0) throw new Error(`${unread} outputs have left and were not read, and would not be in the snapshot; read them first`);
    // What leaves while records cross would not be in it.
    if (this.#wanted) this.#driver.wantOutputs(false);
    try {
      this.#flush();
      if (this.#driver.waiting() > 0) {
        throw new Error("records wait for room, and would not be in the snapshot; await what push() gave first");
      }
      return this.#driver.snapshot();
    } finally {
      if (this.#wanted) this.#driving().wantOutputs(true);
    }
  }

  /** How many outputs have left and wait for the reader. */
  unread() {
    return this.#outputs.reduce((sum, outputs) => sum + outputs.left, 0);
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

  async #feed(records, fields) {
    if (records[Symbol.asyncIterator]) {
      for await (const record of records) {
        if (this.#closed || this.#failure) return;
        if (this.#offer(record, fields)) await this.#room();
      }
    } else {
      for (const item of records) {
        const record = typeof item?.then === "function" ? await item : item;
        if (this.#closed || this.#failure) return;
        if (this.#offer(record, fields)) await this.#room();
      }
    }
    if (!this.#closed && !this.#failure) this.end();
  }

  /** Adds a record; says whether it is time to wait for room. */
  #offer(record, { key, orderKey, eventTime }) {
    return this.#add(record, encodeKey(key(record)), orderKey ? encodeKey(orderKey(record)) : null, eventTime?.(record));
  }

  /** Adds a record to the batch; says whether that has crossed and waits for room. */
  #add(record, key, orderKey, eventTime) {
    const batch = (this.#batch ??= new Records(this.#forms.payloads, this.#lastBytes));
    batch.push(record, key, orderKey, eventTime);
    if (batch.length >= this.#most || batch.byteLength >= BATCH_BYTES) {
      this.#flush();
      return this.#driver.waiting() > 0;
    }
    if (this.#flushing) return false;
    // What comes in the same turn of the event loop crosses together.
    this.#flushing = true;
    nextTurn(() => {
      this.#flushing = false;
      if (!this.#closed) this.#flush();
    });
    return false;
  }

  #flush() {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    this.#lastBytes = batch.byteLength;
    this.#driving().push(batch.build());
  }

  /** The driver, for a call in which time may end records: what was answered in time goes first. */
  #driving() {
    this.#calls.flush();
    return this.#driver;
  }

  /** Resolves once nothing waits for room. */
  async #room() {
    this.#flush();
    while (this.#driver.waiting() > 0 && !this.#closed && !this.#failure) {
      await new Promise((resolve) => this.#wakeWriters.push(resolve));
    }
    this.#check();
  }

  #startReading() {
    if (this.#reading) throw new Error("outputs() is being read already");
    this.#reading = true;
  }

  #stopReading() {
    this.#reading = false;
    if (!this.#closed) this.#want(false);
  }

  /** The next output that is there. */
  #take() {
    while (this.#outputs.length > 0) {
      const output = this.#outputs[0].next();
      if (output !== undefined) return output;
      this.#outputs.shift();
    }
    return undefined;
  }

  /** Waits for outputs; false when no more come. */
  async #more() {
    if (this.#failure) throw this.#failure.error;
    if (this.#drained || this.#closed) return false;
    if (performance.now() - this.#turned > TURN) {
      // Where lookups end at once, promises follow promises, and timers, messages and frames would wait for the last of them.
      await new Promise(nextTurn);
      this.#turned = performance.now();
      if (this.#closed) return true;
    }
    this.#want(true);
    if (this.#outputs.length === 0 && !this.#drained && !this.#failure) await new Promise((resolve) => (this.#wakeReader = resolve));
    return true;
  }

  #emitted(outputs) {
    this.#outputs.push(new Outputs(outputs, this.#forms));
    // The next batch is asked for once this one is read.
    this.#want(false);
    this.#wakeReader?.();
  }

  /** Says whether anybody waits for outputs. */
  #want(wanted) {
    this.#wanted = wanted;
    this.#driving().wantOutputs(wanted);
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
}
