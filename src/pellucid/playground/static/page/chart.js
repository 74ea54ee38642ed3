// @ts-check
// A small line chart on a canvas: axes with a few ticks, log or not, and a reading at the pointer.

import { h, say, sharpen } from "./dom.js";
import { figure } from "./format.js";

/**
 * @typedef {{label: string, xs: ArrayLike<number>, ys: ArrayLike<number>, colour: string, dash?: number[], width?: number}} Series
 * @typedef {{series: Series[], xLabel: string, yLabel: string, logX?: boolean, logY?: boolean, yLow?: number, marker?: number | null}} ChartData
 */

const LEFT = 46;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;

export class Chart {
  /**
   * @param {HTMLElement} root @param {{current: import("./palette.js").Palette}} theme
   * @param {{height: number, label: string, onpick?: (x: number) => void}} options
   */
  constructor(root, theme, { height, label, onpick }) {
    this.theme = theme;
    this.height = height;
    this.onpick = onpick;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.reading = h("output", { class: "reading" });
    this.box = h("div", {
      class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": `${label}. Left and right arrow keys read its values.`,
    }, this.canvas);
    root.append(this.box, this.reading);
    /** @type {ChartData | null} */
    this.data = null;
    /** @type {number | null} */
    this.at = null;
    this.box.addEventListener("pointermove", (e) => this.#point(e.offsetX));
    this.box.addEventListener("pointerleave", () => this.#read(null));
    this.box.addEventListener("blur", () => this.#read(null));
    this.box.addEventListener("click", (e) => {
      this.#point(e.offsetX);
      const x = this.at === null ? null : this.#base()?.xs[this.at];
      if (x !== null && x !== undefined) this.onpick?.(x);
    });
    this.box.addEventListener("keydown", (e) => this.#key(e));
    new ResizeObserver(() => this.data && this.draw(this.data)).observe(this.box);
  }

  /** @param {ChartData} data */
  draw(data) {
    this.data = data;
    const width = this.box.clientWidth;
    if (width < 40) return;
    const { height } = this;
    const c = sharpen(this.canvas, width, height);
    this.canvas.style.height = `${height}px`;
    c.clearRect(0, 0, width, height);
    const scale = (this.scale = scales(data, width, height));
    if (!scale) return;
    this.#axes(c, data, scale, width);
    for (const series of data.series) this.#line(c, series, scale);
    if (data.marker !== null && data.marker !== undefined) this.#vertical(c, scale.x(data.marker), [4, 3]);
    if (this.at !== null) this.#cursor(c, scale);
  }

  /** @type {ReturnType<typeof scales>} */
  scale = null;

  /** @param {CanvasRenderingContext2D} c @param {ChartData} data @param {NonNullable<ReturnType<typeof scales>>} scale @param {number} width */
  #axes(c, data, scale, width) {
    const { dark, ink, line } = this.theme.current;
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = dark ? "#a3acb8" : "#59626e";
    c.strokeStyle = line;
    c.lineWidth = 0.5;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const v of scale.yTicks) {
      const y = scale.y(v);
      c.globalAlpha = 0.5;
      c.beginPath();
      c.moveTo(LEFT, y);
      c.lineTo(width - RIGHT, y);
      c.stroke();
      c.globalAlpha = 1;
      c.fillText(figure(v, 2), LEFT - 6, y);
    }
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const v of scale.xTicks) {
      const text = Math.abs(v) >= 10000 ? figure(v, 2) : figure(v, 6);
      const half = c.measureText(text).width / 2;
      c.fillText(text, Math.min(scale.x(v), width - half), this.height - BOTTOM + 5);
    }
    c.strokeStyle = ink;
    c.globalAlpha = 0.5;
    c.beginPath();
    c.moveTo(LEFT, TOP);
    c.lineTo(LEFT, this.height - BOTTOM);
    c.lineTo(width - RIGHT, this.height - BOTTOM);
    c.stroke();
    c.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} c @param {Series} series @param {NonNullable<ReturnType<typeof scales>>} scale */
  #line(c, { xs, ys, colour, dash, width }, scale) {
    c.beginPath();
    let pen = false;
    for (let i = 0; i < xs.length; i++) {
      if (!Number.isFinite(ys[i])) {
        pen = false;
        continue;
      }
      const [x, y] = [scale.x(xs[i]), scale.y(ys[i])];
      if (pen) c.lineTo(x, y);
      else c.moveTo(x, y);
      pen = true;
    }
    c.strokeStyle = colour;
    c.lineWidth = width ?? 1.8;
    c.lineJoin = "round";
    c.setLineDash(dash ?? []);
    c.stroke();
    c.setLineDash([]);
    if (xs.length === 1 && Number.isFinite(ys[0])) {
      c.fillStyle = colour;
      c.beginPath();
      c.arc(scale.x(xs[0]), scale.y(ys[0]), 2.5, 0, 2 * Math.PI);
      c.fill();
    }
  }

