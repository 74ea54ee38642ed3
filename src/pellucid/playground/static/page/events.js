// @ts-check
// Who wants to know what. Listeners of one event run in the order in which they came.

/** @typedef {"state" | "problem" | "snapshot" | "status" | "fields" | "regions" | "select" | "history" | "theme" | "notice"} EventName */

export class Events {
  /** @type {Map<EventName, Set<() => void>>} */
  #listeners = new Map();

  /** @param {EventName} name @param {() => void} listener @returns {() => void} stops listening */
  on(name, listener) {
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener));
    return () => all.delete(listener);
  }

  /** @param {EventName} name */
  emit(name) {
    for (const listener of this.#listeners.get(name) ?? []) listener();
  }
}

/** Draws at most once a frame, however often it is asked; some things less often than that. */
export class Frames {
  /** @type {Set<{draw: () => void, every: number, last: number}>} */
  #waiting = new Set();
  #asked = false;
  /** @type {(() => void)[]} */
  after = [];

  /**
   * @param {() => void} draw
   * @param {number} [every] milliseconds between two drawings at least
   * @returns {() => void} asks for one drawing in the next frame that is due
   */
  once(draw, every = 0) {
    const entry = { draw, every, last: -Infinity };
    return () => {
      this.#waiting.add(entry);
      this.#ask();
    };
  }

  #ask() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame((now) => this.#run(now));
  }

  /** @param {number} now */
  #run(now) {
    this.#asked = false;
    const due = [...this.#waiting].filter((entry) => now - entry.last >= entry.every);
    for (const entry of due) {
      this.#waiting.delete(entry);
      entry.last = now;
      entry.draw();
    }
    for (const f of this.after) f();
    if (this.#waiting.size) this.#ask();
  }
}
