// @ts-check
// The page's one controller: it owns the state, the run in the engine and the history of both.
// Views listen to its events and ask it for changes; it computes no network itself.

import { Curve } from "./curve.js";
import { Events, Frames } from "./events.js";
import { History } from "./history.js";
import { countParameters, likelihoodOf, makeJob, runKey, trainingKey, widthsOf } from "./job.js";
import { floatsToText, fromBase64, textToFloats, toBase64 } from "./packing.js";
import { inputNames, makeProblem, pickPoints } from "./problem.js";
import { copy, readState, usualState } from "./state.js";
import { Track } from "./track.js";

/** @typedef {import("./types.js").Engine} Engine */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Checkpoint} Checkpoint */
/** @typedef {import("./types.js").Notice} Notice */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./problem.js").Problem} Problem */
/** @typedef {{state: State, run: Checkpoint | null, curve: Curve, track: Track}} Content */

const SLOW_START = 600; // updates
const SLOW_START_TIME = 700; // milliseconds
const MERGE_WITHIN = 1200; // milliseconds in which changes of one slider count as one action

export class App {
  events = new Events();
  frames = new Frames();
  running = false;
  /** @type {"paused" | "running" | "diverged"} */
  status = "paused";
  curve = new Curve();
  track = new Track();
  /** @type {Notice | null} */
  notice = null;
  /** @type {Float32Array} */
  parametersAtStart = new Float32Array();
  /** @type {Snapshot | null} */
  #snapshot = null;
  #queue = Promise.resolve();
  #lastChange = { label: "", time: 0 };

