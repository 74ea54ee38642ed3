// @ts-check
// A straight cut through the plane at the probe point: the outputs along it, exact where the
// activations are piecewise linear.

import { Chart } from "./chart.js";
import { h, say } from "./dom.js";
import { figure, plural } from "./format.js";
import { inputRows, inputsAreCoordinates } from "./problem.js";

/** @typedef {import("./app.js").App} App */

const SAMPLES = 300;

export class SliceView {
  angle = 0;

  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.text = h("p", { class: "quiet", role: "status" });
    const id = "slice-angle";
    const output = h("output", { for: id }, "0°");
    const slider = h("input", { id, type: "range", min: 0, max: 180, step: 5, value: 0, oninput: () => ((this.angle = Number(slider.value)), say(output, `${this.angle}°`), this.work()) });
    const chart = h("div", {});
    root.append(h("h3", {}, "A cut through the probe point"), h("div", { class: "field slider" }, h("label", { for: id }, "direction"), output, slider), chart, this.text);
    this.chart = new Chart(chart, theme, { height: 150, label: "Outputs along the cut" });
  }

  async work() {
    if (!this.app.settled()) return;
    const { app } = this;
    const { problem } = app;
    const { low, high } = this.fields.window();
    const base = [...this.fields.base()];
    const [i, j] = this.fields.axes(app.state().view.axes);
    const turn = (this.angle * Math.PI) / 180;
    const half = Math.max(high[0] - low[0], problem.d > 1 ? high[1] - low[1] : 0) / 2;
    const end = (/** @type {number} */ sign) => {
      const p = [...base];
      p[i] += sign * half * (problem.d > 1 ? Math.cos(turn) : 1);
      if (j !== i) p[j] += sign * half * Math.sin(turn);
      return p;
    };
    const [a, b] = [end(-1), end(1)];
    const straight = app.state().hidden.every((l) => app.tables.piecewise.has(l.activation.name));
    const exact = straight && inputsAreCoordinates(app.state(), problem);
    const { xs, outputs, n } = exact ? await this.#exact(a, b) : await this.#sampled(a, b);
    const { classes } = this.theme.current;
    const at = xs.map((t) => (2 * t - 1) * half);
    this.chart.draw({
      series: outputs.map((ys, k) => ({ label: outputs.length > 1 ? `output ${k}` : "output", xs: at, ys, colour: classes[k % 10], dash: k % 2 ? [6, 3] : [] })),
      xLabel: "distance from the probe", yLabel: "logit", marker: 0,
    });
    say(this.text, exact ? `Exact: ${plural(n, "straight piece")} along the cut. Values are the outputs before the likelihood (logits).` : `Sampled at ${SAMPLES} places. Values are the outputs before the likelihood (logits). From ${figure(outputs[0][0])} to ${figure(outputs[0].at(-1) ?? 0)}.`);
  }

  /** @param {number[]} a @param {number[]} b */
  async #exact(a, b) {
    const { t, slopes, intercepts, d_out, n } = await this.app.engine.segment(this.app.parameters(), a, b, { net: this.app.net() });
    const xs = Array.from(t);
    const outputs = Array.from({ length: d_out }, (_, k) => xs.map((v, i) => {
      const piece = Math.min(i, n - 1);
      return slopes[piece * d_out + k] * v + intercepts[piece * d_out + k];
    }));
    return { xs, outputs, n };
  }

  /** @param {number[]} a @param {number[]} b */
  async #sampled(a, b) {
    const d = a.length;
    const xs = Array.from({ length: SAMPLES }, (_, i) => i / (SAMPLES - 1));
    const points = Float64Array.from({ length: SAMPLES * d }, (_, i) => a[i % d] + xs[Math.floor(i / d)] * (b[i % d] - a[i % d]));
    const { logits } = await this.app.engine.forward(this.app.parameters(), inputRows(points, this.app.state(), this.app.problem), { net: this.app.net() });
    const k = logits.length / SAMPLES;
    return { xs, outputs: Array.from({ length: k }, (_, o) => xs.map((_, i) => logits[i * k + o])), n: SAMPLES };
  }
}
