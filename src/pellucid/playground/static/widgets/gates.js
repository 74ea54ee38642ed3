// @ts-check
// A ReLU is a gate: what it lets through on the way forward, it lets through on the way back.

import { h, refill } from "../page/dom.js";
import { decimal } from "../page/format.js";
import { latest, slider } from "./drawing.js";
import { flat, netOf } from "./lab.js";

const WIDTHS = [2, 3, 1];
const PARAMETERS = flat([
  { W: [[1, 0.5], [-1, 1], [0.5, -1]], b: [0.25, 0, 0.5] },
  { W: [[1, -0.5, 0.75]], b: [0.1] },
]);

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  const net = netOf(WIDTHS, "relu");
  const point = [0.5, -0.5];
  const target = 1;
  const body = h("tbody");
  const told = h("p", { role: "status" });
  const draw = latest(async () => {
    const worked = await engine.worked(PARAMETERS, point, target, { net });
    const z = Array.from(worked.z[0]);
    const hs = Array.from(worked.h[0]);
    const before = Array.from(worked.dh[0]);
    const delta = Array.from(worked.delta[0]);
    refill(body, z.map((v, i) =>
      h("tr", {},
        h("th", { scope: "row" }, `unit ${i + 1}`), h("td", {}, decimal(v)), h("td", {}, v > 0 ? "open" : "shut"), h("td", {}, decimal(hs[i])),
        h("td", {}, decimal(before[i])),
        h("td", {}, v > 0 ? decimal(delta[i]) : h("s", {}, decimal(before[i])), v > 0 ? "" : ` → ${decimal(delta[i])}`))));
    const shut = z.filter((v) => !(v > 0)).length;
    refill(told, `Loss ${decimal(worked.loss)} nats. ${shut} of ${z.length} gates are shut: the weights of these units learn nothing from this point.`);
  });
  const move = (/** @type {number} */ j) => (/** @type {number} */ value) => {
    point[j] = value;
    return draw();
  };
  const range = (/** @type {number} */ j) => ({ min: -2, max: 2, step: 0.05, value: point[j] });
  element.append(
    h("div", { class: "widget-controls" }, slider("x₁", range(0), move(0)), slider("x₂", range(1), move(1))),
    h("table", {},
      h("thead", {}, h("tr", {}, ["", "z", "gate", "h = relu(z)", "dL/dh", "delta = dL/dz"].map((t) => h("th", { scope: "col" }, t)))),
      body),
    told);
  await draw();
  return () => {};
}
