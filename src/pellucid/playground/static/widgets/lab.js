// @ts-check
// Networks of the widgets: made of plain numbers, computed by the page's engine beside its own run.

/** @typedef {import("../page/state.js").Named} Named */

/** An activation or a likelihood by name. @param {string} name @param {number[]} [parameters] @returns {Named} */
export const named = (name, parameters = []) => ({ name, parameters });

/** A network without its numbers, for the engine. @param {number[]} widths @param {string} activation @param {string} [likelihood] */
export const netOf = (widths, activation, likelihood = "gaussian") => ({
  widths,
  hidden: widths.slice(1, -1).map(() => named(activation)),
  likelihood: named(likelihood),
});

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
