// @ts-check
// The input plane: what the network computes, its regions, the rows, and a probe point.

import { contour } from "./contour.js";
import { h, refill, s, say, set } from "./dom.js";
import { figure } from "./format.js";
import { reach } from "./heat.js";
import { LineView } from "./line_view.js";
import { drawPoints } from "./points.js";
import { packed, rgb } from "./palette.js";
import { eachChange, fillIds, locate, paintFlat, stretch, toColumn, toRow } from "./scanline.js";
import { regionColours, scaleOf, Shades } from "./shading.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./fields.js").Fields} Fields */

const SIZE = 400; // pixels of the picture; CSS stretches it
const DENSE = (globalThis.devicePixelRatio ?? 1) > 1.2 ? 2 : 1.25; // pixels of the lines for one of the picture
const MOST_PATHS = 800; // regions; more of them have their edges drawn pixel by pixel
const MOST_EDGES = 12_000; // beyond it the lines would be a grey mass

export class PlaneView {
  ids = new Int32Array(SIZE * SIZE).fill(-1);
  shades = new Shades(SIZE, SIZE);
  /** Called with a point of the data when the pointer or the keys move. */
  onread = (/** @type {number[] | null} */ _point) => {};
  onpick = (/** @type {number[]} */ _point) => {};
  /** Enter: the pass of the point is asked for. */
  onenter = () => {};
  /** @type {((point: number[]) => boolean) | null} takes clicks while points are drawn by hand */
  ondraw = null;

