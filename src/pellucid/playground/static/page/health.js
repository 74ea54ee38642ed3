// @ts-check
// Units that do not work: dead, always on, saturated, constant, or doubles of another, judged on the
// training rows from the engine's own values.

import { percent } from "./format.js";
import { layout } from "./job.js";
import { inputRows, pickPoints } from "./problem.js";

/** @typedef {import("./app.js").App} App */

/**
 * @typedef {"well" | "dead" | "always on" | "saturated" | "constant" | "double" | "unread"} Verdict
 * @typedef {{verdict: Verdict, glyph: string, text: string, why: string, active: number}} Judgement
 */

/** @type {Record<Verdict, string>} */
const GLYPHS = { "well": "", "dead": "☠", "always on": "⇗", "saturated": "⊓", "constant": "▬", "double": "⧉", "unread": "⊘" };
const GATES = new Set(["relu", "leaky_relu", "prelu"]);
/** Activations that flatten at both ends, and where the flat ends are. @type {Record<string, [number, number]>} */
const ENDS = { tanh: [-1, 1], sigmoid: [0, 1], hardtanh: [-1, 1], softsign: [-1, 1] };
const NEAR_AN_END = 0.025; // of the span between the ends
const MOSTLY = 0.95;
const ALIKE = 1e-6;
const ROUNDING = 1e-5; // of the largest value, in float32

/**
 * @param {Float32Array} z pre-activations (n, width) @param {Float32Array} values (n, width)
 * @param {number} width @param {string} activation @param {number} layer
 * @returns {Judgement[]}
 */
export function judgeLayer(z, values, width, activation, layer) {
  const n = z.length / width;
  const columns = Array.from({ length: width }, (_, k) => column(values, width, k));
  const judged = columns.map((own, k) => judge(column(z, width, k), own, activation, layer));
  for (let k = 1; k < width; k++) {
    if (judged[k].verdict !== "well" && judged[k].verdict !== "always on") continue;
    for (let j = 0; j < k; j++) {
      const factor = proportion(columns[k], columns[j]);
      if (factor === null) continue;
      const text = `a double of unit ${j}: ${factor.toFixed(3)} times its value on all ${n} rows`;
      judged[k] = { ...judged[k], verdict: "double", glyph: GLYPHS.double, text, why: "What both give the next layer, one unit with the sum of their weights would give: the network has one unit less than it seems." };
      break;
    }
  }
  return judged;
}

/** @param {Float32Array} z @param {Float32Array} values @param {string} activation @param {number} layer @returns {Judgement} */
function judge(z, values, activation, layer) {
  const n = z.length;
  const active = z.reduce((sum, v) => sum + (v > 0 ? 1 : 0), 0) / n;
  const found = (/** @type {Verdict} */ verdict, /** @type {string} */ text, /** @type {string} */ why) => ({ verdict, glyph: GLYPHS[verdict], text, why, active });
  if (activation === "relu" && active === 0) {
    return found("dead", `dead: z ≤ 0 on all ${n} rows`,
      `Its gate relu'(z) is 0 on every row, so δ = 0 and no gradient reaches its weights or its bias. ${
        layer ? "Only a change of the layers before it can wake it." : "Its inputs never change, so training cannot wake it."}`);
  }
  if (GATES.has(activation) && active === 1) {
    return found("always on", `always on: z > 0 on all ${n} rows`, "On these rows it computes a straight line: gradients pass, but it bends nothing.");
  }
  const ends = ENDS[activation];
  if (ends) {
    const margin = NEAR_AN_END * (ends[1] - ends[0]);
    const flat = values.reduce((sum, v) => sum + (v < ends[0] + margin || v > ends[1] - margin ? 1 : 0), 0) / n;
    if (flat >= MOSTLY) {
      return found("saturated", `saturated on ${percent(flat)} of the rows`, `There ${activation}'(z) is nearly 0, so hardly any gradient passes.`);
    }
  }
  const low = values.reduce((m, v) => Math.min(m, v), Infinity);
  const high = values.reduce((m, v) => Math.max(m, v), -Infinity);
  if (high - low <= ALIKE * Math.max(1, Math.abs(high))) {
    return found("constant", `the same value on all ${n} rows`, "To the next layer it is a bias and nothing else.");
  }
  return found("well", GATES.has(activation) || activation === "abs" ? `active on ${percent(active)} of the rows` : `values from ${low.toFixed(2)} to ${high.toFixed(2)}`, "");
}

