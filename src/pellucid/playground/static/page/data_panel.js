// @ts-check
// Which rows: data sets as small pictures, noise, split.

import { detents, wholeNumber } from "./controls.js";
import { h, refill, set } from "./dom.js";
import { percent } from "./format.js";
import { mark } from "./palette.js";
import { makeProblem } from "./problem.js";
import { position } from "./shading.js";
import { usualState } from "./state.js";

/** @typedef {import("./app.js").App} App */

const SIZE = 96;

export class DataPanel {
  /** @param {App} app @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, theme, root) {
    this.app = app;
    this.theme = theme;
    /** @type {{name: string, button: HTMLButtonElement, canvas: HTMLCanvasElement}[]} */
    this.thumbs = Object.entries(app.sources).map(([name, source]) => this.#thumb(name, source.title));
    const own = h("button", { class: "thumb-own", "data-control": "ownData", onclick: () => this.onown() }, "Your own data …");
    const noise = detents(app, {
      label: "Noise", control: "noise", values: [0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1],
      get: (s) => (s.data.noise < 0 ? (s.data.own ? 0 : app.sources[s.data.name]?.noise ?? 0) : s.data.noise),
      put: (s, v) => (s.data.noise = v), help: "Standard deviation of normal noise, on the inputs of classes, on the target of numbers",
    });
    const split = detents(app, {
      label: "Held out for test", control: "split", values: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
      get: (s) => s.data.test, put: (s, v) => (s.data.test = v), say: percent, help: "Share of the rows that training never sees",
    });
    const rows = detents(app, {
      label: "Rows", control: "split", values: [10, 20, 50, 100, 200, 300, 400, 600], get: (s) => s.data.n, put: (s, v) => (s.data.n = v), say: String,
    });
    const again = h("button", { class: "small", "aria-label": "other rows", title: "Other rows and noise", onclick: () => app.change("other rows", (s) => void (s.data.seed += 1)) }, "⚄");
    const seed = wholeNumber(app, { label: "Row seed", control: "dataSeed", low: 0, high: 1e9, get: (s) => s.data.seed, put: (s, v) => (s.data.seed = v), after: again });
    this.title = h("p", { class: "quiet" });
    const group = h("div", { class: "thumbs", role: "group", "aria-label": "Data sets" }, this.thumbs.map((t) => t.button), own);
    root.append(h("div", { "data-control": "data" }, group, this.title), noise.element, split.element, rows.element, seed.element);
    const sync = () => {
      [noise, split, rows, seed].forEach((c) => c.sync());
      rows.element.hidden = app.state().data.own !== null;
      this.#mark();
    };
    app.events.on("state", sync);
    app.events.on("theme", () => this.#draw());
    this.#draw();
    sync();
  }

  /** Opens the table of the visitor's own data. */
  onown = () => {};

  /** @param {string} name @param {string} title */
  #thumb(name, title) {
    const canvas = h("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
    const button = h("button", {
      class: "thumb", "aria-label": title, title, "data-name": name,
      onclick: () => this.app.change(`data: ${title}`, (s) => {
        s.data.name = name;
        s.data.own = null;
        s.data.noise = -1;
        s.probe = null;
        s.likelihood = { name: "auto", parameters: [] };
        s.view.zoom = 1;
      }),
    }, canvas);
    return { name, button, canvas };
  }

  #mark() {
    const { data } = this.app.state();
    for (const { name, button } of this.thumbs) set(button, "aria-pressed", String(!data.own && data.name === name));
    const { problem } = this.app;
    const what = problem.classes ? `${problem.classes.length} classes` : "a number to predict";
    refill(this.title, h("strong", {}, problem.title), `: ${problem.train.length} rows to train, ${problem.test.length} to test; ${what}`);
  }

  #draw() {
    const palette = this.theme.current;
    for (const { name, canvas } of this.thumbs) {
      const state = usualState();
      state.data.name = name;
      state.data.n = 150;
      const problem = makeProblem(state, this.app.sources);
      const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      c.clearRect(0, 0, SIZE, SIZE);
      const scale = /** @type {const} */ ({ kind: "value", outputs: 1, output: 0, low: problem.yLow, high: problem.yHigh, fromMean: false });
      const [x0, x1] = [problem.low[0], problem.high[0]];
      const [y0, y1] = problem.d > 1 ? [problem.low[1], problem.high[1]] : [problem.yLow - 0.3, problem.yHigh + 0.3];
      for (let i = 0; i < problem.n; i++) {
        const x = ((problem.points[i * problem.d] - x0) / (x1 - x0)) * SIZE;
        const y = ((y1 - (problem.d > 1 ? problem.points[2 * i + 1] : problem.y[i])) / (y1 - y0)) * SIZE;
        const k = problem.classes ? problem.y[i] : 0;
        c.beginPath();
        mark(c, k, x, y, 3.2);
        const n = palette.at(position(scale, problem.y[i]) * 1.15);
        c.fillStyle = problem.classes || problem.d === 1 ? palette.classes[k] : `rgb(${n & 255} ${(n >> 8) & 255} ${(n >> 16) & 255})`;
        c.fill();
      }
    }
  }
}
