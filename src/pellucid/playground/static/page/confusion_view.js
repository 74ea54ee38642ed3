// @ts-check
// Which classes are taken for which, on test rows or on training rows; for numbers, the errors.

import { h, refill, select } from "./dom.js";
import { figure, percent } from "./format.js";
import { inputRows, pickPoints } from "./problem.js";

/** @typedef {import("./app.js").App} App */

export class ConfusionView {
  part = /** @type {"test" | "train"} */ ("test");

  /** @param {App} app @param {HTMLElement} root */
  constructor(app, root) {
    this.app = app;
    this.body = h("div", { "data-test": "confusion" });
    root.append(h("h3", {}, "Right and wrong"),
      h("div", { class: "row" }, select([["test", "test rows"], ["train", "training rows"]], this.part, (v) => ((this.part = /** @type {any} */ (v)), this.work()), { "aria-label": "rows" })), this.body);
  }

  async work() {
    if (!this.app.settled()) return;
    const { app } = this;
    const { problem } = app;
    const rows = problem[this.part];
    if (!rows.length) return refill(this.body, h("p", { class: "quiet" }, "No rows are held out."));
    const { mean, mean_columns: columns } = await app.engine.forward(app.parameters(), inputRows(pickPoints(problem, rows), app.state(), problem), { net: app.net() });
    if (!problem.classes) return this.#errors(rows, mean, columns);
    const k = problem.classes.length;
    const counts = Array.from({ length: k }, () => Array(k).fill(0));
    let right = 0;
    rows.forEach((row, i) => {
      const p = mean.subarray(i * columns, (i + 1) * columns);
      const said = columns === 1 ? (p[0] > 0.5 ? 1 : 0) : p.indexOf(Math.max(...p));
      counts[problem.y[row]][said] += 1;
      if (said === problem.y[row]) right += 1;
    });
    this.#matrix(problem.classes, counts, right, rows.length);
  }

  /** @param {string[]} classes @param {number[][]} counts @param {number} right @param {number} n */
  #matrix(classes, counts, right, n) {
    const head = h("tr", {}, h("td", {}), classes.map((c) => h("th", { scope: "col" }, `said ${c}`)), h("th", { scope: "col" }, "found"));
    const rows = counts.map((row, k) => {
      const all = row.reduce((a, b) => a + b, 0);
      return h("tr", {}, h("th", { scope: "row" }, `is ${classes[k]}`), row.map((v, j) => h("td", { class: `number ${j === k ? "good" : v ? "warn" : ""}` }, v)), h("td", { class: "number" }, all ? percent(row[k] / all) : "–"));
    });
    const precision = h("tr", {}, h("th", { scope: "row" }, "right when said"), classes.map((_, j) => {
      const said = counts.reduce((a, row) => a + row[j], 0);
      return h("td", { class: "number" }, said ? percent(counts[j][j] / said) : "–");
    }), h("td", {}));
    refill(this.body, h("p", {}, h("strong", {}, percent(right / n)), ` of ${n} rows right`),
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "confusion matrix" }, h("table", { class: "compact" }, h("thead", {}, head), h("tbody", {}, rows, precision))));
  }

  /** @param {Int32Array} rows @param {Float32Array} mean @param {number} columns */
  #errors(rows, mean, columns) {
    const { y } = this.app.problem;
    const middle = Math.floor(columns / 2);
    const errors = Array.from(rows, (row, i) => mean[i * columns + middle] - y[row]);
    const average = Array.from(rows).reduce((a, row) => a + y[row], 0) / rows.length;
    const square = errors.reduce((a, e) => a + e * e, 0) / rows.length;
    const spread = Array.from(rows).reduce((a, row) => a + (y[row] - average) ** 2, 0) / rows.length;
    const absolute = errors.reduce((a, e) => a + Math.abs(e), 0) / rows.length;
    const facts = [["root mean squared error", figure(Math.sqrt(square))], ["mean absolute error", figure(absolute)], ["R²", figure(1 - square / spread)]];
    refill(this.body, h("table", { class: "compact" }, h("tbody", {}, facts.map(([name, v]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, v))))));
  }
}
