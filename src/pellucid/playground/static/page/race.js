// @ts-check
// Two networks that train in turns, each in a worker of its own: after every round both have made
// the same number of steps, and their curves can be laid over each other.

import { Curve } from "./curve.js";

/** @typedef {import("./types.js").Engine} Engine */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {{job: Job, curve: Curve, now: Snapshot}} Runner */

const ROUND = 40; // milliseconds that a round takes at most, about
const ROUNDS = 150; // at least so many, so that short runs are seen, too

export class Race {
  #stopped = false;

  /** @param {Runner[]} runners @param {import("../engine/engine.js").Beside[]} runs @param {number} steps */
  constructor(runners, runs, steps) {
    this.runners = runners;
    this.runs = runs;
    this.steps = steps;
  }

  /** @param {Engine} engine @param {Job[]} jobs @param {number} steps */
  static async open(engine, jobs, steps) {
    const runs = jobs.map(() => engine.beside());
    try {
      const first = await Promise.all(runs.map((run, i) => run.load(jobs[i])));
      const runners = jobs.map((job, i) => ({ job, curve: new Curve(), now: first[i] }));
      const race = new Race(runners, runs, steps);
      race.#note();
      return race;
    } catch (error) {
      for (const run of runs) run.close();
      throw error;
    }
  }

  /** Steps that both have made, unless one ended before. */
  get step() {
    return Math.max(...this.runners.map((r) => r.now.step));
  }

  get ended() {
    return this.#stopped || this.step >= this.steps || this.runners.every((r) => r.now.status !== "paused");
  }

  /** Rounds until the last step; `show` draws before the first and after each, which the next waits for. @param {() => Promise<void> | void} show */
  async go(show) {
    const most = Math.ceil(this.steps / ROUNDS);
    let portion = 1;
    try {
      await show();
      while (!this.ended) {
        const start = performance.now();
        await this.#round(Math.min(portion, this.steps - this.step));
        const time = performance.now() - start;
        const faster = Math.min(2, Math.max(0.25, ROUND / Math.max(time, 1)));
        portion = Math.min(most, Math.max(1, Math.round(portion * faster)));
        await show();
      }
    } finally {
      for (const run of this.runs) run.close();
    }
  }

  /** @param {number} n */
  async #round(n) {
    await Promise.all(this.runners.map(async (runner, i) => {
      if (runner.now.status === "paused") runner.now = await this.runs[i].step(n);
    }));
    this.#note();
  }

  #note() {
    for (const { curve, now } of this.runners) {
      if (Number.isFinite(now.training_loss)) curve.add(now.step, now.training_loss, now.validation_loss);
    }
  }

  /** After the present round. */
  stop() {
    this.#stopped = true;
  }
}
