// Answers on their way to the operator.

import { ByteStringsBuilder } from "./columns.js";

/** The positions of the contract's `completion-status`. */
const STATUSES = { answered: 0, unavailable: 1, throttled: 2, rejected: 3, malformed: 4 };

/** Whether the operator knows this way to fail. */
export const isFailure = (kind) => Object.hasOwn(STATUSES, kind) && kind !== "answered";

/** Gathers the columns of a `completion-batch`. */
export class Answers {
  #attempts = [];
  #statuses = [];
  #arrivals = [];
  #rowCounts = [];
  #retryAfter = [];
  #asksToWait = false;
  #rows = new ByteStringsBuilder();

  /** An answer to `attempt`, there at `arrival`, of rows that are texts and `Uint8Array`s; for a failure one text, its message. */
  push(attempt, arrival, status, rows, retryAfter) {
    this.#attempts.push(attempt);
    this.#statuses.push(STATUSES[status]);
    this.#arrivals.push(arrival);
    this.#rowCounts.push(rows.length);
    this.#retryAfter.push(retryAfter);
    this.#asksToWait ||= retryAfter > 0n;
    for (const row of rows) {
      if (typeof row === "string") this.#rows.pushText(row);
      else this.#rows.pushBytes(row);
    }
  }

  build() {
    const count = this.#attempts.length;
    const ids = new BigUint64Array(count);
    const halves = new Uint32Array(ids.buffer);
    const attempts = new Uint32Array(count);
    this.#attempts.forEach(({ requests, row }, place) => {
      // An id's halves: as a whole each would be a BigInt of its own.
      halves[2 * place] = requests.halves[2 * row];
      halves[2 * place + 1] = requests.halves[2 * row + 1];
      attempts[place] = requests.attempts[row];
    });
    const [first, last] = [this.#arrivals[0], this.#arrivals.at(-1)];
    return {
      ids,
      attempts,
      statuses: new Uint8Array(this.#statuses),
      // Time does not go back, so what lies between two that are the same is the same.
      arrivals: first === last ? new BigUint64Array(count).fill(first) : new BigUint64Array(this.#arrivals),
      rowCounts: new Uint32Array(this.#rowCounts),
      rows: this.#rows.build(),
      retryAfter: this.#asksToWait ? new BigUint64Array(this.#retryAfter) : new BigUint64Array(count),
    };
  }
}
