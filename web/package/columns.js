// Columns of byte strings, laid end to end, as they cross to the operator.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An event time that says there is none. */
export const NO_EVENT_TIME = -(2n ** 63n);

/** Gathers byte strings. Neighbouring texts are encoded together: a call for each costs more than its bytes. */
export class ByteStringsBuilder {
  #bytes;
  #length = 0;
  #ends = [];
  /** Texts that follow, not encoded yet, and their UTF-16 units. */
  #texts = [];
  #units = 0;

  /** One that will have about so many bytes. */
  constructor(bytes = 0) {
    this.#bytes = new Uint8Array(bytes);
  }

  /** How many bytes there are, at least. */
  get byteLength() {
    return this.#length + this.#units;
  }

  /** A text, in UTF-8. */
  pushText(text) {
    this.#texts.push(text);
    this.#units += text.length;
  }

  pushBytes(bytes) {
    if (this.#texts.length > 0) this.#encode();
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    this.#ends.push(this.#length);
  }

  pushEmpty() {
    this.pushText("");
  }

  build() {
    this.#encode();
    return { ends: new Uint32Array(this.#ends), bytes: this.#bytes.subarray(0, this.#length) };
  }

  #encode() {
    const texts = this.#texts;
    const units = this.#units;
    this.#texts = [];
    this.#units = 0;
    this.#reserve(units);
    const { read, written } = encoder.encodeInto(texts.join(""), this.#bytes.subarray(this.#length));
    if (read === units && written === units) {
      for (const text of texts) this.#ends.push((this.#length += text.length));
      return;
    }
    // Not each unit is a byte, so only the encoder knows where a text ends.
    for (const text of texts) {
      this.#reserve(text.length * 3);
      this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
      this.#ends.push(this.#length);
    }
  }

  #reserve(more) {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Bytes of UTF-8, as a text. */
export const decodeText = (bytes) => decoder.decode(bytes);

/** String `row` of a column, as bytes that are the column's. */
export function bytesAt(column, row) {
  return column.bytes.subarray(row === 0 ? 0 : column.ends[row - 1], column.ends[row]);
}

/** String `row` of a column, as a text. */
export const textAt = (column, row) => decoder.decode(bytesAt(column, row));
