// The page's side of the engine: every call is a Promise, the work is done in workers.
//
// One worker trains flat out; one answers about a network (forward passes, worked passes); one finds
// regions at its own pace, so that training never waits; a few more train many networks at once, and
// start when they are first asked. All of them run the same module, compiled once.

import { bounds } from "./bounds.js";

/** @typedef {import("./types.js").Net} Net */
/** @typedef {import("./types.js").Named} Named */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Bounds} Bounds */
/** @typedef {import("./types.js").Batch} Batch */
/** @typedef {import("./types.js").Domain} Domain */
/** @typedef {import("./types.js").Finished} Finished */
/** @typedef {import("./types.js").ForwardResult} ForwardResult */
/** @typedef {import("./types.js").RegionsResult} RegionsResult */
/** @typedef {import("./types.js").SegmentResult} SegmentResult */
/** @typedef {import("./types.js").Worked} Worked */

/** Workers that `many` uses at most. */
const MOST_HELPERS = 4;

/** What the engine refuses or cannot do; its message is a sentence for the visitor. */
export class EngineError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "EngineError";
  }
}

/**
 * The module out of its file; some servers have unpacked it on the way.
 * @param {ArrayBuffer} file
 * @returns {Promise<ArrayBuffer>}
 */
async function unpacked(file) {
  const [first, second] = new Uint8Array(file, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return file;
  const stream = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/**
 * One worker, its open calls, and what it says without being asked.
 */
class Remote {
  /**
   * @param {URL} base
   * @param {WebAssembly.Module} module
   */
  constructor(base, module) {
    /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void, hear?: (done: number) => void}>} */
    this.open = new Map();
    this.next = 1;
    /** @type {(event: {snapshot: Snapshot}) => void} */
    this.onevent = () => {};
    this.worker = new Worker(new URL("worker.js", base), { type: "module" });
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.fail(`the engine's worker failed: ${event.message || "it could not be loaded"}.`);
    };
    this.worker.postMessage({ module });
  }

  /**
   * @param {string} method
   * @param {unknown[]} args
   * @param {(done: number) => void} [hear]
   * @returns {Promise<any>}
   */
  call(method, args, hear) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.open.set(id, { resolve, reject, hear });
      this.worker.postMessage({ id, method, args });
    });
  }

  /** @param {any} data */
  hear(data) {
    if (data.snapshot) return this.onevent(data);
    const call = this.open.get(data.id);
    if (!call) return undefined;
    if (data.progress !== undefined) return call.hear?.(data.progress);
    this.open.delete(data.id);
    if (data.error === undefined) return call.resolve(data.result);
    return call.reject(new EngineError(data.error));
  }

  /** @param {string} message */
  fail(message) {
    for (const call of this.open.values()) call.reject(new EngineError(message));
    this.open.clear();
  }

  close() {
    this.worker.terminate();
    this.fail("the engine was closed.");
  }
}

/** A run of its own beside the loaded one, in a worker of its own. */
export class Beside {
  /** @param {Remote} remote */
  constructor(remote) {
    this.remote = remote;
    this.onclose = () => {};
  }

  /**
   * @param {Job} job
   * @returns {Promise<Snapshot>}
   */
  load(job) {
    return this.remote.call("load", [job]);
  }

  /**
   * @param {number} n
   * @returns {Promise<Snapshot>}
   */
  step(n) {
    return this.remote.call("step", [n]);
  }

  /** Ends the worker. */
  close() {
    this.remote.close();
    this.onclose();
  }
}

/** Pellucid's kernels for a page. Make one with `await Engine.open()`; several may be open. */
export class Engine {
  /**
   * @param {URL} base
   * @param {WebAssembly.Module} module
   */
  constructor(base, module) {
    this.base = base;
    this.module = module;
    this.trainer = new Remote(base, module);
    this.viewer = new Remote(base, module);
    this.finder = new Remote(base, module);
    /** @type {Remote[]} */
    this.helpers = [];
    /** @type {Set<Beside>} */
    this.besides = new Set();
    /** @type {Net|null} */
    this.net = null;
    /**
     * Hears of a running training, at most 60 times a second, and again only after `acknowledge()`.
     * @type {(snapshot: Snapshot) => void}
     */
    this.onsnapshot = () => {};
    this.trainer.onevent = ({ snapshot }) => this.onsnapshot(snapshot);
  }

