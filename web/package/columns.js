// Columns of byte strings, laid end to end, as they cross to the operator.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Gathers byte strings. */
export class ByteStringsBuilder {
  #bytes = new Uint8Array(4096);
  #length = 0;
  #ends = [];

  get byteLength() {
    return this.#length;
  }

  /** A text, in UTF-8. */
  pushText(text) {
    // A UTF-16 unit has at most three bytes.
    this.#reserve(text.length * 3);
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
    this.#ends.push(this.#length);
  }

  pushBytes(bytes) {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    this.#ends.push(this.#length);
  }

  pushEmpty() {
    this.#ends.push(this.#length);
  }

  build() {
    return { ends: Uint32Array.from(this.#ends), bytes: this.#bytes.subarray(0, this.#length) };
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

/** String `row` of a column, as bytes of its own. */
export function bytesAt(column, row) {
  return column.bytes.slice(row === 0 ? 0 : column.ends[row - 1], column.ends[row]);
}

/** String `row` of a column, as a text. */
export function textAt(column, row) {
  return decoder.decode(column.bytes.subarray(row === 0 ? 0 : column.ends[row - 1], column.ends[row]));
}

export const encodeText = (text) => encoder.encode(text);
