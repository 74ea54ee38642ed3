// How many activation regions a network can have: the numbers of pellucid.regions.bounds.

/** @typedef {import("./types.js").Bounds} Bounds */
/** @typedef {import("./types.js").Named} Named */

/** Activations without a kink, and with two; the other piecewise linear ones have one. */
const KINKS = /** @type {Record<string, number>} */ ({ identity: 0, hardtanh: 2 });

/**
 * C(n, k).
 * @param {number} n
 * @param {number} k
 * @returns {bigint}
 */
function choose(n, k) {
  if (k < 0 || k > n) return 0n;
  let value = 1n;
  for (let i = 0; i < k; ++i) value = (value * BigInt(n - i)) / BigInt(i + 1);
  return value;
}

/**
 * Regions of m hyperplanes in general position in d dimensions (Zaslavsky 1975).
 * @param {number} m
 * @param {number} d
 * @returns {bigint}
 */
export function arrangement(m, d) {
  let sum = 0n;
  for (let i = 0; i <= Math.min(m, d); ++i) sum += choose(m, i);
  return sum;
}

/**
 * @param {number} d
 * @param {number[]} hidden
 * @returns {bigint}
 */
function montufar2017(d, hidden) {
  let least = d;
  let product = 1n;
  for (const n of hidden) {
    least = Math.min(least, n);
    product *= arrangement(n, least);
  }
  return product;
}

/**
 * R(l, d) = sum over j of C(n_l, j) R(l + 1, min(d, n_l - j)).
 * @param {number} d
 * @param {number[]} hidden
 * @returns {bigint}
 */
function serra2018(d, hidden) {
  /** @type {Map<string, bigint>} */
  const known = new Map();
  /** @type {(layer: number, d: number) => bigint} */
  const R = (layer, d) => {
    if (layer === hidden.length) return 1n;
    const key = `${layer} ${d}`;
    let sum = known.get(key);
    if (sum !== undefined) return sum;
    const n = /** @type {number} */ (hidden[layer]);
    sum = 0n;
    for (let j = 0; j <= Math.min(d, n); ++j)
      sum += choose(n, j) * R(layer + 1, Math.min(d, n - j));
    known.set(key, sum);
    return sum;
  };
  return R(0, d);
}

/**
 * prod over the layers but the last of (floor(n / d) + more)^d, times S(n_L, d).
 * @param {number} d
 * @param {number[]} hidden
 * @param {number} least  no layer may be narrower
 * @param {bigint} more
 * @returns {bigint|null}
 */
function folds(d, hidden, least, more) {
  if (!hidden.length || Math.min(...hidden) < least) return null;
  let product = arrangement(/** @type {number} */ (hidden.at(-1)), d);
  for (const n of hidden.slice(0, -1)) product *= (BigInt(Math.floor(n / d)) + more) ** BigInt(d);
  return product;
}

/**
 * Bounds on the activation regions of a network of these widths on a domain of `dimension`.
 * `upper` is `pellucid.regions.upper_bound`; the named bounds are for relu.
 * @param {number[]} widths
 * @param {{hidden?: Named[], dimension?: number}} [options]  without `hidden`: relu everywhere
 * @returns {Bounds}
 */
export function bounds(widths, { hidden: activations, dimension } = {}) {
  const hidden = widths.slice(1, -1);
  const d = Math.min(dimension ?? Infinity, /** @type {number} */ (widths[0]));
  const named = {
    patterns: 2n ** BigInt(hidden.reduce((a, b) => a + b, 0)),
    montufar_2017: montufar2017(d, hidden),
    serra_2018: serra2018(d, hidden),
    montufar_2014: folds(d, hidden, d, 0n),
    serra_2018_lower: folds(d, hidden, 3 * d, 1n),
  };
  const names = activations?.map((a) => a.name) ?? hidden.map(() => "relu");
  const relu = names.every((name) => name === "relu");
  const lower = [named.montufar_2014, named.serra_2018_lower].filter((b) => b !== null);
  const upper = anyPieces(d, hidden, names);
  return {
    arrangement: hidden.length ? arrangement(/** @type {number} */ (hidden[0]), d) : 1n,
    upper: relu && named.serra_2018 < upper ? named.serra_2018 : upper,
    lower: lower.reduce((/** @type {bigint|null} */ a, b) => (a === null || b > a ? b : a), null),
    bounds: named,
  };
}

/**
 * A layer whose units have k kinks each makes at most sum of C(n, i) k^i regions.
 * @param {number} d
 * @param {number[]} hidden
 * @param {string[]} names
 * @returns {bigint}
 */
function anyPieces(d, hidden, names) {
  let least = d;
  let product = 1n;
  hidden.forEach((n, l) => {
    const kinks = BigInt(KINKS[/** @type {string} */ (names[l])] ?? 1);
    least = Math.min(least, n);
    let sum = 0n;
    for (let i = 0; i <= least; ++i) sum += choose(n, i) * kinks ** BigInt(i);
    product *= sum;
  });
  return product;
}