  /**
   * Loads the module and starts the workers.
   * @param {string|URL} [base]  where engine/ lies; by default where this file does
   * @returns {Promise<Engine>}
   */
  static async open(base = new URL(".", import.meta.url)) {
    const at = new URL(base, import.meta.url);
    const response = await fetch(new URL("pellucid.wasm.gz", at));
    if (!response.ok)
      throw new EngineError(`the engine's file could not be loaded (${response.status}).`);
    return new Engine(at, await WebAssembly.compile(await unpacked(await response.arrayBuffer())));
  }

  /** Ends the workers; calls that are still open are rejected. */
  close() {
    const all = [this.trainer, this.viewer, this.finder, ...this.helpers, ...this.besides];
    for (const remote of all) remote.close();
  }

  /**
   * Pellucid's tables: activations, likelihoods, optimizers, schedules, schemes.
   * @returns {Promise<any>}
   */
  async tables() {
    return (await fetch(new URL("tables.json", this.base))).json();
  }

  /**
   * Initial parameters, bit for bit those of `pellucid.initialize`.
   * @param {{widths: number[], scheme?: string, seed?: number|bigint}} what
   * @returns {Promise<Float32Array>}
   */
  initialize(what) {
    return this.viewer.call("initialize", [what]);
  }

  // ---- training

  /**
   * Replaces the run. With a state, of `state()` under a job of the same shape, goes on from there,
   * bit for bit.
   * @param {Job} job
   * @param {ArrayBuffer} [state]
   * @returns {Promise<Snapshot>}
   */
  async load(job, state) {
    const snapshot = await this.trainer.call("load", [job, state]);
    const { widths, hidden, likelihood } = job;
    this.net = { widths, hidden, likelihood };
    return snapshot;
  }

  /**
   * Takes n steps.
   * @param {number} n
   * @returns {Promise<Snapshot>}
   */
  step(n = 1) {
    return this.trainer.call("step", [n]);
  }

  /**
   * Trains until `pause()`, or so many steps; `onsnapshot` hears of it. Resolves when it ends.
   * @param {number} [maxSteps]
   * @returns {Promise<Snapshot>}
   */
  run(maxSteps) {
    return this.trainer.call("run", [maxSteps]);
  }

  /** Ready for the next snapshot. */
  acknowledge() {
    this.trainer.worker.postMessage({ acknowledge: true });
  }

  /**
   * Stops between two steps. Where nothing runs it tells how things stand.
   * @returns {Promise<Snapshot>}
   */
  pause() {
    return this.trainer.call("pause", []);
  }

  /**
   * Puts other parameters in place; the step, the optimizer's memory and the order of rows stay.
   * @param {Float32Array} parameters
   * @returns {Promise<Snapshot>}
   */
  edit(parameters) {
    return this.trainer.call("edit", [parameters]);
  }

  /**
   * Everything that the next step depends on; also while it runs, between two steps.
   * @returns {Promise<ArrayBuffer>}
   */
  state() {
    return this.trainer.call("state", []);
  }

  /**
   * The step that comes next, without taking it.
   * @returns {Promise<Batch>}
   */
  batch() {
    return this.trainer.call("batch", []);
  }

