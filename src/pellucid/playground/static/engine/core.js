// Synchronous calls on one instance of the module; works in a worker and in Node.

import {
  ACTIVATIONS, Memory, Refused, SCHEMES, STATUSES, describe, describeJob, halves, need, placeOf, whole,
} from "./abi.js";

/** @typedef {import("./types.js").Net} Net */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Rows} Rows */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Status} Status */
/** @typedef {import("./types.js").Batch} Batch */
/** @typedef {import("./types.js").Domain} Domain */
/** @typedef {import("./types.js").ForwardResult} ForwardResult */
/** @typedef {import("./types.js").RegionsResult} RegionsResult */
/** @typedef {import("./types.js").SegmentResult} SegmentResult */
/** @typedef {import("./types.js").Switch} Switch */
/** @typedef {import("./types.js").Worked} Worked */

/** Regions that are looked for where no limit is named. */
const LIMIT = 100_000;

const LABELLED = ["categorical", "ordinal"];

/**
 * What the module is linked against: nothing of it is needed but the end after an abort.
 * @returns {any}
 */
function imports() {
  const nothing = () => 0;
  const end = (/** @type {number} */ code) => {
    throw new WebAssembly.RuntimeError(`the engine ended (${code})`);
  };
  const wasi = { proc_exit: end, fd_write: nothing, fd_read: nothing, fd_close: nothing, fd_seek: nothing };
  return { env: { emscripten_notify_memory_growth: nothing }, wasi_snapshot_preview1: wasi };
}

/**
 * @param {WebAssembly.Module} module
 * @returns {Record<string, any>}
 */
function instantiate(module) {
  const { exports } = new WebAssembly.Instance(module, imports());
  /** @type {any} */ (exports)._initialize?.();
  return exports;
}

/**
 * Numbers in the type that the kernels take them in.
 * @param {Float32Array|ArrayLike<number>|null|undefined} values
 * @param {string} what
 * @returns {Float32Array}
 */
function floats(values, what) {
  need(values !== null && values !== undefined, () => `${what} is missing.`);
  return values instanceof Float32Array ? values : Float32Array.from(values);
}

