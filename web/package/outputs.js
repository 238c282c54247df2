// Batches of outputs, read one by one.

import { bytesAt, NO_EVENT_TIME, textAt } from "./columns.js";
import { valuesOf } from "./json.js";
import { keyOf } from "./keys.js";

const [NONE_LOW, NONE_HIGH] = new Int32Array(BigInt64Array.of(NO_EVENT_TIME).buffer);
const OUTCOMES = ["found", "missing", "failed", "timed-out"];
const WATERMARK = 4;
const IDLE = 5;

/** Outputs that left together. */
export class Outputs {
  #batch;
  /** The halves of the event times: as a whole each is a BigInt of its own. */
  #timeHalves;
  /** What gives a key's values, a record, and a row of what was found, by their places. */
  #keyAt;
  #recordAt;
  #rowAt;
  /** The output, the row and the record without a key that are next. */
  #next = 0;
  #nextRow = 0;
  #nextKeyless = 0;

  /** How records and rows are given: as `"json"` or as `"bytes"`. */
  constructor(batch, { payloads, rows }) {
    const { eventTimes } = batch;
    this.#batch = batch;
    this.#timeHalves = new Int32Array(eventTimes.buffer, eventTimes.byteOffset, 2 * eventTimes.length);
    this.#keyAt = valuesOf(batch.keys);
    this.#recordAt = stringsOf(batch.payloads, payloads);
    this.#rowAt = stringsOf(batch.rows, rows);
  }

  /** How many were not read. */
  get left() {
    return this.#batch.kinds.length - this.#next;
  }

  /** The next one; undefined after the last. */
  next() {
    const batch = this.#batch;
    const place = this.#next;
    if (place === batch.kinds.length) return undefined;
    this.#next++;
    const kind = batch.kinds[place];
    if (kind === WATERMARK) return { type: "watermark", eventTime: batch.eventTimes[place] };
    if (kind > WATERMARK) return { type: kind === IDLE ? "idle" : "active" };
    const first = this.#nextRow;
    this.#nextRow += batch.rowCounts[place];
    const isKeyless = batch.keyless[this.#nextKeyless] === place;
    if (isKeyless) this.#nextKeyless++;
    const hasTime = this.#timeHalves[2 * place] !== NONE_LOW || this.#timeHalves[2 * place + 1] !== NONE_HIGH;
    const output = {
      type: "record",
      record: this.#recordAt(place),
      key: isKeyless ? undefined : keyOf(this.#keyAt(place)),
      outcome: OUTCOMES[kind],
      rows: [],
      attempts: batch.attempts[place],
      eventTime: hasTime ? batch.eventTimes[place] : undefined,
    };
    if (kind >= 2) {
      output.error = textAt(batch.rows, first);
      return output;
    }
    for (let row = first; row < this.#nextRow; row++) output.rows.push(this.#rowAt(row));
    return output;
  }
}

/** What gives the strings of a column by their places: as bytes, or as the values that their JSON is of. */
const stringsOf = (column, form) => (form === "bytes" ? (place) => bytesAt(column, place) : valuesOf(column));
