// @ts-check
// How training goes: loss, optimizer, rate, batch, penalties, first weights.

import { check, chooser, decades, detents, wholeNumber } from "./controls.js";
import { h, say } from "./dom.js";
import { fits, likelihoodOf } from "./job.js";

/** @typedef {import("./app.js").App} App */

/** What the likelihoods are called in the menu; the engine's table has their names. @type {Record<string, string>} */
const LOSSES = {
  bernoulli: "cross-entropy, one logit", categorical: "cross-entropy, softmax", ordinal: "ordered classes",
  gaussian: "squared error (Gaussian)", laplace: "absolute error (Laplace)", student_t: "robust (Student t)",
  mean_variance: "mean and variance", quantile: "quantiles 0.1, 0.5, 0.9", mixture: "mixture of three normals",
  poisson: "counts (Poisson)", negative_binomial: "counts (negative binomial)",
};

/** @param {App} app @param {HTMLElement} root */
export function trainingPanel(app, root) {
  const names = (/** @type {{name: string}[]} */ rows) => rows.map((r) => /** @type {const} */ ([r.name, r.name.replaceAll("_", " ")]));
  const rate = detents(app, { label: "Learning rate", control: "learningRate", values: decades(-5, 1), get: (s) => s.training.learning_rate, put: (s, v) => (s.training.learning_rate = v) });
  const optimizer = chooser(app, { label: "Optimizer", control: "optimizer", options: () => names(app.tables.optimizers).filter(([n]) => n !== "lbfgs"), get: (s) => s.training.optimizer, put: (s, v) => (s.training.optimizer = v) });
  const momentum = detents(app, { label: "Momentum", control: "optimizer", values: [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99], get: (s) => s.training.momentum, put: (s, v) => (s.training.momentum = v) });
  const batch = detents(app, {
    label: "Batch size", control: "batchSize", values: [1, 2, 4, 8, 10, 16, 32, 64, 128, 0].sort((a, b) => (a || 1e9) - (b || 1e9)),
    get: (s) => s.training.batch_size, put: (s, v) => (s.training.batch_size = v), say: (v) => (v ? String(v) : "all rows"), help: "Rows of one update",
  });
  const loss = chooser(app, {
    label: "Loss", control: "likelihood",
    options: () => Object.entries(LOSSES).filter(([n]) => fits(n, app.problem)),
    get: (s) => likelihoodOf(s, app.problem).name, put: (s, v) => (s.likelihood = { name: v, parameters: [] }),
    help: "The negative log-likelihood that training lowers, in nats",
  });
  const decay = detents(app, { label: "Weight decay (L2)", control: "regularization", values: [0, ...decades(-5, 1)], get: (s) => s.training.weight_decay, put: (s, v) => (s.training.weight_decay = v) });
  const l1 = detents(app, { label: "L1 penalty", control: "regularization", values: [0, ...decades(-5, 1)], get: (s) => s.training.l1, put: (s, v) => (s.training.l1 = v) });
  const dropout = detents(app, { label: "Dropout", control: "regularization", values: [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7], get: (s) => s.training.dropout, put: (s, v) => (s.training.dropout = v) });
  const clip = detents(app, { label: "Clip the gradient at", control: "regularization", values: [0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10], get: (s) => s.training.clip_norm, put: (s, v) => (s.training.clip_norm = v), say: (v) => (v ? String(v) : "off") });
  const schedule = chooser(app, { label: "Schedule", control: "schedule", options: () => names(app.tables.schedules), get: (s) => s.training.schedule, put: (s, v) => (s.training.schedule = v) });
  const horizon = detents(app, { label: "… over steps", control: "schedule", values: [100, 300, 1000, 2000, 5000, 10000, 30000, 100000], get: (s) => s.training.horizon, put: (s, v) => (s.training.horizon = v), say: String });
  const scheme = chooser(app, { label: "First weights", control: "scheme", options: () => names(app.tables.schemes), get: (s) => s.scheme, put: (s, v) => ((s.scheme = v), (s.start = null)) });
  const dice = h("button", { class: "small", "aria-label": "another seed", title: "Another seed: new first weights", onclick: () => app.change("another seed", (s) => ((s.seed += 1), (s.start = null))) }, "⚄");
  const seed = wholeNumber(app, { label: "Seed", control: "seed", low: 0, high: 2 ** 31 - 1, get: (s) => s.seed, put: (s, v) => ((s.seed = v), (s.start = null)), after: dice });
  const nesterov = check(app, "Nesterov's", (s) => s.training.nesterov, (s, v) => (s.training.nesterov = v), false);

  root.append(
    rate.element, batch.element, optimizer.element, momentum.element, nesterov.element, loss.element, scheme.element, seed.element,
    h("details", { "data-control": "regularization" }, h("summary", {}, "Regularisation"), decay.element, l1.element, dropout.element, clip.element),
    h("details", { "data-control": "schedule" }, h("summary", {}, "Schedule of the rate"), schedule.element, horizon.element),
  );
  const all = [rate, optimizer, momentum, batch, loss, decay, l1, dropout, clip, schedule, horizon, scheme, seed, nesterov];
  const sync = () => {
    all.forEach((c) => c.sync());
    const { optimizer: name, schedule: kind } = app.state().training;
    momentum.element.hidden = !["sgd", "rmsprop"].includes(name);
    nesterov.element.hidden = name !== "sgd" || app.state().training.momentum === 0;
    horizon.element.hidden = !["cosine", "one_cycle", "step"].includes(kind);
    say(/** @type {Element} */ (horizon.element.querySelector("label")), kind === "step" ? "… a tenth every" : "… over steps");
  };
  app.events.on("state", sync);
  sync();
}
