// Which records of the stream have left: what is needed to say that none was lost, and that none came twice.

/** Places of a stream, each of which is to be seen once. */
export class Arrivals {
  count = 0;
  twice = 0;
  /** All places below this one were seen, and these beyond it. */
  #all = 0;
  #beyond = new Set();

  add(place) {
    if (place < this.#all || this.#beyond.has(place)) {
      this.twice++;
      return;
    }
    this.count++;
    this.#beyond.add(place);
    while (this.#beyond.delete(this.#all)) this.#all++;
  }

  copy() {
    const copy = Object.assign(new Arrivals(), { count: this.count, twice: this.twice });
    copy.#all = this.#all;
    copy.#beyond = new Set(this.#beyond);
    return copy;
  }
}
