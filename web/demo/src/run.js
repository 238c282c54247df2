// A run: the source feeds an operator, a checkpoint is taken now and then, and a killed operator is restored from it.

import { createOperator } from "lookaside";

import { Arrivals } from "./arrivals.js";
import { flightAt } from "./flights.js";
import { isOfTheOperator, toOptions } from "./settings.js";

/** Between two checkpoints, in milliseconds. */
const CHECKPOINT_EVERY = 1_000;
/** Between two looks at the source, in milliseconds. */
const TICK = 5;

/** Drives one operator after another over the same stream. */
export class Run {
  /** Records that were due and have not been taken: the source has to wait. */
  behind = 0;
  killed = false;
  checkpoint;
  #settings;
  #clock;
  #lookup;
  #onOutput;
  #onRollback;
  #operator;
  /** The next flight's place in the stream. */
  #place = 0;
  /** Records pushed into this operator. */
  #pushed = 0;
  /** Records that were missing when that could last be told. */
  #lost = 0;
  /** The order that this operator was opened with. */
  #order;
  /** Whether nothing is pushed until the operator can be opened anew. */
  #isReopening = false;
  #nextDue = 0;
  #nextCheckpoint = 0;
  #pushedAt = new Map();
  #arrivals = new Arrivals();
  #turns = Promise.resolve();

  /** `onOutput` has each output, and `onRollback` how many of them count no longer. */
  constructor(settings, { clock, lookup, onOutput, onRollback }) {
    this.#settings = settings;
    this.#clock = clock;
    this.#lookup = lookup;
    this.#onOutput = onOutput;
    this.#onRollback = onRollback;
  }

  /** Starts. */
  async start() {
    await this.#open();
    this.#nextDue = this.#clock.now();
    this.#take();
    this.#tick();
  }

  /** Follows a changed setting; the operator goes on from its snapshot where it has to be opened anew. */
  changed(name) {
    if (name === "rate") this.#nextDue = this.#clock.now();
    if (isOfTheOperator(name)) this.#inTurn(() => this.#reopen());
  }

  /** Ends the operator as a crash would: what was in flight is gone. */
  kill() {
    this.#inTurn(async () => {
      if (this.killed) return;
      this.killed = true;
      this.#isReopening = false;
      this.#close();
    });
  }

  /** Goes on from the last checkpoint, and reads the source again from where that was taken. */
  restore() {
    this.#inTurn(async () => {
      if (!this.killed) return;
      const { snapshot, order, place, arrivals } = this.checkpoint;
      this.#onRollback(this.#arrivals.count - arrivals.count);
      this.#place = place;
      this.#arrivals = arrivals.copy();
      await this.#open(snapshot, order);
      this.killed = false;
      await this.#reopen();
      this.#nextDue = this.#clock.now();
    });
  }

  /** The next record enters at once, whatever its time is. */
  pushOne() {
    this.#clock.advance(1_000 / this.#settings.rate);
    if (this.#operator?.room() > 1 && !this.#isReopening) this.#push();
  }

  /** What is in flight, oldest first. */
  inFlight() {
    return this.#operator === undefined ? [] : this.#operator.inspect(this.#settings.capacity);
  }

  /** Records read from the source, and what became of them. */
  counts() {
    const { count, twice } = this.#arrivals;
    // While outputs wait for their reader, they are neither inside nor among those that have left.
    if (this.#operator?.unread() === 0) {
      const stats = this.#operator.stats();
      // What was pushed in this turn crosses to the operator in the next one.
      const crossing = this.#pushed - stats.accepted;
      this.#lost = this.#place - count - crossing - stats["in-flight"];
    }
    return { read: this.#place, emitted: count, twice, lost: this.#lost, checkpoint: this.checkpoint?.place ?? 0 };
  }

  /** One thing at a time: opening takes a while. */
  #inTurn(action) {
    this.#turns = this.#turns.then(action).catch((error) => console.error(error));
  }

  async #open(snapshot, order = this.#settings.order) {
    const options = { ...toOptions(this.#settings), order, lookup: this.#lookup, clock: this.#clock };
    const operator = await createOperator(options, snapshot);
    this.#operator = operator;
    this.#order = order;
    this.#pushed = 0;
    this.#follow(operator);
  }

  /** Opens the operator anew, as the settings are now. */
  async #reopen() {
    if (this.#operator === undefined) return;
    // Between orders of which one is by key no snapshot leads over: all that was read leaves first, also what has not crossed yet.
    const empties = this.#order !== this.#settings.order && [this.#order, this.#settings.order].includes("key-ordered");
    const isEmpty = this.#place === this.#arrivals.count && this.inFlight().length === 0;
    // Outputs that nobody has read would not be in a snapshot.
    this.#isReopening = this.#operator.unread() > 0 || (empties && !isEmpty);
    if (this.#isReopening) return;
    const snapshot = empties ? undefined : this.#operator.snapshot();
    this.#close();
    await this.#open(snapshot);
  }

  #close() {
    this.#operator.close();
    this.#operator = undefined;
  }

  async #follow(operator) {
    try {
      for await (const output of operator.outputs()) {
        if (operator !== this.#operator) return;
        this.#emit(output);
      }
    } catch (error) {
      if (error.name !== "AbortError") console.error(error);
    }
  }

  #emit(output) {
    if (output.type !== "record") return;
    const { place } = output.record;
    this.#arrivals.add(place);
    this.#onOutput(output, this.#clock.now() - (this.#pushedAt.get(place) ?? this.#clock.now()));
    this.#pushedAt.delete(place);
  }

  #tick() {
    this.#clock.setTimeout(() => {
      this.#inTurn(() => (this.#isReopening ? this.#reopen() : this.#feed()));
      this.#tick();
    }, TICK);
  }

  /** Pushes what is due, as far as there is room. */
  #feed() {
    if (this.#operator === undefined) return;
    const now = this.#clock.now();
    const interval = 1_000 / this.#settings.rate;
    // A record may bring a watermark with it, which takes a place, too.
    while (this.#nextDue <= now && this.#operator.room() > 1) {
      this.#push();
      this.#nextDue += interval;
    }
    this.behind = Math.max(0, Math.floor((now - this.#nextDue) / interval));
    // The source keeps so much for later, and no more.
    const most = 2 * this.#settings.capacity;
    if (this.behind > most) this.#nextDue = now - most * interval;
    // What has left and was not read would not be in it.
    if (now >= this.#nextCheckpoint && this.#operator.unread() === 0) this.#take();
  }

  #push() {
    const flight = flightAt(this.#place++);
    this.#pushed++;
    this.#pushedAt.set(flight.place, this.#clock.now());
    const { watermarks } = this.#settings;
    this.#operator.push(flight, { key: flight.origin, eventTime: flight.eventTime }).catch(ended);
    if (watermarks > 0 && this.#place % watermarks === 0) this.#operator.pushWatermark(flight.eventTime).catch(ended);
  }

  #take() {
    this.#nextCheckpoint = this.#clock.now() + CHECKPOINT_EVERY;
    this.checkpoint = { snapshot: this.#operator.snapshot(), order: this.#order, place: this.#place, arrivals: this.#arrivals.copy() };
  }
}

/** A push ends with its operator. */
function ended(error) {
  if (error.name !== "AbortError") throw error;
}
