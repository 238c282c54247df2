// Reads an operator: an AsyncGenerator that makes a turn of promises only where it has to wait.

/** What every asynchronous generator has. */
const AsyncIterator = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype));

/**
 * Reads what `source` gives: `start()` comes first and may throw, `take()` gives what is there at once or undefined, `wait()`
 * promises whether more may come, and `finish()` is awaited once, after the last or when the reader stops early.
 */
export class Reader {
  #source;
  #state = "new";
  /** The last step that waits; those that come meanwhile follow it. */
  #last;

  constructor(source) {
    this.#source = source;
  }

  next() {
    if (this.#last === undefined && this.#state === "reading") {
      try {
        const value = this.#source.take();
        if (value !== undefined) return Promise.resolve({ value, done: false });
      } catch (error) {
        return this.throw(error);
      }
    }
    return this.#follow(() => this.#advance());
  }

  /** Stops early. */
  return(value) {
    return this.#follow(async () => {
      await this.#end();
      return { value: await value, done: true };
    });
  }

  /** Stops early, with an error. */
  throw(error) {
    return this.#follow(async () => {
      await this.#end();
      throw error;
    });
  }

  async #advance() {
    if (this.#state === "ended") return { value: undefined, done: true };
    try {
      if (this.#state === "new") {
        this.#source.start();
        this.#state = "reading";
      }
      do {
        const value = this.#source.take();
        if (value !== undefined) return { value, done: false };
      } while (await this.#source.wait());
    } catch (error) {
      await this.#end();
      throw error;
    }
    await this.#end();
    return { value: undefined, done: true };
  }

  async #end() {
    const was = this.#state;
    this.#state = "ended";
    if (was === "reading") await this.#source.finish();
  }

  #follow(step) {
    const result = this.#last === undefined ? step() : this.#last.then(step);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#last = settled;
    settled.then(() => {
      if (this.#last === settled) this.#last = undefined;
    });
    return result;
  }
}

Object.setPrototypeOf(Reader.prototype, AsyncIterator);