  /** @param {CanvasRenderingContext2D} c @param {number} x @param {number[]} dash */
  #vertical(c, x, dash) {
    c.strokeStyle = this.theme.current.ink;
    c.lineWidth = 1;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(x, TOP);
    c.lineTo(x, this.height - BOTTOM);
    c.stroke();
    c.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} c @param {NonNullable<ReturnType<typeof scales>>} scale */
  #cursor(c, scale) {
    const base = this.#base();
    if (!base || this.at === null || this.at >= base.xs.length) return;
    const x = base.xs[this.at];
    this.#vertical(c, scale.x(x), []);
    for (const s of this.data?.series ?? []) {
      const y = s.ys[nearest(s.xs, x)];
      if (!Number.isFinite(y)) continue;
      c.fillStyle = s.colour;
      c.beginPath();
      c.arc(scale.x(x), scale.y(y), 3.2, 0, 2 * Math.PI);
      c.fill();
    }
  }

  #base() {
    return this.data?.series[0];
  }

  /** @param {number} px */
  #point(px) {
    const base = this.#base();
    if (!base || !this.scale || !base.xs.length) return;
    this.#read(nearest(base.xs, this.scale.toX(px)));
  }

  /** @param {KeyboardEvent} e */
  #key(e) {
    const base = this.#base();
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
    if (!base || by === undefined) {
      if (e.key === "Enter" && base && this.at !== null) this.onpick?.(base.xs[this.at]);
      return;
    }
    e.preventDefault();
    const n = base.xs.length;
    this.#read(Math.min(n - 1, Math.max(0, (this.at ?? n - 1) + by * (e.shiftKey ? 10 : 1))));
  }

  /** @param {number | null} at */
  #read(at) {
    this.at = at;
    const { data } = this;
    const base = this.#base();
    if (!data || !base || at === null) say(this.reading, "");
    else {
      const x = base.xs[at];
      const parts = data.series.map((s) => `${s.label} ${figure(s.ys[nearest(s.xs, x)], 4)}`);
      say(this.reading, `${data.xLabel} ${figure(x, 6)}: ${parts.join(", ")}`);
    }
    if (data) this.draw(data);
  }
}

/** @param {ArrayLike<number>} xs increasing @param {number} x */
export function nearest(xs, x) {
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle;
    else high = middle;
  }
  return Math.abs(xs[low] - x) <= Math.abs(xs[Math.max(0, high)] - x) ? low : high;
}

/** @param {ChartData} data @param {number} width @param {number} height */
function scales(data, width, height) {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { xs, ys } of data.series) {
    for (let i = 0; i < xs.length; i++) {
      const y = ys[i];
      if (!Number.isFinite(y) || (data.logY && y <= 0)) continue;
      if (xs[i] < x0) x0 = xs[i];
      if (xs[i] > x1) x1 = xs[i];
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
    }
  }
  if (!(x1 >= x0)) return null;
  if (x1 === x0) x1 = x0 + 1;
  if (data.yLow !== undefined) y0 = Math.min(y0, data.yLow);
  const logY = Boolean(data.logY) && y0 > 0;
  if (y1 === y0) [y0, y1] = logY ? [y0 / 2, y1 * 2] : [y0 - 0.5, y1 + 0.5];
  else if (logY) [y0, y1] = [y0 / 1.15, y1 * 1.15];
  else y1 += 0.06 * (y1 - y0);
  const f = (/** @type {number} */ v) => (logY ? Math.log10(Math.max(v, 1e-300)) : v);
  const [l, u] = [f(y0), f(y1)];
  const [w, t] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  return {
    x: (/** @type {number} */ v) => LEFT + ((v - x0) / (x1 - x0)) * w,
    toX: (/** @type {number} */ px) => x0 + ((px - LEFT) / w) * (x1 - x0),
    y: (/** @type {number} */ v) => TOP + (1 - (f(v) - l) / (u - l)) * t,
    xTicks: even(x0, x1, Math.max(2, Math.floor(w / 90))),
    yTicks: logY ? decades(y0, y1, t) : even(y0, y1, Math.max(2, Math.floor(t / 28))),
  };
}

/** Round numbers between two. @param {number} low @param {number} high @param {number} most */
export function even(low, high, most) {
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** Powers of ten, with their halves and fifths where there is room. @param {number} low @param {number} high @param {number} room */
function decades(low, high, room) {
  const [a, b] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const span = Math.log10(high / low);
  const parts = span < room / 90 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(span / (room / 24)));
  const ticks = [];
  for (let e = a; e <= b; e++) {
    if ((e - a) % every) continue;
    for (const p of parts) {
      const v = p * 10 ** e;
      if (v >= low && v <= high) ticks.push(v);
    }
  }
  return ticks.length ? ticks : [low, high];
}
