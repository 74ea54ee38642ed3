// @ts-check
// One point: what the network says there, and the one affine map of its region, checked.

import { h, refill } from "./dom.js";
import { decimal, factor, figure, percent } from "./format.js";
import { inputRows } from "./problem.js";
import { Pump } from "./fields.js";

/** @typedef {import("./app.js").App} App */

export class Inspector {
  /** @param {App} app @param {import("./fields.js").Fields} fields @param {import("./plane_view.js").PlaneView} plane @param {HTMLElement} root */
  constructor(app, fields, plane, root) {
    this.app = app;
    this.fields = fields;
    this.plane = plane;
    this.body = h("div", { "data-test": "inspector" });
    root.append(h("div", { class: "panel-head" }, h("h2", { id: "inspector-title" }, "At the probe point")), this.body);
    const pump = new Pump(() => this.#show());
    for (const name of /** @type {const} */ (["regions", "select"])) app.events.on(name, () => pump.wanted());
    plane.onread = (point) => this.#read(point);
    plane.onpick = (point) => {
      app.look((s) => (s.probe = point));
      fields.refresh();
    };
    this.readPump = new Pump(() => this.#tell());
    this.#show();
  }

  /** @type {number[] | null} */
  pointer = null;

  /** @param {number[] | null} point */
  #read(point) {
    this.pointer = point;
    this.readPump.wanted();
  }

  /** The line under the plane: the output where the pointer is. */
  async #tell() {
    if (!this.app.settled()) return;
    const reading = /** @type {HTMLElement} */ (document.getElementById("plane-reading"));
    const point = this.pointer ?? this.app.state().probe;
    if (!point) {
      reading.textContent = "Point at the picture, or use the arrow keys, to read it.";
      return;
    }
    const { problem } = this.app;
    const own = point.slice(0, problem.d);
    const { logits, mean } = await this.app.engine.forward(this.app.parameters(), inputRows(own, this.app.state(), problem), { net: this.app.net() });
    const at = problem.columns.map((name, j) => `${name} ${figure(own[j])}`).join(", ");
    const region = problem.d === 1 ? -1 : this.plane.regionUnder(own);
    reading.textContent = `${at} → ${says(problem, Array.from(mean), Array.from(logits))}${region >= 0 ? ` · region ${region}` : ""}${this.#rowAt(point)}`;
  }

