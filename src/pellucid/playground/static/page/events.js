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

/** Draws at most once a frame, however often it is asked. */
export class Frames {
  /** @type {Set<() => void>} */
  #waiting = new Set();
  #asked = false;
  /** @type {(() => void)[]} */
  after = [];

  /** @param {() => void} draw @returns {() => void} asks for one drawing in the next frame */
  once(draw) {
    return () => {
      this.#waiting.add(draw);
      if (this.#asked) return;
      this.#asked = true;
      requestAnimationFrame(() => this.#run());
    };
  }

  #run() {
    this.#asked = false;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const draw of all) draw();
    for (const f of this.after) f();
  }
}
