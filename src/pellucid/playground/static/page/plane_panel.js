// @ts-check
// The plane with its controls, its legend, and the count of regions against the bounds.

import { check } from "./controls.js";
import { h, refill, s, say, select, set } from "./dom.js";
import { figure, whole } from "./format.js";
import { SHAPE_SIGNS } from "./palette.js";
import { PlaneView } from "./plane_view.js";
import { COLOURS } from "./state.js";

/** @typedef {import("./app.js").App} App */

const COLOUR_NAMES = { output: "output", class: "class", pattern: "activation pattern", slope: "slope" };

export class PlanePanel {
  /** @param {App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root */
  constructor(app, fields, theme, root) {
    this.app = app;
    this.fields = fields;
    this.theme = theme;
    const colour = select(COLOURS.map((c) => [c, COLOUR_NAMES[c]]), app.state().view.colour,
      (v) => app.look((st) => (st.view.colour = /** @type {any} */ (v))), { "aria-label": "colour by" });
    this.shown = h("p", { class: "quiet" });
    root.append(h("div", { class: "panel-head" }, h("h2", { id: "plane-title" }, "Output"), this.shown,
      h("label", { class: "check", "data-control": "colour" }, "colour by ", colour)));
    this.view = new PlaneView(app, fields, theme, root);
    this.reading = h("output", { class: "reading", id: "plane-reading" });
    this.legend = h("p", { class: "legend" });
    this.axes = h("div", { class: "row" });
    const checks = [
      check(app, "edges", (st) => st.view.edges, (st, v) => (st.view.edges = v)),
      check(app, "boundary", (st) => st.view.boundary, (st, v) => (st.view.boundary = v)),
      check(app, "points", (st) => st.view.points, (st, v) => (st.view.points = v)),
      check(app, "test points", (st) => st.view.test, (st, v) => (st.view.test = v)),
      check(app, "discretise", (st) => st.view.discretise, (st, v) => (st.view.discretise = v)),
    ];
    const zoom = (/** @type {number} */ by) => () => {
      app.look((st) => (st.view.zoom = Math.min(50, Math.max(0.05, st.view.zoom * by))));
      fields.refresh();
    };
    const zooms = h("span", { class: "row tight" },
      h("button", { class: "small", "aria-label": "zoom out", onclick: zoom(1 / 1.5) }, "−"),
      h("button", { class: "small", "aria-label": "zoom in", onclick: zoom(1.5) }, "+"));
    root.append(this.reading, this.legend, h("div", { class: "checks", "data-control": "plane" }, checks.map((c) => c.element), zooms), this.axes);
    this.badge = h("p", { class: "regions-badge", "data-test": "regions" });
    this.gauge = s("svg", { viewBox: "0 0 400 34", class: "gauge", role: "img" });
    this.boundsText = h("p", { class: "quiet small-text" });
    root.append(h("div", { "data-control": "regions" }, this.badge, this.gauge, this.boundsText));
    const sync = () => {
      checks.forEach((c) => c.sync());
      colour.value = app.state().view.colour;
      this.#legend();
      this.#axisChoice();
    };
    app.events.on("state", () => (sync(), this.#bounds()));
    app.events.on("select", sync);
    app.events.on("theme", sync);
    app.events.on("regions", app.frames.once(() => this.#count(), 120));
    sync();
    this.#bounds();
  }

  /** @type {import("../engine/types.js").Bounds | null} */
  bounds = null;
  #boundsFor = "";

  async #bounds() {
    const { app } = this;
    const key = JSON.stringify([app.widths(), app.state().hidden]);
    if (key === this.#boundsFor) return;
    this.#boundsFor = key;
    this.bounds = null;
    const dimension = Math.min(2, app.problem.d);
    this.bounds = await app.engine.bounds(app.widths(), { hidden: app.state().hidden.map((l) => l.activation), dimension });
    this.#count();
  }

  #count() {
    const { regions, pieces, whyNoRegions, atStart } = this.fields;
    const single = this.fields.single !== null && this.fields.hovered;
    say(this.shown, single ? `unit ${single[1]} of layer ${single[0] + 1}` : "");
    if (this.app.problem.d === 1 && pieces) {
      refill(this.badge, h("strong", {}, whole(pieces.n)), ` straight ${pieces.n === 1 ? "piece" : "pieces"}`, start(atStart));
      this.#gauge(pieces.n);
      return;
    }
    if (!regions) {
      refill(this.badge, h("span", { class: "quiet" }, whyNoRegions ? `No regions drawn: ${whyNoRegions}` : "regions: computing …"));
      this.gauge.replaceChildren();
      say(this.boundsText, "");
      return;
    }
    const { n, counted } = regions;
    const linear = counted ? regions.counts.n_linear_regions : n;
    const late = this.app.snapshot().step - regions.step;
    refill(this.badge, h("strong", { "data-test": "region-count" }, whole(n)), ` activation ${n === 1 ? "region" : "regions"}`, start(atStart),
      linear !== n ? `, ${whole(linear)} linear` : "", late > 0 ? h("span", { class: "quiet" }, ` at step ${whole(regions.step)}`) : null,
      regions.certified ? null : h("span", { class: "warn" }, " (some signs undecided)"));
    this.#gauge(n);
  }

  /** On a logarithmic line: the start, now, and the bounds. @param {number} n */
  #gauge(n) {
    const { bounds } = this;
    if (!bounds) return;
    const upper = Number(bounds.upper);
    const marks = [
      { value: Number(bounds.arrangement), text: "one layer", kind: "quiet" },
      { value: upper, text: "bound", kind: "bound" },
    ];
    const most = Math.max(10, upper, n);
    const x = (/** @type {number} */ v) => 6 + (388 * Math.log(Math.max(1, v))) / Math.log(most);
    set(this.gauge, "aria-label", `${whole(n)} regions; no network of these widths has more than ${big(bounds.upper)}`);
    refill(this.gauge,
      s("rect", { x: 6, y: 12, width: 388, height: 8, rx: 4, class: "gauge-line" }),
      s("rect", { x: 6, y: 12, width: Math.max(2, x(n) - 6), height: 8, rx: 4, class: "gauge-now" }),
      this.fields.atStart !== null ? s("path", { d: `M${x(this.fields.atStart)} 9v14`, class: "gauge-start" }) : null,
      marks.map((m) => s("path", { d: `M${x(m.value)} 7v18`, class: `gauge-mark ${m.kind}` })));
    const lower = bounds.lower !== null && bounds.lower > bounds.arrangement ? `; some such networks reach ${big(bounds.lower)}` : "";
    say(this.boundsText, `At most ${big(bounds.upper)}${lower}. The first layer alone: at most ${big(bounds.arrangement)}. Typical counts are far below.`);
  }

  #legend() {
    const { problem } = this.app;
    const palette = this.theme.current;
    const colour = this.app.state().view.colour;
    if (problem.classes) {
      refill(this.legend, problem.classes.map((name, k) => {
        const sign = h("span", { class: "sign" }, SHAPE_SIGNS[k % 10]);
        sign.style.color = palette.classes[k % 10];
        return h("span", { class: "key" }, sign, ` ${name}`);
      }), colour === "slope" ? h("span", { class: "quiet" }, " colours: direction and size of the slope") : colour === "pattern" ? h("span", { class: "quiet" }, " one colour a pattern") : null);
      return;
    }
    if (problem.d === 1) return refill(this.legend, h("span", { class: "quiet" }, "● rows, — network, • bends"));
    const bar = h("canvas", { width: 120, height: 8, class: "bar", "aria-hidden": "true" });
    const c = /** @type {CanvasRenderingContext2D} */ (bar.getContext("2d"));
    for (let i = 0; i < 120; i++) {
      const p = palette.at((i / 119) * 2 - 1);
      c.fillStyle = `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;
      c.fillRect(i, 0, 1, 8);
    }
    refill(this.legend, `${problem.target} `, figure(problem.yLow), " ", bar, " ", figure(problem.yHigh));
  }

  /** With more than two inputs: which two the picture shows. */
  #axisChoice() {
    const { problem } = this.app;
    if (problem.d <= 2) return refill(this.axes);
    const [i, j] = this.fields.axes(this.app.state().view.axes);
    const options = problem.columns.map((name, k) => /** @type {const} */ ([String(k), name]));
    const choose = (/** @type {0 | 1} */ which) => (/** @type {string} */ v) => {
      this.app.look((st) => {
        const axes = [i, j];
        const other = axes[1 - which];
        axes[which] = Number(v);
        if (Number(v) === other) axes[1 - which] = which ? j : i;
        st.view.axes = axes;
      });
      this.fields.refresh();
    };
    refill(this.axes, "A slice through the probe point over ", select(options, String(i), choose(0), { "aria-label": "across" }),
      " and ", select(options, String(j), choose(1), { "aria-label": "upwards" }));
  }
}

/** @param {number | null} n */
const start = (n) => (n === null ? "" : ` (${whole(n)} at the start)`);

/** @param {bigint} n */
const big = (n) => (n < 1_000_000_000n ? whole(Number(n)) : Number(n).toExponential(1).replace("e+", " × 10^"));
