// @ts-check
// The update that comes next: its rows, its gradient, what it would change; then it can be taken.

import { h, refill, tableHead } from "./dom.js";
import { figure } from "./format.js";
import { layout } from "./job.js";
import { Pump } from "./fields.js";

/** @typedef {import("./app.js").App} App */

const MOST_ROWS = 64;
const MOST_PARAMETERS = 12;

/** @param {App} app @param {HTMLElement} root @param {() => boolean} isOpen */
export function batchView(app, root, isOpen) {
  const body = h("div", { class: "two", "data-test": "batch" });
  root.append(h("div", { class: "row" }, h("p", { class: "quiet" }, "A real update, before it happens: the rows that it is made from, the gradient of their mean loss, and the change of every layer."),
    h("button", { class: "primary", onclick: () => app.step(1) }, "Take this step")), body);
  const pump = new Pump(async () => {
    const next = await app.engine.batch();
    refill(body, rowsOf(app, next), layersOf(app, next));
  });
  const show = () => {
    if (isOpen() && !app.running) pump.wanted();
  };
  for (const name of /** @type {const} */ (["snapshot", "status"])) app.events.on(name, show);
  return { show };
}

/** @param {App} app @param {import("../engine/types.js").Batch} next */
function rowsOf(app, { rows, loss }) {
  const { problem } = app;
  const { points, d, y, train, classes } = problem;
  const cells = Array.from(rows).slice(0, MOST_ROWS).map((r) => {
    const i = train[r];
    const point = Array.from(points.subarray(i * d, (i + 1) * d));
    return h("button", { class: "small", title: point.map((v) => figure(v)).join(", "), onclick: () => app.look((s) => (s.probe = point)) },
      `${i + 1}: ${classes ? classes[y[i]] : figure(y[i])}`);
  });
  return h("div", { class: "stack" }, h("h3", {}, `${rows.length} rows, mean loss ${figure(loss, 4)} nats`), h("div", { class: "chips-wrap" }, cells),
    rows.length > MOST_ROWS ? h("p", { class: "quiet" }, `… and ${rows.length - MOST_ROWS} more`) : null);
}

/** @param {App} app @param {import("../engine/types.js").Batch} next */
function layersOf(app, { gradient, update }) {
  const parameters = app.parameters();
  const norm = (/** @type {ArrayLike<number>} */ v, /** @type {number} */ from, /** @type {number} */ to) => {
    let sum = 0;
    for (let i = from; i < to; i++) sum += v[i] * v[i];
    return Math.sqrt(sum);
  };
  const places = layout(app.widths());
  const layers = places.map(({ weights, biases, rows }, l) => {
    const to = biases + rows;
    const size = norm(parameters, weights, to);
    const change = norm(update, weights, to);
    return h("tr", {}, h("th", { scope: "row" }, `layer ${l + 1}`), [norm(gradient, weights, to), change, size ? change / size : NaN].map((v) => h("td", { class: "number" }, figure(v, 4))));
  });
  const order = Array.from(update, (v, i) => /** @type {const} */ ([Math.abs(v), i])).sort((a, b) => b[0] - a[0]).slice(0, MOST_PARAMETERS);
  const largest = order.map(([, i]) => h("tr", {}, h("th", { scope: "row" }, nameOf(i, places)), [parameters[i], gradient[i], update[i], parameters[i] + update[i]].map((v) => h("td", { class: "number" }, figure(v, 5)))));
  const table = (/** @type {string[]} */ head, /** @type {Node[]} */ rows) => h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": head.join(", ") }, h("table", { class: "compact" }, tableHead(head), h("tbody", {}, rows)));
  return h("div", { class: "stack" }, h("h3", {}, "By layer"), table(["", "|gradient|", "|change|", "change / size"], layers),
    h("h3", {}, "The largest changes"), table(["parameter", "now", "gradient", "change", "after"], largest));
}

/** W1[2, 0] or b1[2]. @param {number} i @param {ReturnType<typeof layout>} places */
function nameOf(i, places) {
  const l = places.filter((p) => p.weights <= i).length - 1;
  const { weights, biases, columns } = places[l];
  if (i >= biases) return `b${l + 1}[${i - biases}]`;
  return `W${l + 1}[${Math.floor((i - weights) / columns)}, ${(i - weights) % columns}]`;
}
