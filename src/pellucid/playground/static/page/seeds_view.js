// @ts-check
// Capacity or optimization? The same network from many seeds: their boundaries, their losses, and
// what that is evidence for.

import { Chart } from "./chart.js";
import { h, refill } from "./dom.js";
import { figure } from "./format.js";
import { makeJob, netOf } from "./job.js";
import { gridPoints } from "./scanline.js";
import { inputRows } from "./problem.js";

import { scaleOf, Shades } from "./shading.js";
import { judgeSeeds } from "./seeds_verdict.js";
import { verdictCall } from "./verdict_call.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("../engine/types.js").Finished} Finished */

const SEEDS = 32;
const SIZE = 56;
const WIDER = 4; // times as many units in the wider network that is tried beside

export class SeedsView {
  busy = false;

  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root @param {string} server */
  constructor(app, fields, theme, root, server) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.steps = h("select", { "aria-label": "steps of each" }, ["300", "1000", "3000", "10000"].map((n) => h("option", { value: n, selected: n === "1000" }, `${n} steps`)));
    this.button = h("button", { class: "primary", "data-test": "train-seeds", onclick: () => this.#train() }, `Train ${SEEDS} seeds`);
    this.cancel = h("button", { hidden: true, onclick: () => app.engine.cancelMany() }, "Stop");
    this.progress = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "progress" });
    this.verdict = h("div", { class: "verdict", "data-test": "seeds-verdict", role: "status" });
    this.strip = h("div", { class: "strip" });
    const fan = h("div", {});
    root.append(
      h("p", { class: "quiet" }, `Is the network too small, or was it unlucky? The same settings from ${SEEDS} seeds, and a network ${WIDER} times as wide from 8.`),
      h("div", { class: "row" }, this.button, this.steps, this.cancel, this.progress), this.verdict, this.strip, fan);
    if (server) verdictCall(app, root, server, () => Number(this.steps.value));
    this.fan = new Chart(fan, theme, { height: 130, label: "Test or training losses of all seeds by step" });
  }

  async #train() {
    if (this.busy) return;
    this.busy = true;
    this.button.disabled = true;
    this.cancel.hidden = this.progress.hidden = false;
    const { app } = this;
    await app.pause();
    const steps = Number(this.steps.value);
    const state = app.state();
    const { problem } = app;
    try {
      const jobs = await this.#jobs(state, SEEDS, steps);
      const wide = { ...state };
      wide.hidden = state.hidden.length ? state.hidden.map((l) => ({ ...l, units: Math.min(128, l.units * WIDER) })) : [{ units: 16, activation: { name: "relu", parameters: [] } }];
      jobs.push(...(await this.#jobs(wide, 8, steps)));
      const found = await app.engine.many(jobs, { steps, progress: (done, all) => (this.progress.value = done / all) });
      const own = found.slice(0, SEEDS);
      this.#tell(own, found.slice(SEEDS));
      this.#curves(own);
      await this.#pictures(own, jobs[0], problem);
    } catch (error) {
      refill(this.verdict, h("p", { class: "quiet" }, `Stopped: ${error instanceof Error ? error.message : error}`));
    } finally {
      this.busy = this.button.disabled = false;
      this.cancel.hidden = this.progress.hidden = true;
    }
  }

  /** @param {import("./state.js").State} state @param {number} n @param {number} steps */
  async #jobs(state, n, steps) {
    const { app } = this;
    const jobs = [];
    const shape = makeJob(state, app.problem, new Float32Array());
    for (let i = 0; i < n; i++) {
      const seed = state.seed + i;
      const parameters = await app.engine.initialize({ widths: shape.widths, scheme: state.scheme, seed });
      jobs.push({ ...shape, seed, parameters, record_every: Math.max(1, Math.floor(steps / 40)) });
    }
    return jobs;
  }

  /** @param {Finished[]} own @param {Finished[]} wider */
  #tell(own, wider) {
    const { words, evidence, goal } = judgeSeeds(own, wider, this.app.problem);
    refill(this.verdict, h("p", {}, h("strong", {}, words)), evidence.map((text) => h("p", { class: "quiet" }, text)),
      h("p", { class: "quiet" }, `“Fits” means: mean training loss below ${figure(goal)} nats. Seeds are a sample; this is evidence, never a proof.`));
  }

  /** @param {Finished[]} own */
  #curves(own) {
    const order = own.map((r) => r.loss).map((l, i) => /** @type {const} */ ([l, i])).sort((a, b) => a[0] - b[0]);
    const [best, worst] = [order[0][1], order[own.length - 1][1]];
    const { classes, line } = this.theme.current;
    const series = own.map((r, i) => ({
      label: `seed ${this.app.state().seed + i}`, xs: r.records.steps, ys: r.records.validation_losses.length ? r.records.validation_losses : r.records.losses,
      colour: i === best ? classes[2] : i === worst ? classes[3] : line, width: i === best || i === worst ? 2.2 : 1, dash: i === worst ? [6, 3] : [],
    }));
    const chosen = [series[best], series[worst]];
    this.fan.draw({ series: [...chosen, ...series.filter((s) => !chosen.includes(s))], xLabel: "step", yLabel: "nats", logY: true });
  }

  /** Small pictures of every seed, best first; a click takes its weights. @param {Finished[]} own @param {import("./types.js").Job} job @param {import("./problem.js").Problem} problem */
  async #pictures(own, job, problem) {
    refill(this.strip);
    if (problem.d === 1) return;
    const { low, high } = this.fields.window();
    const rows = inputRows(this.fields.lift(gridPoints(low, high, SIZE)), this.app.state(), problem);
    const outputs = job.widths.at(-1) ?? 1;
    const scale = scaleOf(job.likelihood, problem, outputs);
    const shades = new Shades(SIZE, SIZE);
    const order = own.map((r, i) => ({ r, i })).sort((a, b) => a.r.loss - b.r.loss);
    for (const { r, i } of order) {
      const grid = await this.app.engine.forward(r.parameters, rows, { net: netOf(job) });
      const canvas = h("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
      const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      const image = c.createImageData(SIZE, SIZE);
      shades.fromGrid(grid, SIZE, scale);
      shades.paint(scale, this.theme.current, true, new Uint32Array(image.data.buffer));
      c.putImageData(image, 0, 0);
      const seed = this.app.state().seed + i;
      this.strip.append(h("button", { class: "seed", "aria-label": `seed ${seed}, loss ${figure(r.loss)}: take its weights`, title: `seed ${seed}`, onclick: () => this.app.edit(r.parameters, `weights of seed ${seed}`) },
        canvas, h("span", {}, figure(r.loss, 2)), r.status === "diverged" ? " ✕" : ""));
    }
  }
}

