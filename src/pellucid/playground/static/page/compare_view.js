// @ts-check
// Two networks on the same rows, from the same seed, side by side as they learn: shallow against
// deep at one budget.

import { Chart } from "./chart.js";
import { line } from "./curves_view.js";
import { h, refill, say, tableHead } from "./dom.js";
import { figure, whole } from "./format.js";
import { countParameters, makeJob, netOf } from "./job.js";
import { drawPoints } from "./points.js";
import { inputRows } from "./problem.js";
import { Race } from "./race.js";
import { gridPoints } from "./scanline.js";
import { scaleOf, Shades } from "./shading.js";
import { copy, MOST_LAYERS, MOST_UNITS } from "./state.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./problem.js").Problem} Problem */
/** @typedef {import("./race.js").Runner} Runner */
/**
 * What both are drawn on, as it was when they began; `grids` are the inputs by cells of a side.
 * @typedef {{problem: Problem, exact: boolean, window: {low: number[], high: number[], width: number, height: number}, axes: number[],
 *   view: State["view"], grids: Map<number, Float32Array>}} Scene
 */
/** @typedef {{values: HTMLElement[], canvas: HTMLCanvasElement, shades: Shades}} Column */

const SIZE = 200;
const GRID = 64; // cells of a picture while both train
const FINE = 100; // and when they have ended
const CHANGED = " The data or A have changed since: train both again.";
const ROWS = /** @type {const} */ (["widths", "parameters", "step", "training loss", "test loss", "regions here"]);

export class CompareView {
  /** @type {Race | null} */
  #race = null;
  /** @type {Column[]} */
  #columns = [];
  /** @type {Promise<void> | null} */
  #counting = null;
  #outdated = false;

