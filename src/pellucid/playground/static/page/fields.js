// @ts-check
// What the pictures are drawn from: outputs on grids and exact regions, asked of the engine at
// their own pace, always for the latest parameters, one question of each kind at a time.

import { inputRows, inputsAreCoordinates } from "./problem.js";
import { gridPoints } from "./scanline.js";
import { scaleOf } from "./shading.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").Regions} Regions */

/**
 * Values of all units on a grid (rows from the top; for one input a line from left to right).
 * @typedef {{size: number, flat: boolean, layers: Float32Array[], z: Float32Array[], logits: Float32Array, mean: Float32Array, columns: number}} UnitFields
 * @typedef {{size: number, logits: Float32Array, mean: Float32Array}} PlaneGrid
 */

const REGION_LIMIT = 60_000;
const FEW_REGIONS = 1500; // so many are sorted into linear regions and maps while training runs
const UNIT_SIZE = 26;
const LINE_SIZE = 201;
const BUDGET = 2.5e6; // multiplications of one grid

export class Fields {
  /** @type {UnitFields | null} */
  units = null;
  /** @type {PlaneGrid | null} */
  grid = null;
  /** @type {Regions | null} */
  regions = null;
  /** With one input: where the function bends. @type {{kinks: number[][], n: number, maps: {from: number, to: number, slope: number, intercept: number}[]} | null} */
  pieces = null;
  /** Why there are no regions, in words; "" where there are. */
  whyNoRegions = "";
  /** @type {{step: number, n: number}[]} */
  counts = [];
  /** A unit under the pointer: the plane shows it alone. @type {[number, number] | null} */
  hovered = null;
  /** @type {{size: number, values: Float32Array, width: number, unit: number, activation: string} | null} */
  single = null;
  /** Regions of the first weights. @type {number | null} */
  atStart = null;

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.#units = new Pump(() => this.#askUnits());
    this.#plane = new Pump(() => this.#askPlane());
    app.events.on("snapshot", () => this.refresh());
    app.events.on("problem", () => this.#forget());
  }

  #units;
  #plane;

  refresh() {
    this.#units.wanted();
    this.#plane.wanted();
  }

  /** The window of the picture, after zooming: two coordinates of the data. */
  window() {
    const { problem } = this.app;
    const { zoom, axes } = this.app.state().view;
    const of = (/** @type {number} */ j) => {
      const [l, u] = [problem.low[j] ?? -1, problem.high[j] ?? 1];
      const half = (u - l) / 2 / zoom;
      return [(l + u) / 2 - half, (l + u) / 2 + half];
    };
    const [i, j] = this.axes(axes);
    const margin = 0.12 * (problem.yHigh - problem.yLow || 2);
    const [x, y] = [of(i), problem.d > 1 ? of(j) : [problem.yLow - margin, problem.yHigh + margin]];
    return { low: [x[0], y[0]], high: [x[1], y[1]] };
  }

  /** Which inputs the picture shows. @param {number[]} axes */
  axes(axes) {
    const d = this.app.problem.d;
    const i = Math.min(axes[0], d - 1);
    const j = Math.min(axes[1], d - 1);
    return i === j && d > 1 ? [0, 1] : [i, j];
  }

  /** The point that a slice through more than two inputs passes. */
  base() {
    const { problem } = this.app;
    const probe = this.app.state().probe;
    if (probe && probe.length === problem.d) return probe;
    return problem.low.map((l, j) => (l + problem.high[j]) / 2);
  }

  /** Points of the picture (n, 2) as points of the data (n, d). @param {Float64Array} plane */
  lift(plane) {
    const { d } = this.app.problem;
    if (d === 2) return plane;
    const n = plane.length / 2;
    const points = new Float64Array(n * d);
    const base = this.base();
    const [i, j] = this.axes(this.app.state().view.axes);
    for (let r = 0; r < n; r++) {
      points.set(base, r * d);
      points[r * d + i] = plane[2 * r];
      points[r * d + j] = plane[2 * r + 1];
    }
    return points;
  }

  /** Points of a grid of the picture as inputs of the network. @param {number} size */
  gridRows(size) {
    const { low, high } = this.window();
    const { problem } = this.app;
    if (problem.d === 1) {
      const xs = Float64Array.from({ length: size }, (_, i) => low[0] + ((high[0] - low[0]) * i) / (size - 1));
      return inputRows(xs, this.app.state(), problem);
    }
    return inputRows(this.lift(gridPoints(low, high, size)), this.app.state(), problem);
  }

  /** Whether the activations are straight pieces and the inputs the coordinates. */
  exact() {
    const state = this.app.state();
    const bent = state.hidden.find((l) => !this.app.tables.piecewise.has(l.activation.name));
    if (bent) return `${bent.activation.name} is smooth: no linear regions. Choose relu, say, to see them.`;
    if (!inputsAreCoordinates(state, this.app.problem)) {
      return "exact regions need x₁ and x₂ as they are, and nothing else, as inputs.";
    }
    return "";
  }

