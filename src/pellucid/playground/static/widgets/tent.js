// @ts-check
// A tent folds the line onto itself; k tents one behind the other have 2^k straight pieces.

import { h, refill } from "../page/dom.js";
import { figure, plural, whole } from "../page/format.js";
import { chart, latest, slider } from "./drawing.js";
import { flat, grid, netOf } from "./lab.js";

const MOST = 8;
const BETWEEN = 1024;

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  let k = 3;
  const picture = chart("The network as a graph over [0, 1]", [0, 1], [0, 1]);
  const told = h("p", { role: "status" });
  const draw = latest(async () => {
    const { net, parameters } = tents(k);
    const { n } = await engine.segment(parameters, [0], [1], { net });
    const X = grid(0, 1, BETWEEN + 1);
    const { logits } = await engine.forward(parameters, X, { net });
    picture.draw([{ x: X, y: logits, class: "widget-line" }]);
    const wide = n - 1;
    refill(told,
      `${plural(k, "tent")}, ${plural(2 * k, "hidden unit")}, ${plural(parameters.length, "parameter")}: ` +
      `${whole(n)} straight pieces, counted by the engine; 2^${k} = ${whole(2 ** k)}. ` +
      `One hidden layer needs at least ${plural(wide, "unit")} for as many, ${plural(3 * wide + 1, "parameter")}. ` +
      `The steepest piece has slope ${figure(2 ** k)}.`);
  });
  element.append(
    h("div", { class: "widget-controls" },
      slider("Tents", { min: 1, max: MOST, step: 1, value: k }, (value) => {
        k = value;
        return draw();
      })),
    picture.svg, told);
  await draw();
  return () => {};
}

/**
 * The tent 2 relu(x) − 4 relu(x − 1/2), k times: a hidden layer of two units for each.
 * @param {number} k
 */
export function tents(k) {
  const first = { W: [[1], [1]], b: [0, -0.5] };
  const next = { W: [[2, -4], [2, -4]], b: [0, -0.5] };
  const layers = [first, ...Array.from({ length: k - 1 }, () => next), { W: [[2, -4]], b: [0] }];
  const widths = [1, ...Array.from({ length: k }, () => 2), 1];
  return { net: netOf(widths, "relu"), parameters: flat(layers) };
}