/** One instance and the run that it holds. */
export class Core {
  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.module = module;
    this.exports = instantiate(module);
    this.memory = new Memory(this.exports);
    /** @type {Job|null} */
    this.job = null;
  }

  /**
   * @param {WebAssembly.Module|BufferSource} source
   * @returns {Promise<Core>}
   */
  static async open(source) {
    return new Core(source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source));
  }

  /** A fresh instance; what the last one held is gone. */
  restart() {
    this.exports = instantiate(this.module);
    this.memory = new Memory(this.exports);
    this.job = null;
  }

  /**
   * Runs a call; what it put into the memory is given back. After a trap there is a fresh instance.
   * @template T
   * @param {(exports: Record<string, any>, memory: Memory) => T} use
   * @returns {T}
   */
  call(use) {
    try {
      const result = use(this.exports, this.memory);
      this.memory.clear();
      return result;
    } catch (error) {
      if (error instanceof Refused) {
        this.memory.clear();
        throw error;
      }
      const deep = error instanceof RangeError;
      this.restart();
      throw new Refused(
        deep
          ? "this goes deeper than the engine's stack holds; take fewer units or a smaller domain."
          : "the engine ran out of memory and was restarted; take a smaller network, fewer rows or a limit.",
      );
    }
  }

  /**
   * Throws the module's own words where a call was refused.
   * @param {number} result
   * @returns {number}
   */
  check(result) {
    need(result >= 0, () => this.memory.refusal());
    return result;
  }

  /**
   * @param {{widths: number[], scheme?: string, seed?: number|bigint}} what
   * @returns {Float32Array}
   */
  initialize({ widths, scheme = "torch", seed = 0 }) {
    const code = placeOf(SCHEMES, scheme, "the scheme");
    need(
      Array.isArray(widths) && widths.length >= 2 && widths.length <= 65,
      () => `the widths are ${JSON.stringify(widths)}; a network needs inputs and outputs, at most 65 widths.`,
    );
    const numbers = Int32Array.from(widths, (width) => whole(width, "a width", 1));
    return this.call((exports, memory) => {
      const n = exports.pellucid_initialize(code, memory.put(numbers), widths.length - 1, ...halves(seed));
      return memory.floats(exports.pellucid_initial_parameters(), this.check(n));
    });
  }

  // ---- training

  /**
   * Replaces the run; with a state goes on from there.
   * @param {Job} job
   * @param {ArrayBuffer|null} [state]
   * @returns {Snapshot}
   */
  load(job, state) {
    const description = describeJob(job);
    const d_in = /** @type {number} */ (job.widths[0]);
    const columns = this.columns(job);
    const rows = checkedRows(job.rows, d_in, columns, "the training rows");
    const held = job.validation?.n ? checkedRows(job.validation, d_in, columns, "the validation rows") : null;
    const parameters = floats(job.parameters, "parameters");
    this.job = null;
    return this.call((exports, memory) => {
      const result = exports.pellucid_load(
        ...memory.description(description),
        memory.put(rows.X), memory.put(rows.y), rows.n,
        memory.put(held?.X), memory.put(held?.y), held?.n ?? 0,
        memory.put(parameters), parameters.length,
        state ? memory.put(new Uint8Array(state)) : 0, state?.byteLength ?? 0,
      );
      this.check(result);
      this.job = job;
      return this.snapshot();
    });
  }

  /**
   * Trains for n steps more, or to the end of the run.
   * @param {number} n
   * @returns {Snapshot}
   */
  advance(n) {
    return this.call((exports) => {
      this.check(exports.pellucid_advance(whole(n, "the number of steps")));
      return this.snapshot();
    });
  }

  /**
   * @param {Float32Array} parameters
   * @returns {Snapshot}
   */
  edit(parameters) {
    const numbers = floats(parameters, "parameters");
    return this.call((exports, memory) => {
      this.check(exports.pellucid_edit(memory.put(numbers), numbers.length));
      return this.snapshot();
    });
  }

  /** @returns {ArrayBuffer} */
  state() {
    return this.call((exports, memory) => {
      const n = this.check(exports.pellucid_save());
      return memory.bytes(exports.pellucid_saved_state(), n).buffer;
    });
  }

  /** @returns {Batch} */
  batch() {
    const job = this.job;
    need(job !== null, () => "no run is loaded.");
    const { rows, update, parameters } = this.call((exports, memory) => {
      const n = this.check(exports.pellucid_look_ahead());
      const p = job.parameters.length;
      return {
        rows: memory.integers(exports.pellucid_batch_rows(), n),
        update: memory.floats(exports.pellucid_batch_update(), p),
        parameters: memory.floats(this.results()[1] ?? 0, p),
      };
    });
    const d_in = /** @type {number} */ (job.widths[0]);
    const pick = (/** @type {ArrayLike<number>} */ from, /** @type {number} */ each) =>
      Float64Array.from({ length: rows.length * each }, (_, i) =>
        Number(from[/** @type {number} */ (rows[Math.floor(i / each)]) * each + (i % each)]));
    const y = /** @type {ArrayLike<number>} */ (job.rows.labels ?? job.rows.targets);
    const worked = this.worked(job, parameters, pick(job.rows.X, d_in), pick(y, y.length / job.rows.n));
    const gradient = new Float64Array(parameters.length);
    let at = 0;
    worked.dW.forEach((dW, l) => {
      gradient.set(dW, at);
      gradient.set(/** @type {Float64Array} */ (worked.db[l]), at + dW.length);
      at += dW.length + /** @type {Float64Array} */ (worked.db[l]).length;
    });
    return { rows, loss: worked.loss, gradient, update };
  }

  /**
   * Addresses of what the last portion left.
   * @returns {Int32Array}
   */
  results() {
    return this.memory.integers(this.exports.pellucid_results(), 9);
  }

  /**
   * How things stand, with the records since the last call that trained.
   * @returns {Snapshot}
   */
  snapshot() {
    const job = /** @type {Job} */ (this.job);
    const { memory } = this;
    const at = /** @type {number[]} */ (Array.from(this.results()));
    const [step, status, diverged, training_loss, validation_loss, n_records] = /** @type {[number, number, number, number, number, number]} */ (
      /** @type {unknown} */ (Array.from(memory.doubles(at[0] ?? 0, 7))));
    const L = job.widths.length - 1;
    const measure = (/** @type {number} */ i, /** @type {number} */ n) => Array.from(memory.doubles(at[i] ?? 0, n));
    return {
      step,
      training_loss,
      validation_loss,
      parameters: memory.floats(at[1] ?? 0, job.parameters.length),
      gradient_norm: measure(5, L),
      update_ratio: measure(6, L),
      dead: measure(7, L - 1),
      saturated: measure(8, L - 1),
      status: /** @type {Status} */ (STATUSES[status]),
      diverged_at: diverged < 0 ? null : diverged,
      updates_per_second: 0,
      records: {
        steps: memory.doubles(at[2] ?? 0, n_records),
        losses: memory.doubles(at[3] ?? 0, n_records),
        validation_losses: memory.doubles(at[4] ?? 0, job.validation?.n ? n_records : 0),
      },
    };
  }

  // ---- one network

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
 * @param {Rows} rows
 * @param {number} d_in
 * @param {number} columns  of targets; 0: labels
 * @param {string} what
 */
function checkedRows(rows, d_in, columns, what) {
  need(rows?.n >= 1, () => `there are no rows among ${what}.`);
  const X = floats(rows.X, `X of ${what}`);
  need(
    X.length === rows.n * d_in,
    () => `${what} have ${X.length} numbers; ${rows.n} rows of ${d_in} inputs need ${rows.n * d_in}.`,
  );
  const given = columns ? rows.targets : rows.labels;
  const each = columns || 1;
  need(
    given?.length === rows.n * each,
    () =>
      `${what} have ${given?.length ?? 0} ${columns ? "targets" : "labels"}; ${rows.n} rows need ` +
      `${rows.n * each} for this likelihood.`,
  );
  const y = columns ? floats(given, `targets of ${what}`) : Int32Array.from(/** @type {Int32Array} */ (given));
  return { X, y, n: rows.n };
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

export { ACTIVATIONS, Refused };
