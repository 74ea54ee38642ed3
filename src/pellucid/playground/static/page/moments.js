// @ts-check
// The history of the page: each moment holds a state and the run that belongs to it. Actions of one
// kind that follow each other at once are one moment, and old runs of large networks are let go.

import { History } from "./history.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {{state: State, run: import("./types.js").Checkpoint | null, curve: import("./curve.js").Curve, track: import("./track.js").Track}} Content */

const MOST_BYTES = 64_000_000; // of remembered runs
const MERGE_WITHIN = 1200; // milliseconds in which changes of one slider count as one action

/** @extends {History<Content>} */
export class Moments extends History {
  #last = { kind: "", time: 0 };

  /** @param {Content} content @param {string} label @param {string} [kind] actions of one kind in a row are one */
  record(content, label, kind = label) {
    const now = performance.now();
    const merges = kind === this.#last.kind && now - this.#last.time < MERGE_WITHIN;
    this.#last = { kind, time: now };
    if (merges && !this.canRedo) this.replace(content, label);
    else this.push(label, content);
    this.#forgetOldRuns(content.track.all.at(-1)?.state.byteLength ?? 0);
  }

  /** Whatever comes next is an action of its own. */
  part() {
    this.#last.kind = "";
  }

  /** Of large networks only the latest moments keep their weights. @param {number} size bytes of one run */
  #forgetOldRuns(size) {
    const most = Math.max(8, Math.floor(MOST_BYTES / Math.max(1, size)));
    const old = this.all().filter((m) => m.content.run && m !== this.present);
    for (const moment of old.slice(0, Math.max(0, old.length - most))) moment.content.run = null;
  }
}
