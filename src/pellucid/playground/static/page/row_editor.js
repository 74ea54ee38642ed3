// @ts-check
// The rows in a table that can be edited: a change makes them the visitor's own.

import { h, refill, say, tableHead } from "./dom.js";

/** @typedef {import("./app.js").App} App */

const PAGE = 12;
const FEWEST = 2; // rows that training needs

export class RowEditor {
  from = 0;

  /** @param {App} app @param {HTMLElement} root @param {() => boolean} isOpen */
  constructor(app, root, isOpen) {
    this.app = app;
    this.isOpen = isOpen;
    this.where = h("span", { class: "quiet" });
    this.body = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "rows" });
    const turn = (/** @type {number} */ by) => () => {
      this.from = Math.max(0, Math.min(this.from + by * PAGE, Math.floor((this.app.problem.n - 1) / PAGE) * PAGE));
      this.show();
    };
    root.append(this.body, h("div", { class: "row" },
      h("button", { class: "small", "aria-label": "rows before", onclick: turn(-1) }, "‹"), this.where,
      h("button", { class: "small", "aria-label": "rows after", onclick: turn(1) }, "›"),
      h("button", { class: "small", onclick: () => this.#add() }, "Add a row")));
    app.events.on("problem", () => this.show());
  }

  /** The rows at hand as the visitor's own: what is edited or drawn on. @returns {import("./state.js").OwnData} */
  own() {
    const { problem } = this.app;
    const state = this.app.state();
    if (state.data.own) return { ...state.data.own };
    const X = Array.from({ length: problem.n }, (_, i) => Array.from(problem.points.subarray(i * problem.d, (i + 1) * problem.d), (v) => Number(v.toFixed(5))));
    const y = Array.from(problem.y, (v) => Number(v.toFixed(5)));
    return { title: `${problem.title}, edited`, columns: problem.columns, target: problem.target, classes: problem.classes, X, y };
  }

  show() {
    if (!this.isOpen()) return;
    const { problem } = this.app;
    if (this.from >= problem.n) this.from = 0;
    const end = Math.min(problem.n, this.from + PAGE);
    const rows = [];
    for (let i = this.from; i < end; i++) rows.push(this.#row(i));
    refill(this.body, h("table", { class: "compact" },
      tableHead(["", ...problem.columns, problem.target, ""]), h("tbody", {}, rows)));
    say(this.where, problem.n ? `${this.from + 1}–${end} of ${problem.n}` : "no rows");
  }

  /** @param {number} i */
  #row(i) {
    const { problem } = this.app;
    const cell = (/** @type {number} */ value, /** @type {string} */ label, /** @type {(own: import("./state.js").OwnData, v: number) => void} */ put) => {
      const input = h("input", { type: "number", step: "any", value: Number(value.toPrecision(6)), "aria-label": `${label} of row ${i + 1}`, onchange: () => {
        const v = Number(input.value);
        if (input.value !== "" && Number.isFinite(v)) this.#change(`row ${i + 1} edited`, (own) => put(own, v));
      } });
      return h("td", {}, input);
    };
    const target = problem.classes
      ? h("td", {}, h("select", { "aria-label": `class of row ${i + 1}`, onchange: (/** @type {any} */ e) => this.#change(`row ${i + 1} edited`, (own) => (own.y[i] = Number(e.target.value))) },
          problem.classes.map((c, k) => h("option", { value: k, selected: problem.y[i] === k }, c))))
      : cell(problem.y[i], problem.target, (own, v) => (own.y[i] = v));
    return h("tr", {}, h("th", { scope: "row" }, String(i + 1)),
      problem.columns.map((name, j) => cell(problem.points[i * problem.d + j], name, (own, v) => (own.X[i] = own.X[i].map((old, k) => (k === j ? v : old))))),
      target, h("td", {}, h("button", { class: "small", "aria-label": `remove row ${i + 1}`, disabled: problem.n <= FEWEST, onclick: () => this.#change(`row ${i + 1} removed`, (own) => {
        own.X.splice(i, 1);
        own.y.splice(i, 1);
      }) }, "×")));
  }

  #add() {
    const { problem } = this.app;
    this.#change("a row added", (own) => {
      own.X.push(problem.low.map((l, j) => Number(((l + problem.high[j]) / 2).toFixed(3))));
      own.y.push(0);
    });
    this.from = Math.floor(problem.n / PAGE) * PAGE;
  }

  /** @param {string} label @param {(own: import("./state.js").OwnData) => void} recipe */
  #change(label, recipe) {
    const own = this.own();
    own.X = [...own.X];
    own.y = [...own.y];
    recipe(own);
    return this.app.change(label, (s) => {
      s.data.own = own;
      s.data.noise = 0;
    });
  }
}
