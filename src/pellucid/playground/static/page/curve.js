// @ts-check
// The losses of a run by step: few enough points to draw, the whole run kept.

export const MOST_POINTS = 2400;

export class Curve {
  constructor() {
    /** @type {number[]} */
    this.steps = [];
    /** @type {number[]} */
    this.losses = [];
    /** @type {number[]} */
    this.tests = [];
  }

  get length() {
    return this.steps.length;
  }

  /** @param {number} step @param {number} loss @param {number} test NaN where there is none */
  add(step, loss, test) {
    const last = this.steps.at(-1) ?? -1;
    if (step < last) return;
    if (step === last) this.#cut(this.length - 1);
    this.steps.push(step);
    this.losses.push(loss);
    this.tests.push(test);
    if (this.length > MOST_POINTS) this.#thin();
  }

  /** A copy up to a step: what a branch starts from. @param {number} step */
  upTo(step) {
    const part = new Curve();
    const end = this.steps.findIndex((s) => s > step);
    const n = end < 0 ? this.length : end;
    part.steps = this.steps.slice(0, n);
    part.losses = this.losses.slice(0, n);
    part.tests = this.tests.slice(0, n);
    return part;
  }

  /** The point nearest to a step. @param {number} step */
  nearest(step) {
    let best = -1;
    let distance = Infinity;
    for (let i = 0; i < this.length; i++) {
      const d = Math.abs(this.steps[i] - step);
      if (d < distance) [best, distance] = [i, d];
    }
    return best;
  }

  /** @param {number} n */
  #cut(n) {
    this.steps.length = this.losses.length = this.tests.length = n;
  }

  /** Every second point goes; the first and the last stay. */
  #thin() {
    const keep = (/** @type {unknown} */ _, /** @type {number} */ i) => i % 2 === 0 || i === this.length - 1;
    const [steps, losses, tests] = [this.steps, this.losses, this.tests].map((a) => a.filter(keep));
    Object.assign(this, { steps, losses, tests });
  }
}
