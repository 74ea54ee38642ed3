// @ts-check
// The network and its training as Python, with every digit.

import { inputNames, usedFeatures } from "./problem.js";
import { shortest, toStateDict } from "./safetensors.js";

/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./problem.js").Problem} Problem */

/** @type {Record<string, (p: number[]) => string>} */
const TORCH = {
  identity: () => "nn.Identity()", relu: () => "nn.ReLU()", leaky_relu: (p) => `nn.LeakyReLU(${p[0] ?? 0.01})`,
  prelu: (p) => `nn.LeakyReLU(${p[0] ?? 0.25})`, hardtanh: (p) => `nn.Hardtanh(${p[0] ?? -1}, ${p[1] ?? 1})`, abs: () => "Abs()",
  sigmoid: () => "nn.Sigmoid()", tanh: () => "nn.Tanh()", elu: (p) => `nn.ELU(${p[0] ?? 1})`, gelu: () => "nn.GELU()",
  gelu_tanh: () => 'nn.GELU("tanh")', silu: () => "nn.SiLU()", softplus: () => "nn.Softplus()", softsign: () => "nn.Softsign()",
};

const ABS = `
class Abs(nn.Module):
    def forward(self, z):
        return z.abs()

`;

/** How the columns of the inputs come from x1 and x2. @type {Record<string, string>} */
const COLUMNS = {
  "x1": "X[:, 0]", "x2": "X[:, 1]", "x1^2": "X[:, 0] ** 2", "x2^2": "X[:, 1] ** 2", "x1*x2": "X[:, 0] * X[:, 1]",
  "sin x1": "np.sin(np.pi * X[:, 0])", "sin x2": "np.sin(np.pi * X[:, 1])",
};

/** The network as `nn.Sequential`. @param {Job} job @param {Float32Array} parameters @param {string[]} inputs */
export function sequential({ widths, hidden, likelihood }, parameters, inputs) {
  const layers = widths.slice(1).flatMap((d, l) => [
    `    nn.Linear(${widths[l]}, ${d}),`,
    ...(l < hidden.length ? [`    ${TORCH[hidden[l].name](hidden[l].parameters ?? [])},`] : []),
  ]);
  const own = hidden.some((a) => a.name === "abs") ? ABS : "";
  const state = Object.entries(toStateDict(widths, parameters)).map(([name, values]) =>
    `    ${JSON.stringify(name)}: torch.tensor(${JSON.stringify(values)}),`);
  return [
    "import torch", "from torch import nn", own,
    `# inputs: ${inputs.join(", ")}; outputs: ${meaning(likelihood)}`,
    "network = nn.Sequential(", ...layers, ")", "",
    "state = {", ...state, "}", "network.load_state_dict(state)", "",
  ].join("\n");
}

/** @param {{name: string, parameters?: number[]}} likelihood */
const meaning = ({ name, parameters = [] }) => {
  if (name === "bernoulli") return "one logit; the probability of the second class is its sigmoid";
  if (name === "categorical") return "logits; the probabilities are their softmax";
  return `those of the ${name}${parameters.length ? `(${parameters.join(", ")})` : ""} likelihood`;
};

/**
 * A script that trains the same network from the same seed, with Pellucid.
 * @param {Job} job @param {State} state @param {Problem} problem @param {number} steps
 * @param {boolean} [mixed] whether settings or weights were changed on the way
 */
export function trainingScript(job, state, problem, steps, mixed = false) {
  const { optimizer: o, likelihood } = job;
  const rows = Array.from(problem.train, (i) => Array.from(problem.points.subarray(i * problem.d, (i + 1) * problem.d), plain));
  const y = Array.from(problem.train, (i) => plain(problem.y[i]));
  const inputs = usedFeatures(state, problem);
  const isPlain = inputs === null || inputs.join() === problem.columns.slice(0, inputs.length).join() || inputs.join() === "x1,x2" || inputs.join() === "x1";
  const settings = [
    `activation=${JSON.stringify(state.hidden.map((l) => withParameters(l.activation)))}`,
    `likelihood=${JSON.stringify(withParameters(likelihood))}`, `scheme=${JSON.stringify(state.scheme)}`, `seed=${state.seed}`,
    `optimizer=${JSON.stringify(o.name)}`, `learning_rate=${o.learning_rate}`, `steps=${job.steps ?? Math.max(1, steps)}`,
    job.batch_size ? `batch_size=${job.batch_size}` : "", o.momentum ? `momentum=${o.momentum}` : "", o.nesterov ? "nesterov=True" : "",
    state.training.schedule === "constant" ? "" : `schedule=${JSON.stringify(state.training.schedule)}`,
    state.training.schedule === "step" ? `step_size=${state.training.horizon}` : "",
    job.weight_decay ? `weight_decay=${job.weight_decay}` : "", job.l1 ? `l1=${job.l1}` : "", job.dropout ? `dropout=${job.dropout}` : "",
    job.clip_norm ? `clip_norm=${job.clip_norm}` : "",
  ].filter((line) => line && !((state.hidden.length === 0 || state.start) && /^(activation|scheme)/.test(line)));
  return [
    "import numpy as np", "import pellucid", "",
    ...(mixed ? ["# Settings or weights were changed while the page trained; this trains under the last settings alone.", ""] : []),
    `# ${problem.title}: ${problem.train.length} training rows of ${problem.columns.join(", ")}; target ${problem.target}${problem.classes ? ` (${problem.classes.join(", ")})` : ""}`,
    `X = np.array(${JSON.stringify(rows)}, dtype=np.float32)`,
    `y = np.array(${JSON.stringify(y)})`,
    ...(isPlain ? [] : [`X = np.column_stack([${inputs?.map((f) => COLUMNS[f]).join(", ")}]).astype(np.float32)`]),
    "", ...(state.start ? givenStart(job, state) : []), "run = pellucid.train(", state.start ? "    start," : `    ${JSON.stringify(job.widths)},`, "    X,", "    y,", ...settings.map((line) => `    ${line},`), ")",
    'print(run.network, "training loss", run.history.loss[-1])',
    "",
  ].join("\n");
}

/** First weights that were given, as a network. @param {Job} job @param {State} state */
function givenStart(job, state) {
  const values = Object.values(toStateDict(job.widths, job.parameters));
  const pick = (/** @type {number} */ odd) => JSON.stringify(values.filter((_, i) => i % 2 === odd));
  const names = JSON.stringify(state.hidden.map((l) => withParameters(l.activation)));
  return [
    `weights = [np.array(W, dtype=np.float32) for W in ${pick(0)}]`, `biases = [np.array(b, dtype=np.float32) for b in ${pick(1)}]`,
    `start = pellucid.Network(weights, biases, ${names})`, "",
  ];
}

/** @param {number} v */
const plain = (v) => (Number.isInteger(v) ? v : shortest(Math.fround(v)));

/** @param {{name: string, parameters?: number[]}} named */
const withParameters = ({ name, parameters = [] }) => (parameters.length ? `${name}(${parameters.join(",")})` : name);

/** The network as the server's formats take it. @param {Job} job @param {Float32Array} parameters @param {State} state @param {Problem} problem */
export function networkDocument(job, parameters, state, problem) {
  return {
    name: "playground", widths: job.widths, hidden: job.hidden, output: { name: "identity", parameters: [] },
    parameters: Array.from(parameters), likelihood: job.likelihood, feature_names: inputNames(state, problem), classes: problem.classes, notes: [],
  };
}
