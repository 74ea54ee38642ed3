// @ts-check
// A curve that a visitor draws, followed hinge by hinge: one ReLU unit for each bend.

import { h, newId, refill, select } from "../page/dom.js";
import { figure, plural } from "../page/format.js";
import { chart, latest, slider } from "./drawing.js";
import { flat, grid, netOf } from "./lab.js";

const N = 201;
const XS = grid(0, 1, N);
/** @type {Record<string, (x: number) => number>} */
const CURVES = {
  "a wave": (x) => 0.5 + 0.4 * Math.sin(2 * Math.PI * x),
  "a bump": (x) => 0.1 + 0.8 * Math.exp(-40 * (x - 0.5) ** 2),
  "a step": (x) => (x < 0.5 ? 0.2 : 0.8),
  "a square": (x) => x * x,
};

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  let hinges = 4;
  let target = Array.from(XS, CURVES["a wave"]);
  const picture = chart("The curve (dashed), and the network (solid) with its hinges as dots", [0, 1], [0, 1]);
  const told = h("p", { role: "status" });
  const draw = latest(async () => {
    const knots = Array.from({ length: hinges + 1 }, (_, i) => i / hinges);
    const values = knots.map((t) => between(target, t * (N - 1)));
    const net = netOf([1, hinges, 1], "relu");
    const { logits } = await engine.forward(through(knots, values), XS, { net });
    const off = Math.max(...target.map((y, i) => Math.abs(y - logits[i])));
    picture.draw(
      [{ x: XS, y: target, class: "widget-target" }, { x: XS, y: logits, class: "widget-line" }],
      knots.map((t, i) => [t, values[i]]));
    refill(told, `${plural(hinges, "ReLU unit")}, ${plural(3 * hinges + 1, "parameter")}: off by at most ${figure(off)} at ${N} points.`);
  });
  const preset = select(Object.keys(CURVES).map((name) => [name, name]), "a wave", (name) => {
    target = Array.from(XS, CURVES[name]);
    return draw();
  }, { id: newId("curve") });
  drawable(picture, (x, y) => {
    target[Math.round(Math.min(1, Math.max(0, x)) * (N - 1))] = Math.min(1, Math.max(0, y));
    return draw();
  });
  element.append(
    h("div", { class: "widget-controls" },
      h("div", {}, h("label", { for: preset.id }, "Curve "), preset),
      slider("Hinges", { min: 1, max: 40, step: 1, value: hinges }, (value) => {
        hinges = value;
        return draw();
      })),
    picture.svg,
    h("p", {}, "Draw a curve of your own with the pointer: press in the picture and move."),
    told);
  await draw();
  return () => {};
}

/** The drawn curve between its points. @param {number[]} values @param {number} at */
function between(values, at) {
  const i = Math.min(Math.floor(at), values.length - 2);
  return values[i] + (at - i) * (values[i + 1] - values[i]);
}

/**
 * The weights of the network that goes through the points (t, y): unit i is relu(x − t_i), and its
 * output weight is the change of slope at t_i.
 * @param {number[]} t @param {number[]} y
 */
function through(t, y) {
  const slopes = t.slice(1).map((_, i) => (y[i + 1] - y[i]) / (t[i + 1] - t[i]));
  const changes = slopes.map((slope, i) => slope - (i ? slopes[i - 1] : 0));
  return flat([
    { W: changes.map(() => [1]), b: t.slice(0, -1).map((knot) => -knot) },
    { W: [changes], b: [y[0]] },
  ]);
}

/**
 * Calls `put` for every point that the pointer passes while it is down, without gaps between them.
 * @param {ReturnType<typeof chart>} picture @param {(x: number, y: number) => void} put
 */
function drawable({ svg, at }, put) {
  /** @type {number[] | null} */
  let last = null;
  svg.style.touchAction = "none";
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    last = at(event);
    put(last[0], last[1]);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!last) return;
    const [x0, y0] = last;
    const [x1, y1] = at(event);
    const n = Math.max(1, Math.ceil(Math.abs(x1 - x0) * (N - 1)));
    for (let i = 1; i <= n; i++) put(x0 + ((x1 - x0) * i) / n, y0 + ((y1 - y0) * i) / n);
    last = [x1, y1];
  });
  for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) {
    svg.addEventListener(end, () => { last = null; });
  }
}
