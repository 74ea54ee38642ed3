// @ts-check
// A straight boundary cannot part rings: many starts of a model without hidden layer, one loss.

import { h, refill } from "../page/dom.js";
import { figure, percent, plural } from "../page/format.js";
import { netOf } from "./lab.js";

const STARTS = 12;
const STEPS = 1500;

/** @param {HTMLElement} element @param {import("../page/app.js").App} app */
export async function mount(element, app) {
  const { engine } = app;
  const result = h("div", { role: "status" });
  const train = async () => {
    refill(result, "Training …");
    const points = app.points();
    const [X, labels] = [points.X, "labels" in points ? points.labels : null];
    const k = app.problem.classes?.length ?? 0;
    if (!labels || app.problem.d !== 2) return refill(result, "Choose a data set with classes and two inputs.");
    const [without, withHidden] = await Promise.all([[], [8]].map((hidden) => best(engine, hidden, X, labels, k)));
    const constant = constantLoss(labels, k);
    refill(result,
      h("table", {},
        h("thead", {}, h("tr", {}, ["", "lowest loss", "highest loss", "right"].map((t) => h("th", { scope: "col" }, t)))),
        h("tbody", {},
          line(`no hidden layer, ${STARTS} starts`, without),
          line(`8 tanh units, ${STARTS} starts`, withHidden),
          h("tr", {}, h("th", { scope: "row" }, "the same answer everywhere"), h("td", {}, figure(constant)), h("td", {}, figure(constant)), h("td", {}, "")))),
      h("p", {}, `In nats, after ${STEPS} updates each. ${told(without, withHidden)}`));
    return undefined;
  };
  element.append(
    h("div", { class: "widget-controls" }, h("button", { type: "button", onclick: train }, `Train ${plural(2 * STARTS, "network")}`)),
    result);
  return () => {};
}

/**
 * @typedef {{low: number, high: number, right: number}} Found
 * @param {import("../engine/engine.js").Engine} engine @param {number[]} hidden
 * @param {ArrayLike<number>} X @param {number[]} labels @param {number} k
 * @returns {Promise<Found>}
 */
async function best(engine, hidden, X, labels, k) {
  const net = netOf([2, ...hidden, k], "tanh", "categorical");
  const rows = { X: Float32Array.from(X), labels: Int32Array.from(labels), n: labels.length };
  const jobs = [];
  for (let seed = 0; seed < STARTS; seed++) {
    const parameters = await engine.initialize({ widths: net.widths, scheme: "torch", seed });
    const optimizer = { name: "adam", learning_rate: 0.05 };
    jobs.push({ ...net, optimizer, rows, parameters, seed, record_every: STEPS });
  }
  const runs = await engine.many(jobs, { steps: STEPS });
  const order = [...runs.keys()].sort((a, b) => runs[a].loss - runs[b].loss);
  const { logits } = await engine.forward(runs[order[0]].parameters, rows.X, { net });
  const right = labels.filter((y, i) => y === largest(logits, i * k, k)).length / labels.length;
  return { low: runs[order[0]].loss, high: runs[order[order.length - 1]].loss, right };
}

/** @param {ArrayLike<number>} values @param {number} at @param {number} k */
function largest(values, at, k) {
  let found = 0;
  for (let c = 1; c < k; c++) if (values[at + c] > values[at + found]) found = c;
  return found;
}

/** The entropy of the shares of the classes. @param {number[]} labels @param {number} k */
function constantLoss(labels, k) {
  const shares = Array.from({ length: k }, (_, c) => labels.filter((y) => y === c).length / labels.length);
  return -shares.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);
}

/** @param {string} name @param {Found} found */
const line = (name, { low, high, right }) =>
  h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, figure(low)), h("td", {}, figure(high)), h("td", {}, percent(right)));

/** @param {Found} without @param {Found} withHidden */
function told(without, withHidden) {
  if (withHidden.low > without.low - 0.01) return "A hidden layer does not help here.";
  return (
    `Without a hidden layer the loss is a convex function of the parameters, so all starts end at the same ${figure(without.low)}: ` +
    "no training gets lower, the model cannot. With hidden units it can."
  );
}