  /** The row under the pointer with its target, where there is one. @param {number[]} point */
  #rowAt(point) {
    const { problem } = this.app;
    const { points, d, y, classes } = problem;
    if (d !== 2) return "";
    const { low, high } = this.fields.window();
    const near = 0.015 * (high[0] - low[0]);
    for (let i = 0; i < problem.n; i++) {
      if (Math.hypot(points[2 * i] - point[0], points[2 * i + 1] - point[1]) < near) {
        return ` · row ${i + 1}: ${classes ? `class ${classes[y[i]]}` : figure(y[i])}`;
      }
    }
    return "";
  }

  async #show() {
    if (!this.app.settled()) return;
    const { app } = this;
    const { probe } = app.state();
    const { problem } = app;
    this.readPump.wanted();
    if (!probe || probe.length !== problem.d) {
      refill(this.body, h("p", { class: "quiet" }, "Click the picture to choose a point: its region, its affine map and its worked pass."));
      return;
    }
    const row = inputRows(probe, app.state(), problem);
    const { regions } = this.fields; // with the weights that they belong to
    const { logits, mean } = await app.engine.forward(regions?.parameters ?? app.parameters(), row, { net: regions?.net ?? app.net() });
    const head = h("p", {}, `(${probe.map((v) => decimal(v, 3)).join(", ")}) → `, h("strong", {}, says(problem, Array.from(mean), Array.from(logits))));
    const id = regions === this.fields.regions ? this.plane.regionOf(probe) : -1;
    if (problem.d === 1 && this.fields.pieces) return refill(this.body, head, this.#piece(probe[0], logits[0]));
    if (!regions || id < 0) {
      refill(this.body, head, this.fields.whyNoRegions ? h("p", { class: "quiet" }, `No affine map: ${this.fields.whyNoRegions}`) : null);
      return;
    }
    refill(this.body, head, this.#pattern(regions, id), this.#map(regions, id, probe, logits));
  }

  /** The bits of the region, layer by layer. @param {import("./types.js").Regions} regions @param {number} id */
  #pattern({ patterns, stride, switches }, id) {
    const layers = this.app.state().hidden.map((layer, l) => {
      const bits = switches.map((of, i) => ({ of, on: (patterns[id * stride + (i >> 3)] >> (i & 7)) & 1 })).filter(({ of }) => of.layer === l);
      const text = bits.map(({ on }) => on).join("");
      const on = bits.filter((b) => b.on).length;
      return h("div", { class: "pattern" }, h("span", { class: "quiet" }, `layer ${l + 1} `),
        h("code", { "aria-label": `${on} of ${bits.length} on: ${text}` }, text.length > 72 ? `${text.slice(0, 70)}…` : text),
        h("span", { class: "quiet" }, ` ${on} of ${layer.units} on`));
    });
    return h("div", { class: "patterns", "data-test": "pattern" }, h("h3", {}, `Region ${id}: its activation pattern`), layers);
  }

  /** With one input: the straight piece that the point lies on. @param {number} x @param {number} output */
  #piece(x, output) {
    const maps = this.fields.pieces?.maps ?? [];
    const i = maps.findIndex((m) => x >= m.from && x <= m.to);
    if (i < 0) return null;
    const { from, to, slope, intercept } = maps[i];
    return h("div", { class: "stack" }, h("h3", {}, `Piece ${i + 1} of ${maps.length}, from ${figure(from)} to ${figure(to)}`),
      h("p", { class: "equation" }, `f = ${decimal(slope)}·${this.app.problem.columns[0]} + ${factor(intercept)} = ${decimal(slope * x + intercept, 5)} here`),
      this.#agreement(slope * x + intercept, output));
  }

  /** @param {number} value of the map @param {number} output of the network */
  #agreement(value, output) {
    const off = Math.abs(value - output);
    const good = off <= 1e-4 * Math.max(1, Math.abs(value));
    return h("p", { class: "equation" }, `the network: ${decimal(output, 5)} `,
      h("span", { class: good ? "good" : "warn", "data-test": "map-agrees" }, good ? "✓ agrees" : `differs by ${figure(off)}`));
  }

  /** f(x) = A x + c on the region, next to the output itself. @param {import("./types.js").Regions} regions @param {number} id @param {number[]} probe @param {Float32Array} logits */
  #map({ slopes, intercepts, outputs }, id, probe, logits) {
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    const names = [this.app.problem.columns[i], this.app.problem.columns[j]];
    const rows = Array.from({ length: Math.min(outputs, 10) }, (_, k) => {
      const m = id * outputs + k;
      const value = slopes[2 * m] * probe[i] + slopes[2 * m + 1] * probe[j] + intercepts[m];
      return h("div", { class: "map" },
        h("p", { class: "equation" }, `${outputs > 1 ? `f[${k}]` : "f"} = ${decimal(slopes[2 * m])}·${names[0]} + ${factor(slopes[2 * m + 1])}·${names[1]} + ${factor(intercepts[m])}`),
        h("p", { class: "equation" }, `= ${decimal(value, 5)} at the point`), this.#agreement(value, logits[k]));
    });
    return h("div", { class: "stack" }, h("h3", {}, "Its one affine map"), rows);
  }
}

/**
 * The output in words: a probability, a class, a number.
 * @param {import("./problem.js").Problem} problem @param {number[]} mean @param {number[]} logits
 */
export function says({ classes, target, columns }, mean, logits) {
  if (classes && mean.length === 1) {
    const sure = Math.max(mean[0], 1 - mean[0]);
    return `class ${classes[mean[0] > 0.5 ? 1 : 0]} with probability ${percent(sure)} (logit ${figure(logits[0])})`;
  }
  if (classes) {
    const best = mean.indexOf(Math.max(...mean));
    return `class ${classes[best] ?? best} with probability ${percent(mean[best])}`;
  }
  return `${columns.includes(target) ? "output" : target} ${mean.map((v) => figure(v, 4)).join(", ")}`;
}
