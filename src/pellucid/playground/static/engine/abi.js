// The module's memory: plain data in, plain data out. The C++ side is _kernels/wasm/*.cpp; both read and
// write descriptions in the same order.

/** @typedef {import("./types.js").Net} Net */
/** @typedef {import("./types.js").Named} Named */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Rows} Rows */

// In the order of the enums in _kernels/train.hpp, and with the defaults of Pellucid's tables.
/** @type {Record<string, number[]>} */
export const ACTIVATIONS = {
  identity: [], relu: [], leaky_relu: [0.01], prelu: [0.25], hardtanh: [-1, 1], abs: [], sigmoid: [],
  tanh: [], elu: [1], gelu: [], gelu_tanh: [], silu: [], softplus: [], softsign: [],
};
/** @type {Record<string, number[]>} */
export const LIKELIHOODS = {
  gaussian: [], bernoulli: [], categorical: [], mean_variance: [0, 1e-3], laplace: [1e-3],
  student_t: [0, 1e-3], poisson: [], negative_binomial: [], ordinal: [], quantile: [0.1, 0.5, 0.9],
  mixture: [3, 1e-3],
};
export const OPTIMIZERS = ["sgd", "rmsprop", "adam", "adamw", "lbfgs"];
export const SCHEDULES = ["constant", "step", "cosine", "one_cycle", "plateau"];
/** As in network/initialization.py. */
export const SCHEMES = [
  "torch", "he_normal", "he_uniform", "glorot_normal", "glorot_uniform", "lecun_normal",
  "lecun_uniform",
];
export const STATUSES = /** @type {const} */ ([
  "finished", "paused", "diverged", "stopped early", "converged",
]);

/** Settings of a job that are numbers, in the order of `read_settings`, with their defaults. */
const OF_OPTIMIZER = {
  learning_rate: 0.01, momentum: 0, alpha: 0.99, beta1: 0.9, beta2: 0.999, epsilon: 1e-8,
};
const OF_SCHEDULE = {
  warmup: 0, step_size: 0, plateau_patience: 10, gamma: 0.1, eta_min: 0, pct_start: 0.3,
  div_factor: 25, final_div_factor: 1e4,
};

/**
 * The least that a setting may be, and what it must lie below (pct_start may be 1).
 * @type {Record<string, [number, number]>}
 */
const RANGES = {
  alpha: [0, 1], beta1: [0, 1], beta2: [0, 1], dropout: [0, 1], label_smoothing: [0, 1],
  pct_start: [0, 1 + Number.EPSILON], div_factor: [1, Infinity], final_div_factor: [1, Infinity],
};

/** What is asked for cannot be done; the message is a sentence for the visitor. */
export class Refused extends Error {}

/**
 * @param {boolean} condition
 * @param {() => string} message
 * @returns {asserts condition}
 */
export function need(condition, message) {
  if (!condition) throw new Refused(message());
}

/**
 * A name's place in a table.
 * @param {string[]} names
 * @param {string} name
 * @param {string} what
 * @returns {number}
 */
export function placeOf(names, name, what) {
  const at = names.indexOf(name);
  need(at >= 0, () => `${what} is ${JSON.stringify(name)}; it must be one of ${names.join(", ")}.`);
  return at;
}

/**
 * A number of a job, checked.
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
function number(value, name) {
  need(
    typeof value === "number" && Number.isFinite(value),
    () => `${name} is ${String(value)}; it must be a finite number.`,
  );
  return value;
}

/**
 * A setting of the training, in its range: from 0 up, where no other is named.
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
function setting(value, name) {
  const [least, below] = RANGES[name] ?? [0, Infinity];
  const given = number(value, name);
  need(given >= least && given < below, () => {
    const most = below === Infinity ? "" : ` and at most ${name === "pct_start" ? "1" : "just below 1"}`;
    return `${name} is ${given}; it must be at least ${least}${most}.`;
  });
  return given;
}

/**
 * A whole number, checked.
 * @param {unknown} value
 * @param {string} name
 * @param {number} [least]
 * @returns {number}
 */
export function whole(value, name, least = 0) {
  need(
    Number.isSafeInteger(value) && /** @type {number} */ (value) >= least,
    () => `${name} is ${String(value)}; it must be a whole number from ${least} up.`,
  );
  return /** @type {number} */ (value);
}

/**
 * The two halves of a seed of 64 bits.
 * @param {number|bigint|undefined} seed
 * @returns {[number, number]}  low, high
 */
export function halves(seed = 0) {
  need(
    typeof seed === "bigint" || Number.isSafeInteger(seed),
    () => `the seed is ${String(seed)}; it must be a whole number.`,
  );
  const bits = BigInt.asUintN(64, BigInt(seed));
  return [Number(bits & 0xffffffffn), Number(bits >> 32n)];
}

/** A description in the two arrays that the module reads. */
class Description {
  constructor() {
    /** @type {number[]} */
    this.whole = [];
    /** @type {number[]} */
    this.numbers = [];
  }

  /**
   * @param {Net} net
   * @returns {this}
   */
  net({ widths, hidden, likelihood = { name: "gaussian" } }) {
    need(
      Array.isArray(widths) && widths.length >= 2,
      () => `the widths are ${JSON.stringify(widths)}; a network needs inputs and outputs.`,
    );
    need(
      Array.isArray(hidden) && hidden.length === widths.length - 2,
      () => `there are ${hidden?.length} activations for ${widths.length - 2} hidden layers.`,
    );
    this.whole.push(widths.length - 1);
    for (const width of widths) this.whole.push(whole(width, "a width", 1));
    for (const activation of hidden) {
      const [code, parameters] = member(ACTIVATIONS, activation, "an activation");
      this.whole.push(code);
      this.numbers.push(parameters[0] ?? 0, parameters[1] ?? 0);
    }
    const [code, parameters] = member(LIKELIHOODS, likelihood, "the likelihood");
    this.whole.push(code, parameters.length);
    this.numbers.push(...parameters);
    return this;
  }

