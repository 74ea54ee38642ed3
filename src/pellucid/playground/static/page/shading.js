// @ts-check
// From outputs of the network to colours of the plane.

import { fillValues, paintFlat, stretch } from "./scanline.js";

/** @typedef {import("./palette.js").Palette} Palette */
/** @typedef {import("./scanline.js").Window} Window */

/**
 * What is shown of the outputs. `kind`: one output with a sign ("sign": a logit; "value": a number
 * between `low` and `high`), or the largest of several ("classes"). Where the outputs are no values of
 * the target themselves, `fromMean`: what the likelihood makes of them is shown.
 * @typedef {{kind: "sign" | "value" | "classes", outputs: number, output: number, low: number, high: number, fromMean: boolean}} Scale
 */

/** Likelihoods whose outputs need a function to become values of the target. */
const INDIRECT = new Set(["mixture", "poisson", "negative_binomial", "ordinal"]);

/** @param {{name: string}} likelihood @param {import("./problem.js").Problem} problem @param {number} outputs @returns {Scale} */
export function scaleOf(likelihood, problem, outputs) {
  const { yLow: low, yHigh: high, classes } = problem;
  const base = { outputs, output: 0, low, high, fromMean: INDIRECT.has(likelihood.name) };
  if (likelihood.name === "categorical") return { ...base, kind: "classes" };
  if (likelihood.name === "ordinal") return { ...base, kind: "classes", outputs: classes?.length ?? outputs + 1 };
  if (likelihood.name === "bernoulli") return { ...base, kind: "sign", low: -1, high: 1 };
  if (base.fromMean) return { ...base, kind: "value", outputs: 1 };
  return { ...base, kind: "value", output: likelihood.name === "quantile" ? Math.floor(outputs / 2) : 0 };
}

/** Position of a value on the scale, from −1 to 1. @param {Scale} scale @param {number} v */
export function position(scale, v) {
  if (scale.kind === "sign") return Math.tanh(v / 2); // 2 p − 1
  const half = (scale.high - scale.low) / 2 || 1;
  return (v - (scale.low + scale.high) / 2) / half;
}

const BANDS = 6;

/** @param {Scale} scale @param {number} t @param {boolean} discretise */
function banded(scale, t, discretise) {
  if (!discretise) return t;
  if (scale.kind === "sign") return t > 0 ? 0.8 : -0.8;
  return (Math.round(((Math.min(1, Math.max(-1, t)) + 1) / 2) * (BANDS - 1)) / (BANDS - 1)) * 2 - 1;
}

/**
 * Colours of a table of values through a table, so that no pixel takes a logarithm or a tanh.
 * @param {Scale} scale @param {Palette} palette @param {boolean} discretise
 */
function lookup(scale, palette, discretise) {
  const { kind, low, high } = scale;
  if (memo && memo.palette === palette && memo.discretise === discretise && memo.kind === kind && memo.low === low && memo.high === high) {
    return memo.colour;
  }
  const colour = makeLookup(scale, palette, discretise);
  memo = { palette, discretise, kind, low, high, colour };
  return colour;
}

/** The table of the last picture: the next one mostly needs the same. @type {{palette: Palette, discretise: boolean, kind: string, low: number, high: number, colour: (v: number) => number} | null} */
let memo = null;

/** @param {Scale} scale @param {Palette} palette @param {boolean} discretise */
function makeLookup(scale, palette, discretise) {
  const reach = scale.kind === "sign" ? 8 : scale.high - scale.low || 2;
  const middle = scale.kind === "sign" ? 0 : (scale.low + scale.high) / 2;
  const size = 1024;
  const colours = new Uint32Array(size);
  for (let i = 0; i < size; i++) {
    const v = middle + ((i - (size - 1) / 2) / ((size - 1) / 2)) * reach;
    colours[i] = palette.at(banded(scale, position(scale, v), discretise));
  }
  return (/** @type {number} */ v) => {
    const i = Math.round(((v - middle) / reach + 1) * ((size - 1) / 2));
    return colours[i < 0 ? 0 : i >= size ? size - 1 : i || 0];
  };
}

