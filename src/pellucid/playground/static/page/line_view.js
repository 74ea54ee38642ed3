// @ts-check
// One input: the network's function as a curve over it, with its straight pieces marked.

import { refill, s } from "./dom.js";
import { toColumn, toRow } from "./scanline.js";

/** @typedef {import("./plane_view.js").PlaneView} PlaneView */

export class LineView {
  /** @type {{t: ArrayLike<number>, values: number[]} | null} */
  pieces = null;

  /** @param {PlaneView} plane @param {number} size */
  constructor(plane, size) {
    this.plane = plane;
    this.size = size;
  }

  draw() {
    const { plane, size } = this;
    const { app, fields, theme } = plane;
    const palette = theme.current;
    const { context, lines } = plane;
    context.fillStyle = palette.dark ? "#1c2025" : "#ffffff";
    context.fillRect(0, 0, size, size);
    const c = /** @type {CanvasRenderingContext2D} */ (lines.getContext("2d"));
    const dense = lines.width / size;
    c.setTransform(dense, 0, 0, dense, 0, 0);
    c.clearRect(0, 0, size, size);
    const { units } = fields;
    const w = plane.window();
    const outputs = app.widths().at(-1) ?? 1;
    if (!units || !units.flat || units.logits.length !== units.size * outputs) return;
    this.#axis(c, w);
    const shownUnit = fields.hovered ?? app.state().unit;
    const hidden = shownUnit && shownUnit[0] < units.layers.length ? shownUnit : null;
    if (hidden) this.#curve(c, w, units.layers[hidden[0]], app.widths()[hidden[0] + 1], hidden[1], units.size, "#a3327c", [6, 4]);
    for (let k = 0; k < units.columns; k++) this.#curve(c, w, units.mean, units.columns, k, units.size, palette.classes[3], k ? [3, 3] : []);
    this.#kinks(c, w);
    this.#mark(w);
  }

  /** @param {CanvasRenderingContext2D} c @param {import("./scanline.js").Window} w */
  #axis(c, w) {
    const row = toRow(w)(0);
    c.strokeStyle = this.plane.theme.current.line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(0, row);
    c.lineTo(this.size, row);
    c.stroke();
  }

  /** @param {CanvasRenderingContext2D} c @param {import("./scanline.js").Window} w @param {Float32Array} values @param {number} stride @param {number} k @param {number} n @param {string} colour @param {number[]} dash */
  #curve(c, w, values, stride, k, n, colour, dash) {
    c.beginPath();
    for (let i = 0; i < n; i++) {
      const x = (i / (n - 1)) * this.size;
      const y = toRow(w)(values[i * stride + k]);
      if (i) c.lineTo(x, y);
      else c.moveTo(x, y);
    }
    c.strokeStyle = colour;
    c.lineWidth = 2.4;
    c.setLineDash(dash);
    c.stroke();
    c.setLineDash([]);
  }

  /** A dot where the slope changes. @param {CanvasRenderingContext2D} c @param {import("./scanline.js").Window} w */
  #kinks(c, w) {
    const { pieces } = this.plane.fields;
    if (!pieces || this.plane.scale().fromMean || !this.plane.app.state().view.edges) return;
    c.fillStyle = this.plane.theme.current.ink;
    for (const [x, y] of pieces.kinks) {
      c.beginPath();
      c.arc(toColumn(w)(x), toRow(w)(y), 3.2, 0, 2 * Math.PI);
      c.fill();
    }
  }

  /** @param {import("./scanline.js").Window} w */
  #mark(w) {
    const { probe } = this.plane.app.state();
    if (!probe || probe.length !== 1) return refill(this.plane.overlay);
    const x = toColumn(w)(probe[0]);
    refill(this.plane.overlay, s("line", { class: "probe", x1: x, x2: x, y1: 0, y2: this.size }));
  }
}