  /**
   * @param {Job} job
   * @returns {this}
   */
  training(job) {
    /** @type {Record<string, any>} */
    const optimizer = job.optimizer ?? {};
    /** @type {Record<string, any>} */
    const schedule = job.schedule ?? { name: "constant" };
    this.whole.push(
      placeOf(OPTIMIZERS, optimizer.name, "the optimizer"),
      optimizer.nesterov ? 1 : 0,
      placeOf(SCHEDULES, schedule.name, "the schedule"),
    );
    for (const [name, usual] of Object.entries(OF_OPTIMIZER))
      this.numbers.push(setting(optimizer[name] ?? usual, name));
    this.numbers.push(setting(job.weight_decay ?? 0, "weight_decay"));
    this.numbers.push(whole(optimizer.history_size ?? 10, "history_size", 1));
    for (const [name, usual] of Object.entries(OF_SCHEDULE))
      this.numbers.push(setting(schedule[name] ?? usual, name));
    this.numbers.push(
      setting(job.dropout ?? 0, "dropout"),
      setting(job.l1 ?? 0, "l1"),
      setting(job.clip_norm ?? 0, "clip_norm"),
      setting(job.label_smoothing ?? 0, "label_smoothing"),
      whole(job.steps ?? 0, "steps"),
      whole(job.batch_size ?? 0, "batch_size"),
      whole(job.record_every ?? 1, "record_every", 1),
      ...halves(job.seed),
    );
    return this;
  }
}

/**
 * A member's place in its table, and its parameters, the defaults for those left out.
 * @param {Record<string, number[]>} table
 * @param {Named} named
 * @param {string} what
 * @returns {[number, number[]]}
 */
function member(table, named, what) {
  const code = placeOf(Object.keys(table), named?.name, what);
  const usual = /** @type {number[]} */ (table[named.name]);
  const given = named.parameters ?? [];
  const any = named.name === "quantile" && given.length > 0;
  need(
    any || given.length <= usual.length,
    () => `${named.name} has ${given.length} parameters; it takes ${usual.length}.`,
  );
  const complete = any ? given : usual.map((value, i) => given[i] ?? value);
  return [code, complete.map((value) => number(value, `a parameter of ${named.name}`))];
}

/**
 * @param {Net} net
 * @returns {Description}
 */
export function describe(net) {
  return new Description().net(net);
}

/**
 * @param {Job} job
 * @returns {Description}
 */
export function describeJob(job) {
  return new Description().net(job).training(job);
}

/** The memory of one instance. What is put in is given back by `clear`. */
export class Memory {
  /** @param {Record<string, any>} exports */
  constructor(exports) {
    this.exports = exports;
    /** @type {WebAssembly.Memory} */
    this.memory = exports.memory;
    /** @type {number[]} */
    this.taken = [];
  }

  /**
   * The address of a copy; 0 for nothing.
   * @param {ArrayBufferView|null|undefined} array
   * @returns {number}
   */
  put(array) {
    if (!array || !array.byteLength) return 0;
    const at = this.exports.pellucid_take(array.byteLength) >>> 0;
    need(at !== 0, () => "there is not enough memory for this in the page.");
    this.taken.push(at);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    new Uint8Array(this.memory.buffer, at, array.byteLength).set(bytes);
    return at;
  }

  /**
   * Address and length of the two arrays, twice two numbers.
   * @param {Description} description
   * @returns {number[]}
   */
  description({ whole, numbers }) {
    return [
      this.put(Int32Array.from(whole)), whole.length, this.put(Float64Array.from(numbers)),
      numbers.length,
    ];
  }

  /** Gives back what was put in. */
  clear() {
    for (const at of this.taken.splice(0)) this.exports.pellucid_give_back(at);
  }

  /**
   * Copies of what the module left at an address.
   * @param {number} at
   * @param {number} n
   */
  floats(at, n) {
    return new Float32Array(this.memory.buffer, at >>> 0, n).slice();
  }

  /**
   * @param {number} at
   * @param {number} n
   */
  doubles(at, n) {
    return new Float64Array(this.memory.buffer, at >>> 0, n).slice();
  }

  /**
   * @param {number} at
   * @param {number} n
   */
  integers(at, n) {
    return new Int32Array(this.memory.buffer, at >>> 0, n).slice();
  }

  /**
   * @param {number} at
   * @param {number} n
   */
  bytes(at, n) {
    return new Uint8Array(this.memory.buffer, at >>> 0, n).slice();
  }

  /** Why the last call was refused, as a sentence. */
  refusal() {
    const text = new TextDecoder().decode(
      this.bytes(this.exports.pellucid_refusal(), this.exports.pellucid_refusal_length()),
    );
    return `${text}.`;
  }
}

/**
 * Numbers in the type that the kernels take them in.
 * @param {Float32Array|ArrayLike<number>|null|undefined} values
 * @param {string} what
 * @returns {Float32Array}
 */
export function floats(values, what) {
  need(values !== null && values !== undefined, () => `${what} is missing.`);
  return values instanceof Float32Array ? values : Float32Array.from(values);
}
