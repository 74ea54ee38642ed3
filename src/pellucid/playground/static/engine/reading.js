// What one network computes: passes, exact regions of a plane, pieces of a segment.

import { Memory, describe, floats, need } from "./abi.js";
import { Instance } from "./instance.js";

/** @typedef {import("./types.js").Net} Net */
/** @typedef {import("./types.js").Domain} Domain */
/** @typedef {import("./types.js").ForwardResult} ForwardResult */
/** @typedef {import("./types.js").RegionsResult} RegionsResult */
/** @typedef {import("./types.js").SegmentResult} SegmentResult */
/** @typedef {import("./types.js").Switch} Switch */
/** @typedef {import("./types.js").Worked} Worked */

/** Regions that are looked for where no limit is named. */
const LIMIT = 100_000;

const LABELLED = ["categorical", "ordinal"];

/** An instance that reads networks. */
export class Reader extends Instance {
  /**
   * @param {Net} net
   * @param {Float32Array} parameters
   * @param {Float32Array} X
   * @param {{units?: boolean}} [options]
   * @returns {ForwardResult}
   */
  forward(net, parameters, X, { units = false } = {}) {
    const description = describe(net);
    const rows = floats(X, "X");
    const n = countRows(rows, net);
    const p = floats(parameters, "parameters");
    return this.call((exports, memory) => {
      const columns = this.check(
        exports.pellucid_forward(
          ...memory.description(description), memory.put(p), p.length, memory.put(rows), n, units ? 1 : 0,
        ),
      );
      const [z, h, mean] = memory.integers(exports.pellucid_forward_results(), 3);
      const last = net.widths.slice(-1);
      const layered = split(memory, "floats", z, units ? net.widths.slice(1) : last, n);
      return {
        logits: /** @type {Float32Array} */ (layered.at(-1)),
        mean: memory.floats(mean ?? 0, n * columns),
        mean_columns: columns,
        layers: units ? split(memory, "floats", h, net.widths.slice(1, -1), n) : [],
        z: units ? layered : [],
      };
    });
  }

  /**
   * @param {Net} net
   * @param {ArrayLike<number>} parameters
   * @param {ArrayLike<number>} row
   * @param {number|ArrayLike<number>} target
   * @returns {Worked}
   */
  worked(net, parameters, row, target) {
    const description = describe(net);
    const p = Float64Array.from(parameters);
    const a0 = Float64Array.from(row);
    const n = countRows(a0, net);
    const labelled = LABELLED.includes(net.likelihood?.name ?? "");
    const targets = typeof target === "number" ? [target] : Array.from(target);
    const y = labelled ? Int32Array.from(targets) : Float64Array.from(targets);
    need(
      y.length % n === 0 && y.length > 0 && (!labelled || y.length === n),
      () => `there are ${y.length} targets for ${n} rows.`,
    );
    need(
      labelled || y.length / n === this.columns(net),
      () => `a row has ${y.length / n} targets; this network needs ${this.columns(net)}.`,
    );
    return this.call((exports, memory) => {
      const columns = this.check(
        exports.pellucid_worked(
          ...memory.description(description), memory.put(p), p.length, memory.put(a0), memory.put(y), n,
        ),
      );
      const at = Array.from(memory.integers(exports.pellucid_worked_results(), 9));
      const all = net.widths.slice(1);
      const hidden = net.widths.slice(1, -1);
      const z = split(memory, "doubles", at[0], all, n);
      const { dW, db } = layersOf(memory.doubles(at[5] ?? 0, p.length), net.widths);
      return {
        a0,
        z,
        h: split(memory, "doubles", at[1], hidden, n),
        slopes: split(memory, "doubles", at[2], hidden, n),
        logits: /** @type {Float64Array} */ (z.at(-1)),
        mean: memory.doubles(at[7] ?? 0, n * columns),
        loss: /** @type {number} */ (memory.doubles(at[8] ?? 0, 1)[0]),
        delta: split(memory, "doubles", at[3], all, n),
        dh: split(memory, "doubles", at[4], hidden, n),
        dW,
        db,
        input_gradient: memory.doubles(at[6] ?? 0, a0.length),
      };
    });
  }

  /**
   * Columns of targets; 0 for labels.
   * @param {Net} net
   * @returns {number}
   */
  columns(net) {
    const description = describe(net);
    return this.call((exports, memory) =>
      this.check(exports.pellucid_columns(...memory.description(description))));
  }

