// @ts-check
// The engine of the widgets: one beside the page's own, so that a lesson never disturbs a run.

import { Engine } from "../engine/engine.js";

/** @typedef {import("../page/state.js").Named} Named */

/** @type {Promise<Engine> | null} */
let opened = null;

/** The widgets' engine; opened when the first widget needs it. @returns {Promise<Engine>} */
export function lab() {
  opened ??= Engine.open(new URL("../engine/", import.meta.url).href);
  return opened;
}

/** An activation by name. @param {string} name @param {number[]} [parameters] @returns {Named} */
export const named = (name, parameters = []) => ({ name, parameters });

/**
 * A job of a whole network on given rows, with usual settings.
 * @param {{widths: number[], hidden: Named[], parameters: Float32Array, X: Float32Array,
 *   labels?: Int32Array, targets?: Float32Array, likelihood?: Named, seed?: number,
 *   learning_rate?: number, optimizer?: string}} network
 */
export function jobOf({ widths, hidden, parameters, X, labels, targets, ...more }) {
  const n = X.length / widths[0];
  const rows = labels ? { X, labels, n } : { X, targets: targets ?? new Float32Array(n * last(widths)), n };
  return {
    widths,
    hidden,
    likelihood: more.likelihood ?? named(labels ? "categorical" : "gaussian"),
    optimizer: { name: more.optimizer ?? "adam", learning_rate: more.learning_rate ?? 0.01 },
    schedule: { name: "constant" },
    l1: 0,
    weight_decay: 0,
    dropout: 0,
    clip_norm: 0,
    batch_size: 0,
    seed: more.seed ?? 0,
    record_every: 50,
    rows,
    validation: null,
    parameters,
  };
}

/** Loads a network whose values are asked for; it has one row of zeros. @param {Engine} engine @param {{widths: number[], hidden: Named[], parameters: Float32Array}} network */
export const loadNetwork = (engine, network) =>
  engine.load(jobOf({ ...network, X: new Float32Array(network.widths[0]) }));

/** Layers one behind the other: W row by row, then b. @param {{W: number[][], b: number[]}[]} layers */
export const flat = (layers) => Float32Array.from(layers.flatMap(({ W, b }) => [...W.flat(), ...b]));

/**
 * The layers in flat parameters.
 * @param {ArrayLike<number>} parameters @param {number[]} widths
 */
export function layersOf(parameters, widths) {
  let at = 0;
  const take = (/** @type {number} */ n) => Array.from({ length: n }, () => parameters[at++]);
  return widths.slice(1).map((d, l) => ({
    W: Array.from({ length: d }, () => take(widths[l])),
    b: take(d),
  }));
}

/** Evenly spaced numbers, both ends included. @param {number} low @param {number} high @param {number} n */
export const grid = (low, high, n) =>
  Float32Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

/** @template T @param {readonly T[]} values @returns {T} */
const last = (values) => values[values.length - 1];
