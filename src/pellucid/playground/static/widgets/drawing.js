// @ts-check
// Small drawings for widgets: a chart of lines, bars, a picture of a function, a matrix as a table.

import { h, newId, refill, s } from "../page/dom.js";
import { decimal, figure } from "../page/format.js";
import { Palette } from "../page/palette.js";

const MARGIN = 28;

/**
 * A chart of lines over [x0, x1] × [y0, y1]. `lines` draws them anew.
 * @param {string} label what a screen reader says of it
 * @param {[number, number]} xs @param {[number, number]} ys @param {number} [height]
 */
export function chart(label, xs, ys, height = 220) {
  const width = 480;
  const px = (/** @type {number} */ x) => MARGIN + ((x - xs[0]) / (xs[1] - xs[0])) * (width - 2 * MARGIN);
  const py = (/** @type {number} */ y) => height - MARGIN - ((y - ys[0]) / (ys[1] - ys[0])) * (height - 2 * MARGIN);
  const layer = s("g");
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    s("line", { class: "widget-axis", x1: px(xs[0]), x2: px(xs[1]), y1: py(ys[0]), y2: py(ys[0]) }),
    s("line", { class: "widget-axis", x1: px(xs[0]), x2: px(xs[0]), y1: py(ys[0]), y2: py(ys[1]) }),
    s("text", { x: px(xs[0]), y: height - 8 }, figure(xs[0])),
    s("text", { x: px(xs[1]) - 12, y: height - 8 }, figure(xs[1])),
    s("text", { x: 2, y: py(ys[1]) + 4 }, figure(ys[1])),
    s("text", { x: 2, y: py(ys[0]) }, figure(ys[0])),
    layer);
  /** @param {{x: ArrayLike<number>, y: ArrayLike<number>, class: string}[]} lines @param {number[][]} [dots] */
  const draw = (lines, dots = []) =>
    refill(layer,
      lines.map((l) => s("polyline", { class: l.class, points: Array.from(l.x, (x, i) => `${px(x)},${py(l.y[i])}`).join(" ") })),
      dots.map(([x, y]) => s("circle", { class: "widget-dot", cx: px(x), cy: py(y), r: 3 })));
  /** The point of the chart under the pointer. @param {PointerEvent} event */
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const u = ((event.clientX - box.left) / box.width) * width;
    const v = ((event.clientY - box.top) / box.height) * height;
    return [
      xs[0] + ((u - MARGIN) / (width - 2 * MARGIN)) * (xs[1] - xs[0]),
      ys[0] + ((height - MARGIN - v) / (height - 2 * MARGIN)) * (ys[1] - ys[0]),
    ];
  };
  return { svg, draw, at };
}

/**
 * Bars with their numbers, on a scale of powers of ten.
 * @param {string} label @param {{name: string, value: number}[]} bars
 */
export function bars(label, bars) {
  const exponents = bars.map((b) => (b.value > 0 ? Math.log10(b.value) : -Infinity));
  const top = Math.max(...exponents.filter(Number.isFinite), -1);
  const low = Math.min(...exponents.filter(Number.isFinite), top - 2);
  const row = 20;
  const length = (/** @type {number} */ e) => (Number.isFinite(e) ? 12 + (300 * (e - low)) / (top - low) : 0);
  return s("svg", { viewBox: `0 0 480 ${row * bars.length + 6}`, role: "img", "aria-label": label },
    bars.map((b, i) => [
      s("text", { x: 2, y: row * i + 15 }, b.name),
      s("rect", { class: "widget-bar", x: 70, y: row * i + 5, height: row - 8, width: length(exponents[i]) }),
      s("text", { x: 76 + length(exponents[i]), y: row * i + 15 }, figure(b.value)),
    ]).flat());
}

/**
 * A function of two inputs as a picture.
 * @param {string} label @param {number} side squares on a side
 */
export function picture(label, side) {
  const canvas = h("canvas", { width: side, height: side, role: "img", "aria-label": label, class: "widget-picture" });
  canvas.style.width = "220px";
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  /** @param {ArrayLike<number>} values row by row from below @param {number} [largest] */
  const draw = (values, largest) => {
    const most = largest ?? Math.max(1e-9, ...Array.from(values, Math.abs));
    const palette = new Palette(matchMedia("(prefers-color-scheme: dark)").matches);
    const pixels = new Uint32Array(side * side);
    for (let i = 0; i < side; i++) {
      for (let j = 0; j < side; j++) pixels[(side - 1 - i) * side + j] = palette.at(values[i * side + j] / most);
    }
    context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), side, side), 0, 0);
  };
  return { canvas, draw };
}

/** A matrix, or a vector as a column. @param {string} caption @param {number[][]} rows @param {number} [decimals] */
export const matrix = (caption, rows, decimals = 3) =>
  h("table", { class: "widget-matrix" },
    h("caption", {}, caption),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((v) => h("td", {}, decimal(v, decimals)))))));

/** A slider with its value behind it. @param {string} label @param {{min: number, max: number, step: number, value: number}} range @param {(value: number) => void} oninput */
export function slider(label, { min, max, step, value }, oninput) {
  const id = newId("slider");
  const shown = h("output", { for: id }, figure(value));
  const input = h("input", { type: "range", id, min, max, step, value, oninput: () => {
    refill(shown, figure(Number(input.value)));
    oninput(Number(input.value));
  } });
  return h("div", { class: "widget-slider" }, h("label", { for: id }, label), input, shown);
}

/** Runs a task again and again, never twice at a time; what is asked meanwhile runs once more. @param {() => Promise<void>} task */
export function latest(task) {
  let running = false;
  let again = false;
  const run = async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      await task();
    } while (again);
    running = false;
  };
  return run;
}