/** @param {Float32Array} values @param {number} width @param {number} k */
function column(values, width, k) {
  return Float32Array.from({ length: values.length / width }, (_, i) => values[i * width + k]);
}

/** c where a = c b on all rows, to rounding; null where that is not so. @param {Float32Array} a @param {Float32Array} b */
export function proportion(a, b) {
  let top = 0;
  for (let i = 1; i < b.length; i++) if (Math.abs(b[i]) > Math.abs(b[top])) top = i;
  const c = a[top] / b[top];
  if (!Number.isFinite(c) || c === 0) return null;
  const most = ROUNDING * Math.abs(a[top]);
  for (let i = 0; i < a.length; i++) if (!(Math.abs(a[i] - c * b[i]) <= most)) return null;
  return c;
}

const EVERY = 500; // milliseconds between two judgements

export class Health {
  /** @type {Judgement[][]} */
  layers = [];
  #listeners = /** @type {(() => void)[]} */ ([]);
  #timer = 0;
  #busy = false;

  /** @param {App} app */
  constructor(app) {
    this.app = app;
    app.events.on("snapshot", () => this.#soon());
    app.events.on("problem", () => {
      this.layers = [];
    });
  }

  /** @param {() => void} listener */
  onchange(listener) {
    this.#listeners.push(listener);
  }

  /** @param {number} layer @param {number} unit @returns {Judgement | undefined} */
  of(layer, unit) {
    return this.layers[layer]?.[unit];
  }

  /** How many of each verdict, without those that work. */
  tally() {
    /** @type {Map<Verdict, number>} */
    const counts = new Map();
    for (const { verdict } of this.layers.flat()) {
      if (verdict !== "well") counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    }
    return counts;
  }

  #soon() {
    if (this.#timer) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      if (!this.#busy) this.#look();
    }, EVERY);
  }

  async #look() {
    const { app } = this;
    if (!app.settled()) return;
    this.#busy = true;
    try {
      const state = app.state();
      const rows = inputRows(pickPoints(app.problem, app.problem.train), state, app.problem);
      const parameters = app.parameters();
      const widths = app.widths();
      const { layers, z } = await app.engine.forward(parameters, rows, { units: true, net: app.net() });
      if (app.widths().join() !== widths.join() || layers.some((h, l) => h.length % state.hidden[l]?.units !== 0) || layers.length !== state.hidden.length) return;
      this.layers = state.hidden.map((layer, l) => judgeLayer(z[l], layers[l], layer.units, layer.activation.name, l));
      this.#markUnread(parameters, widths);
      for (const listener of this.#listeners) listener();
    } finally {
      this.#busy = false;
    }
  }

  /** A unit whose outgoing weights are all zero is read by nobody. @param {Float32Array} parameters @param {number[]} widths */
  #markUnread(parameters, widths) {
    const places = layout(widths);
    this.layers.forEach((layer, l) => {
      const { rows, columns, weights } = places[l + 1];
      layer.forEach((judged, k) => {
        for (let i = 0; i < rows; i++) if (parameters[weights + i * columns + k] !== 0) return;
        if (judged.verdict !== "dead") {
          Object.assign(judged, { verdict: "unread", glyph: GLYPHS.unread, text: "unread: every outgoing weight is 0", why: "Nothing of what it computes reaches the output, and no gradient comes back through weights of 0." });
        }
      });
    });
  }
}
