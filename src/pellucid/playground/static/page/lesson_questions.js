// @ts-check
// Questions about the network at hand. Every answer is computed by the engine, none by the page.

import { figure, listed, plural } from "./format.js";
import { inputRows, pickPoints } from "./problem.js";
import { uniforms } from "./random.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./lesson_answers.js").Question} Question */
/** @typedef {(app: App, random: () => number) => Question | null | Promise<Question | null>} Maker */

/** @param {number[]} widths */
const shape = (widths) => widths.join("–");

/** @param {() => number} random @param {number} low @param {number} high both included */
const whole = (random, low, high) => low + Math.floor(random() * (high - low + 1));

/** One training row: its point, its inputs, its target. @param {App} app @param {() => number} random */
function drawnRow(app, random) {
  const { train, y, d } = app.problem;
  const row = train[whole(random, 0, train.length - 1)];
  const point = pickPoints(app.problem, [row]);
  const told = `(${Array.from(point.slice(0, d), (v) => figure(v)).join(", ")})`;
  return { x: inputRows(point, app.state(), app.problem), y: y[row], told };
}

/** @type {Record<string, Maker>} */
const MAKERS = {
  /** How many numbers training may change. */
  "parameter-count"(app) {
    const widths = app.widths();
    const terms = widths.slice(1).map((d, l) => `${d} (${widths[l]} + 1)`);
    return {
      text: `The network at hand has the widths ${shape(widths)}, with a bias at every unit. How many parameters does it have?`,
      form: "number",
      answer: [app.parameters().length],
      explanation: `Every layer has d (inputs + 1) of them: ${terms.join(" + ")} = ${app.parameters().length}.`,
    };
  },
  /** Rows and columns of a weight matrix. */
  "weight-shape"(app, random) {
    const widths = app.widths();
    const l = whole(random, 1, widths.length - 1);
    return {
      text: `The widths are ${shape(widths)}. What is the shape of W${l}, outputs first?`,
      form: "numbers",
      hint: "two numbers",
      answer: [widths[l], widths[l - 1]],
      explanation: `W${l} maps ${plural(widths[l - 1], "number")} to ${widths[l]}: it has a row for each output.`,
    };
  },
  /** A gradient has the shape of its parameter, whatever the batch. */
  "gradient-shape"(app, random) {
    const widths = app.widths();
    const l = whole(random, 1, widths.length - 1);
    const batch = app.state().training.batch_size || app.problem.train.length;
    return {
      text: `The widths are ${shape(widths)}, and a step takes ${plural(batch, "row")}. What is the shape of the gradient of the mean loss with respect to b${l} and then W${l}?`,
      form: "numbers",
      hint: "three numbers",
      answer: [widths[l], widths[l], widths[l - 1]],
      explanation: "The rows are averaged: a gradient has the shape of its parameter, whatever the batch.",
    };
  },
  /** The class that the network gives a point. */
  async side(app, random) {
    const classes = app.problem.classes;
    if (!classes) return null;
    const row = drawnRow(app, random);
    const { mean } = await app.engine.forward(app.parameters(), row.x);
    const p = Array.from(mean);
    const winner = p.length === 1 ? Number(p[0] > 0.5) : p.indexOf(Math.max(...p));
    return {
      text: `On which side of the boundary is the point ${row.told}: which class does the network give it now?`,
      form: "choice",
      choices: classes,
      answer: [winner],
      explanation:
        p.length === 1
          ? `The probability of class ${classes[1]} is ${figure(p[0])}.`
          : `The probabilities are ${p.map((v) => figure(v)).join(", ")}; the largest decides.`,
    };
  },
  /** Units that a row teaches nothing. */
  async blocked(app, random) {
    const layer = hiddenLayer(app, random, (name) => name === "relu");
    if (layer === null) return null;
    const row = drawnRow(app, random);
    const worked = await app.engine.worked(app.parameters(), row.x, row.y);
    const z = Array.from(worked.z[layer]);
    const shut = z.flatMap((v, i) => (v > 0 ? [] : [i + 1]));
    return {
      text: `For the point ${row.told}, how many of the ${plural(z.length, "ReLU unit")} of hidden layer ${layer + 1} stop the gradient: at how many is relu'(z) = 0?`,
      form: "number",
      answer: [shut.length],
      explanation: shut.length
        ? `z is not positive at ${shut.length === 1 ? "unit" : "units"} ${listed(shut.map(String))}, so relu'(z) = 0 there.`
        : "Every z is positive there, so every gate is open.",
    };
  },
  /** Units that a row switches on. */
  async "active-units"(app, random) {
    const layer = hiddenLayer(app, random, (name) => name === "relu");
    if (layer === null) return null;
    const row = drawnRow(app, random);
    const worked = await app.engine.worked(app.parameters(), row.x, row.y);
    const z = Array.from(worked.z[layer]);
    return {
      text: `How many units of hidden layer ${layer + 1} are active at the point ${row.told}?`,
      form: "number",
      answer: [z.filter((v) => v > 0).length],
      explanation: `The pre-activations are ${z.map((v) => figure(v)).join(", ")}; a unit is active where its own is above 0.`,
    };
  },
  /** The most regions that lines can cut a plane into. */
  async "regions-bound"(app) {
    const widths = app.widths();
    if (widths.length !== 3 || widths[0] !== 2) return null;
    const m = widths[1];
    const { arrangement } = await app.engine.bounds(widths);
    return {
      text: `One hidden layer of ${plural(m, "ReLU unit")} looks at a plane. At most how many activation regions can there be?`,
      form: "number",
      answer: [Number(arrangement)],
      explanation: `Every unit draws one line, and ${m} lines cut a plane into at most 1 + ${m} + ${m} (${m} − 1) / 2 = ${arrangement} parts.`,
    };
  },
  /** From a probability to nats. */
  async "loss-of-point"(app, random) {
    const classes = app.problem.classes;
    const family = app.job().likelihood.name;
    if (!classes || !["categorical", "bernoulli"].includes(family)) return null;
    const row = drawnRow(app, random);
    const worked = await app.engine.worked(app.parameters(), row.x, row.y);
    const p = family === "categorical" ? worked.mean[row.y] : row.y ? worked.mean[0] : 1 - worked.mean[0];
    return {
      text: `The point ${row.told} is of class ${classes[row.y]}, and the network gives that class the probability ${figure(p, 4)}. What is its loss in nats?`,
      form: "number",
      hint: "to 2 decimals",
      answer: [worked.loss],
      tolerance: 0.0101,
      explanation: `−ln ${figure(p, 4)} = ${figure(worked.loss, 4)}.`,
    };
  },
};

/** @param {App} app @param {() => number} random @param {(name: string) => boolean} fits */
function hiddenLayer(app, random, fits) {
  const layers = app.state().hidden.flatMap((l, i) => (fits(l.activation.name) ? [i] : []));
  return layers.length ? layers[whole(random, 0, layers.length - 1)] : null;
}

/**
 * A question of that kind, or of another one where the network at hand does not have it.
 * @param {App} app @param {string | null} kind null: any @param {number} seed
 * @returns {Promise<Question>}
 */
export async function makeQuestion(app, kind, seed) {
  const random = uniforms(seed);
  const kinds = Object.keys(MAKERS);
  const first = kind ?? kinds[whole(random, 0, kinds.length - 1)];
  const at = kinds.indexOf(first);
  for (const name of [...kinds.slice(at), ...kinds.slice(0, at)]) {
    const question = await MAKERS[name](app, random);
    if (question) return question;
  }
  throw new Error("there is always the count of parameters");
}
