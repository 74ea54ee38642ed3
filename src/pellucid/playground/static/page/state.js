// @ts-check
// The one serialisable state of the playground: what a link, a file or a lesson holds.

import { choice, difference, flag, integer, list, number, optional, record, StateError, text } from "./schema.js";
import { FEATURE_NAMES } from "./features.js";

export const VERSION = 1;
export const MOST_ROWS = 5000;
export const MOST_INPUTS = 24;
export const MOST_LAYERS = 8;
export const MOST_UNITS = 128;
export const MOST_CLASSES = 10;

/** Controls that a classroom link may hide. */
export const HIDEABLE = /** @type {const} */ ([
  "data", "noise", "split", "dataSeed", "ownData", "features", "layers", "units", "activation",
  "weights", "scheme", "seed", "likelihood", "optimizer", "learningRate", "batchSize", "schedule",
  "regularization", "play", "step", "reset", "speed", "plane", "colour", "regions", "curves",
  "gradients", "inspector", "worked", "unitHealth", "seeds", "compare", "timeline", "code",
  "views", "challenges", "share", "undo",
]);

export const COLOURS = /** @type {const} */ (["output", "class", "pattern", "slope"]);
const TABS = /** @type {const} */ ([
  "worked", "units", "seeds", "data", "views", "compare", "timeline", "batch", "code", "challenges",
]);

const named = (/** @type {string} */ usual) =>
  record({ name: text(usual, 40), parameters: list(number(0, -1e6, 1e6), 0, 64) });

/** Rows that a visitor brought or drew. */
const own = record({
  title: text("your data", 80),
  columns: list(text("", 60), 1, MOST_INPUTS, () => ["x1", "x2"]),
  target: text("class", 60),
  classes: optional(list(text("", 60), 2, MOST_CLASSES)),
  X: list(list(number(0, -1e6, 1e6), 1, MOST_INPUTS), 0, MOST_ROWS),
  y: list(number(0, -1e9, 1e9), 0, MOST_ROWS),
});

const shape = record({
  version: integer(VERSION, VERSION, VERSION),
  data: record({
    name: text("spirals", 40),
    own: optional(own),
    n: integer(400, 4, MOST_ROWS),
    noise: number(-1, -1, 10), // -1: the usual noise of the data set
    test: number(0.3, 0, 0.9),
    seed: integer(0, 0, 2 ** 31 - 1),
  }),
  features: list(choice(FEATURE_NAMES[0], FEATURE_NAMES), 1, FEATURE_NAMES.length, () => FEATURE_NAMES.slice(0, 2)),
  hidden: list(
    record({ units: integer(8, 1, MOST_UNITS), activation: named("relu") }),
    0,
    MOST_LAYERS,
    () => [8, 8].map((units) => ({ units, activation: { name: "relu", parameters: [] } })),
  ),
  scheme: text("torch", 40),
  seed: integer(0, 0, 2 ** 31 - 1),
  likelihood: named("auto"),
  training: record({
    optimizer: text("adam", 20),
    learning_rate: number(0.01, 1e-7, 100),
    momentum: number(0, 0, 0.9999),
    nesterov: flag(false),
    schedule: text("constant", 20),
    horizon: integer(5000, 1, 10_000_000),
    batch_size: integer(32, 0, MOST_ROWS), // 0: all rows
    l1: number(0, 0, 100),
    weight_decay: number(0, 0, 100),
    dropout: number(0, 0, 0.95),
    clip_norm: number(0, 0, 1e6), // 0: no clipping
  }),
  view: record({
    colour: choice("output", COLOURS),
    discretise: flag(false),
    edges: flag(true),
    points: flag(true),
    test: flag(false),
    boundary: flag(true),
    zoom: number(1, 0.05, 50),
    axes: list(integer(0, 0, MOST_INPUTS - 1), 2, 2, () => [0, 1]),
    tab: choice("worked", TABS),
    logLoss: flag(true),
    stepBy: choice("1", ["1", "10", "100", "epoch"]),
    speed: choice("10", ["1", "10", "100", "full"]), // updates a frame
  }),
  probe: optional(list(number(0, -1e9, 1e9), 1, MOST_INPUTS)),
  unit: optional(list(integer(0, 0, MOST_UNITS), 2, 2)), // layer (0: first hidden), unit
  start: optional(text("", 4_000_000)), // given initial parameters; null: drawn from the seed
  run: optional(record({ parameters: text("", 4_000_000), state: text("", 16_000_000), offset: integer(0, 0, 2 ** 40) })),
  hide: list(choice("data", HIDEABLE), 0, HIDEABLE.length),
  lesson: text("", 80),
});

/** @typedef {ReturnType<typeof shape.read>} State */
/** @typedef {NonNullable<State["data"]["own"]>} OwnData */
/** @typedef {State["hidden"][number]} HiddenLayer */
/** @typedef {State["training"]} Training */
/** @typedef {{name: string, parameters: number[]}} Named */
/** @typedef {typeof HIDEABLE[number]} Hideable */

/** @returns {State} */
export const usualState = () => shape.usual();

/**
 * A checked copy of what came from outside. Throws StateError with one clear sentence.
 * @param {unknown} value
 * @returns {State}
 */
export function readState(value) {
  return withShapes(shape.read(value, ""));
}

/** @param {State} state */
function withShapes(state) {
  state.features = FEATURE_NAMES.filter((name) => state.features.includes(name));
  const { own } = state.data;
  if (own) checkRows(own);
  return state;
}

/** @param {OwnData} own */
function checkRows({ X, y, columns, classes }) {
  const say = (/** @type {string} */ what) => {
    throw new StateError(`data.own: ${what}.`);
  };
  if (X.length !== y.length) say(`X has ${X.length} rows and y has ${y.length}; they must agree`);
  const ragged = X.findIndex((row) => row.length !== columns.length);
  if (ragged >= 0) say(`row ${ragged} has ${X[ragged].length} numbers for ${columns.length} columns`);
  const k = classes?.length ?? Infinity;
  const odd = classes ? y.findIndex((v) => !Number.isInteger(v) || v < 0 || v >= k) : -1;
  if (odd >= 0) say(`y[${odd}] is ${y[odd]}; it needs a label from 0 to ${k - 1}`);
}

/**
 * What a link or a file says: only what differs from a fresh page.
 * @param {State} state
 * @returns {Record<string, unknown>}
 */
export function compact(state) {
  const parts = /** @type {Record<string, unknown> | undefined} */ (difference(state, usualState()));
  return { version: VERSION, ...parts };
}

/** A copy to change: the rows are shared, since they are never changed in place. @param {State} state @returns {State} */
export function copy(state) {
  const { own } = state.data;
  const { start, run } = state;
  const rest = structuredClone({ ...state, data: { ...state.data, own: null }, start: null, run: null });
  return { ...rest, data: { ...rest.data, own }, start, run };
}

/** Whether a control may be seen. @param {State} state @param {Hideable} name */
export const shown = (state, name) => !state.hide.includes(name);