  /**
   * @param {Net} net
   * @param {Float32Array} parameters
   * @param {Domain} domain
   * @param {{limit?: number, counts?: boolean, boundary?: boolean}} [options]
   * @returns {RegionsResult}
   */
  regions(net, parameters, domain, { limit = LIMIT, counts = true, boundary = true } = {}) {
    const description = describe(net);
    const d_in = /** @type {number} */ (net.widths[0]);
    const plane = domain.plane ?? { origin: [0, 0], axes: [[1, 0], [0, 1]] };
    need(
      domain.plane !== undefined || d_in === 2,
      () => `the network has ${d_in} inputs; regions need a plane through them (origin and two axes).`,
    );
    const numbers = Float64Array.from([...domain.low, ...domain.high, ...plane.origin, ...plane.axes.flat()]);
    const p = floats(parameters, "parameters");
    return this.call((exports, memory) => {
      this.check(
        exports.pellucid_regions(
          ...memory.description(description), memory.put(p), p.length, memory.put(numbers),
          numbers.length, limit, counts ? 1 : 0, boundary ? 1 : 0,
        ),
      );
      const found = this.found(net);
      const { at, n, d_out } = found;
      const offsets = memory.integers(at[3] ?? 0, n + 1);
      const corners = /** @type {number} */ (offsets[n]);
      const segments = found.numbers[7] ?? 0;
      return {
        ...found.common,
        vertices: memory.doubles(at[2] ?? 0, 2 * corners),
        offsets,
        edges: memory.integers(at[4] ?? 0, corners),
        vertex_error: found.numbers[4] ?? 0,
        slopes: memory.doubles(at[5] ?? 0, n * d_out * 2),
        counts: {
          n_activation_regions: n,
          n_linear_regions: found.numbers[5] ?? 0,
          n_affine_maps: found.numbers[6] ?? 0,
        },
        linear_region: memory.integers(at[7] ?? 0, counts ? n : 0),
        affine_map: memory.integers(at[8] ?? 0, counts ? n : 0),
        boundary: memory.doubles(at[9] ?? 0, 4 * segments),
        boundary_pair: memory.integers(at[10] ?? 0, 2 * segments),
      };
    });
  }

  /**
   * @param {Net} net
   * @param {Float32Array} parameters
   * @param {ArrayLike<number>} a
   * @param {ArrayLike<number>} b
   * @param {{limit?: number}} [options]
   * @returns {SegmentResult}
   */
  segment(net, parameters, a, b, { limit = LIMIT } = {}) {
    const description = describe(net);
    const p = floats(parameters, "parameters");
    const [from, to] = [Float64Array.from(a), Float64Array.from(b)];
    need(from.length === to.length, () => `a has ${from.length} numbers and b has ${to.length}.`);
    return this.call((exports, memory) => {
      this.check(
        exports.pellucid_segment(
          ...memory.description(description), memory.put(p), p.length, memory.put(from),
          memory.put(to), from.length, limit,
        ),
      );
      const { common, at, n, d_out } = this.found(net);
      return {
        ...common,
        t: memory.doubles(at[2] ?? 0, n + 1),
        at: memory.integers(at[4] ?? 0, Math.max(0, n - 1)),
        slopes: memory.doubles(at[5] ?? 0, n * d_out),
      };
    });
  }

  /**
   * What both kinds of regions have.
   * @param {Net} net
   */
  found(net) {
    const { memory } = this;
    const at = Array.from(memory.integers(this.exports.pellucid_region_results(), 11));
    const numbers = Array.from(memory.doubles(at[0] ?? 0, 9));
    const n = numbers[0] ?? 0;
    const stride = numbers[1] ?? 0;
    const d_out = /** @type {number} */ (net.widths.at(-1));
    const common = {
      n,
      complete: numbers[2] === 1,
      certified: numbers[3] === 1,
      d_out,
      stride,
      patterns: memory.bytes(at[1] ?? 0, n * stride),
      switches: switchesOf(net),
      intercepts: memory.doubles(at[6] ?? 0, n * d_out),
    };
    return { at, numbers, n, d_out, common };
  }
}

/**
 * @param {ArrayLike<number>} X
 * @param {Net} net
 * @returns {number}
 */
function countRows(X, net) {
  const d_in = /** @type {number} */ (net.widths[0]);
  need(
    X.length > 0 && X.length % d_in === 0,
    () => `X has ${X.length} numbers; it needs ${d_in} for each row.`,
  );
  return X.length / d_in;
}

/**
 * Arrays (n x width) that stand one after the other.
 * @template {"floats"|"doubles"} K
 * @param {Memory} memory
 * @param {K} kind
 * @param {number|undefined} at
 * @param {number[]} widths
 * @param {number} n
 * @returns {ReturnType<Memory[K]>[]}
 */
function split(memory, kind, at, widths, n) {
  let next = at ?? 0;
  return widths.map((width) => {
    const part = memory[kind](next, n * width);
    next += part.byteLength;
    return /** @type {ReturnType<Memory[K]>} */ (part);
  });
}

/**
 * W and b of every layer out of flat parameters.
 * @param {Float64Array} flat
 * @param {number[]} widths
 */
function layersOf(flat, widths) {
  /** @type {Float64Array[]} */
  const dW = [];
  /** @type {Float64Array[]} */
  const db = [];
  let at = 0;
  for (let l = 0; l + 1 < widths.length; ++l) {
    const out = /** @type {number} */ (widths[l + 1]);
    const weights = /** @type {number} */ (widths[l]) * out;
    dW.push(flat.slice(at, at + weights));
    db.push(flat.slice(at + weights, (at += weights + out)));
  }
  return { dW, db };
}

/**
 * Which unit and kink each bit of a pattern stands for.
 * @param {Net} net
 * @returns {Switch[]}
 */
function switchesOf(net) {
  /** @type {Switch[]} */
  const switches = [];
  net.hidden.forEach(({ name }, layer) => {
    const kinks = name === "identity" ? 0 : name === "hardtanh" ? 2 : 1;
    for (let unit = 0; unit < /** @type {number} */ (net.widths[layer + 1]); ++unit)
      for (let kink = 0; kink < kinks; ++kink) switches.push({ layer, unit, kink });
  });
  return switches;
}
