// Synchronous calls on one instance of the module; works in a worker and in Node. Here is the run that it
// trains; what it reads of a network is in reading.js.

import { ACTIVATIONS, Refused, SCHEMES, STATUSES, describeJob, floats, halves, need, placeOf, whole } from "./abi.js";
import { Reader } from "./reading.js";

/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Rows} Rows */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Status} Status */
/** @typedef {import("./types.js").Batch} Batch */

/** One instance and the run that it holds. */
export class Core extends Reader {
  /** @type {Job|null} */
  job = null;

  /** A fresh instance; the run of the last one is gone. */
  restart() {
    super.restart();
    this.job = null;
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

export { ACTIVATIONS, Refused };
