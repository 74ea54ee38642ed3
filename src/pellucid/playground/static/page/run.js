// @ts-check
// The run in the engine: playing and pausing, its latest snapshot, its curve and its checkpoints.

import { Curve } from "./curve.js";
import { netOf } from "./job.js";
import { Track } from "./track.js";

/** @typedef {import("./types.js").Engine} Engine */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Checkpoint} Checkpoint */
/** @typedef {import("./types.js").Job} Job */

/**
 * What the owner of a run is told, and how fast it wants it to go ("full", or updates a frame).
 * @typedef {{speed: () => string, onsnapshot: () => void, onstatus: () => void,
 *   onend: (s: Snapshot) => void, ondiverged: (last: Snapshot) => void}} Hooks
 */

const SLOW_START = 600; // updates that are looked at one by one when a run begins
const SLOW_START_TIME = 700; // milliseconds that this may take

export class Run {
  running = false;
  /** @type {"paused" | "running" | "diverged"} */
  status = "paused";
  curve = new Curve();
  track = new Track();
  /** @type {Float32Array} */
  parametersAtStart = new Float32Array();
  /** @type {Snapshot | null} */
  latest = null;
  /** The network that the parameters of `latest` are of. @type {import("../engine/types.js").Net | null} */
  net = null;
  /** Steps made before the engine's own count began: under another optimizer, say. */
  offset = 0;
  /** Whether settings or weights were changed on the way: one call of train does not repeat it. */
  mixed = false;
  /** What the optimizer's memory in the engine is of. */
  #kind = "";
  /** @type {import("../engine/types.js").Net | null} */
  #next = null;
  /** Which loop drives the run; another one, or none, ends it. @type {object | null} */
  #pace = null;

  /** @param {Engine} engine @param {Hooks} hooks */
  constructor(engine, hooks) {
    this.engine = engine;
    this.hooks = hooks;
    engine.onsnapshot = (s) => this.take(s);
  }

  snapshot() {
    if (!this.latest) throw new Error("the run is not loaded yet");
    return this.latest;
  }

  // ---- going and stopping

  play() {
    this.running = true;
    this.status = "running";
    this.hooks.onstatus();
    if (this.hooks.speed() === "full") this.#flatOut();
    else this.#paced();
  }

  /** As fast as it goes. The first updates come one by one, so that the curve shows them. */
  async #flatOut() {
    const token = (this.#pace = {});
    const until = performance.now() + SLOW_START_TIME;
    const goes = () => this.running && this.#pace === token;
    while (goes() && this.snapshot().step < SLOW_START && performance.now() < until) {
      this.take(await this.engine.step(1 + Math.floor(this.snapshot().step / 12)));
    }
    if (!goes()) return;
    const s = await this.engine.run();
    if (goes()) this.#end(s);
  }

  /** So many updates a frame. */
  async #paced() {
    const token = (this.#pace = {});
    while (this.running && this.#pace === token) {
      const s = await this.engine.step(Number(this.hooks.speed()) || 1);
      if (!this.running || this.#pace !== token) return;
      if (s.status === "finished") return void this.#end(s);
      this.take(s);
      await new Promise((done) => requestAnimationFrame(done));
    }
  }

  /** The schedule's last step. @param {Snapshot} s */
  #end(s) {
    this.#halt();
    this.take(s);
    if (s.status === "finished") this.hooks.onend(this.snapshot());
  }

  #halt() {
    this.running = false;
    this.#pace = null;
    if (this.status === "running") this.status = "paused";
  }

  async pause() {
    if (!this.running) return;
    this.#halt();
    this.take(await this.engine.pause());
  }

  /** @param {number} n updates */
  async step(n) {
    this.take(await this.engine.step(n));
  }

  // ---- what it stands on

  /**
   * Another run from the beginning.
   * @param {Job} job @param {ArrayBuffer | null} saved a state to go on from
   * @param {Float32Array | null} kept weights to go on from
   * @param {number} [offset] steps that were made before the engine's count of that state
   */
  async begin(job, saved, kept, offset = 0) {
    const s = await this.#load(job, saved);
    this.parametersAtStart = job.parameters;
    this.curve = new Curve();
    this.track = new Track();
    this.offset = offset;
    this.mixed = kept !== null || offset > 0;
    this.take(kept && kept.length === s.parameters.length ? await this.engine.edit(kept) : s);
    await this.checkpoint();
  }

  /** @param {Job} job @param {ArrayBuffer | null} saved */
  async #load(job, saved) {
    const s = await this.engine.load(job, saved ?? undefined);
    this.#kind = kindOf(job);
    this.status = "paused";
    this.#next = netOf(job);
    return s;
  }

  /** The same weights under other settings of training. @param {Job} job */
  async goOn(job) {
    await this.#from(job, await this.checkpoint());
    this.mixed ||= this.snapshot().step > 0;
  }

  /** @param {Job} job @param {Checkpoint} checkpoint @param {Curve} curve @param {Track} track */
  async restore(job, checkpoint, curve, track) {
    this.parametersAtStart = job.parameters;
    this.curve = curve;
    this.track = track;
    await this.#from(job, checkpoint);
    checkpoint.step = this.snapshot().step;
    this.hooks.onstatus();
  }

  /** Where the optimizer is another one it begins without a memory. @param {Job} job @param {Checkpoint} checkpoint */
  async #from(job, { state, kind, offset, parameters, step, mixed }) {
    const same = kind === kindOf(job);
    const s = same ? await this.#load(job, state.slice(0)) : await this.#load({ ...job, parameters }, null);
    this.offset = same ? offset : step;
    this.mixed = mixed;
    this.take(s);
  }

  /** @param {Float32Array} parameters */
  async edit(parameters) {
    this.status = "paused";
    this.mixed = true;
    this.take(await this.engine.edit(parameters));
    await this.checkpoint();
  }

  /** Remembers the run as it is now. */
  async checkpoint() {
    const state = await this.engine.state();
    const s = this.snapshot();
    const { step, parameters, training_loss: loss, validation_loss: test } = s;
    const checkpoint = { step, loss, test, state, parameters, kind: this.#kind, offset: this.offset, mixed: this.mixed };
    this.track.add(checkpoint);
    return checkpoint;
  }

  /** Where it stands before later checkpoints, those and the later curve are left to another branch. */
  cutBranch() {
    const { step } = this.snapshot();
    if (this.track.last <= step) return false;
    this.track = this.track.upTo(step);
    this.curve = this.curve.upTo(step);
    return this.track.last === step;
  }

  /** @param {Snapshot} found with the engine's own count of steps */
  take(found) {
    const s = { ...found, step: found.step + this.offset };
    this.latest = s;
    this.net = this.#next;
    if (Number.isFinite(s.training_loss)) this.curve.add(s.step, s.training_loss, s.validation_loss);
    if (s.status === "diverged" && this.status !== "diverged") {
      this.#halt();
      this.status = "diverged";
      this.hooks.ondiverged(s);
    } else if (this.running && this.track.wants(s.step)) this.checkpoint();
    this.hooks.onsnapshot();
  }
}

/** The order of the rows and the optimizer's memory are of these; with others they begin anew. @param {Job} job */
const kindOf = ({ optimizer, batch_size }) => `${optimizer.name}, ${batch_size || "all"} rows`;
