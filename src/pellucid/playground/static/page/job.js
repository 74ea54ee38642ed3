// @ts-check
// From the state and the rows to the job that the engine runs.

import { inputNames, inputRows, pickPoints } from "./problem.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./problem.js").Problem} Problem */
/** @typedef {import("./state.js").Named} Named */

const RECORD_EVERY = 1000; // the curve is drawn from snapshots; few records cost nothing
const ENDING = new Set(["cosine", "one_cycle"]);

/** The likelihood that "auto" means for these targets. @param {State} state @param {Problem} problem @returns {Named} */
export function likelihoodOf(state, problem) {
  const chosen = state.likelihood;
  if (chosen.name !== "auto" && fits(chosen.name, problem)) return chosen;
  if (problem.task === "regression") return { name: "gaussian", parameters: [] };
  const two = (problem.classes?.length ?? 2) === 2;
  return { name: two ? "bernoulli" : "categorical", parameters: [] };
}

const FOR_CLASSES = ["bernoulli", "categorical", "ordinal"];

/** Whether a likelihood can judge these targets. @param {string} name @param {Problem} problem */
export function fits(name, problem) {
  if (problem.task === "classification") {
    return FOR_CLASSES.includes(name) && (name !== "bernoulli" || problem.classes?.length === 2);
  }
  const counts = ["poisson", "negative_binomial"];
  if (counts.includes(name)) return problem.y.every((v) => v >= 0 && Number.isInteger(v));
  return !FOR_CLASSES.includes(name);
}

/** Outputs of the network. @param {Named} likelihood @param {Problem} problem */
export function outputs({ name, parameters }, problem) {
  const k = problem.classes?.length ?? 1;
  switch (name) {
    case "categorical":
      return k;
    case "ordinal":
      return k - 1;
    case "mean_variance":
    case "laplace":
    case "negative_binomial":
      return 2;
    case "student_t":
      return parameters.length && parameters[0] > 0 ? 2 : 3;
    case "quantile":
      return parameters.length || 3;
    case "mixture":
      return 3 * (parameters[0] ?? 3);
    default:
      return 1;
  }
}

/** @param {State} state @param {Problem} problem */
export function widthsOf(state, problem) {
  const d_in = inputNames(state, problem).length;
  return [d_in, ...state.hidden.map((l) => l.units), outputs(likelihoodOf(state, problem), problem)];
}

/** @param {number[]} widths */
export const countParameters = (widths) =>
  widths.slice(1).reduce((sum, d, l) => sum + d * (widths[l] + 1), 0);

/**
 * Rows as the engine takes them.
 * @param {State} state @param {Problem} problem @param {ArrayLike<number>} rows
 */
function rowsOf(state, problem, rows) {
  const X = inputRows(pickPoints(problem, rows), state, problem);
  const y = Array.from(rows, (i) => problem.y[i]);
  const labels = ["categorical", "ordinal"].includes(likelihoodOf(state, problem).name);
  return labels
    ? { X, labels: Int32Array.from(y), n: rows.length }
    : { X, targets: Float32Array.from(y), n: rows.length };
}

/**
 * @param {State} state @param {Problem} problem @param {Float32Array} parameters
 * @returns {import("./types.js").Job}
 */
export function makeJob(state, problem, parameters) {
  const t = state.training;
  return {
    widths: widthsOf(state, problem),
    hidden: state.hidden.map((layer) => layer.activation),
    likelihood: likelihoodOf(state, problem),
    optimizer: { name: t.optimizer, learning_rate: t.learning_rate, momentum: t.momentum, nesterov: t.nesterov },
    schedule: { name: t.schedule, ...(t.schedule === "step" && { step_size: t.horizon }) },
    ...(ENDING.has(t.schedule) && { steps: t.horizon }), // where the schedule, and the run, ends
    l1: t.l1,
    weight_decay: t.weight_decay,
    dropout: t.dropout,
    clip_norm: t.clip_norm,
    batch_size: t.batch_size >= problem.train.length ? 0 : t.batch_size,
    seed: state.seed,
    record_every: RECORD_EVERY,
    rows: rowsOf(state, problem, problem.train),
    validation: problem.test.length ? rowsOf(state, problem, problem.test) : null,
    parameters,
  };
}

/** The network of a job, without its rows. @param {import("./types.js").Job} job */
export const netOf = ({ widths, hidden, likelihood }) => ({ widths, hidden, likelihood });

/**
 * What must be the same for a run to go on: otherwise it starts again from the seed.
 * @param {State} state
 */
export function runKey(state) {
  const { data, features, hidden, scheme, seed, likelihood, start } = state;
  return JSON.stringify([data, features, hidden, scheme, seed, likelihood, start]);
}

/** Settings of the optimizer alone: a change of these goes on from the same weights. @param {State} state */
export const trainingKey = (state) => JSON.stringify(state.training);

/** Where weights and biases lie in the flat parameters. @param {number[]} widths */
export function layout(widths) {
  let at = 0;
  return widths.slice(1).map((rows, l) => {
    const columns = widths[l];
    const weights = at;
    const biases = at + rows * columns;
    at = biases + rows;
    return { rows, columns, weights, biases };
  });
}

/** @param {State} a @param {State} b */
export function sameData(a, b) {
  return a.data.own === b.data.own && JSON.stringify({ ...a.data, own: 0 }) === JSON.stringify({ ...b.data, own: 0 });
}

/** Whether rows of the visitor's own were edited and nothing else: the weights stay. @param {State} a @param {State} b */
export function ownRowsAlone(a, b) {
  if (!a.data.own || !b.data.own || JSON.stringify(a.data.own.classes) !== JSON.stringify(b.data.own.classes)) return false;
  const rest = (/** @type {State} */ s) => runKey({ ...s, data: { ...s.data, own: null } });
  return rest(a) === rest(b);
}
