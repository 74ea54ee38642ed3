// @ts-check
// One unit, chosen in the drawing: what it computes, how it is, and its weights and bias to edit.

import { h, refill, say, set } from "./dom.js";
import { figure } from "./format.js";
import { layout } from "./job.js";

/** @typedef {import("./app.js").App} App */

const MOST_SHOWN = 64;

export class UnitCard {
  #key = "";
  /** @type {{input: HTMLInputElement, at: number}[]} */
  fields = [];

  /** @param {App} app @param {import("./health.js").Health} health @param {import("./network_view.js").NetworkView} network @param {HTMLElement} root */
  constructor(app, health, network, root) {
    this.app = app;
    this.health = health;
    this.network = network;
    this.root = h("div", { class: "unit-card", "data-control": "weights", "data-test": "unit-card" });
    root.append(this.root);
    app.events.on("select", () => this.#build());
    app.events.on("state", () => this.#build());
    app.events.on("snapshot", app.frames.once(() => this.#values(), 150));
    health.onchange(() => this.#judge());
  }

  #build() {
    const { app } = this;
    if (!app.settled()) return;
    const { unit } = app.state();
    const widths = app.widths();
    const key = JSON.stringify([unit, widths, app.features()]);
    if (key === this.#key) return;
    this.#key = key;
    this.fields = [];
    const place = unit ? layout(widths)[unit[0]] : undefined;
    if (!unit || !place || unit[1] >= place.rows) {
      refill(this.root, h("p", { class: "quiet" }, "Choose a unit or an edge to see and change its weights; its bent line lights up in the picture."));
      return;
    }
    const [l, k] = unit;
    const inputs = l === 0 ? app.features() : Array.from({ length: place.columns }, (_, j) => `h${l}[${j}]`);
    const output = l === widths.length - 2;
    const symbol = `z${l + 1}[${k}]`;
    this.verdict = h("span", { class: "quiet" });
    const cells = inputs.slice(0, MOST_SHOWN).map((name, j) =>
      this.#field(`weight-${j}`, name, place.weights + k * place.columns + j, `weight from ${name}`, [[l, k, j]]));
    cells.push(this.#field("weight-bias", "bias", place.biases + k, "bias", []));
    const close = h("button", { class: "small", "aria-label": "close the unit", onclick: () => app.look((s) => (s.unit = null)) }, "×");
    refill(this.root,
      h("div", { class: "panel-head" }, h("h3", {}, output ? `Output ${k}` : `Unit ${k} of layer ${l + 1}`), this.verdict, close),
      h("p", { class: "equation" }, `${symbol} = Σ weight · input + bias${output ? "" : `,  h${l + 1}[${k}] = ${app.state().hidden[l].activation.name}(${symbol})`}`),
      h("div", { class: "weights" }, cells),
      inputs.length > MOST_SHOWN ? h("p", { class: "quiet" }, `The first ${MOST_SHOWN} of ${inputs.length} weights.`) : null);
    this.#values();
    this.#judge();
  }

  /** @param {string} id @param {string} name @param {number} at @param {string} label @param {[number, number, number][]} edges */
  #field(id, name, at, label, edges) {
    const input = h("input", {
      id, type: "number", step: "any", "aria-label": label,
      onfocus: () => this.network.highlight({ edges }),
      onblur: () => this.network.highlight({}),
      onchange: () => {
        const value = Number(input.value);
        if (input.value.trim() === "" || !Number.isFinite(value)) return this.#values(true);
        const parameters = this.app.parameters().slice();
        parameters[at] = value;
        this.app.edit(parameters, `${label} set to ${figure(value)}`);
      },
    });
    this.fields.push({ input, at });
    return h("div", { class: "weight" }, h("label", { for: id }, name), input);
  }

  /** @param {boolean} [force] */
  #values(force = false) {
    if (!this.app.settled()) return;
    const parameters = this.app.parameters();
    for (const { input, at } of this.fields) {
      if (!force && document.activeElement === input) continue;
      const text = String(Number(parameters[at].toPrecision(5)));
      if (input.value !== text) input.value = text;
      set(input, "data-sign", parameters[at] < 0 ? "minus" : "plus");
    }
  }

  #judge() {
    const { unit } = this.app.state();
    const judged = unit && this.health.of(unit[0], unit[1]);
    if (this.verdict) say(this.verdict, judged ? `${judged.glyph} ${judged.text}` : "");
  }
}
