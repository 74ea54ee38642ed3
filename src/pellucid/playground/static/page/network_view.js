// @ts-check
// The network as a drawing: units with their pictures, edges by sign and size.

import { h, refill, s, say, select, set } from "./dom.js";
import { FEATURES, FEATURE_NAMES } from "./features.js";
import { figure, plural } from "./format.js";
import { paintCurveTile, paintTile, reach } from "./heat.js";
import { countParameters, layout } from "./job.js";
import { edgePath, networkLayout } from "./network_layout.js";
import { usedFeatures } from "./problem.js";
import { MOST_LAYERS, MOST_UNITS } from "./state.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./fields.js").Fields} Fields */
/** @typedef {import("./health.js").Health} Health */
/** @typedef {{button: HTMLButtonElement, canvas: HTMLCanvasElement, context: CanvasRenderingContext2D, glyph: HTMLElement, layer: number, unit: number}} Tile */

const MOST_EDGES = 700;
const OFTEN = 80; // milliseconds between two drawings while training runs

export class NetworkView {
  /** @type {Tile[][]} */
  tiles = [];
  /** @type {SVGPathElement[][][]} edges[l][to][from] */
  edges = [];
  #shape = "";

  /**
   * @param {App} app @param {Fields} fields @param {{current: import("./palette.js").Palette}} theme
   * @param {Health} health @param {HTMLElement} root
   */
  constructor(app, fields, theme, health, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    this.health = health;
    this.title = h("p", { class: "quiet", "data-test": "shape" });
    this.controls = h("div", { class: "row", "data-control": "layers" });
    this.svg = s("svg", { class: "edges", "aria-hidden": "true" });
    this.stage = h("div", { class: "stage" }, this.svg);
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "Drawing of the network" }, this.stage);
    this.tip = h("div", { class: "tip", hidden: true });
    root.append(
      h("div", { class: "panel-head" }, h("h2", { id: "network-title" }, "Network"), this.title, this.controls),
      this.scroller,
      this.tip,
    );
    const draw = app.frames.once(() => this.draw(), OFTEN);
    app.events.on("snapshot", app.frames.once(() => this.drawEdges(), OFTEN));
    app.events.on("fields", draw);
    app.events.on("theme", () => (draw(), this.drawEdges()));
    app.events.on("state", () => this.build());
    app.events.on("select", () => this.#mark());
    health.onchange(() => this.#judge());
    new ResizeObserver(() => this.build(true)).observe(this.scroller);
  }

  /** Elements for the present shape; nothing is touched where it stayed the same. @param {boolean} [force] */
  build(force = false) {
    const { app } = this;
    const state = app.state();
    const widths = app.widths();
    const room = this.scroller.clientWidth - 4;
    const shape = JSON.stringify([widths, state.features, state.hidden, room > 0 && force ? room : this.room, app.problem.columns, app.likelihood()]);
    if (room > 0) this.room = room;
    if (shape === this.#shape || room <= 0) return;
    this.#shape = shape;
    this.plan = networkLayout(widths, room);
    this.stage.classList.toggle("crowded", this.plan.crowded);
    this.stage.style.width = `${this.plan.width}px`;
    this.stage.style.height = `${this.plan.height}px`;
    set(this.svg, "viewBox", `0 0 ${this.plan.width} ${this.plan.height}`);
    say(this.title, `${widths.join("-")}, ${plural(countParameters(widths), "parameter")}`);
    this.#buildControls();
    this.#buildEdges(widths);
    this.#buildUnits(widths);
    this.draw();
    this.drawEdges();
    this.#mark();
  }

  room = 600;

  #buildControls() {
    const n = this.app.state().hidden.length;
    refill(
      this.controls,
      h("span", { class: "quiet" }, plural(n, "hidden layer")),
      h("button", { class: "small", "aria-label": "remove the last hidden layer", disabled: n === 0, onclick: () => this.#layers(-1) }, "−"),
      h("button", { class: "small", "aria-label": "add a hidden layer", disabled: n >= MOST_LAYERS, onclick: () => this.#layers(1) }, "+"),
    );
  }

  /** @param {number} by */
  #layers(by) {
    this.app.change(by > 0 ? "a hidden layer more" : "a hidden layer less", (state) => {
      if (by < 0) state.hidden.pop();
      else state.hidden.push(structuredClone(state.hidden.at(-1) ?? { units: 4, activation: { name: "relu", parameters: [] } }));
      state.unit = null;
    });
  }

  /** @param {number[]} widths */
  #buildEdges(widths) {
    const { columns, tile, crowded } = /** @type {import("./network_layout.js").NetworkLayout} */ (this.plan);
    const total = widths.slice(1).reduce((sum, w, l) => sum + w * widths[l], 0);
    this.sparse = crowded || total > MOST_EDGES;
    this.edges = [];
    refill(this.svg);
    if (this.sparse) return;
    for (let l = 0; l + 1 < widths.length; l++) {
      this.edges.push(columns[l + 1].map((to, k) => columns[l].map((from, j) => this.#edge(from, to, tile, l, k, j))));
    }
  }

  /** @param {import("./network_layout.js").Place} from @param {import("./network_layout.js").Place} to @param {number} tile @param {number} l @param {number} k @param {number} j */
  #edge(from, to, tile, l, k, j) {
    const path = s("path", {
      d: edgePath(from, to, tile),
      class: "edge",
      onpointerenter: (/** @type {PointerEvent} */ e) => this.#showWeight(e, l, k, j),
      onpointerleave: () => (this.tip.hidden = true),
      onclick: () => this.pick(l, k, j),
    });
    this.svg.append(path);
    return path;
  }

  /** @param {number[]} widths */
  #buildUnits(widths) {
    const { stage, app, plan } = this;
    if (!plan) return;
    const heads = [this.#inputHead(), ...app.state().hidden.map((_, l) => this.#layerHead(l)), this.#outputHead()];
    heads.forEach((head, l) => {
      head.style.left = `${plan.x[l]}px`;
    });
    this.tiles = widths.slice(1).map((count, l) =>
      Array.from({ length: count }, (_, k) => this.#unit(l, k, plan.columns[l + 1][k], plan.tile, widths)));
    refill(stage, this.svg, ...heads, ...this.#inputs(plan), ...this.tiles.flat().map((t) => t.button));
  }

  #inputHead() {
    const { app } = this;
    const used = usedFeatures(app.state(), app.problem);
    const offered = FEATURE_NAMES.filter((f) => app.problem.d === 2 || !f.includes("x2"));
    if (!used) return h("div", { class: "head" }, h("strong", {}, "Inputs"));
    const button = (/** @type {typeof FEATURE_NAMES[number]} */ name) => {
      const on = used.includes(name);
      return h("button", {
        class: "chip", "aria-pressed": String(on), disabled: on && used.length === 1,
        onclick: () => app.change(`input ${name}`, (state) => {
          const now = new Set(used);
          if (on) now.delete(name);
          else now.add(name);
          state.features = FEATURE_NAMES.filter((f) => now.has(f));
        }),
      }, FEATURES[name].label);
    };
    return h("details", { class: "head features", "data-control": "features" },
      h("summary", {}, h("strong", {}, "Inputs"), " …"), h("div", { class: "chips" }, offered.map(button)));
  }

  /** @param {number} l */
  #layerHead(l) {
    const { app } = this;
    const layer = app.state().hidden[l];
    const names = /** @type {string[]} */ (app.tables.activations.map((/** @type {{name: string}} */ a) => a.name));
    const units = (/** @type {number} */ by) =>
      app.change(`units of layer ${l + 1}`, (state) => {
        state.hidden[l].units = Math.min(MOST_UNITS, Math.max(1, state.hidden[l].units + by));
        state.unit = null;
      });
    return h("div", { class: "head" },
      h("strong", {}, `Layer ${l + 1}`),
      h("div", { class: "stepper", "data-control": "units" },
        h("button", { class: "small", "aria-label": `one unit less in layer ${l + 1}`, disabled: layer.units <= 1, onclick: () => units(-1) }, "−"),
        h("span", { "aria-label": plural(layer.units, "unit") }, String(layer.units)),
        h("button", { class: "small", "aria-label": `one unit more in layer ${l + 1}`, disabled: layer.units >= MOST_UNITS, onclick: () => units(1) }, "+")),
      select(names.map((n) => [n, n]), layer.activation.name, (name) => app.change(`activation of layer ${l + 1}`, (state) => {
        const all = l === 0 && state.hidden.every((x) => x.activation.name === state.hidden[0].activation.name);
        state.hidden.forEach((x, i) => {
          if (i === l || all) x.activation = { name, parameters: [] };
        });
      }), { class: "small", "aria-label": `activation of layer ${l + 1}`, "data-control": "activation" }));
  }

  #outputHead() {
    const { app } = this;
    return h("div", { class: "head" }, h("strong", {}, "Output"), h("span", { class: "quiet" }, app.likelihood().name.replace("_", " ")));
  }

  /** @param {import("./network_layout.js").NetworkLayout} plan */
  #inputs(plan) {
    const names = this.app.features();
    const own = usedFeatures(this.app.state(), this.app.problem) === null;
    return names.map((name, j) => {
      const label = !own && name in FEATURES ? FEATURES[/** @type {keyof typeof FEATURES} */ (name)].label : name;
      const box = h("div", { class: own ? "input named" : "input", title: name }, own ? h("span", {}, label) : label);
      const at = plan.columns[0][j];
      place(box, at, plan.input);
      if (own) box.style.left = "2px"; // a name takes the room up to the edges
      if (own) box.style.width = `${at.x + plan.input / 2 - 2}px`;
      return box;
    });
  }

  /** @param {number} l @param {number} k @param {import("./network_layout.js").Place} at @param {number} tile @param {number[]} widths @returns {Tile} */
  #unit(l, k, at, tile, widths) {
    const canvas = h("canvas", { width: 26, height: 26, "aria-hidden": "true" });
    const glyph = h("span", { class: "glyph", "aria-hidden": "true" });
    const output = l === widths.length - 2;
    const button = h("button", {
      class: `unit${output ? " output" : ""}`,
      "aria-label": output ? `output ${k}` : `unit ${k} of layer ${l + 1}`,
      "aria-pressed": "false",
      onclick: () => this.app.look((state) => {
        state.unit = state.unit?.[0] === l && state.unit[1] === k ? null : [l, k];
      }),
      onpointerenter: () => this.#hover([l, k]),
      onpointerleave: () => this.#hover(null),
      onfocus: () => this.#hover([l, k]),
      onblur: () => this.#hover(null),
    }, canvas, glyph);
    place(button, at, tile);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    return { button, canvas, context, glyph, layer: l, unit: k };
  }

  /** @param {[number, number] | null} unit */
  #hover(unit) {
    this.fields.hovered = unit;
    this.fields.refresh();
  }

  /** Shows a unit with its weights and puts the cursor on one of them. @param {number} l @param {number} k @param {number} j */
  pick(l, k, j) {
    this.app.look((state) => {
      state.unit = [l, k];
    });
    document.getElementById(`weight-${j}`)?.focus();
  }

  /** @param {PointerEvent} e @param {number} l @param {number} k @param {number} j */
  #showWeight(e, l, k, j) {
    if (!this.app.settled()) return;
    const { rows, columns, weights } = layout(this.app.widths())[l];
    if (k >= rows) return;
    const value = this.app.parameters()[weights + k * columns + j];
    this.tip.textContent = `W${l + 1}[${k}, ${j}] = ${figure(value, 5)}`;
    const box = this.scroller.getBoundingClientRect();
    this.tip.style.left = `${e.clientX - box.left + 10}px`;
    this.tip.style.top = `${e.clientY - box.top + 34}px`;
    this.tip.hidden = false;
  }

  /** The pictures in the units. */
  draw() {
    const { units } = this.fields;
    if (!units) return;
    const palette = this.theme.current;
    const state = this.app.state();
    this.tiles.forEach((row, l) => {
      const output = l === this.tiles.length - 1;
      const values = output ? units.logits : units.layers[l];
      if (!values || values.length !== (units.flat ? units.size : units.size ** 2) * row.length) return;
      const most = reach(values, output ? "identity" : state.hidden[l]?.activation.name ?? "identity");
      row.forEach(({ canvas, context }, k) => {
        const size = units.flat ? 72 : units.size;
        if (canvas.width !== size) canvas.width = canvas.height = size;
        if (units.flat) paintCurveTile(context, values, row.length, k, units.size, most, palette);
        else paintTile(context, values, row.length, k, units.size, most, palette);
      });
    });
  }

  /** Widths and signs of the edges; the strongest weight of a layer is drawn widest. */
  drawEdges() {
    const { app } = this;
    if (!app.settled() || this.plan?.columns.map((c) => c.length).join() !== app.widths().join()) return;
    const parameters = app.parameters();
    const places = layout(app.widths());
    this.edges.forEach((layer, l) => {
      const { rows, columns, weights } = places[l] ?? { rows: 0, columns: 0, weights: 0 };
      if (layer.length !== rows || layer[0]?.length !== columns) return;
      let largest = 0;
      for (let i = 0; i < rows * columns; i++) largest = Math.max(largest, Math.abs(parameters[weights + i]));
      layer.forEach((row, k) => row.forEach((path, j) => {
        const w = parameters[weights + k * columns + j];
        const kind = w < 0 ? "edge minus" : w > 0 ? "edge plus" : "edge";
        if (path.getAttribute("class") !== kind) path.setAttribute("class", kind);
        path.setAttribute("stroke-width", (0.35 + (3.4 * Math.abs(w)) / (largest || 1)).toFixed(2));
      }));
    });
    if (this.sparse) this.#drawSparse(parameters, places);
  }

  /** Of a large network only the weights of the chosen unit. @param {Float32Array} parameters @param {ReturnType<typeof layout>} places */
  #drawSparse(parameters, places) {
    const plan = this.plan;
    if (!plan) return;
    const [l, k] = this.app.state().unit ?? [places.length - 1, 0];
    const { rows, columns, weights } = places[l] ?? {};
    if (rows === undefined || columns === undefined || weights === undefined || k >= rows) return refill(this.svg);
    const own = parameters.subarray(weights + k * columns, weights + (k + 1) * columns);
    const largest = own.reduce((m, w) => Math.max(m, Math.abs(w)), 0) || 1;
    refill(this.svg, Array.from(own, (w, j) => s("path", {
      d: edgePath(plan.columns[l][j], plan.columns[l + 1][k], plan.tile),
      class: w < 0 ? "edge minus" : "edge plus",
      "stroke-width": (0.4 + (3 * Math.abs(w)) / largest).toFixed(2),
    })));
  }

  #mark() {
    const chosen = this.app.state().unit;
    for (const { button, layer, unit } of this.tiles.flat()) {
      set(button, "aria-pressed", String(chosen?.[0] === layer && chosen[1] === unit));
    }
    if (this.sparse) this.drawEdges();
  }

  #judge() {
    for (const { button, glyph, layer, unit } of this.tiles.flat()) {
      const judged = this.health.of(layer, unit);
      say(glyph, judged?.glyph ?? "");
      button.classList.toggle("unwell", Boolean(judged?.glyph));
      if (judged) set(button, "aria-label", `unit ${unit} of layer ${layer + 1}: ${judged.text}`);
      if (judged) set(button, "title", judged.text);
    }
  }

  /** Marks edges and units while an equation is read. @param {{edges?: [number, number, number][], units?: [number, number][]}} what */
  highlight({ edges = [], units = [] }) {
    for (const lit of this.stage.querySelectorAll("[data-lit]")) lit.removeAttribute("data-lit");
    for (const [l, k, j] of edges) this.edges[l]?.[k]?.[j]?.setAttribute("data-lit", "");
    for (const [l, k] of units) this.tiles[l]?.[k]?.button.setAttribute("data-lit", "");
    this.stage.classList.toggle("reading", edges.length + units.length > 0);
  }
}

/** @param {HTMLElement} element @param {import("./network_layout.js").Place} at @param {number} size */
function place(element, at, size) {
  element.style.left = `${at.x - size / 2}px`;
  element.style.top = `${at.y - size / 2}px`;
  element.style.width = element.style.height = `${size}px`;
}
