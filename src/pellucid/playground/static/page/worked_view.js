// @ts-check
// One point worked through, forward and back: every number, equation by equation, as the walkthrough
// writes them. What is read lights up in the drawing of the network.

import { h, refill, set, tableHead } from "./dom.js";
import { decimal, factor } from "./format.js";
import { Pump } from "./fields.js";
import { inputRows } from "./problem.js";
import { lossLines, slopeLine } from "./worked_loss.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").WorkedNumbers} WorkedNumbers */
/** @typedef {{edges?: [number, number, number][], units?: [number, number][]}} Lit */

const MOST_TERMS = 8;
const MOST_ROWS = 12;

export class WorkedView {
  /** @type {HTMLElement[]} lines in the order of reading */
  lines = [];
  at = -1;

  /** @param {App} app @param {import("./network_view.js").NetworkView} network @param {HTMLElement} root @param {() => boolean} isOpen */
  constructor(app, network, root, isOpen) {
    this.app = app;
    this.network = network;
    this.isOpen = isOpen;
    this.target = h("span", { class: "row tight" });
    this.body = h("div", { class: "worked", "data-test": "worked" });
    const walk = (/** @type {number} */ by) => () => this.#go(this.at + by);
    this.position = h("span", { class: "quiet" });
    root.append(
      h("div", { class: "row" }, h("strong", {}, "One forward and one backward pass"), this.target,
        h("span", { class: "joined" },
          h("button", { onclick: walk(-1), "aria-label": "line before" }, "‹"),
          h("button", { onclick: walk(1), "data-test": "next-line" }, "Next line ›")), this.position),
      this.body);
    this.pump = new Pump(() => this.#work());
    for (const name of /** @type {const} */ (["select", "snapshot", "state"])) app.events.on(name, () => this.show());
    /** @type {number | null} */
    this.chosen = null;
  }

  show() {
    if (this.isOpen() && !this.app.running) this.pump.wanted();
  }

  async #work() {
    if (!this.app.settled()) return;
    const { app } = this;
    const { problem } = app;
    const { probe } = app.state();
    if (!probe || probe.length !== problem.d) {
      refill(this.body, h("p", { class: "quiet" }, "Click a point of the picture, or choose a row: ", this.#rowButton()));
      refill(this.target);
      return;
    }
    const y = this.#targetFor(probe);
    this.#targetField(y);
    const row = inputRows(probe, app.state(), problem);
    const parameters = app.parameters();
    // hand-written weights such as 0.1 are worked as the decimals that they stand for
    const work = await app.engine.worked(Float64Array.from(parameters, tidy), Array.from(row, tidy), y, { net: app.net() });
    if (app.settled() && app.parameters() === parameters) this.#write(work, y);
  }

  #rowButton() {
    return h("button", { class: "small", onclick: () => {
      const { problem } = this.app;
      const i = problem.train[0];
      this.app.look((s) => (s.probe = Array.from(problem.points.subarray(i * problem.d, (i + 1) * problem.d))));
    } }, "the first training row");
  }

  /** The target chosen, or that of the nearest row. @param {number[]} probe */
  #targetFor(probe) {
    const { problem } = this.app;
    if (this.chosen !== null && (!problem.classes || this.chosen < problem.classes.length)) return this.chosen;
    let best = 0;
    let nearest = Infinity;
    for (let i = 0; i < problem.n; i++) {
      let d = 0;
      for (let j = 0; j < problem.d; j++) d += (problem.points[i * problem.d + j] - probe[j]) ** 2;
      if (d < nearest) [nearest, best] = [d, i];
    }
    return problem.n ? problem.y[best] : 0;
  }