  /**
   * @param {Engine} engine @param {any} tables @param {Record<string, import("./problem.js").Source>} sources
   */
  constructor(engine, tables, sources) {
    this.engine = engine;
    this.tables = tables;
    this.sources = sources;
    this.#state = usualState();
    /** @type {Problem} */
    this.problem = makeProblem(this.#state, sources);
    /** @type {History<Content>} */
    this.history = new History("start", this.#content());
    engine.onsnapshot = (/** @type {Snapshot} */ s) => this.#take(s);
    this.frames.after.push(() => this.running && this.engine.acknowledge());
  }

  /** @type {State} */
  #state;

  // ---- what is at hand

  state() {
    return this.#state;
  }

  snapshot() {
    if (!this.#snapshot) throw new Error("the run is not loaded yet");
    return this.#snapshot;
  }

  parameters() {
    return this.snapshot().parameters;
  }

  job() {
    return makeJob(this.#state, this.problem, this.parametersAtStart);
  }

  /** Whether the run belongs to the state: between a change and its loading it does not. */
  settled() {
    return this.#snapshot !== null && this.#snapshot.parameters.length === countParameters(this.widths());
  }

  likelihood() {
    return likelihoodOf(this.#state, this.problem);
  }

  widths() {
    return widthsOf(this.#state, this.problem);
  }

  features() {
    return inputNames(this.#state, this.problem);
  }

  /** Training rows as shown. */
  points() {
    const { train, y, classes } = this.problem;
    const targets = Array.from(train, (i) => y[i]);
    return { X: pickPoints(this.problem, train), ...(classes ? { labels: targets } : { targets }) };
  }

  /** @param {(s: Snapshot) => void} listener */
  onsnapshot(listener) {
    return this.events.on("snapshot", () => listener(this.snapshot()));
  }

  // ---- changes of the state

  /**
   * Opens a whole state: a link, a file, a preset.
   * @param {State} state @param {string} label
   */
  open(state, label) {
    return this.#serial(async () => {
      await this.#leave();
      const given = state.run;
      this.#state = { ...copy(state), run: null };
      this.#rebuild();
      await this.#restart(given ? fromBase64(given.state).buffer : null);
      this.history.push(label, this.#content());
      this.#tellAll();
    });
  }

  /**
   * A change by the visitor. What it touches decides: a new start from the seed, the same run with
   * other settings, or only another view.
   * @param {string} label @param {(state: State) => void} recipe
   */
  change(label, recipe) {
    return this.#serial(async () => {
      const before = this.#state;
      const next = /** @type {State} */ (copy({ ...before, data: { ...before.data, own: null } }));
      next.data.own = before.data.own; // the rows are never changed in place
      recipe(next);
      if (JSON.stringify({ ...next, data: 0 }) === JSON.stringify({ ...before, data: 0 }) && sameData(next, before)) return;
      const wasRunning = this.running;
      const again = runKey(next) !== runKey(before);
      const other = trainingKey(next) !== trainingKey(before);
      if (again || other) await this.#leave();
      if (again && next.start && next.start === before.start) next.start = this.#stillFits(next) ? next.start : null;
      this.#state = next;
      if (again) {
        const kept = ownRowsAlone(before, next) ? this.parameters() : null;
        this.#rebuild();
        await this.#restart(null, kept);
      } else if (other) {
        await this.#goOn();
      }
      if (again || other) this.#remember(label);
      this.#tellAll(again);
      if (wasRunning && (again || other)) this.play();
    });
  }

  /** The first state is where undo ends. */
  forgetStart() {
    this.history = new History(this.history.present.label, this.#content());
  }

  /** Tells every view how things stand, once they are all there. */
  announce() {
    this.#tellAll(true);
  }

  /** @param {Partial<State>} partial as a lesson or a link gives it */
  apply(partial) {
    return this.open(readState({ ...this.#state, run: null, ...partial }), "a lesson's setting");
  }

  /** View alone: no entry in the history. @param {(state: State) => void} recipe */
  look(recipe) {
    recipe(this.#state);
    this.events.emit("select");
  }

  /** @param {string[] | null} controls show these alone; null: all */
  show(controls) {
    this.shownOnly = controls;
    this.events.emit("state");
  }

  /** Which loop drives the run; another one, or none, ends it. @type {object | null} */
  pace = null;
  /** @type {string[] | null} */
  shownOnly = null;

  // ---- the run

  play() {
    if (this.running || !this.#snapshot) return;
    this.running = true;
    this.status = "running";
    this.tell(null);
    this.events.emit("status");
    this.#branchIfBack();
    if (this.#state.view.speed === "full") this.#flatOut();
    else this.#paced();
  }

  /** As fast as it goes. The first updates come one by one, so that the curve shows them. */
  async #flatOut() {
    const token = (this.pace = {});
    const until = performance.now() + SLOW_START_TIME;
    while (this.running && this.pace === token && this.snapshot().step < SLOW_START && performance.now() < until) {
      this.#take(await this.engine.step(1 + Math.floor(this.snapshot().step / 12)));
    }
    if (!this.running || this.pace !== token) return;
    const s = await this.engine.run();
    if (this.running && this.pace === token) await this.#ended(s);
  }

  /** The schedule's last step, or divergence. @param {Snapshot} s */
  async #ended(s) {
    this.running = false;
    this.pace = null;
    this.#take(s);
    if (s.status === "finished") this.tell({ kind: "info", text: `The schedule ended at step ${s.step}. Reset, or choose a longer one.` });
    if (this.status === "running") this.status = "paused";
    await this.checkpoint();
    this.events.emit("status");
  }

  /** So many updates a frame. */
  async #paced() {
    const token = (this.pace = {});
    while (this.running && this.pace === token) {
      const s = await this.engine.step(Number(this.#state.view.speed) || 1);
      if (!this.running || this.pace !== token) return;
      if (s.status === "finished") return void (await this.#ended(s));
      this.#take(s);
      await new Promise((done) => requestAnimationFrame(done));
    }
  }

  async pause() {
    if (!this.running) return;
    this.running = false;
    this.pace = null;
    this.status = this.status === "diverged" ? "diverged" : "paused";
    this.#take(await this.engine.pause());
    this.events.emit("status");
  }

  toggle() {
    return this.running ? this.#serial(() => this.pause()) : this.play();
  }

  /** @param {number} n updates */
  step(n) {
    return this.#serial(async () => {
      await this.pause();
      this.#branchIfBack();
      this.#take(await this.engine.step(n));
      await this.checkpoint();
    });
  }

  /** Back to the identical first weights. */
  reset() {
    return this.#serial(async () => {
      await this.#leave();
      await this.#restart(null);
      this.#remember("reset");
      this.#tellAll(true);
    });
  }

  /** @param {Float32Array} parameters @param {string} label */
  edit(parameters, label) {
    return this.#serial(async () => {
      const wasRunning = this.running;
      await this.#leave();
      this.#take(await this.engine.edit(parameters));
      this.#remember(label);
      await this.checkpoint();
      this.#tellAll();
      if (wasRunning) this.play();
    });
  }

  // ---- history

  undo() {
    return this.#serial(() => this.#visit(() => this.history.undo()));
  }

  redo() {
    return this.#serial(() => this.#visit(() => this.history.redo()));
  }

  /** @param {number} id */
  goTo(id) {
    return this.#serial(() => this.#visit(() => this.history.goTo(id)));
  }

  /** Back to a checkpoint of the present run: identical weights and optimizer. @param {Checkpoint} checkpoint */
  rewind(checkpoint) {
    return this.#serial(async () => {
      await this.pause();
      await this.#restore(checkpoint, this.curve);
      checkpoint.step = this.snapshot().step;
      this.events.emit("history");
    });
  }

  /** Remember the run as it is now. */
  async checkpoint() {
    const state = await this.engine.state();
    const s = this.snapshot();
    const checkpoint = { step: s.step, loss: s.training_loss, test: s.validation_loss, state };
    this.track.add(checkpoint);
    return checkpoint;
  }

  /** The state with everything of the run in it: for links and files that restore bit by bit. */
  async whole() {
    const wasRunning = this.running;
    await this.#serial(() => this.pause());
    const run = { parameters: floatsToText(this.parameters()), state: toBase64(new Uint8Array(await this.engine.state())) };
    if (wasRunning) this.play();
    return { ...copy(this.#state), run };
  }

  /** @param {Notice | null} notice */
  tell(notice) {
    this.notice = notice;
    this.events.emit("notice");
  }

  // ---- inside

  /** One change after the other. @template T @param {() => Promise<T> | T} action @returns {Promise<T>} */
  #serial(action) {
    const done = this.#queue.then(action);
    this.#queue = done.then(
      () => undefined,
      (/** @type {Error} */ error) => this.tell({ kind: "error", text: `That did not work: ${error.message}` }),
    );
    return done;
  }

  #rebuild() {
    this.problem = makeProblem(this.#state, this.sources);
    this.events.emit("problem");
  }

  /** The given first weights, or those of the seed. */
  async #firstWeights() {
    const widths = this.widths();
    const { start, scheme, seed } = this.#state;
    if (start) {
      const given = textToFloats(start);
      if (given.length === countParameters(widths)) return given;
    }
    return this.engine.initialize({ widths, scheme, seed });
  }

  /** @param {State} state */
  #stillFits(state) {
    const problem = makeProblem(state, this.sources);
    return JSON.stringify(widthsOf(state, problem)) === JSON.stringify(this.widths());
  }

  /** @param {ArrayBuffer | null} saved @param {Float32Array | null} [kept] weights to go on from */
  async #restart(saved, kept = null) {
    this.parametersAtStart = await this.#firstWeights();
    this.curve = new Curve();
    this.track = new Track();
    const s = await this.engine.load(this.job(), saved ?? undefined);
    this.status = "paused";
    this.#take(kept && kept.length === s.parameters.length ? await this.engine.edit(kept) : s);
    await this.checkpoint();
  }

