// A module worker: owns a core, answers calls one after the other, and trains flat out between them.

import { Core, Refused } from "./core.js";

/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Records} Records */
/** @typedef {import("./types.js").Finished} Finished */

/** Milliseconds that a portion of training takes, about: messages wait so long at most. */
const PORTION = 8;
/** Milliseconds between two snapshots, at least. */
const FRAME = 1000 / 60;
/** Milliseconds after a snapshot from which a page that has not drawn it is late: training rests then. */
const LATE = 20;
/** Milliseconds after a snapshot until which it rests at most: a page that is hidden draws nothing. */
const LATEST = 100;
/** Milliseconds over which the speed is measured. */
const WINDOW = 500;
const MOST_STEPS = 1 << 20;

/** @type {Core} */
let core;
const say = /** @type {(message: any, transfer?: Transferable[]) => void} */ (
  (message, transfer = []) => /** @type {any} */ (self).postMessage(message, transfer));

/** Yields to messages without the delay that timers have. */
const { port1, port2 } = new MessageChannel();
port1.onmessage = () => training.go();

/** Several snapshots' records as one. */
class Gathered {
  constructor() {
    /** @type {Records[]} */
    this.parts = [];
  }

  /** @param {Records} records */
  add(records) {
    if (records.steps.length) this.parts.push(records);
  }

  /** @returns {Records} */
  take() {
    const parts = this.parts.splice(0);
    const join = (/** @type {keyof Records} */ name) => {
      const all = new Float64Array(parts.reduce((n, part) => n + part[name].length, 0));
      let at = 0;
      for (const part of parts) {
        all.set(part[name], at);
        at += part[name].length;
      }
      return all;
    };
    return { steps: join("steps"), losses: join("losses"), validation_losses: join("validation_losses") };
  }
}

/** Steps a second, over the last portions. */
class Speed {
  constructor() {
    /** @type {{time: number, steps: number}[]} */
    this.portions = [];
  }

  /**
   * @param {number} steps
   * @param {number} time  milliseconds
   */
  add(steps, time) {
    this.portions.push({ steps, time });
    let total = this.portions.reduce((sum, portion) => sum + portion.time, 0);
    while (this.portions.length > 1 && total - /** @type {any} */ (this.portions[0]).time > WINDOW)
      total -= /** @type {any} */ (this.portions.shift()).time;
  }

  get now() {
    const time = this.portions.reduce((sum, portion) => sum + portion.time, 0);
    const steps = this.portions.reduce((sum, portion) => sum + portion.steps, 0);
    return time > 0 ? (1000 * steps) / time : 0;
  }
}

/** The run: what is asked of it between two portions, and what it tells. */
class Training {
  constructor() {
    /** @type {Snapshot|null} */
    this.last = null;
    /** @type {{resolve: (snapshot: Snapshot) => void, reject: (error: unknown) => void}|null} */
    this.ended = null;
    this.until = 0;
    this.acknowledged = true;
    this.told = 0;
    this.expected = false; // the next portion's message is on its way
    /** @type {ReturnType<typeof setTimeout>|null} */
    this.rest = null;
    this.portion = 16;
    this.records = new Gathered();
    this.speed = new Speed();
  }

  get running() {
    return this.ended !== null;
  }

  /**
   * @param {Job} job
   * @param {ArrayBuffer} [state]
   */
  load(job, state) {
    this.end();
    this.records = new Gathered();
    this.speed = new Speed();
    this.portion = 16;
    this.last = null;
    return this.tell(this.keep(core.load(job, state)));
  }

  /** @param {number} n */
  step(n) {
    this.end();
    for (let left = n; left > 0; left -= MOST_STEPS) {
      const { status } = this.advance(Math.min(left, MOST_STEPS));
      if (status !== "paused") break;
    }
    return this.tell(this.current());
  }

  /**
   * @param {number} [maxSteps]
   * @returns {Promise<Snapshot>}
   */
  run(maxSteps = Infinity) {
    this.end();
    this.until = this.current().step + maxSteps;
    this.acknowledged = true;
    return new Promise((resolve, reject) => {
      this.ended = { resolve, reject };
      this.soon();
    });
  }

  pause() {
    const snapshot = this.tell(this.current());
    this.end(snapshot);
    return snapshot;
  }

  /** @param {Float32Array} parameters */
  edit(parameters) {
    const { records, ...snapshot } = core.edit(parameters);
    const { gradient_norm, update_ratio, dead, saturated } = this.current();
    this.keep({ ...snapshot, records, gradient_norm, update_ratio, dead, saturated });
    return this.tell(this.current());
  }

  /** Goes on after the messages that wait. */
  soon() {
    if (this.rest !== null) clearTimeout(this.rest);
    this.rest = null;
    if (!this.expected) port2.postMessage(null);
    this.expected = true;
  }

  /** The page has drawn the last snapshot. */
  acknowledge() {
    this.acknowledged = true;
    if (this.rest !== null) this.soon();
  }

