// @ts-check
// The rows at hand: a data set or a visitor's own, with noise, split into train and test.

import { featureRows, isPlane } from "./features.js";
import { normals, shuffled } from "./random.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./features.js").FeatureName} FeatureName */

/**
 * One data set of datasets.json, or one that a visitor brought.
 * @typedef {{title: string, task: "classification" | "regression", columns: string[], target: string,
 *   classes: string[] | null, noise: number, X: number[][], y: number[]}} Source
 */

/**
 * `points` (n, d) and `y` (n,) after noise; `train` and `test` are row numbers.
 * @typedef {{title: string, task: "classification" | "regression", d: number, columns: string[],
 *   target: string, classes: string[] | null, n: number, points: Float64Array, y: Float64Array,
 *   train: Int32Array, test: Int32Array, low: number[], high: number[], yLow: number, yHigh: number,
 *   own: boolean}} Problem
 */

const SMALLEST_SPAN = 1e-6;

/**
 * @param {State} state @param {Record<string, Source>} sources
 * @returns {Problem}
 */
export function makeProblem(state, sources) {
  const { data } = state;
  const source = data.own ? ownSource(data.own) : sources[data.name] ?? Object.values(sources)[0];
  const chosen = data.own
    ? source.X.map((_, i) => i)
    : shuffled(source.X.length, data.seed).slice(0, data.n);
  const d = source.columns.length;
  const noise = data.own ? Math.max(0, data.noise) : data.noise < 0 ? source.noise : data.noise;
  const { points, y } = withNoise(source, chosen, noise, data.seed);
  const n = chosen.length;
  const nTest = Math.max(0, Math.min(n - 1, Math.round(data.test * n)));
  const order = shuffled(n, data.seed + 1);
  return {
    title: source.title,
    task: source.task,
    d,
    columns: source.columns,
    target: source.target,
    classes: source.classes,
    n,
    points,
    y,
    train: Int32Array.from(order.slice(nTest)).sort(),
    test: Int32Array.from(order.slice(0, nTest)).sort(),
    own: data.own !== null,
    ...window(points, y, d),
  };
}

/** @param {import("./state.js").OwnData} own @returns {Source} */
function ownSource(own) {
  return { ...own, task: own.classes ? "classification" : "regression", noise: 0 };
}

/**
 * Normal noise on the inputs where classes are told apart, on the target where a number is.
 * @param {Source} source @param {number[]} chosen @param {number} noise @param {number} seed
 */
function withNoise(source, chosen, noise, seed) {
  const d = source.columns.length;
  const points = new Float64Array(chosen.length * d);
  const y = new Float64Array(chosen.length);
  const draw = normals(seed + 2);
  const onInputs = source.task === "classification";
  chosen.forEach((row, i) => {
    for (let j = 0; j < d; j++) points[i * d + j] = source.X[row][j] + (onInputs && noise ? noise * draw() : 0);
    y[i] = source.y[row] + (!onInputs && noise ? noise * draw() : 0);
  });
  return { points, y };
}

/**
 * What the pictures show: the rows with a margin; square where both inputs are of one size.
 * @param {Float64Array} points @param {Float64Array} y @param {number} d
 */
function window(points, y, d) {
  const low = Array.from({ length: d }, () => Infinity);
  const high = Array.from({ length: d }, () => -Infinity);
  points.forEach((v, i) => {
    low[i % d] = Math.min(low[i % d], v);
    high[i % d] = Math.max(high[i % d], v);
  });
  const spans = low.map((l, j) => Math.max(high[j] - l, SMALLEST_SPAN));
  const alike = Math.max(...spans) < 3 * Math.min(...spans);
  const widest = Math.max(...spans);
  for (let j = 0; j < d; j++) {
    if (!points.length) [low[j], high[j]] = [-1, 1];
    const centre = (low[j] + high[j]) / 2;
    const half = 0.58 * (points.length ? (alike ? widest : spans[j]) : 2);
    low[j] = rounded(centre - half, half);
    high[j] = rounded(centre + half, half);
  }
  const yLow = y.reduce((a, b) => Math.min(a, b), Infinity);
  const yHigh = y.reduce((a, b) => Math.max(a, b), -Infinity);
  return Number.isFinite(yLow) ? { low, high, yLow, yHigh } : { low, high, yLow: -1, yHigh: 1 };
}

/** To a twentieth of the size, so that axes carry short numbers. @param {number} v @param {number} size */
function rounded(v, size) {
  const unit = 10 ** Math.floor(Math.log10(size)) / 20;
  return Number((Math.round(v / unit) * unit).toPrecision(12));
}

/** The features that the state asks for and this problem has. @param {State} state @param {Problem} problem @returns {FeatureName[] | null} */
export function usedFeatures(state, problem) {
  if (problem.d > 2) return null;
  const names = problem.d === 2 ? state.features : state.features.filter((f) => !f.includes("x2"));
  return names.length ? names : ["x1"];
}

/** Names of the network's inputs. @param {State} state @param {Problem} problem */
export function inputNames(state, problem) {
  return usedFeatures(state, problem) ?? problem.columns;
}

/**
 * Points (n, d) as the network's inputs (n, d_in).
 * @param {ArrayLike<number>} points @param {State} state @param {Problem} problem
 */
export function inputRows(points, state, problem) {
  const names = usedFeatures(state, problem);
  return names ? featureRows(points, problem.d, names) : Float32Array.from(points);
}

/** Whether the inputs are the coordinates themselves, so that regions are polygons. @param {State} state @param {Problem} problem */
export function inputsAreCoordinates(state, problem) {
  const names = usedFeatures(state, problem);
  return names === null || (problem.d === 2 ? isPlane(names) : names.length === 1 && names[0] === "x1");
}

/** @param {Problem} problem @param {ArrayLike<number>} rows row numbers */
export function pickPoints(problem, rows) {
  const { d, points } = problem;
  const picked = new Float64Array(rows.length * d);
  for (let i = 0; i < rows.length; i++) {
    picked.set(points.subarray(rows[i] * d, rows[i] * d + d), i * d);
  }
  return picked;
}