  /**
   * @param {App} app @param {Fields} fields @param {{current: import("./palette.js").Palette}} theme
   * @param {HTMLElement} root
   */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.fill = h("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
    this.lines = h("canvas", { width: DENSE * SIZE, height: DENSE * SIZE, "aria-hidden": "true" });
    this.dots = h("canvas", { width: DENSE * SIZE, height: DENSE * SIZE, "aria-hidden": "true" });
    this.overlay = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" });
    this.frame = h("div", {
      class: "plane-frame", tabindex: "0", role: "application", "aria-roledescription": "probe point",
      "aria-label": "Picture of the inputs. Arrow keys move the probe point, with shift in larger steps; Enter works its pass.",
      "aria-describedby": "plane-reading",
    }, this.fill, this.lines, this.dots, this.overlay);
    this.ticks = ["x-low", "x-high", "y-low", "y-high", "x-name", "y-name"].map((c) => h("span", { class: `tick ${c}` }));
    root.append(h("div", { class: "plane-axes" }, this.frame, ...this.ticks));
    this.context = /** @type {CanvasRenderingContext2D} */ (this.fill.getContext("2d", { alpha: false }));
    this.image = this.context.createImageData(SIZE, SIZE);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.line = new LineView(this, SIZE);
    this.draw = app.frames.once(() => this.#draw());
    const dots = app.frames.once(() => this.#points());
    app.events.on("regions", this.draw);
    app.events.on("fields", () => this.#showsUnits() && this.draw());
    app.events.on("problem", () => (dots(), this.#axes()));
    app.events.on("theme", () => (this.draw(), dots()));
    app.events.on("select", () => (this.draw(), dots(), this.#axes()));
    this.#listen();
  }

  window() {
    return { ...this.fields.window(), width: SIZE, height: SIZE };
  }

  /** Whether the picture has something of the units' values: a curve, or a bent line without exact regions. */
  #showsUnits() {
    return this.app.problem.d === 1 || (this.app.state().unit !== null && !this.fields.regions);
  }

  #draw() {
    if (this.app.problem.d === 1) return this.line.draw();
    const { fields, theme } = this;
    const { view } = this.app.state();
    const w = this.window();
    const { regions } = fields;
    const drawn = regions && sameWindow(regions, w) ? regions : null;
    if (drawn) fillIds(drawn.vertices, drawn.offsets, w, this.ids);
    else this.ids.fill(-1);
    const palette = theme.current;
    if (fields.single) this.#paintSingle(fields.single);
    else if (drawn && (view.colour === "pattern" || view.colour === "slope")) {
      paintFlat(this.ids, regionColours(view.colour, drawn, palette), palette.at(0), this.pixels);
    } else this.#paintOutput(drawn);
    if (drawn && view.edges && drawn.n > MOST_PATHS && drawn.n <= MOST_EDGES) this.#pixelEdges();
    this.context.putImageData(this.image, 0, 0);
    this.#lines(drawn);
    this.#mark();
  }

  /** @param {NonNullable<Fields["single"]>} single */
  #paintSingle({ size, values, width, unit, activation }) {
    const most = reach(values, activation);
    const layer = this.shades.layer(0);
    stretch(values, size, width, unit, SIZE, SIZE, layer);
    const palette = this.theme.current;
    for (let i = 0; i < layer.length; i++) this.pixels[i] = palette.at(layer[i] / most);
  }

  /** @param {import("./types.js").Regions | null} regions */
  #paintOutput(regions) {
    const { grid } = this.fields;
    const outputs = this.app.widths().at(-1) ?? 1;
    const scale = this.scale();
    if (regions && regions.outputs === outputs && !scale.fromMean) this.shades.fromRegions(this.ids, regions, scale, this.window());
    else if (grid && grid.logits.length === grid.size ** 2 * outputs) this.shades.fromGrid(grid, grid.size, scale);
    else return;
    const { colour, discretise } = this.app.state().view;
    this.shades.paint(scale, this.theme.current, discretise || colour === "class", this.pixels);
  }

  scale() {
    return scaleOf(this.app.likelihood(), this.app.problem, this.app.widths().at(-1) ?? 1);
  }

  /** Edges of regions, the decision boundary, and the line of a chosen unit. @param {import("./types.js").Regions | null} regions */
  #lines(regions) {
    const c = /** @type {CanvasRenderingContext2D} */ (this.lines.getContext("2d"));
    c.setTransform(DENSE, 0, 0, DENSE, 0, 0);
    c.clearRect(0, 0, SIZE, SIZE);
    const { view, unit } = this.app.state();
    const w = this.window();
    if (regions && view.edges && regions.n <= MOST_PATHS) this.#edges(c, regions, w);
    if (view.boundary) this.#boundary(c, regions, w);
    if (unit) this.#bentLine(c, unit, w);
  }

  /** @param {CanvasRenderingContext2D} c @param {import("./types.js").Regions} regions @param {import("./scanline.js").Window} w */
  #edges(c, { vertices, offsets, n }, w) {
    const [cx, cy] = [toColumn(w), toRow(w)];
    c.beginPath();
    for (let r = 0; r < n; r++) {
      for (let i = offsets[r]; i < offsets[r + 1]; i++) {
        const [x, y] = [cx(vertices[2 * i]), cy(vertices[2 * i + 1])];
        if (i === offsets[r]) c.moveTo(x, y);
        else c.lineTo(x, y);
      }
      c.closePath();
    }
    c.strokeStyle = this.theme.current.ink;
    c.globalAlpha = n > 300 ? 0.3 : 0.4;
    c.lineWidth = n > 300 ? 0.6 : 0.8;
    c.stroke();
    c.globalAlpha = 1;
  }

  /** Pixels on an edge take a third of the ink: as many polygons as one likes, in one pass. */
  #pixelEdges() {
    const [r, g, b] = rgb(this.theme.current.ink);
    const { pixels } = this;
    eachChange(this.ids, SIZE, SIZE, (at) => {
      const p = pixels[at];
      const mixed = (/** @type {number} */ shift, /** @type {number} */ ink) => (((p >>> shift) & 255) * 2 + ink) / 3;
      pixels[at] = packed([mixed(0, r), mixed(8, g), mixed(16, b)]);
    });
  }

