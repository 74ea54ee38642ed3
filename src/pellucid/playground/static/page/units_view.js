// @ts-check
// All hidden units in a table: what each is doing, and why those that do nothing do nothing.

import { h, refill, tableHead } from "./dom.js";
import { percent } from "./format.js";

/** @typedef {import("./app.js").App} App */

const MOST = 200;

/** @param {App} app @param {import("./health.js").Health} health @param {HTMLElement} root @param {() => boolean} isOpen */
export function unitsView(app, health, root, isOpen) {
  const body = h("div", { "data-test": "units" });
  root.append(h("p", { class: "quiet" }, "Judged on all training rows at the weights of now. ☠ dead, ⇗ always on, ⊓ saturated, ▬ constant, ⧉ double, ⊘ unread."), body);
  const show = () => {
    if (!isOpen()) return;
    const all = health.layers.flatMap((layer, l) => layer.map((judged, k) => ({ ...judged, l, k })));
    const ill = all.filter((u) => u.verdict !== "well");
    const kinds = [...health.tally()].map(([verdict, n]) => `${n} ${verdict}`).join(", ");
    const rows = [...ill, ...all.filter((u) => u.verdict === "well")].slice(0, MOST).map((u) => h("tr", {},
      h("th", { scope: "row" }, h("button", { class: "small", onclick: () => app.look((s) => (s.unit = [u.l, u.k])) }, `h${u.l + 1}[${u.k}]`)),
      h("td", { class: "number" }, percent(u.active)), h("td", {}, u.glyph ? `${u.glyph} ` : "", u.text), h("td", { class: "wrap" }, u.why)));
    refill(body, h("p", {}, ill.length ? `${ill.length} of ${all.length} units do not work as they should: ${kinds}.` : `All ${all.length} hidden units work.`),
      all.length ? h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "units" }, h("table", {},
        tableHead(["unit", "z > 0", "state", "why"]), h("tbody", {}, rows))) : null);
  };
  health.onchange(show);
  return { show };
}