  #forget() {
    this.units = this.grid = this.regions = this.pieces = this.atStart = null;
    this.counts = [];
  }

  async #askUnits() {
    const { app } = this;
    if (!app.settled()) return;
    const flat = app.problem.d === 1;
    const most = Math.max(...app.widths());
    const size = flat ? LINE_SIZE : most > 16 ? 14 : UNIT_SIZE;
    const found = await app.engine.forward(app.parameters(), this.gridRows(size), { units: true, net: app.net() });
    this.units = { size, flat, layers: found.layers, z: found.z, logits: found.logits, mean: found.mean, columns: found.mean_columns };
    app.events.emit("fields");
  }

  async #askPlane() {
    const { app } = this;
    if (!app.settled()) return;
    if (app.problem.d === 1) return this.#askPieces();
    this.whyNoRegions = this.exact();
    if (this.whyNoRegions === "") await this.#askRegions();
    else this.regions = null;
    if (!this.regions || scaleOf(app.likelihood(), app.problem, 1).fromMean) await this.#askGrid();
    await this.#askSingle();
    app.events.emit("regions");
  }

  async #askGrid() {
    const { app } = this;
    const cost = app.parameters().length;
    const size = Math.round(Math.min(app.running ? 100 : 160, Math.max(28, Math.sqrt(BUDGET / cost))));
    const found = await app.engine.forward(app.parameters(), this.gridRows(size), { net: app.net() });
    this.grid = { size, logits: found.logits, mean: found.mean };
  }

  async #askSingle() {
    const { app, hovered } = this;
    if (!hovered) {
      this.single = null;
      return;
    }
    const [layer, unit] = hovered;
    const size = 90;
    const found = await app.engine.forward(app.parameters(), this.gridRows(size), { units: true, net: app.net() });
    const output = layer === found.layers.length;
    const values = output ? found.logits : found.layers[layer];
    const activation = output ? "identity" : app.state().hidden[layer]?.activation.name ?? "identity";
    this.single = values ? { size, values, width: values.length / size ** 2, unit, activation } : null;
  }

  async #askRegions() {
    const { app } = this;
    const { low, high } = this.window();
    const parameters = app.parameters();
    const step = app.snapshot().step;
    const d = app.problem.d;
    const net = app.net();
    const counted = !app.running || (this.regions?.n ?? 0) < FEW_REGIONS;
    const plane = d > 2 ? this.#slice() : undefined;
    const found = await app.engine.regions(parameters, { low, high, ...(plane && { plane }) }, { limit: REGION_LIMIT, step, counts: counted, net: app.net() });
    if (!found.complete) {
      this.regions = null;
      this.whyNoRegions = `more than ${REGION_LIMIT.toLocaleString("en-US")} regions: not drawn exactly. Zoom in.`;
      return;
    }
    const outputs = app.widths().at(-1) ?? 1;
    this.regions = { ...found, parameters, step, outputs, low, high, counted, net };
    if (step === 0) this.atStart = found.n;
    this.#count(step, found.n);
  }

  /** Straight pieces of the first output over one input. */
  async #askPieces() {
    const { app } = this;
    this.pieces = null;
    this.whyNoRegions = this.exact();
    const smooth = app.state().hidden.some((l) => !app.tables.piecewise.has(l.activation.name));
    if (!smooth && inputsAreCoordinates(app.state(), app.problem)) {
      const { low, high } = this.window();
      const [a, b] = [low[0], high[0]];
      const step = app.snapshot().step;
      const found = await app.engine.segment(app.parameters(), [a], [b], { net: app.net() });
      const kinks = [];
      for (let i = 1; i < found.n; i++) {
        const t = found.t[i];
        kinks.push([a + t * (b - a), found.slopes[i * found.d_out] * t + found.intercepts[i * found.d_out]]);
      }
      const maps = Array.from({ length: found.n }, (_, i) => {
        const slope = found.slopes[i * found.d_out] / (b - a);
        return { from: a + found.t[i] * (b - a), to: a + found.t[i + 1] * (b - a), slope, intercept: found.intercepts[i * found.d_out] - slope * a };
      });
      this.pieces = { kinks, n: found.n, maps };
      if (step === 0) this.atStart = found.n;
      this.#count(step, found.n);
    }
    app.events.emit("regions");
  }

  /** The picture as a plane in the space of all inputs. */
  #slice() {
    const base = [...this.base()];
    const [i, j] = this.axes(this.app.state().view.axes);
    base[i] = base[j] = 0;
    const axis = (/** @type {number} */ k) => base.map((_, m) => (m === k ? 1 : 0));
    return { origin: base, axes: [axis(i), axis(j)] };
  }

  /** @param {number} step @param {number} n */
  #count(step, n) {
    const last = this.counts.at(-1);
    if (last && last.step >= step) this.counts = this.counts.filter((c) => c.step < step);
    this.counts.push({ step, n });
    if (this.counts.length > 1200) this.counts = this.counts.filter((_, i) => i % 2 === 0 || i > 1100);
  }
}

/** Runs one question at a time; what came meanwhile is asked once more at the end. */
export class Pump {
  /** @param {() => Promise<void>} ask */
  constructor(ask) {
    this.ask = ask;
    this.busy = false;
    this.again = false;
  }

  wanted() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    this.ask()
      .catch((error) => console.error(error))
      .finally(() => {
        this.busy = false;
        if (this.again) {
          this.again = false;
          this.wanted();
        }
      });
  }
}
