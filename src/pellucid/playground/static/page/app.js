// @ts-check
// The page's one controller: it owns the state, the run in the engine and the history of both.
// Views listen to its events and ask it for changes; it computes no network itself.

import { Events, Frames } from "./events.js";
import { countParameters, likelihoodOf, makeJob, ownRowsAlone, runKey, sameData, trainingKey, widthsOf } from "./job.js";
import { divergence } from "./divergence.js";
import { Moments } from "./moments.js";
import { floatsToText, fromBase64, textToFloats, toBase64 } from "./packing.js";
import { inputNames, makeProblem, pickPoints } from "./problem.js";
import { Run } from "./run.js";
import { copy, readState, usualState } from "./state.js";

/** @typedef {import("./types.js").Engine} Engine */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Checkpoint} Checkpoint */
/** @typedef {import("./types.js").Notice} Notice */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./problem.js").Problem} Problem */
/** @typedef {import("./moments.js").Content} Content */

export class App {
  events = new Events();
  frames = new Frames();
  /** @type {Notice | null} */
  notice = null;
  /** @type {string[] | null} */
  shownOnly = null;
  #queue = Promise.resolve();
  #moves = 0; // changes of the state whose run is not loaded yet

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
    this.run = new Run(engine, {
      speed: () => this.#state.view.speed,
      onsnapshot: () => this.events.emit("snapshot"),
      onstatus: () => this.events.emit("status"),
      onend: (s) => this.#ended(s),
      ondiverged: (s) => this.#diverged(s),
    });
    this.history = new Moments("start", this.#content());
    this.frames.after.push(() => this.running && engine.acknowledge());
  }

  /** @type {State} */
  #state;

  // ---- what is at hand

  state() {
    return this.#state;
  }

  snapshot() {
    return this.run.snapshot();
  }

  get running() {
    return this.run.running;
  }

  get status() {
    return this.run.status;
  }

  get curve() {
    return this.run.curve;
  }

  get track() {
    return this.run.track;
  }

  get parametersAtStart() {
    return this.run.parametersAtStart;
  }

  parameters() {
    return this.snapshot().parameters;
  }

