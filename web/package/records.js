// Records on their way to the operator.

import { ByteStringsBuilder, NO_EVENT_TIME } from "./columns.js";
import { stringify } from "./json.js";

/** Gathers the columns of a `record-batch`. */
export class Records {
  #form;
  #eventTimes = [];
  #hasTimes = false;
  #keys = new ByteStringsBuilder();
  #keyless = [];
  #orderKeys;
  #payloads;

  /** How payloads are written: as `"json"` or as `"bytes"`, of which there will be about so many. */
  constructor(form, bytes) {
    this.#form = form;
    this.#payloads = new ByteStringsBuilder(form === "bytes" ? bytes : 0);
  }

  get length() {
    return this.#eventTimes.length;
  }

  /** Bytes of payloads, at least. */
  get byteLength() {
    return this.#payloads.byteLength;
  }

  /** A record; its keys are texts, or null. Where it cannot be written nothing is changed. */
  push(record, key, orderKey, eventTime) {
    const hasTime = eventTime !== undefined && eventTime !== null;
    const time = hasTime ? BigInt(eventTime) : NO_EVENT_TIME;
    if (this.#form === "json") {
      this.#payloads.pushText(stringify(record));
    } else {
      if (!(record instanceof Uint8Array)) throw new TypeError(`payloads: "bytes" takes Uint8Arrays, and this record is of type ${typeof record}`);
      this.#payloads.pushBytes(record);
    }
    if (key === null) {
      this.#keyless.push(this.length);
      this.#keys.pushEmpty();
    } else {
      this.#keys.pushText(key);
    }
    if (orderKey !== null && !this.#orderKeys) {
      this.#orderKeys = new ByteStringsBuilder();
      for (let row = 0; row < this.length; row++) this.#orderKeys.pushEmpty();
    }
    if (this.#orderKeys) {
      if (orderKey === null) this.#orderKeys.pushEmpty();
      else this.#orderKeys.pushText(orderKey);
    }
    this.#eventTimes.push(time);
    this.#hasTimes ||= hasTime;
  }

  build() {
    return {
      eventTimes: this.#hasTimes ? new BigInt64Array(this.#eventTimes) : new BigInt64Array(this.length).fill(NO_EVENT_TIME),
      keys: this.#keys.build(),
      keyless: new Uint32Array(this.#keyless),
      orderKeys: this.#orderKeys?.build(),
      payloads: this.#payloads.build(),
    };
  }
}