  /**
   * @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme
   * @param {HTMLElement} root @param {() => boolean} isOpen whether it is on screen: otherwise nothing trains
   */
  constructor(app, fields, theme, root, isOpen) {
    this.app = app;
    this.isOpen = isOpen;
    this.fields = fields;
    this.theme = theme;
    this.b = h("input", { type: "text", value: "", "aria-label": "hidden units of B, layer by layer", placeholder: "same budget", "data-test": "b-widths" });
    this.steps = h("select", { "aria-label": "steps" }, ["300", "1000", "3000", "10000", "30000"].map((n) => h("option", { value: n, selected: n === "3000" }, `${n} steps`)));
    this.button = h("button", { class: "primary", "data-test": "train-both", onclick: () => (this.#race ? this.#race.stop() : this.#train()) }, "Train both");
    this.body = h("div", { "data-test": "comparison" });
    this.told = h("p", { class: "quiet", role: "status", "data-test": "comparison-told" });
    this.legend = h("p", { class: "legend" });
    const suggest = (/** @type {string} */ label, /** @type {number} */ depth) =>
      h("button", { class: "small", onclick: () => (this.b.value = this.#sameBudget(depth).join(", ")) }, label);
    const fan = h("div", {});
    root.append(
      h("p", { class: "quiet" }, "A is the network above. B has the same data, seed, activation and settings; its hidden layers are yours:"),
      h("div", { class: "row" }, h("label", {}, "B: ", this.b), suggest("1 layer, same budget", 1), suggest("2 layers", 2), suggest("4 layers", 4), this.steps, this.button),
      this.told, this.body, this.legend, fan);
    this.chart = new Chart(fan, theme, { height: 130, label: "Losses of A and B by step" });
    app.events.on("problem", () => this.#leave());
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
      await app.pause();
      const { problem } = app;
      const a = copy(app.state());
      const activation = a.hidden[0]?.activation ?? { name: "relu", parameters: [] };
      const b = { ...a, hidden: hidden.map((units) => ({ units, activation })), start: null };
      const jobs = [makeJob(a, problem, app.parametersAtStart), await this.#jobOf(b)];
      this.#race = await Race.open(app.engine, jobs, Number(this.steps.value));
      this.#layOut(this.#race.runners);
      this.#outdated = false;
      await this.#follow(this.#race, this.#scene(a, problem));
    } catch (error) {
      say(this.told, "");
      refill(this.body, h("p", { class: "warn", role: "alert" }, error instanceof Error ? error.message : String(error)));
    } finally {
      this.#race = null;
      this.button.disabled = false;
      say(this.button, "Train both");
    }
  }

  /** @param {State} state */
  async #jobOf(state) {
    const { app } = this;
    const shape = makeJob(state, app.problem, new Float32Array());
    const parameters = await app.engine.initialize({ widths: shape.widths, scheme: state.scheme, seed: state.seed });
    return { ...shape, parameters };
  }

  /** Other rows or another A: what is shown is of those before. */
  #leave() {
    if (this.#race) this.#race.stop();
    else if (this.#columns.length && !this.#outdated) this.told.append(CHANGED);
    this.#outdated = true;
  }

  /** @param {State} state @param {Problem} problem @returns {Scene} */
  #scene(state, problem) {
    const window = { ...this.fields.window(), width: SIZE, height: SIZE };
    const { view } = state;
    /** @type {Map<number, Float32Array>} */
    const grids = new Map();
    for (const size of problem.d === 1 ? [] : [GRID, FINE]) {
      grids.set(size, inputRows(this.fields.lift(gridPoints(window.low, window.high, size)), state, problem));
    }
    return { problem, exact: this.fields.exact() === "" && problem.d === 2, window, axes: this.fields.axes(view.axes), view, grids };
  }

  /** Draws both after every round, and once more when they have ended. @param {Race} race @param {Scene} scene */
  async #follow(race, scene) {
    const draw = async (/** @type {number} */ size) => {
      await Promise.all(race.runners.map((runner, i) => this.#paint(runner, this.#columns[i], size, scene)));
      this.#write(race.runners);
      this.#curves(race.runners);
    };
    this.button.disabled = false;
    say(this.button, "Stop both");
    say(this.told, "Both train, in turns: after every round they have made the same number of steps.");
    await race.go(async () => {
      await draw(GRID);
      this.#counting ??= this.#count(race.runners, scene).finally(() => (this.#counting = null));
      await new Promise((done) => requestAnimationFrame(done));
      if (!this.isOpen()) race.stop();
    });
    await draw(FINE);
    this.#tell(race);
    await this.#counting;
    await this.#count(race.runners, scene);
  }

  /** The table and the two pictures, to be filled in. @param {Runner[]} runners */
  #layOut(runners) {
    this.#columns = runners.map(() => ({
      values: ROWS.map(() => h("td", { class: "number" })),
      canvas: h("canvas", { width: SIZE, height: SIZE, class: "small-plane", "aria-hidden": "true", hidden: this.app.problem.d === 1 }),
      shades: new Shades(SIZE, SIZE),
    }));
    const table = h("table", { class: "compact" }, tableHead(["", "A", "B"]),
      h("tbody", {}, ROWS.map((name, r) => h("tr", {}, h("th", { scope: "row" }, name), this.#columns.map((column) => column.values[r])))));
    refill(this.body, h("div", { class: "row" }, this.#columns.map(({ canvas }, i) => h("figure", {}, canvas, h("figcaption", {}, "AB"[i]))), table));
  }

  /** @param {Runner[]} runners */
  #write(runners) {
    runners.forEach(({ job, now }, i) => {
      const stopped = now.status === "diverged" ? " (diverged)" : "";
      const texts = [job.widths.join("-"), whole(countParameters(job.widths)), whole(now.step) + stopped, figure(now.training_loss, 4), figure(now.validation_loss, 4)];
      texts.forEach((text, r) => say(this.#columns[i].values[r], text));
    });
  }

  /** @param {Runner[]} runners */
  #curves(runners) {
    const { classes } = this.theme.current;
    const tested = Number.isFinite(runners[0].now.validation_loss);
    refill(this.legend, h("strong", {}, `${tested ? "test" : "training"} loss by step `), line(classes[0], ""), "A ", line(classes[3], "6 3"), "B");
    this.chart.draw({
      series: runners.map(({ curve }, i) => ({ label: "AB"[i], xs: curve.steps, ys: tested ? curve.tests : curve.losses, colour: classes[i ? 3 : 0], dash: i ? [6, 3] : [] })),
      xLabel: "step", yLabel: "nats", logY: true,
    });
  }

  /** What came of it, in a sentence that is read out. @param {Race} race */
  #tell(race) {
    const loss = (/** @type {Runner} */ { now }) => (Number.isFinite(now.validation_loss) ? now.validation_loss : now.training_loss);
    const [a, b] = race.runners.map(loss);
    const gone = race.runners.map(({ now }) => now.status === "diverged");
    const order = gone[0] && gone[1] ? "Both diverged" : gone[0] || gone[1] ? `${gone[0] ? "A" : "B"} diverged` : a === b ? "Both end alike" : `${a < b ? "A" : "B"} is ahead`;
    say(this.told, `${order} after ${whole(race.step)} steps: ${figure(a)} nats for A, ${figure(b)} for B. One seed each; another may turn it round.${this.#outdated ? CHANGED : ""}`);
  }

  /** @param {Runner} runner @param {Column} column @param {number} size @param {Scene} scene */
  async #paint({ job, now }, { canvas, shades }, size, { problem, window, axes, view, grids }) {
    const rows = grids.get(size);
    if (!rows) return; // one input: there is no plane
    const grid = await this.app.engine.forward(now.parameters, rows, { net: netOf(job) });
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const image = c.createImageData(SIZE, SIZE);
    const scale = scaleOf(job.likelihood, problem, job.widths.at(-1) ?? 1);
    shades.fromGrid(grid, size, scale);
    shades.paint(scale, this.theme.current, false, new Uint32Array(image.data.buffer));
    c.putImageData(image, 0, 0);
    drawPoints(c, problem, view, axes, window, this.theme.current, scale);
  }

  /** The regions of both, at their own pace, with the step that they are of. @param {Runner[]} runners @param {Scene} scene */
  async #count(runners, scene) {
    const place = ROWS.indexOf("regions here");
    await Promise.all(runners.map(async ({ job, now }, i) => {
      const text = await this.#regions(job, now, scene).catch((/** @type {Error} */ error) => error.message);
      say(this.#columns[i].values[place], text);
    }));
  }

  /** @param {import("./types.js").Job} job @param {import("./types.js").Snapshot} now @param {Scene} scene */
  async #regions(job, now, { exact, window: { low, high } }) {
    if (!exact || job.hidden.some((a) => !this.app.tables.piecewise.has(a.name))) return "–";
    const found = await this.app.engine.regions(now.parameters, { low, high }, { net: netOf(job), limit: 200_000, boundary: false });
    return `${found.complete ? whole(found.counts.n_activation_regions) : "over 200 000"} (step ${whole(now.step)})`;
  }
}