  /**
   * Trains each job for so many steps, several at once.
   * @param {Job[]} jobs
   * @param {{steps: number, progress?: (done: number, all: number) => void}} options  progress hears
   *   of steps done by all jobs together
   * @returns {Promise<Finished[]>}
   */
  async many(jobs, { steps, progress }) {
    const n = Math.min(MOST_HELPERS, Math.max(1, navigator.hardwareConcurrency - 1), jobs.length);
    while (this.helpers.length < n) this.helpers.push(new Remote(this.base, this.module));
    /** @type {number[]} */
    const done = jobs.map(() => 0);
    /** @type {Finished[]} */
    const results = [];
    let next = 0;
    const work = async (/** @type {Remote} */ helper) => {
      while (next < jobs.length) {
        const i = next++;
        results[i] = await helper.call("train", [jobs[i], steps], (/** @type {number} */ taken) => {
          done[i] = taken;
          progress?.(done.reduce((a, b) => a + b, 0), steps * jobs.length);
        });
      }
    };
    await Promise.all(this.helpers.slice(0, n).map(work));
    return results;
  }

  /**
   * Another run beside the loaded one; `close()` it when it is done with.
   * @returns {Beside}
   */
  beside() {
    const run = new Beside(new Remote(this.base, this.module));
    this.besides.add(run);
    run.onclose = () => this.besides.delete(run);
    return run;
  }

  /** Gives up what `many` is at; its promise is rejected. */
  cancelMany() {
    for (const helper of this.helpers.splice(0)) helper.close();
  }

  // ---- one network; of the loaded job where no other is named

  /**
   * Forward pass of the rows X (n x d_in).
   * @param {Float32Array} parameters
   * @param {Float32Array} X
   * @param {{units?: boolean, net?: Net}} [options]  units: hidden representations too
   * @returns {Promise<ForwardResult>}
   */
  forward(parameters, X, { units = false, net } = {}) {
    return this.about("forward", net, (of) => [of, parameters, X, { units }]);
  }

  /**
   * Every number of one forward and backward pass, in float64.
   * @param {Float32Array|Float64Array} parameters
   * @param {ArrayLike<number>} row  one input (d_in), or several row by row
   * @param {number|ArrayLike<number>} target  a label, or the target's numbers; one for each row
   * @param {{net?: Net}} [options]
   * @returns {Promise<Worked>}
   */
  worked(parameters, row, target, { net } = {}) {
    return this.about("worked", net, (of) => [of, parameters, row, target]);
  }

  /**
   * The exact activation regions on a rectangle; `step` is handed back as a stamp.
   * @param {Float32Array} parameters
   * @param {Domain} domain
   * @param {{limit?: number, counts?: boolean, boundary?: boolean, step?: number, net?: Net}} [options]
   *   without counts or boundary those are empty, and it is faster
   * @returns {Promise<RegionsResult & {step: number|null}>}
   */
  async regions(parameters, domain, { step, net, ...options } = {}) {
    const found = await this.ask(this.finder, "regions", net, (of) => [of, parameters, domain, options]);
    return { step: step ?? null, ...found };
  }

  /**
   * The exact pieces on the line from a to b (d_in numbers each).
   * @param {Float32Array} parameters
   * @param {ArrayLike<number>} a
   * @param {ArrayLike<number>} b
   * @param {{limit?: number, net?: Net}} [options]
   * @returns {Promise<SegmentResult>}
   */
  segment(parameters, a, b, { net, ...options } = {}) {
    return this.about("segment", net, (of) => [of, parameters, a, b, options]);
  }

  /**
   * Bounds on the number of regions, exact.
   * @param {number[]} widths
   * @param {{hidden?: Named[], dimension?: number}} [options]
   * @returns {Promise<Bounds>}
   */
  async bounds(widths, options) {
    return bounds(widths, options);
  }

  /**
   * @param {string} method
   * @param {Net|undefined} net
   * @param {(net: Net) => unknown[]} args
   * @returns {Promise<any>}
   */
  about(method, net, args) {
    return this.ask(this.viewer, method, net, args);
  }

  /**
   * @param {Remote} remote
   * @param {string} method
   * @param {Net|undefined} net
   * @param {(net: Net) => unknown[]} args
   * @returns {Promise<any>}
   */
  async ask(remote, method, net, args) {
    const of = net ?? this.net;
    if (!of) throw new EngineError("no network is loaded; load a job first, or name one as net.");
    return remote.call(method, args(of));
  }
}
