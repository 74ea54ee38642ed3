// @ts-check
// The first output as a surface over the plane, painted from back to front; arrow keys turn it.

import { h, sharpen } from "./dom.js";

/** @typedef {import("./app.js").App} App */

const SIZE = 320;
const CELLS = 36;

export class SurfaceView {
  turn = 0.7;
  tilt = 0.55;
  /** @type {{values: Float32Array, low: number, high: number} | null} */
  data = null;

  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.box = h("div", { class: "surface", tabindex: "0", role: "application", "aria-roledescription": "surface", "aria-label": "The output as a surface over the inputs. Arrow keys turn it." }, this.canvas);
    root.append(h("h3", {}, "Surface"), this.box, h("p", { class: "quiet" }, "Drag, or use the arrow keys, to turn it."));
    this.box.addEventListener("keydown", (e) => {
      const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[e.key];
      if (!by) return;
      e.preventDefault();
      this.#turn(by[0], by[1]);
    });
    this.box.addEventListener("pointerdown", (e) => this.box.setPointerCapture(e.pointerId));
    this.box.addEventListener("pointermove", (e) => e.buttons && this.#turn(e.movementX / 120, -e.movementY / 160));
  }

  /** @param {number} turn @param {number} tilt */
  #turn(turn, tilt) {
    this.turn += turn;
    this.tilt = Math.min(1.4, Math.max(0.1, this.tilt + tilt));
    this.draw();
  }

  async work() {
    if (!this.app.settled()) return;
    const { app, fields } = this;
    if (app.problem.d < 2) return;
    const { logits } = await app.engine.forward(app.parameters(), fields.gridRows(CELLS), { net: app.net() });
    const k = logits.length / CELLS ** 2;
    const values = Float32Array.from({ length: CELLS ** 2 }, (_, i) => logits[i * k]);
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    this.data = { values, low, high };
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const { values, low, high } = this.data;
    const c = sharpen(this.canvas, SIZE, SIZE);
    this.canvas.style.width = this.canvas.style.height = `${SIZE}px`;
    c.clearRect(0, 0, SIZE, SIZE);
    const [cos, sin] = [Math.cos(this.turn), Math.sin(this.turn)];
    const span = high - low || 1;
    const at = (/** @type {number} */ column, /** @type {number} */ row) => {
      const [x, y] = [column / (CELLS - 1) - 0.5, 0.5 - row / (CELLS - 1)];
      const [u, v] = [x * cos - y * sin, x * sin + y * cos];
      const height = (values[row * CELLS + column] - low) / span - 0.5;
      return [SIZE / 2 + u * SIZE * 0.62, SIZE / 2 - v * SIZE * 0.62 * Math.sin(this.tilt) - height * SIZE * 0.5 * Math.cos(this.tilt), v];
    };
    const tiles = [];
    for (let r = 0; r + 1 < CELLS; r++) {
      for (let k = 0; k + 1 < CELLS; k++) {
        const corners = [at(k, r), at(k + 1, r), at(k + 1, r + 1), at(k, r + 1)];
        tiles.push({ corners, depth: corners.reduce((a, p) => a + p[2], 0), value: values[r * CELLS + k] });
      }
    }
    tiles.sort((a, b) => b.depth - a.depth);
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    for (const { corners, value } of tiles) {
      const p = this.theme.current.at(value / reach);
      c.fillStyle = c.strokeStyle = `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;
      c.beginPath();
      corners.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
      c.closePath();
      c.fill();
      c.strokeStyle = this.theme.current.line;
      c.lineWidth = 0.4;
      c.stroke();
    }
  }
}
