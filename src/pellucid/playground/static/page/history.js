// @ts-check
// Undo, redo and branches: a tree of moments. Every action adds one below the present one.

/**
 * @template T
 * @typedef {{id: number, label: string, parent: Moment<T> | null, children: Moment<T>[], content: T}} Moment
 */

/** @template T */
export class History {
  /** @param {string} label @param {T} content @param {number} [most] */
  constructor(label, content, most = 400) {
    this.most = most;
    this.count = 1;
    /** @type {Moment<T>} */
    this.root = { id: 0, label, parent: null, children: [], content };
    /** @type {Moment<T>} */
    this.present = this.root;
    this.nextId = 1;
  }

  /** A new moment below the present one. @param {string} label @param {T} content */
  push(label, content) {
    /** @type {Moment<T>} */
    const moment = { id: this.nextId++, label, parent: this.present, children: [], content };
    this.present.children.push(moment);
    this.present = moment;
    this.count += 1;
    if (this.count > this.most) this.#forget();
    return moment;
  }

  /** Rewrite the present moment: a slider that is being dragged is one action. @param {T} content @param {string} [label] */
  replace(content, label = this.present.label) {
    Object.assign(this.present, { content, label });
  }

  get canUndo() {
    return this.present.parent !== null;
  }

  get canRedo() {
    return this.present.children.length > 0;
  }

  undo() {
    if (this.present.parent) this.present = this.present.parent;
    return this.present;
  }

  /** Along the branch that was visited last. */
  redo() {
    const next = this.present.children.at(-1);
    if (next) this.present = next;
    return this.present;
  }

  /** @param {number} id */
  goTo(id) {
    const found = this.all().find((m) => m.id === id);
    if (!found) return null;
    for (let m = found; m.parent; m = m.parent) {
      const siblings = m.parent.children; // redo follows the branch that was chosen last
      siblings.splice(siblings.indexOf(m), 1);
      siblings.push(m);
    }
    this.present = found;
    return found;
  }

  /** From the first moment to the last one of the present branch. */
  line() {
    const line = [this.present];
    while (line[0].parent) line.unshift(line[0].parent);
    for (let m = this.present; m.children.length; ) {
      m = /** @type {Moment<T>} */ (m.children.at(-1));
      line.push(m);
    }
    return line;
  }

  /** The last moments of every branch. */
  tips() {
    return this.all().filter((m) => m.children.length === 0);
  }

  /** All moments, each after its parent. */
  all() {
    const found = [this.root];
    for (const moment of found) found.push(...moment.children);
    return found;
  }

  /** The oldest moment goes, and with it the branches that left it. */
  #forget() {
    const keep = this.line()[1];
    if (!keep || this.present === this.root) return;
    keep.parent = null;
    this.root = keep;
    this.count = this.all().length;
  }
}