  /** @param {number} y */
  #targetField(y) {
    const { problem } = this.app;
    const take = (/** @type {string} */ v) => {
      this.chosen = v === "" ? null : Number(v);
      this.pump.wanted();
    };
    if (this.target.contains(document.activeElement)) return;
    if (problem.classes) {
      const field = h("select", { "aria-label": "target of the point", onchange: () => take(field.value) },
        problem.classes.map((name, k) => h("option", { value: k, selected: k === y }, `target: ${name}`)));
      refill(this.target, field);
    } else {
      const field = h("input", { type: "number", step: "any", value: Number(y.toPrecision(6)), "aria-label": "target of the point", onchange: () => take(field.value) });
      refill(this.target, "target y ", field);
    }
  }

  /** @param {WorkedNumbers} work @param {number} y */
  #write(work, y) {
    const last = work.z.length - 1;
    const { classes } = this.app.problem;
    const forward = work.z.map((_, l) => this.#forwardLayer(work, l, last));
    const loss = lossLines(this.app.likelihood(), work, y, classes);
    const back = work.z.map((_, i) => this.#backwardLayer(work, last - i, last, y));
    const column = (/** @type {string} */ title, /** @type {(Node | null)[]} */ ...parts) =>
      h("div", { class: "worked-column" }, h("h3", {}, title), parts);
    const reading = this.at;
    refill(this.body,
      column("Forward", ...forward, h("div", { class: "worked-block" }, h("p", { class: "equation-head" }, "Loss"), loss.map((t) => this.#line(t, { units: [[last, 0]] })))),
      column("Backward", ...back));
    this.lines = [...this.body.querySelectorAll("[data-line]")].map((e) => /** @type {HTMLElement} */ (e));
    this.at = Math.min(reading, this.lines.length - 1);
    this.#tellPosition();
  }

  /** (1) and (2) of a layer. @param {WorkedNumbers} work @param {number} l @param {number} last */
  #forwardLayer(work, l, last) {
    const before = l === 0 ? work.a0 : work.h[l - 1];
    const W = this.#weights(l);
    const z = work.z[l];
    const name = `z${l + 1}`;
    const rows = indices(z.length).map((k) => {
      const terms = indices(before.length, MOST_TERMS).map((j) => `${factor(W.at(k, j))}·${factor(before[j])}`);
      const more = before.length > MOST_TERMS ? ` + … ${before.length - MOST_TERMS} more` : "";
      return this.#line(`${name}[${k}] = ${terms.join(" + ")}${more} + ${factor(W.bias(k))} = ${decimal(z[k])}`,
        { edges: Array.from(before, (_, j) => /** @type {[number, number, number]} */ ([l, k, j])), units: [[l, k]] });
    });
    const input = l === 0 ? "x" : `h${l}`;
    return h("div", { class: "worked-block" },
      h("p", { class: "equation-head" }, `(1) ${name} = W${l + 1} ${input} + b${l + 1}`, l === last ? " — the output" : ""),
      rows, more(z.length), l === last ? null : this.#activation(work, l));
  }

  /** @param {WorkedNumbers} work @param {number} l */
  #activation(work, l) {
    const act = this.app.state().hidden[l].activation.name;
    const [z, a, slope] = [work.z[l], work.h[l], work.slopes[l]];
    const rows = indices(z.length).map((k) => {
      const blocked = slope[k] === 0;
      return h("tr", { class: blocked ? "blocked" : "", "data-line": "", tabindex: "0", onfocus: () => this.network.highlight({ units: [[l, k]] }), onblur: () => this.network.highlight({}) },
        h("th", { scope: "row" }, String(k)), h("td", { class: "number" }, decimal(z[k])), h("td", { class: "number" }, decimal(a[k])),
        h("td", { class: "number" }, decimal(slope[k])), h("td", {}, blocked ? "⊘ blocked" : "passes"));
    });
    return h("div", {}, h("p", { class: "equation-head" }, `(2) h${l + 1} = ${act}(z${l + 1})`),
      h("table", { class: "compact" }, tableHead(["unit", `z${l + 1}`, `h${l + 1}`, `${act}'`, "gradient"]), h("tbody", {}, rows)), more(z.length));
  }

  /** (3) to (6) of a layer. @param {WorkedNumbers} work @param {number} l @param {number} last @param {number} y */
  #backwardLayer(work, l, last, y) {
    const delta = work.delta[l];
    const before = l === 0 ? work.a0 : work.h[l - 1];
    const name = `δ${l + 1}`;
    const top = l === last;
    const rows = indices(delta.length).map((k) => {
      const right = top ? slopeLine(this.app.likelihood(), work, k, y) : this.#chain(work, l, k);
      return this.#line(`${name}[${k}] = ${right}${decimal(delta[k])}`, {
        units: [[l, k]], edges: top ? [] : Array.from(work.delta[l + 1], (_, i) => /** @type {[number, number, number]} */ ([l + 1, i, k])),
      });
    });
    const dW = work.dW[l];
    const input = l === 0 ? "x" : `h${l}`;
    const grads = indices(delta.length, 6).map((k) => this.#line(
      `∂L/∂W${l + 1}[${k}] = ${factor(delta[k])}·${input} = (${indices(before.length, MOST_TERMS).map((j) => decimal(dW[k * before.length + j])).join(", ")}${before.length > MOST_TERMS ? ", …" : ""})`,
      { units: [[l, k]], edges: Array.from(before, (_, j) => /** @type {[number, number, number]} */ ([l, k, j])) }));
    return h("div", { class: "worked-block" },
      h("p", { class: "equation-head" }, top ? `(3) ${name} = ∂ℓ/∂z${l + 1}` : `(4) ${name} = ${this.app.state().hidden[l].activation.name}'(z${l + 1}) ⊙ W${l + 2}ᵀ δ${l + 2}`),
      rows, more(delta.length),
      h("p", { class: "equation-head" }, `(5) ∂L/∂W${l + 1} = ${name} ${input}ᵀ,  (6) ∂L/∂b${l + 1} = ${name}`), grads, more(delta.length, 6));
  }

  /** The sum over the next layer, times the gate; what the gate crosses out is struck. @param {WorkedNumbers} work @param {number} l @param {number} k */
  #chain(work, l, k) {
    const next = work.delta[l + 1];
    const W = this.#weights(l + 1);
    const terms = indices(next.length, MOST_TERMS).map((i) => `${factor(W.at(i, k))}·${factor(next[i])}`).join(" + ");
    const rest = next.length > MOST_TERMS ? " + …" : "";
    return `${decimal(work.slopes[l][k])}·(${terms}${rest}) = ${decimal(work.slopes[l][k])}·${factor(work.dh[l][k])} = `;
  }

  /** @param {number} l */
  #weights(l) {
    const widths = this.app.widths();
    const parameters = this.app.parameters();
    let from = 0;
    for (let i = 0; i < l; i++) from += widths[i + 1] * (widths[i] + 1);
    const columns = widths[l];
    return {
      at: (/** @type {number} */ k, /** @type {number} */ j) => tidy(parameters[from + k * columns + j]),
      bias: (/** @type {number} */ k) => tidy(parameters[from + widths[l + 1] * columns + k]),
    };
  }

  /** @param {string} text @param {Lit} lit */
  #line(text, lit) {
    const struck = /= 0·\(/.test(text);
    const show = () => {
      this.network.highlight(lit);
      this.at = this.lines.indexOf(line);
      this.#tellPosition();
    };
    const line = h("p", {
      class: `equation${struck ? " blocked" : ""}`, tabindex: "0", "data-line": "", onfocus: show, onblur: () => this.network.highlight({}),
      onpointerenter: () => this.network.highlight(lit), onpointerleave: () => this.network.highlight({}),
    }, text);
    return line;
  }

  /** @param {number} to */
  #go(to) {
    if (!this.lines.length) return;
    this.at = Math.min(this.lines.length - 1, Math.max(0, to));
    this.lines[this.at].focus();
    this.#tellPosition();
  }

  #tellPosition() {
    const n = this.lines.length;
    this.position.textContent = n ? `${this.at + 1} of ${n} lines` : "";
    for (const [i, line] of this.lines.entries()) set(line, "data-read", i === this.at);
  }
}

/** 0 … n−1, no more than fit. @param {number} n @param {number} [most] */
const indices = (n, most = MOST_ROWS) => Array.from({ length: Math.min(n, most) }, (_, i) => i);

/** @param {number} n @param {number} [most] */
const more = (n, most = MOST_ROWS) => (n > most ? h("p", { class: "quiet" }, `… and ${n - most} more`) : null);

/** A float32 as the short decimal that it stands for, where there is one. @param {number} v */
function tidy(v) {
  const short = Number(v.toPrecision(7));
  return Math.fround(short) === v ? short : v;
}
