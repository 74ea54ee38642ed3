// @ts-check
// The loss of one row and its slope by the outputs, with the numbers of the engine written out.

import { decimal, factor } from "./format.js";

/** @typedef {import("./types.js").WorkedNumbers} WorkedNumbers */

/**
 * Lines that lead to the loss. Where a likelihood has no short form its value alone is given.
 * @param {{name: string}} likelihood @param {WorkedNumbers} work @param {number} y @param {string[] | null} classes
 */
export function lossLines({ name }, work, y, classes) {
  const z = Array.from(work.logits);
  const p = Array.from(work.mean);
  const l = work.z.length;
  const loss = decimal(work.loss);
  switch (name) {
    case "categorical":
      return [
        `p = softmax(z${l}) = (${p.map((v) => decimal(v)).join(", ")})`,
        `ℓ = −log p[${y}] = −log ${decimal(p[y])} = ${loss} nats   (target ${classes?.[y] ?? y})`,
      ];
    case "bernoulli":
      return [
        `p = 1 / (1 + e^${decimal(-z[0])}) = ${decimal(p[0])}, the probability of class ${classes?.[1] ?? "1"}`,
        y === 1 ? `ℓ = −log p = −log ${decimal(p[0])} = ${loss} nats` : `ℓ = −log(1 − p) = −log ${decimal(1 - p[0])} = ${loss} nats`,
      ];
    case "gaussian":
      return [`ℓ = ½ log 2π + ½ (y − μ)² = 0.9189 + ½ (${decimal(y)} − ${factor(z[0])})² = ${loss} nats`];
    case "quantile":
      return [`quantiles (${z.map((v) => decimal(v)).join(", ")}), y = ${decimal(y)}`, `ℓ = Σ max(τ u, (τ − 1) u), u = y − q: ${loss}`];
    default:
      return [`outputs (${z.map((v) => decimal(v)).join(", ")}), y = ${decimal(y)}`, `ℓ (${name.replaceAll("_", " ")}) = ${loss} nats`];
  }
}

/**
 * The right-hand side of δ[k] at the output, up to its last "= ".
 * @param {{name: string}} likelihood @param {WorkedNumbers} work @param {number} k @param {number} y
 */
export function slopeLine({ name }, work, k, y) {
  switch (name) {
    case "categorical":
      return `p[${k}] − ${k === y ? 1 : 0} = ${decimal(work.mean[k])} − ${k === y ? 1 : 0} = `;
    case "bernoulli":
      return `p − y = ${decimal(work.mean[0])} − ${y} = `;
    case "gaussian":
      return `μ − y = ${decimal(work.logits[k])} − ${factor(y)} = `;
    default:
      return "";
  }
}