  /** One portion of a run, and then the next; a page that is late goes first. */
  go() {
    this.expected = false;
    if (!this.running) return;
    try {
      const before = this.current().step;
      const { status, step } = this.advance(Math.max(1, Math.min(this.portion, this.until - before)));
      if (status !== "paused" || step >= this.until) return this.end();
    } catch (error) {
      const { ended } = this;
      this.ended = null;
      return ended?.reject(error);
    }
    const now = performance.now();
    if (this.acknowledged && now - this.told >= FRAME) {
      this.acknowledged = false;
      this.told = now;
      say({ snapshot: { ...this.tell(this.current()), status: "running" } });
    }
    const late = this.acknowledged ? 0 : now - this.told;
    if (late < LATE || late >= LATEST) return this.soon();
    this.rest = setTimeout(() => this.soon(), LATEST - late);
  }

  /**
   * @param {number} n
   * @returns {Snapshot}
   */
  advance(n) {
    const before = this.current().step;
    const start = performance.now();
    const snapshot = this.keep(core.advance(n));
    const time = performance.now() - start;
    this.speed.add(Math.max(0, snapshot.step - before), time);
    if (this.running && n === this.portion) {
      const scale = Math.min(4, Math.max(0.25, PORTION / Math.max(time, 0.05)));
      this.portion = Math.min(MOST_STEPS, Math.max(1, Math.round(n * scale)));
    }
    return snapshot;
  }

  /**
   * @param {Snapshot} snapshot
   * @returns {Snapshot}
   */
  keep(snapshot) {
    this.records.add(snapshot.records);
    this.last = snapshot;
    return snapshot;
  }

  /** @returns {Snapshot} */
  current() {
    if (!this.last) throw new Refused("no run is loaded.");
    return this.last;
  }

  /**
   * The snapshot with all records since the one before, and with the speed.
   * @param {Snapshot} snapshot
   * @returns {Snapshot}
   */
  tell(snapshot) {
    return { ...snapshot, updates_per_second: this.speed.now, records: this.records.take() };
  }

  /** @param {Snapshot} [snapshot] */
  end(snapshot) {
    const { ended } = this;
    this.ended = null;
    ended?.resolve(snapshot ?? this.tell(this.current()));
  }
}

const training = new Training();

/** What the page can call, beside the run's own. */
const answers = {
  /** @param {any[]} args */
  initialize: (...args) => core.initialize(.../** @type {[any]} */ (args)),
  state: () => core.state(),
  batch: () => core.batch(),
  /** @param {any[]} args */
  forward: (...args) => core.forward(.../** @type {[any, any, any, any]} */ (args)),
  /** @param {any[]} args */
  worked: (...args) => core.worked(.../** @type {[any, any, any, any]} */ (args)),
  /** @param {any[]} args */
  regions: (...args) => core.regions(.../** @type {[any, any, any, any]} */ (args)),
  /** @param {any[]} args */
  segment: (...args) => core.segment(.../** @type {[any, any, any, any, any]} */ (args)),
  load: (/** @type {Job} */ job, /** @type {ArrayBuffer|undefined} */ state) => training.load(job, state),
  step: (/** @type {number} */ n) => training.step(n),
  run: (/** @type {number|undefined} */ maxSteps) => training.run(maxSteps),
  pause: () => training.pause(),
  edit: (/** @type {Float32Array} */ parameters) => training.edit(parameters),
};

/**
 * One job of `many`, from start to end; `hear` is told the steps done.
 * @param {Job} job
 * @param {number} steps
 * @param {(done: number) => void} hear
 * @returns {Finished}
 */
function trainOne(job, steps, hear) {
  const records = new Gathered();
  let snapshot = core.load(job);
  let portion = 64;
  while (snapshot.status === "paused" && snapshot.step < steps) {
    const start = performance.now();
    snapshot = core.advance(Math.min(portion, steps - snapshot.step));
    records.add(snapshot.records);
    hear(snapshot.step);
    portion = Math.min(MOST_STEPS, Math.max(1, Math.round((portion * 100) / Math.max(performance.now() - start, 1))));
  }
  const { training_loss: loss, validation_loss, parameters, status, step } = snapshot;
  return { loss, validation_loss, parameters, records: records.take(), status, steps: step };
}

/**
 * The sentence of an error.
 * @param {unknown} error
 * @returns {string}
 */
function messageOf(error) {
  if (error instanceof Refused) return error.message;
  return `the engine failed: ${error instanceof Error ? error.message : String(error)}.`;
}

/**
 * The memory of the arrays in an answer, so that they are handed over and not copied.
 * @param {Record<string, unknown>} result
 */
const buffersOf = (result) =>
  Object.values(result).flatMap((value) => (ArrayBuffer.isView(value) ? [/** @type {ArrayBuffer} */ (value.buffer)] : []));

self.onmessage = async ({ data }) => {
  if (data.module) {
    core = new Core(data.module);
    return;
  }
  if (data.acknowledge) {
    training.acknowledge();
    return;
  }
  const { id, method, args } = data;
  try {
    let result;
    if (method === "train") {
      const [job, steps] = args;
      result = trainOne(job, steps, (progress) => say({ id, progress }));
    } else if (Object.hasOwn(answers, method)) {
      result = await (/** @type {Record<string, any>} */ (answers)[method])(...args);
    } else {
      throw new Refused(`the engine has no ${method}.`);
    }
    say({ id, result }, method === "regions" ? buffersOf(result) : []);
  } catch (error) {
    say({ id, error: messageOf(error) });
  }
};
