// @ts-check
// Other weights, the same function: swap hidden units, rescale one, flip its sign.

import { h, newId, refill, select } from "../page/dom.js";
import { figure } from "../page/format.js";
import { matrix, picture } from "./drawing.js";
import { flat, grid, layersOf, netOf } from "./lab.js";

const WIDTHS = [2, 3, 1];
const SIDE = 48;

/** Which changes leave the function as it is, by activation. @type {Record<string, string[]>} */
const HOLDS = { relu: ["swap", "scale"], tanh: ["swap", "flip"] };
const LABELS = { swap: "Swap units 1 and 2", scale: "Unit 1: weights in × 2, weight out ÷ 2", flip: "Unit 1: all signs flipped" };

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  let activation = "relu";
  let seed = 0;
  /** @type {Float32Array} */
  let first = new Float32Array();
  /** @type {Float32Array} */
  let now = first;
  const before = picture("The function before any change", SIDE);
  const after = picture("The function now", SIDE);
  const table = h("div", { class: "widget-controls" });
  const told = h("p", { role: "status" });
  const X = plane();
  const values = async (/** @type {Float32Array} */ parameters) =>
    Array.from((await engine.forward(parameters, X, { net: netOf(WIDTHS, activation) })).logits);
  const draw = async () => {
    const [a, b] = [await values(first), await values(now)];
    const most = Math.max(...a.map(Math.abs));
    before.draw(a, most);
    after.draw(b, most);
    const off = Math.max(...a.map((v, i) => Math.abs(v - b[i])));
    const moved = Math.hypot(...Array.from(now, (v, i) => v - first[i]));
    refill(table, layersOf(now, WIDTHS).flatMap(({ W, b: bias }, l) => [matrix(`W${l + 1}`, W), matrix(`b${l + 1}`, bias.map((v) => [v]))]));
    refill(told, `The weights moved by ${figure(moved)}; the function by at most ${figure(off)} at ${SIDE * SIDE} points. ` +
      (now === first ? "Change something." : off < 1e-4 * most ? "The same function, other weights." : "This change made another function: it is no symmetry of this activation."));
  };
  const start = async () => {
    first = await engine.initialize({ widths: WIDTHS, scheme: "torch", seed });
    now = first;
    await draw();
  };
  const change = (/** @type {keyof typeof LABELS} */ name) => {
    now = changed(now, name);
    return draw();
  };
  const choose = select(Object.keys(HOLDS).map((name) => [name, name]), activation, (value) => {
    activation = value;
    return start();
  }, { id: newId("activation") });
  const button = (/** @type {string} */ text, /** @type {() => void} */ act) => h("button", { type: "button", onclick: act }, text);
  element.append(
    h("div", { class: "widget-controls" },
      h("div", {}, h("label", { for: choose.id }, "Activation "), choose),
      Object.entries(LABELS).map(([name, text]) => button(text, () => change(/** @type {keyof typeof LABELS} */ (name)))),
      button("Other weights", () => { seed += 1; return start(); })),
    h("div", { class: "widget-controls" },
      h("figure", {}, before.canvas, h("figcaption", {}, "before")),
      h("figure", {}, after.canvas, h("figcaption", {}, "now"))),
    told, table);
  await start();
  return () => {};
}

/** @param {Float32Array} parameters @param {keyof typeof LABELS} name */
function changed(parameters, name) {
  const [hidden, output] = layersOf(parameters, WIDTHS);
  if (name === "swap") {
    for (const rows of [hidden.W, hidden.b, output.W[0]]) [rows[0], rows[1]] = [rows[1], rows[0]];
  } else {
    const factor = name === "scale" ? 2 : -1;
    hidden.W[0] = hidden.W[0].map((w) => factor * w);
    hidden.b[0] *= factor;
    output.W[0][0] /= factor;
  }
  return flat([hidden, output]);
}

/** Points of the square [−2, 2]², row by row from below. */
function plane() {
  const axis = grid(-2, 2, SIDE);
  return Float32Array.from(Array.from(axis).flatMap((y) => Array.from(axis).flatMap((x) => [x, y])));
}
