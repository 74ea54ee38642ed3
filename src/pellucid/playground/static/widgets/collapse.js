// @ts-check
// Without activations three layers are one: the product of their matrices, worked on the screen.

import { h, newId, refill, select } from "../page/dom.js";
import { figure } from "../page/format.js";
import { uniforms } from "../page/random.js";
import { matrix } from "./drawing.js";
import { layersOf, netOf } from "./lab.js";

const WIDTHS = [2, 3, 3, 2];
const PROBES = 200;

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  let activation = "identity";
  let seed = 0;
  const shown = h("div", { role: "status" });
  const draw = async () => {
    const net = netOf(WIDTHS, activation);
    const parameters = await engine.initialize({ widths: WIDTHS, scheme: "torch", seed });
    const values = async (/** @type {Float32Array} */ X) => (await engine.forward(parameters, X, { net })).logits;
    const { W, b } = await oneLayer(values);
    const off = await largestDifference(values, W, b);
    const layers = layersOf(parameters, WIDTHS);
    refill(shown,
      h("div", { class: "widget-controls" },
        layers.map((layer, l) => matrix(`W${l + 1}`, layer.W)).reverse(),
        matrix("W′", W), matrix("b′", b.map((v) => [v]))),
      h("p", {}, `W′ and b′ are read off the network: b′ = f(0), and the columns of W′ are f(1, 0) − b′ and f(0, 1) − b′. `,
        `At ${PROBES} other points W′x + b′ and the network differ by at most ${figure(off)}. `,
        off < 1e-4
          ? "The three layers are one: W′ = W3 W2 W1. Depth without activations adds nothing."
          : "One layer cannot be what the network is: the activations keep the layers apart."));
  };
  const choose = select([["identity", "none (identity)"], ["relu", "ReLU"], ["tanh", "tanh"]], activation, (value) => {
    activation = value;
    return draw();
  }, { id: newId("activation") });
  element.append(
    h("div", { class: "widget-controls" },
      h("label", { for: choose.id }, "Activation between the layers"), choose,
      h("button", { type: "button", onclick: () => { seed += 1; return draw(); } }, "Other weights")),
    shown);
  await draw();
  return () => {};
}

/** @typedef {(X: Float32Array) => Promise<Float32Array>} Values */

/** @param {Values} values */
async function oneLayer(values) {
  const logits = await values(Float32Array.of(0, 0, 1, 0, 0, 1));
  const b = [logits[0], logits[1]];
  const W = [0, 1].map((k) => [logits[2 + k] - b[k], logits[4 + k] - b[k]]);
  return { W, b };
}

/** @param {Values} values @param {number[][]} W @param {number[]} b */
async function largestDifference(values, W, b) {
  const u = uniforms(1);
  const X = Float32Array.from({ length: 2 * PROBES }, () => 4 * u() - 2);
  const logits = await values(X);
  let most = 0;
  for (let i = 0; i < PROBES; i++) {
    for (let k = 0; k < 2; k++) {
      const straight = W[k][0] * X[2 * i] + W[k][1] * X[2 * i + 1] + b[k];
      most = Math.max(most, Math.abs(straight - logits[2 * i + k]));
    }
  }
  return most;
}
