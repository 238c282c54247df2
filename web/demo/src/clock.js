// The time of the page: it can go slowly, stand still, and go on by a step.

/** A clock for `createOperator`, and the gate that events from outside pass. */
export class PageClock {
  #speed = 1;
  #paused = false;
  /** What `now()` was at `#since`, in milliseconds. */
  #base = 0;
  #since = performance.now();
  #timers = new Set();
  /** Events that came while time stood still. */
  #held = [];

  now() {
    return this.#base + (performance.now() - this.#since) * this.#rate;
  }

  get #rate() {
    return this.#paused ? 0 : this.#speed;
  }

  get paused() {
    return this.#paused;
  }

  get speed() {
    return this.#speed;
  }

  /** How much slower than real time it goes: 1, or below. */
  set speed(speed) {
    this.#change(() => (this.#speed = speed));
  }

  pause() {
    this.#change(() => (this.#paused = true));
  }

  resume() {
    this.#change(() => (this.#paused = false));
    for (const event of this.#held.splice(0)) event();
  }

  /** Has an event happen: now, or when time goes on. */
  pass(event) {
    if (this.#paused) this.#held.push(event);
    else event();
  }

  /** Lets the first event that is held happen; says whether there was one. */
  step() {
    const event = this.#held.shift();
    event?.();
    return event !== undefined;
  }

  /** Goes on by so many milliseconds at once. */
  advance(milliseconds) {
    this.#change(() => (this.#base += milliseconds));
  }

  setTimeout(callback, milliseconds) {
    const timer = { callback, due: this.now() + milliseconds, handle: undefined };
    this.#timers.add(timer);
    this.#arm(timer);
    return timer;
  }

  clearTimeout(timer) {
    clearTimeout(timer?.handle);
    this.#timers.delete(timer);
  }

  #arm(timer) {
    clearTimeout(timer.handle);
    const left = timer.due - this.now();
    if (this.#rate === 0 && left > 0) return;
    timer.handle = setTimeout(() => this.#fire(timer), Math.max(0, left / (this.#rate || 1)));
  }

  #fire(timer) {
    // Rounding may make it come too soon.
    if (this.now() < timer.due) return this.#arm(timer);
    this.#timers.delete(timer);
    timer.callback();
  }

  #change(change) {
    this.#base = this.now();
    this.#since = performance.now();
    change();
    for (const timer of this.#timers) this.#arm(timer);
  }
}
