// @ts-check
// How training went: the losses, the number of regions, the gradients of each layer.

import { Chart } from "./chart.js";
import { h, refill, say } from "./dom.js";
import { figure, whole } from "./format.js";

/** @typedef {import("./app.js").App} App */

const OFTEN = 120; // milliseconds between two drawings while training runs

export class CurvesView {
  /** @type {{steps: number[], layers: number[][]}} */
  norms = { steps: [], layers: [] };

  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.log = h("input", { type: "checkbox", id: "log-loss", checked: app.state().view.logLoss, onchange: () => app.look((s) => (s.view.logLoss = this.log.checked)) });
    this.legend = h("p", { class: "legend" });
    const losses = h("div", {});
    const counts = h("div", { "data-control": "regions" }, h("h3", {}, "Regions by step"));
    const norms = h("div", { "data-control": "gradients" }, h("h3", {}, "Size of the gradient by layer"));
    this.normLegend = h("p", { class: "legend" });
    root.append(
      h("div", { class: "panel-head" }, h("h2", { id: "curves-title" }, "Loss by step"), this.legend, h("label", { class: "check", for: "log-loss" }, this.log, "log")),
      losses,
      h("div", { class: "pair" }, counts, norms),
    );
    this.losses = new Chart(losses, theme, { height: 150, label: "Losses by step; Enter goes back to the step that is read", onpick: (x) => this.#goBack(x) });
    this.counts = new Chart(counts, theme, { height: 84, label: "Number of regions by step" });
    norms.append(this.normLegend);
    this.gradients = new Chart(norms, theme, { height: 84, label: "Norm of the gradient by layer and step" });
    const draw = app.frames.once(() => this.#draw(), OFTEN);
    app.events.on("snapshot", () => (this.#note(), draw()));
    for (const name of /** @type {const} */ (["regions", "theme", "select"])) app.events.on(name, draw);
    app.events.on("problem", () => (this.norms = { steps: [], layers: [] }));
  }

  /** @param {number} step */
  #goBack(step) {
    const { all } = this.app.track;
    if (this.app.running || !all.length) return;
    const best = all.reduce((a, b) => (Math.abs(b.step - step) < Math.abs(a.step - step) ? b : a));
    this.app.rewind(best);
  }

  #note() {
    const s = this.app.snapshot();
    const { steps, layers } = this.norms;
    if (s.gradient_norm.length !== layers.length) this.norms = { steps: [], layers: Array.from(s.gradient_norm, () => []) };
    while (steps.length && /** @type {number} */ (steps.at(-1)) >= s.step) {
      steps.pop();
      for (const layer of layers) layer.pop();
    }
    if (s.step === 0) return;
    this.norms.steps.push(s.step);
    this.norms.layers.forEach((layer, l) => layer.push(s.gradient_norm[l]));
    if (this.norms.steps.length > 1600) {
      const keep = (/** @type {number} */ _, /** @type {number} */ i) => i % 2 === 0;
      this.norms = { steps: this.norms.steps.filter(keep), layers: this.norms.layers.map((l) => l.filter(keep)) };
    }
  }

  #draw() {
    const { app, theme } = this;
    const { curve } = app;
    const [train, test] = [theme.current.classes[0], theme.current.classes[3]];
    const hasTest = app.problem.test.length > 0;
    const series = [{ label: "train", xs: curve.steps, ys: curve.losses, colour: train }];
    if (hasTest) series.push({ label: "test", xs: curve.steps, ys: curve.tests, colour: test, ...{ dash: [6, 3] } });
    this.losses.draw({ series, xLabel: "step", yLabel: "nats", logY: app.state().view.logLoss, yLow: app.state().view.logLoss ? undefined : 0, marker: app.running ? null : app.snapshot().step });
    this.#legend(hasTest, train, test);
    const { counts } = this.fields;
    this.counts.draw({ series: [{ label: "regions", xs: counts.map((c) => c.step), ys: counts.map((c) => c.n), colour: theme.current.classes[2] }], xLabel: "step", yLabel: "regions", yLow: 0 });
    this.#gradients();
  }

  /** @param {boolean} hasTest @param {string} train @param {string} test */
  #legend(hasTest, train, test) {
    const s = this.app.snapshot();
    const key = `${hasTest}${train}`;
    if (this.legend.dataset.key !== key) {
      this.legend.dataset.key = key;
      this.trainText = h("span", { class: "figure", "data-test": "train-loss" });
      this.testText = h("span", { class: "figure", "data-test": "test-loss" });
      refill(this.legend, line(train, ""), "train ", this.trainText, hasTest ? [" ", line(test, "6 3"), "test ", this.testText] : null, h("span", { class: "quiet" }, " nats"));
    }
    say(/** @type {Node} */ (this.trainText), figure(s.training_loss, 4));
    if (this.testText) say(this.testText, figure(s.validation_loss, 4));
  }

  #gradients() {
    const { theme } = this;
    const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
    const series = this.norms.layers.map((ys, l) => ({
      label: `layer ${l + 1}`, xs: this.norms.steps, ys, colour: theme.current.classes[l % 8], dash: dashes[l % 4], width: 1.4,
    }));
    this.gradients.draw({ series, xLabel: "step", yLabel: "norm", logY: true });
    const key = series.map((s) => s.colour).join();
    if (this.normLegend.dataset.key === key) return;
    this.normLegend.dataset.key = key;
    refill(this.normLegend, series.map((s) => [line(s.colour, s.dash.join(" ")), `${s.label} `]).flat());
  }
}

/** A sample of a line for a legend. @param {string} colour @param {string} dash */
export function line(colour, dash) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 22 8");
  svg.setAttribute("class", "sample");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M0 4H22");
  path.setAttribute("stroke", colour);
  path.setAttribute("stroke-width", "2.4");
  if (dash) path.setAttribute("stroke-dasharray", dash);
  svg.append(path);
  return svg;
}

export { whole };
