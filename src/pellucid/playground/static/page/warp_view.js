// @ts-check
// The representation space of two units: the plane's grid and the rows in the coordinates that a
// hidden layer gives them.

import { h, refill, select, sharpen } from "./dom.js";
import { figure } from "./format.js";
import { mark } from "./palette.js";
import { inputRows, pickPoints } from "./problem.js";

/** @typedef {import("./app.js").App} App */

const SIZE = 320;
const LINES = 17;
const FINE = 49;

export class WarpView {
  layer = 0;
  units = [0, 1];
  /** How far the grid has moved from the inputs (0) to the representation (1). */
  share = 1;

  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.controls = h("div", { class: "row" });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.text = h("p", { class: "quiet", role: "status" });
    const id = "warp-share";
    const slider = h("input", { id, type: "range", min: 0, max: 1, step: 0.02, value: 1, oninput: () => ((this.share = Number(slider.value)), this.draw()) });
    root.append(h("h3", {}, "Representation of two units"), this.controls,
      h("div", { class: "field slider" }, h("label", { for: id }, "from the inputs to the new coordinates"), slider), this.canvas, this.text);
  }

  #choices() {
    const { hidden } = this.app.state();
    if (!hidden.length) return;
    this.layer = Math.min(this.layer, hidden.length - 1);
    const units = hidden[this.layer].units;
    this.units = this.units.map((k, i) => Math.min(k, units - 1 < i ? 0 : units - 1));
    const layers = hidden.map((_, l) => /** @type {const} */ ([String(l), `layer ${l + 1}`]));
    const names = Array.from({ length: units }, (_, k) => /** @type {const} */ ([String(k), `unit ${k}`]));
    const key = JSON.stringify([layers, names, this.layer, this.units]);
    if (this.controls.dataset.key === key) return;
    this.controls.dataset.key = key;
    refill(this.controls,
      select(layers, String(this.layer), (v) => ((this.layer = Number(v)), this.work()), { "aria-label": "layer" }),
      select(names, String(this.units[0]), (v) => ((this.units[0] = Number(v)), this.work()), { "aria-label": "unit across" }), "across, ",
      select(names, String(this.units[1]), (v) => ((this.units[1] = Number(v)), this.work()), { "aria-label": "unit upwards" }), "upwards");
  }

  async work() {
    if (!this.app.settled()) return;
    const { app } = this;
    const { problem } = app;
    if (!app.state().hidden.length || problem.d < 2) {
      refill(this.controls, h("p", { class: "quiet" }, "It takes a hidden layer and two inputs."));
      this.data = null;
      return;
    }
    if (this.shape !== app.widths().join()) this.#chooseWell();
    this.#choices();
    const grid = this.#grid();
    const rows = pickPoints(problem, problem.train);
    const net = [inputRows(this.fields.lift(grid), app.state(), problem), inputRows(rows, app.state(), problem)];
    const parameters = app.parameters();
    const [a, b] = await Promise.all(net.map((X) => app.engine.forward(parameters, X, { units: true, net: app.net() })));
    const width = app.state().hidden[this.layer]?.units;
    if (!width || a.layers[this.layer]?.length !== (grid.length / 2) * width) return;
    const pick = (/** @type {Float32Array} */ v) => Float64Array.from({ length: (v.length / width) * 2 }, (_, i) => v[(i >> 1) * width + this.units[i & 1]]);
    const axes = this.fields.axes(app.state().view.axes);
    const plane = Float64Array.from({ length: problem.train.length * 2 }, (_, i) => rows[(i >> 1) * problem.d + axes[i & 1]]);
    this.data = { grid, gridTo: pick(a.layers[this.layer]), rows: plane, rowsTo: pick(b.layers[this.layer]) };
    this.draw();
  }

  shape = "";

  /** To begin with, the two units of the last layer that vary most over the picture. */
  #chooseWell() {
    const { units } = this.fields;
    const { hidden } = this.app.state();
    if (!units || units.layers.length !== hidden.length) return;
    this.shape = this.app.widths().join();
    this.layer = hidden.length - 1;
    const width = hidden[this.layer].units;
    const values = units.layers[this.layer];
    const spread = Array.from({ length: width }, (_, k) => {
      let [sum, squares] = [0, 0];
      for (let i = k; i < values.length; i += width) [sum, squares] = [sum + values[i], squares + values[i] ** 2];
      return { k, variance: squares - (sum * sum * width) / values.length };
    }).sort((a, b) => b.variance - a.variance);
    this.units = [spread[0].k, (spread[1] ?? spread[0]).k];
  }

  /** @type {{grid: Float64Array, gridTo: Float64Array, rows: Float64Array, rowsTo: Float64Array} | null} */
  data = null;

  /** Lines across, then lines upwards, each of FINE points. */
  #grid() {
    const { low, high } = this.fields.window();
    const points = new Float64Array(2 * LINES * FINE * 2);
    let at = 0;
    for (const way of [0, 1]) {
      for (let l = 0; l < LINES; l++) {
        for (let f = 0; f < FINE; f++) {
          const [u, v] = [l / (LINES - 1), f / (FINE - 1)];
          const [s, t] = way ? [u, v] : [v, u];
          points[at++] = low[0] + s * (high[0] - low[0]);
          points[at++] = low[1] + t * (high[1] - low[1]);
        }
      }
    }
    return points;
  }

  draw() {
    const { data, theme, app } = this;
    if (!data) return;
    const c = sharpen(this.canvas, SIZE, SIZE);
    this.canvas.style.width = this.canvas.style.height = `${SIZE}px`;
    c.clearRect(0, 0, SIZE, SIZE);
    const between = (/** @type {Float64Array} */ a, /** @type {Float64Array} */ b) => a.map((v, i) => v + (b[i] - v) * this.share);
    const grid = between(data.grid, data.gridTo);
    const rows = between(data.rows, data.rowsTo);
    const to = fit(grid);
    c.lineWidth = 0.8;
    for (let line = 0; line < 2 * LINES; line++) {
      c.beginPath();
      for (let f = 0; f < FINE; f++) {
        const i = 2 * (line * FINE + f);
        const [x, y] = to(grid[i], grid[i + 1]);
        if (f) c.lineTo(x, y);
        else c.moveTo(x, y);
      }
      c.strokeStyle = line < LINES ? theme.current.line : theme.current.dark ? "#4f5a66" : "#c3c9d0";
      c.stroke();
    }
    const { problem } = app;
    for (let i = 0; i < rows.length / 2; i++) {
      const k = problem.classes ? problem.y[problem.train[i]] : 0;
      const [x, y] = to(rows[2 * i], rows[2 * i + 1]);
      c.beginPath();
      mark(c, k, x, y, 3);
      c.fillStyle = theme.current.classes[k % 10];
      c.fill();
    }
    this.text.textContent = `h${this.layer + 1}[${this.units[0]}] from ${figure(min(data.gridTo, 0))} to ${figure(-min(data.gridTo.map((v) => -v), 0))} across, h${this.layer + 1}[${this.units[1]}] upwards: where the rows are separated by a line here, the next layer can part them.`;
  }
}

/** @param {Float64Array} points @param {number} which */
function min(points, which) {
  let least = Infinity;
  for (let i = which; i < points.length; i += 2) least = Math.min(least, points[i]);
  return least;
}

/** A map from the points' box to the picture. @param {Float64Array} points */
function fit(points) {
  const low = [min(points, 0), min(points, 1)];
  const high = [-min(points.map((v) => -v), 0), -min(points.map((v) => -v), 1)];
  const span = Math.max(high[0] - low[0], high[1] - low[1]) || 1;
  const s = (SIZE - 24) / span;
  return (/** @type {number} */ x, /** @type {number} */ y) => [12 + (x - low[0]) * s, SIZE - 12 - (y - low[1]) * s];
}