  /** Other settings of training, the same weights. */
  async #goOn() {
    const saved = await this.engine.state();
    this.#take(await this.engine.load(this.job(), saved));
  }

  /** @param {Checkpoint} checkpoint @param {Curve} curve */
  async #restore(checkpoint, curve) {
    const s = await this.engine.load(this.job(), checkpoint.state.slice(0));
    this.curve = curve;
    this.status = "paused";
    this.#take(s);
    this.tell(null);
    this.events.emit("status");
  }

  /** The present moment keeps the run as it is left. */
  async #leave() {
    if (!this.#snapshot) return;
    await this.pause();
    const content = this.history.present.content;
    content.run = await this.checkpoint();
    content.curve = this.curve;
  }

  /** @param {string} label */
  #remember(label) {
    const now = performance.now();
    const merges = label === this.#lastChange.label && now - this.#lastChange.time < MERGE_WITHIN;
    this.#lastChange = { label, time: now };
    if (merges && !this.history.canRedo) this.history.replace(this.#content());
    else this.history.push(label, this.#content());
    this.events.emit("history");
  }

  /** Training on from an earlier checkpoint leaves the later ones as a branch of their own. */
  #branchIfBack() {
    const step = this.snapshot().step;
    if (this.track.last <= step) return;
    this.track = this.track.upTo(step);
    this.curve = this.curve.upTo(step);
    this.#lastChange.label = "";
    this.#remember(`branch at step ${step}`);
  }

  /** @returns {Content} */
  #content() {
    return { state: copy(this.#state), run: this.track.all.at(-1) ?? null, curve: this.curve, track: this.track };
  }

  /** @param {() => {content: Content} | null} move */
  async #visit(move) {
    await this.#leave();
    const moment = move();
    if (!moment) return;
    const { state, run, curve, track } = moment.content;
    this.#state = { ...copy(state), view: this.#state.view };
    this.#rebuild();
    this.parametersAtStart = await this.#firstWeights();
    this.track = track;
    this.#lastChange.label = "";
    if (run) await this.#restore(run, curve.upTo(run.step));
    this.#tellAll(true);
  }

  /** @param {Snapshot} s */
  #take(s) {
    const before = this.#snapshot;
    this.#snapshot = s;
    if (Number.isFinite(s.training_loss)) this.curve.add(s.step, s.training_loss, s.validation_loss);
    if (s.status === "diverged") this.#diverged(before ?? s);
    else if (this.running && this.track.wants(s.step)) this.checkpoint();
    this.events.emit("snapshot");
  }

  /** @param {Snapshot} last */
  #diverged(last) {
    if (this.status === "diverged") return;
    this.running = false;
    this.pace = null;
    this.status = "diverged";
    const rate = this.#state.training.learning_rate;
    const smaller = Number((rate / 3).toPrecision(1));
    this.tell({
      kind: "warning",
      text:
        `Training diverged after step ${last.step}: with learning rate ${rate} the numbers grew past what a float holds. ` +
        "The last finite weights are kept and shown.",
      actions: [
        {
          label: `Start again with learning rate ${smaller}`,
          act: () =>
            this.change("learning rate", (state) => {
              state.training.learning_rate = smaller;
            }).then(() => this.reset()).then(() => this.play()),
        },
      ],
    });
    this.events.emit("status");
  }

  /** @param {boolean} [again] */
  #tellAll(again = false) {
    this.events.emit("state");
    if (again) this.events.emit("problem");
    this.events.emit("snapshot");
    this.events.emit("select");
    this.events.emit("status");
    this.events.emit("history");
  }
}

/** @param {State} a @param {State} b */
function sameData(a, b) {
  return a.data.own === b.data.own && JSON.stringify({ ...a.data, own: 0 }) === JSON.stringify({ ...b.data, own: 0 });
}

/** Whether rows of the visitor's own were edited and nothing else: the weights stay. @param {State} a @param {State} b */
function ownRowsAlone(a, b) {
  if (!a.data.own || !b.data.own || JSON.stringify(a.data.own.classes) !== JSON.stringify(b.data.own.classes)) return false;
  const rest = (/** @type {State} */ s) => runKey({ ...s, data: { ...s.data, own: null } });
  return rest(a) === rest(b);
}
