// Looks airports up at the server, many at a time over one connection.

import { LookupFailure } from "lookaside";

/** Keys wait for each other so long before they are asked for together. */
const GATHER = 2;

/** A lookup that takes as long, and fails as often, as `settings` says. */
export class AirportLookup {
  /** Lookups that are under way at the server. */
  under = 0;
  #settings;
  #clock;
  #session = crypto.randomUUID();
  #pending = new Map();
  #nextId = 0;
  #ask = [];
  #cancel = [];
  #slow = 0;

  constructor(settings, clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Opens the connection that answers come by. */
  async connect() {
    const response = await fetch(`/api/answers/${this.#session}`);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    this.#read(response.body.pipeThrough(new TextDecoderStream())).catch(() => {
      for (const { reject } of this.#pending.values()) reject(new LookupFailure("unavailable", "the connection to the server ended"));
    });
  }

  /** The next lookup takes twenty times as long. */
  makeOneSlow() {
    this.#slow++;
  }

  /** For `createOperator`. */
  lookup = (keys, { signals }) => keys.map((key, place) => this.#one(key, signals[place]));

  #one(key, signal) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.under = this.#pending.size;
      signal.addEventListener("abort", () => {
        if (!this.#forget(id)) return;
        this.#cancel.push(id);
        this.#send();
        reject(signal.reason);
      });
      this.#ask.push([id, key, this.#latency(), Math.random() * 100 < this.#settings.failures]);
      this.#send();
    });
  }

  /** Milliseconds: a part of it is the same for all, and the rest is drawn, so that some take much longer. */
  #latency() {
    const { latency, spread } = this.#settings;
    const drawn = latency * (1 - spread / 100) - latency * (spread / 100) * Math.log(1 - Math.random());
    const slow = this.#slow > 0 ? 20 : 1;
    if (slow > 1) this.#slow--;
    return Math.round((Math.min(drawn, latency * 12) * slow) / this.#clock.speed);
  }

  #forget(id) {
    const was = this.#pending.delete(id);
    this.under = this.#pending.size;
    return was;
  }

  #send() {
    if (this.#ask.length + this.#cancel.length > 1) return;
    setTimeout(() => {
      const body = JSON.stringify({ ask: this.#ask, cancel: this.#cancel });
      const asked = this.#ask.map(([id]) => id);
      this.#ask = [];
      this.#cancel = [];
      fetch(`/api/lookups/${this.#session}`, { method: "POST", body })
        .then((response) => response.ok || Promise.reject(new Error(`the server answered ${response.status}`)))
        .catch((error) => {
          for (const id of asked) this.#settle({ id, error: error.message });
        });
    }, GATHER);
  }

  async #read(stream) {
    let rest = "";
    for await (const chunk of chunks(stream)) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      const answers = lines.map((line) => JSON.parse(line));
      // Answers that came together are one event each, so that they can be stepped through.
      for (const answer of answers) this.#clock.pass(() => this.#settle(answer));
    }
    throw new Error("the server has ended the stream");
  }

  #settle({ id, row, error }) {
    const waiting = this.#pending.get(id);
    if (!this.#forget(id)) return;
    if (error) waiting.reject(new LookupFailure("unavailable", error));
    else waiting.resolve(row);
  }
}

/** Not every browser iterates over streams. */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}
