// @ts-check
// Checkpoints of one run: dense at the beginning, where most happens, and never too many.

/** @typedef {import("./types.js").Checkpoint} Checkpoint */

export const MOST_CHECKPOINTS = 160;
const MOST_BYTES = 48_000_000;
const GROWTH = 1.06;

export class Track {
  /** @type {Checkpoint[]} */
  all = [];

  /** The latest step, or −1. */
  get last() {
    return this.all.at(-1)?.step ?? -1;
  }

  /** Whether a checkpoint at this step would tell something new. @param {number} step */
  wants(step) {
    return step > Math.max(this.last + 1, this.last * GROWTH);
  }

  /** @param {number} step */
  has(step) {
    return this.all.some((c) => c.step === step);
  }

  /** In order; one of the same step is replaced. @param {Checkpoint} checkpoint */
  add(checkpoint) {
    const at = this.all.findIndex((c) => c.step >= checkpoint.step);
    if (at < 0) this.all.push(checkpoint);
    else this.all.splice(at, this.all[at].step === checkpoint.step ? 1 : 0, checkpoint);
    const most = Math.min(MOST_CHECKPOINTS, Math.max(12, MOST_BYTES / Math.max(1, (checkpoint.state.byteLength + checkpoint.parameters.byteLength))));
    if (this.all.length > most) {
      this.all = this.all.filter((_, i) => i % 2 === 0 || i === this.all.length - 1);
    }
  }

  /** @param {number} step */
  upTo(step) {
    const part = new Track();
    part.all = this.all.filter((c) => c.step <= step);
    return part;
  }
}
