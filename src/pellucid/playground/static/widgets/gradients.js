// @ts-check
// How large the gradient is in each layer of a fresh network, by depth, activation and first weights.

import { h, newId, refill, select } from "../page/dom.js";
import { figure } from "../page/format.js";
import { normals } from "../page/random.js";
import { bars, latest, slider } from "./drawing.js";
import { netOf } from "./lab.js";

const WIDTH = 16;
const ROWS = 64;

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  const set = { depth: 8, activation: "sigmoid", scheme: "torch", seed: 0 };
  const shown = h("div");
  const told = h("p", { role: "status" });
  const draw = latest(async () => {
    const widths = [2, ...Array.from({ length: set.depth }, () => WIDTH), 2];
    const net = netOf(widths, set.activation, "categorical");
    const parameters = await engine.initialize({ widths, scheme: set.scheme, seed: set.seed });
    const { X, labels } = rows();
    const { dW, db } = await engine.worked(parameters, X, labels, { net });
    const norms = dW.map((W, l) => Math.hypot(norm(W), norm(db[l])));
    refill(shown, bars("Norm of the gradient of the weights and biases of each layer, on a scale of powers of ten",
      norms.map((value, l) => ({ name: `layer ${l + 1}`, value }))));
    const [first, last] = [norms[0], norms[norms.length - 1]];
    refill(told, `The gradient of the first layer is ${figure(first / last)} times that of the last. ${verdict(first / last)}`);
  });
  const pick = (/** @type {"activation" | "scheme"} */ key, /** @type {string} */ label, /** @type {string[]} */ names) => {
    const field = select(names.map((name) => [name, name]), set[key], (value) => {
      set[key] = value;
      return draw();
    }, { id: newId(key) });
    return h("div", {}, h("label", { for: field.id }, `${label} `), field);
  };
  const names = (/** @type {{name: string}[]} */ table) => table.map((row) => row.name);
  element.append(
    h("div", { class: "widget-controls" },
      slider("Hidden layers", { min: 1, max: 16, step: 1, value: set.depth }, (value) => {
        set.depth = value;
        return draw();
      }),
      pick("activation", "Activation", names(app.tables.activations)),
      pick("scheme", "First weights", names(app.tables.schemes)),
      h("button", { type: "button", onclick: () => { set.seed += 1; return draw(); } }, "Other weights")),
    shown, told);
  await draw();
  return () => {};
}

/** @param {Float64Array} values */
const norm = (values) => Math.sqrt(values.reduce((sum, v) => sum + v * v, 0));

/** Two clouds of points. */
function rows() {
  const draw = normals(3);
  const labels = Int32Array.from({ length: ROWS }, (_, i) => i % 2);
  const X = Float32Array.from({ length: 2 * ROWS }, (_, i) => draw() + (labels[i >> 1] ? 1 : -1));
  return { X, labels };
}

/** @param {number} ratio */
function verdict(ratio) {
  if (!(ratio > 0)) return "Nothing arrives there: the first layer cannot learn.";
  if (ratio < 1e-3) return "It vanishes on its way back: the first layers hardly learn.";
  if (ratio > 1e3) return "It explodes on its way back: one step may ruin the first layers.";
  return "It arrives in a similar size everywhere.";
}