  job() {
    return makeJob(this.#state, this.problem, this.parametersAtStart);
  }

  /** Whether the run belongs to the state: between a change and its loading it does not. */
  settled() {
    return this.#moves === 0 && this.run.latest?.parameters.length === countParameters(this.widths());
  }

  /** The network that `parameters()` are of, as the engine's calls take it. */
  net() {
    return this.run.net ?? undefined;
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
      await this.#adopt({ ...copy(state), run: null }, async () => {
        this.#rebuild();
        await this.#restart(given);
      });
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
      const next = copy(before);
      recipe(next);
      if (JSON.stringify({ ...next, data: 0 }) === JSON.stringify({ ...before, data: 0 }) && sameData(next, before)) return;
      const wasRunning = this.running;
      const again = runKey(next) !== runKey(before);
      const other = trainingKey(next) !== trainingKey(before);
      if (again || other) await this.#leave();
      if (again && next.start && next.start === before.start) next.start = this.#stillFits(next) ? next.start : null;
      const kept = ownRowsAlone(before, next) ? this.parameters() : null;
      await this.#adopt(next, async () => {
        if (again) this.#rebuild();
        if (again) await this.#restart(null, kept);
        else if (other) await this.run.goOn(this.job());
      });
      if (again || other) this.#remember(label);
      this.#tellAll(again);
      if (wasRunning && (again || other)) this.#play();
    });
  }

  /** The first state is where undo ends. */
  forgetStart() {
    this.history = new Moments(this.history.present.label, this.#content());
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

  // ---- the run

  play() {
    return this.#serial(() => this.#play());
  }

  #play() {
    if (this.running || !this.run.latest) return;
    this.tell(null);
    this.#branch();
    this.run.play();
  }

  async pause() {
    if (!this.running) return;
    await this.run.pause();
    await this.#settle();
    this.events.emit("status");
  }

  toggle() {
    return this.#serial(() => (this.running ? this.pause() : this.#play()));
  }

  /** @param {number} n updates */
  step(n) {
    return this.#serial(async () => {
      await this.pause();
      this.#branch();
      await this.run.step(n);
      await this.#settle();
    });
  }

  /** Back to the identical first weights. */
  reset() {
    return this.#serial(async () => {
      await this.#leave();
      await this.#moving(() => this.#restart(null));
      this.#remember("reset");
      this.#tellAll(true);
    });
  }

  /** @param {Float32Array} parameters @param {string} label */
  edit(parameters, label) {
    return this.#serial(async () => {
      const wasRunning = this.running;
      await this.#leave();
      await this.run.edit(parameters);
      this.#remember(label);
      this.#tellAll();
      if (wasRunning) this.#play();
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
      await this.run.restore(this.job(), checkpoint, this.curve, this.track);
      this.tell(null);
      this.events.emit("history");
    });
  }

  /** The state with everything of the run in it: for links and files that restore bit by bit. */
  async whole() {
    const wasRunning = this.running;
    await this.#serial(() => this.pause());
    const run = { parameters: floatsToText(this.parameters()), state: toBase64(new Uint8Array(await this.engine.state())), offset: this.run.offset };
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

  /** The next state with what it entails; what the engine refuses changes nothing. @param {State} next @param {() => Promise<void>} action */
  async #adopt(next, action) {
    const before = this.#state;
    this.#state = next;
    try {
      await this.#moving(action);
    } catch (error) {
      this.#state = before;
      this.#rebuild();
      const { run, curve, track } = this.history.present.content;
      if (run) await this.run.restore(this.job(), run, curve, track);
      this.#tellAll(true);
      throw error;
    }
  }

  /** While a run is replaced, nothing is asked of it. @param {() => Promise<void>} action */
  async #moving(action) {
    this.#moves += 1;
    try {
      await action();
    } finally {
      this.#moves -= 1;
    }
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

  /** @param {State["run"]} given a run to go on from to the bit @param {Float32Array | null} [kept] weights to go on from */
  async #restart(given, kept = null) {
    const job = makeJob(this.#state, this.problem, await this.#firstWeights());
    await this.run.begin(job, given && fromBase64(given.state).buffer, kept, given?.offset);
  }

  /** Before anything else happens, what was trained is a moment of its own. */
  async #leave() {
    if (!this.run.latest) return;
    await this.pause();
    await this.#settle();
  }

  /** Remembers the run where it is not what the present moment says. */
  async #settle() {
    const { run } = this.history.present.content;
    const { step } = this.snapshot();
    if (!run || run.step === step) return;
    await this.run.checkpoint();
    this.#remember(`${step > run.step ? "trained" : "back"} to step ${step}`, "train");
  }

  /** @param {string} label @param {string} [kind] actions of one kind in a row are one */
  #remember(label, kind = label) {
    this.history.record(this.#content(), label, kind);
    this.events.emit("history");
  }

  /** Training on from an earlier checkpoint leaves the later ones as a branch of their own. */
  #branch() {
    if (!this.run.cutBranch()) return;
    this.history.part();
    this.#remember(`branch at step ${this.snapshot().step}`);
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
    this.history.part();
    await this.#adopt({ ...copy(state), view: this.#state.view }, async () => {
      this.#rebuild();
      const job = makeJob(this.#state, this.problem, await this.#firstWeights());
      if (run) await this.run.restore(job, run, curve.upTo(run.step), track);
      else await this.#restart(null);
    });
    this.tell(null);
    this.#tellAll(true);
  }

  /** The schedule's last step. @param {Snapshot} s */
  #ended(s) {
    this.tell({ kind: "info", text: `The schedule ended at step ${s.step}. Reset, or choose a longer one.` });
    this.#serial(() => this.#settle());
    this.events.emit("status");
  }

  /** @param {Snapshot} last */
  #diverged(last) {
    this.#serial(() => this.#settle());
    this.tell(divergence(this, last));
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