/** Reusable buffers of one picture. */
export class Shades {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {Float32Array[]} */
    this.layers = [];
    this.classes = new Uint8Array(width * height);
  }

  /** @param {number} k */
  layer(k) {
    while (this.layers.length <= k) this.layers.push(new Float32Array(this.width * this.height));
    return this.layers[k];
  }

  /**
   * Values of the outputs at every pixel from the exact maps of regions.
   * @param {Int32Array} ids @param {{slopes: Float64Array, intercepts: Float64Array, outputs: number}} maps
   * @param {Scale} scale @param {Window} w
   */
  fromRegions(ids, maps, scale, w) {
    if (scale.kind !== "classes") return fillValues(ids, maps, scale.output, w, this.layer(0));
    for (let k = 0; k < scale.outputs; k++) fillValues(ids, maps, k, w, this.layer(k));
  }

  /**
   * The same from a grid: of logits, or of what the likelihood makes of them where the scale says so.
   * @param {{logits: ArrayLike<number>, mean: ArrayLike<number>}} grid @param {number} size @param {Scale} scale
   */
  fromGrid(grid, size, scale) {
    const { width, height } = this;
    const logits = !scale.fromMean ? grid.logits : scale.kind === "classes" ? Array.from(grid.mean, Math.log) : grid.mean;
    if (scale.kind !== "classes") {
      return stretch(logits, size, scale.outputs, scale.output, width, height, this.layer(0));
    }
    for (let k = 0; k < scale.outputs; k++) {
      stretch(logits, size, scale.outputs, k, width, height, this.layer(k));
    }
  }

  /**
   * Colours by output; the class of every pixel stays in `classes`.
   * @param {Scale} scale @param {Palette} palette @param {boolean} discretise @param {Uint32Array} pixels
   */
  paint(scale, palette, discretise, pixels) {
    if (scale.kind === "classes") return this.#paintClasses(scale.outputs, palette, discretise, pixels);
    const colour = lookup(scale, palette, discretise);
    const values = this.layer(0);
    for (let i = 0; i < values.length; i++) {
      pixels[i] = colour(values[i]);
      this.classes[i] = values[i] > 0 ? 1 : 0;
    }
  }

  /** @param {number} k @param {Palette} palette @param {boolean} discretise @param {Uint32Array} pixels */
  #paintClasses(k, palette, discretise, pixels) {
    const steps = 32;
    const tints = new Uint32Array(k * (steps + 1));
    for (let c = 0; c < k; c++) for (let s = 0; s <= steps; s++) tints[c * (steps + 1) + s] = palette.tint(c, s / steps);
    for (let i = 0; i < pixels.length; i++) {
      let best = 0;
      let top = -Infinity;
      let second = -Infinity;
      for (let c = 0; c < k; c++) {
        const v = this.layers[c][i];
        if (v > top) [second, top, best] = [top, v, c];
        else if (v > second) second = v;
      }
      const margin = top - second;
      const sure = discretise ? 0.8 : margin > 6 ? 1 : margin / 6;
      pixels[i] = tints[best * (steps + 1) + Math.round(sure * steps) || best * (steps + 1)];
      this.classes[i] = best;
    }
  }
}

/**
 * One colour a region: by its pattern, or by the slope of its map.
 * @param {"pattern" | "slope"} by
 * @param {{n: number, patterns: Uint8Array, stride: number, slopes: Float64Array, outputs: number}} regions
 * @param {Palette} palette
 */
export function regionColours(by, regions, palette) {
  const colours = new Uint32Array(regions.n);
  if (by === "pattern") {
    for (let r = 0; r < regions.n; r++) {
      colours[r] = palette.quiet(hash(regions.patterns, r * regions.stride, regions.stride));
    }
    return colours;
  }
  const sizes = Array.from({ length: regions.n }, (_, r) => Math.hypot(...shownSlope(regions, r)));
  const largest = sizes.sort((a, b) => a - b)[Math.floor(0.95 * (regions.n - 1))] ?? 1;
  for (let r = 0; r < regions.n; r++) {
    const [gx, gy] = shownSlope(regions, r);
    colours[r] = palette.direction(gx, gy, largest);
  }
  return colours;
}

/** The slope of the output, or of the last logit less the first. @param {{slopes: Float64Array, outputs: number}} regions @param {number} r */
function shownSlope({ slopes, outputs }, r) {
  const at = r * outputs * 2;
  if (outputs === 1) return [slopes[at], slopes[at + 1]];
  const last = at + 2 * (outputs - 1);
  return [slopes[last] - slopes[at], slopes[last + 1] - slopes[at + 1]];
}

/** FNV-1a over the bytes of a pattern. @param {Uint8Array} bytes @param {number} from @param {number} count */
export function hash(bytes, from, count) {
  let h = 0x811c9dc5;
  for (let i = from; i < from + count; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

export { paintFlat };
