// @ts-check
// Two networks on the same rows, from the same seed: shallow against deep at one budget.

import { Chart } from "./chart.js";
import { line } from "./curves_view.js";
import { h, refill, tableHead } from "./dom.js";
import { figure, whole } from "./format.js";
import { countParameters, makeJob, netOf, widthsOf } from "./job.js";
import { inputRows } from "./problem.js";
import { gridPoints } from "./scanline.js";
import { scaleOf, Shades } from "./shading.js";
import { MOST_LAYERS, MOST_UNITS } from "./state.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("../engine/types.js").Finished} Finished */

const SIZE = 200;

export class CompareView {
  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.b = h("input", { type: "text", value: "", "aria-label": "hidden units of B, layer by layer", placeholder: "16", "data-test": "b-widths" });
    this.steps = h("select", { "aria-label": "steps" }, ["300", "1000", "3000", "10000", "30000"].map((n) => h("option", { value: n, selected: n === "3000" }, `${n} steps`)));
    this.button = h("button", { class: "primary", "data-test": "train-both", onclick: () => this.#train() }, "Train both");
    this.body = h("div", { "data-test": "comparison" });
    this.legend = h("p", { class: "legend" });
    const suggest = (/** @type {string} */ label, /** @type {number} */ depth) =>
      h("button", { class: "small", onclick: () => (this.b.value = this.#sameBudget(depth).join(", ")) }, label);
    const fan = h("div", {});
    root.append(
      h("p", { class: "quiet" }, "A is the network above. B has the same data, seed, activation and settings; its hidden layers are yours:"),
      h("div", { class: "row" }, h("label", {}, "B: ", this.b), suggest("1 layer, same budget", 1), suggest("2 layers", 2), suggest("4 layers", 4), this.steps, this.button),
      this.body, this.legend, fan);
    this.chart = new Chart(fan, theme, { height: 130, label: "Losses of A and B by step" });
  }

  /** Equal layers with about as many parameters as A. @param {number} depth */
  #sameBudget(depth) {
    const budget = countParameters(this.app.widths());
    const ends = this.app.widths();
    const count = (/** @type {number} */ m) => countParameters([ends[0], ...Array(depth).fill(m), ends[ends.length - 1]]);
    let m = 1;
    while (m < MOST_UNITS && Math.abs(count(m + 1) - budget) <= Math.abs(count(m) - budget)) m++;
    return Array(depth).fill(m);
  }

  /** @returns {number[]} */
  #widths() {
    const text = this.b.value.trim();
    if (!text) return this.#sameBudget(1);
    const widths = text.split(/[\s,;x-]+/).filter(Boolean).map(Number);
    if (widths.length > MOST_LAYERS || widths.some((w) => !Number.isInteger(w) || w < 1 || w > MOST_UNITS)) {
      throw new Error(`B needs at most ${MOST_LAYERS} whole numbers from 1 to ${MOST_UNITS}, such as 8, 8.`);
    }
    return widths;
  }

  async #train() {
    const { app } = this;
    this.button.disabled = true;
    try {
      const hidden = this.#widths();
      this.b.value = hidden.join(", ");
      await app.pause();
      const a = app.state();
      const activation = a.hidden[0]?.activation ?? { name: "relu", parameters: [] };
      const b = { ...a, hidden: hidden.map((units) => ({ units, activation })), start: null };
      const steps = Number(this.steps.value);
      const jobs = await Promise.all([a, b].map((state) => this.#job(state, steps)));
      refill(this.body, h("progress", { "aria-label": "training both" }));
      const found = await app.engine.many(jobs, { steps });
      await this.#show(jobs, found);
    } catch (error) {
      refill(this.body, h("p", { class: "warn", role: "alert" }, error instanceof Error ? error.message : String(error)));
    } finally {
      this.button.disabled = false;
    }
  }

  /** @param {State} state @param {number} steps */
  async #job(state, steps) {
    const { app } = this;
    const widths = widthsOf(state, app.problem);
    const parameters = state === app.state() ? app.parametersAtStart : await app.engine.initialize({ widths, scheme: state.scheme, seed: state.seed });
    return { ...makeJob(state, app.problem, parameters), record_every: Math.max(1, Math.floor(steps / 200)) };
  }

  /** @param {import("./types.js").Job[]} jobs @param {Finished[]} found */
  async #show(jobs, found) {
    const { classes } = this.theme.current;
    const pictures = await Promise.all(jobs.map((job, i) => this.#picture(job, found[i])));
    const counts = await Promise.all(jobs.map((job, i) => this.#regions(job, found[i])));
    const rows = /** @type {[string, (i: number) => string][]} */ ([
      ["widths", (i) => jobs[i].widths.join("-")],
      ["parameters", (i) => whole(countParameters(jobs[i].widths))],
      ["training loss", (i) => figure(found[i].loss, 4)],
      ["test loss", (i) => figure(found[i].validation_loss, 4)],
      ["regions here", (i) => counts[i]],
    ]);
    refill(this.body, h("div", { class: "row" }, pictures.map((c, i) => h("figure", {}, c, h("figcaption", {}, "AB"[i]))),
      h("table", { class: "compact" }, tableHead(["", "A", "B"]),
        h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, value(0)), h("td", { class: "number" }, value(1))))))));
    const what = found[0].records.validation_losses.length ? "test loss" : "loss of the batches";
    refill(this.legend, h("strong", {}, `${what} by step `), line(classes[0], ""), "A ", line(classes[3], "6 3"), "B");
    this.chart.draw({
      series: found.map((r, i) => ({ label: "AB"[i], xs: r.records.steps, ys: r.records.validation_losses.length ? r.records.validation_losses : r.records.losses, colour: classes[i ? 3 : 0], dash: i ? [6, 3] : [] })),
      xLabel: "step", yLabel: "nats", logY: true,
    });
  }

  /** @param {import("./types.js").Job} job @param {Finished} run */
  async #picture(job, run) {
    const canvas = h("canvas", { width: SIZE, height: SIZE, class: "small-plane", "aria-hidden": "true" });
    const { problem } = this.app;
    if (problem.d === 1) return canvas;
    const { low, high } = this.fields.window();
    const size = 100;
    const rows = inputRows(this.fields.lift(gridPoints(low, high, size)), this.app.state(), problem);
    const grid = await this.app.engine.forward(run.parameters, rows, { net: netOf(job) });
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const image = c.createImageData(SIZE, SIZE);
    const scale = scaleOf(job.likelihood, problem, job.widths.at(-1) ?? 1);
    const shades = new Shades(SIZE, SIZE);
    shades.fromGrid(grid, size, scale);
    shades.paint(scale, this.theme.current, false, new Uint32Array(image.data.buffer));
    c.putImageData(image, 0, 0);
    return canvas;
  }

  /** @param {import("./types.js").Job} job @param {Finished} run */
  async #regions(job, run) {
    if (this.fields.exact() !== "" || this.app.problem.d !== 2) return "–";
    const { low, high } = this.fields.window();
    const found = await this.app.engine.regions(run.parameters, { low, high }, { net: netOf(job), limit: 200_000, boundary: false });
    return found.complete ? whole(found.counts.n_activation_regions) : "over 200 000";
  }
}