  /** @param {CanvasRenderingContext2D} c @param {import("./types.js").Regions | null} regions @param {import("./scanline.js").Window} w */
  #boundary(c, regions, w) {
    if (this.app.problem.task !== "classification") return;
    const segments = regions ? regions.boundary : this.#sampledBoundary();
    const [cx, cy] = regions ? [toColumn(w), toRow(w)] : [(/** @type {number} */ v) => v, (/** @type {number} */ v) => v];
    c.beginPath();
    for (let i = 0; i + 3 < segments.length; i += 4) {
      c.moveTo(cx(segments[i]), cy(segments[i + 1]));
      c.lineTo(cx(segments[i + 2]), cy(segments[i + 3]));
    }
    c.lineCap = "round";
    c.strokeStyle = this.theme.current.paper;
    c.lineWidth = 4.5;
    c.stroke();
    c.strokeStyle = this.theme.current.ink;
    c.lineWidth = 2;
    c.stroke();
  }

  /** Of one logit; of several the colours alone show it. */
  #sampledBoundary() {
    const { grid } = this.fields;
    if (!grid || grid.logits.length !== grid.size ** 2) return new Float64Array();
    return contour(grid.logits, grid.size, grid.size, 0).map((v) => (v * SIZE) / grid.size);
  }

  /** Where the pre-activation of a unit is zero, from values of the engine on a grid. @param {CanvasRenderingContext2D} c @param {number[]} unit @param {import("./scanline.js").Window} w */
  #bentLine(c, [layer, k], w) {
    const { regions, units } = this.fields;
    const exact = regions ? this.#switchEdges(regions, layer, k, w) : null;
    const width = this.app.widths()[layer + 1];
    const z = units?.z[layer];
    c.beginPath();
    if (exact) for (const [a, b, d, e] of exact) (c.moveTo(a, b), c.lineTo(d, e));
    else if (units && z && z.length === units.size ** 2 * width) {
      const f = SIZE / units.size;
      const lines = contour(z, units.size, units.size, 0, width, k);
      for (let i = 0; i < lines.length; i += 4) (c.moveTo(lines[i] * f, lines[i + 1] * f), c.lineTo(lines[i + 2] * f, lines[i + 3] * f));
    }
    c.lineCap = "round";
    c.strokeStyle = this.theme.current.paper;
    c.lineWidth = 5.5;
    c.stroke();
    c.strokeStyle = this.theme.current.dark ? "#e59ac4" : "#a3327c";
    c.setLineDash([7, 4]);
    c.lineWidth = 2.6;
    c.stroke();
    c.setLineDash([]);
  }

  /** @param {import("./types.js").Regions} regions @param {number} layer @param {number} k @param {import("./scanline.js").Window} w */
  #switchEdges({ switches, edges, vertices, offsets, n }, layer, k, w) {
    const [cx, cy] = [toColumn(w), toRow(w)];
    const own = switches.map((of) => of.layer === layer && of.unit === k);
    if (!own.includes(true)) return null;
    /** @type {number[][]} */
    const found = [];
    for (let r = 0; r < n; r++) {
      for (let i = offsets[r]; i < offsets[r + 1]; i++) {
        if (edges[i] < 0 || !own[edges[i]]) continue;
        const next = i + 1 < offsets[r + 1] ? i + 1 : offsets[r];
        found.push([cx(vertices[2 * i]), cy(vertices[2 * i + 1]), cx(vertices[2 * next]), cy(vertices[2 * next + 1])]);
      }
    }
    return found;
  }

  #points() {
    const c = /** @type {CanvasRenderingContext2D} */ (this.dots.getContext("2d"));
    c.setTransform(DENSE, 0, 0, DENSE, 0, 0);
    c.clearRect(0, 0, SIZE, SIZE);
    const { problem } = this.app;
    const { view } = this.app.state();
    const axes = problem.d === 1 ? null : this.fields.axes(view.axes);
    drawPoints(c, problem, view, axes, this.window(), this.theme.current, this.scale());
  }

  /** The probe point and the region that it lies in. */
  #mark() {
    const { probe } = this.app.state();
    if (!probe || probe.length !== this.app.problem.d) return refill(this.overlay);
    const w = this.window();
    const [x, y] = this.toPixels(probe, w);
    const corners = this.corners(this.regionOf(probe));
    refill(this.overlay,
      corners ? s("polygon", { class: "chosen-region", points: corners }) : null,
      s("circle", { cx: x, cy: y, r: 7, class: "probe-ring" }),
      s("circle", { cx: x, cy: y, r: 7, class: "probe" }));
  }

  /** @param {number[]} point @param {import("./scanline.js").Window} w */
  toPixels(point, w) {
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    const y = this.app.problem.d === 1 ? SIZE / 2 : toRow(w)(point[j]);
    return [toColumn(w)(point[i]), y];
  }

  /** The corners of a region as an SVG polygon has them. @param {number} id */
  corners(id) {
    const { regions } = this.fields;
    if (!regions || id < 0 || id >= regions.n) return "";
    const w = this.window();
    const [cx, cy] = [toColumn(w), toRow(w)];
    const corners = [];
    for (let i = regions.offsets[id]; i < regions.offsets[id + 1]; i++) {
      corners.push(`${cx(regions.vertices[2 * i]).toFixed(2)},${cy(regions.vertices[2 * i + 1]).toFixed(2)}`);
    }
    return corners.join(" ");
  }

  /** The region of a point of the data, or −1. @param {number[]} point */
  regionOf(point) {
    const { regions } = this.fields;
    if (!regions || this.app.problem.d === 1) return -1;
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    return locate(regions, point[i], point[j]);
  }

  /** The region under the pointer, from the picture's own buffer. @param {number[]} point */
  regionUnder(point) {
    const [x, y] = this.toPixels(point, this.window()).map(Math.floor);
    return x >= 0 && y >= 0 && x < SIZE && y < SIZE ? this.ids[y * SIZE + x] : -1;
  }

  #axes() {
    const { problem } = this.app;
    const { low, high } = this.fields.window();
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    const names = problem.d === 1 ? [problem.columns[0], problem.target] : [problem.columns[i], problem.columns[j]];
    [figure(low[0]), figure(high[0]), figure(low[1]), figure(high[1]), ...names].forEach((text, k) => say(this.ticks[k], text));
    set(this.frame, "data-dimensions", problem.d);
  }

  #listen() {
    const at = (/** @type {PointerEvent | MouseEvent} */ e) => {
      const box = this.frame.getBoundingClientRect();
      return this.#toData(((e.clientX - box.left) / box.width) * SIZE, ((e.clientY - box.top) / box.height) * SIZE);
    };
    this.frame.addEventListener("pointermove", (e) => this.onread(at(e)));
    this.frame.addEventListener("pointerleave", () => this.onread(null));
    this.frame.addEventListener("click", (e) => {
      const point = at(e);
      if (!this.ondraw?.(point)) this.onpick(point.slice(0, Math.max(this.app.problem.d, 1)));
    });
    this.frame.addEventListener("keydown", (e) => this.#key(e));
  }

  /** Pixels to a point of the data; with one input the second number is the height in the picture. @param {number} x @param {number} y */
  #toData(x, y) {
    const { low, high } = this.fields.window();
    const u = low[0] + (x / SIZE) * (high[0] - low[0]);
    const v = high[1] - (y / SIZE) * (high[1] - low[1]);
    const d = this.app.problem.d;
    if (d <= 2) return [u, v];
    const point = [...this.fields.base()];
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    [point[i], point[j]] = [u, v];
    return point;
  }

  /** @param {KeyboardEvent} e */
  #key(e) {
    const moves = /** @type {Record<string, number[]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });
    const move = moves[e.key];
    if (!move && e.key !== "Enter") return;
    e.preventDefault();
    const { low, high } = this.fields.window();
    const probe = [...(this.app.state().probe ?? this.fields.base())];
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    const size = e.shiftKey ? 0.1 : 0.02;
    if (move) {
      probe[i] = clamp(probe[i] + move[0] * size * (high[0] - low[0]), low[0], high[0]);
      if (j !== i) probe[j] = clamp(probe[j] + move[1] * size * (high[1] - low[1]), low[1], high[1]);
    }
    if (e.key === "Enter") this.onenter();
    this.onpick(probe.slice(0, this.app.problem.d).map((v) => Number(v.toFixed(6))));
  }
}

/** @param {number} v @param {number} low @param {number} high */
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

/** @param {{low: ArrayLike<number>, high: ArrayLike<number>}} a @param {{low: ArrayLike<number>, high: ArrayLike<number>}} b */
const sameWindow = (a, b) => a.low[0] === b.low[0] && a.low[1] === b.low[1] && a.high[0] === b.high[0] && a.high[1] === b.high[1];
