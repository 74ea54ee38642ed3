// @ts-check
// Fields that show a part of the state and change it: the building blocks of the panels.

import { h, newId, say, set } from "./dom.js";
import { figure } from "./format.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Hideable} Hideable */
/** @typedef {{element: HTMLElement, sync: () => void}} Control */

/**
 * A slider over chosen values, as rates need them: 0.001, 0.003, 0.01, ...
 * @param {App} app
 * @param {{label: string, control: Hideable, values: number[], get: (s: State) => number,
 *   put: (s: State, v: number) => void, say?: (v: number) => string, help?: string}} options
 * @returns {Control}
 */
export function detents(app, { label, control, values, get, put, say: tell = (v) => figure(v, 3), help }) {
  let all = values;
  const id = newId("slider");
  const output = h("output", { for: id });
  const input = h("input", {
    id, type: "range", min: 0, max: values.length - 1, step: 1, "aria-describedby": help ? `${id}-help` : null,
    oninput: () => app.change(label.toLowerCase(), (s) => put(s, all[Number(input.value)])),
  });
  const element = h("div", { class: "field slider", "data-control": control },
    h("label", { for: id, title: help }, label), output, input,
    help ? h("small", { id: `${id}-help`, class: "unseen" }, help) : null);
  const sync = () => {
    const value = get(app.state());
    all = values.includes(value) ? values : [...values, value].sort((a, b) => a - b);
    set(input, "max", all.length - 1);
    input.value = String(all.indexOf(value));
    set(input, "aria-valuetext", tell(value));
    say(output, tell(value));
  };
  return { element, sync };
}

/**
 * @param {App} app
 * @param {{label: string, control: Hideable, options: () => readonly (readonly [string, string])[],
 *   get: (s: State) => string, put: (s: State, v: string) => void, help?: string}} options
 * @returns {Control}
 */
export function chooser(app, { label, control, options, get, put, help }) {
  const id = newId("choice");
  const select = h("select", { id, title: help, onchange: () => app.change(label.toLowerCase(), (s) => put(s, select.value)) });
  const element = h("div", { class: "field", "data-control": control }, h("label", { for: id }, label), select);
  let known = "";
  const sync = () => {
    const offered = options();
    const key = JSON.stringify(offered);
    if (key !== known) select.replaceChildren(...offered.map(([value, text]) => h("option", { value }, text)));
    known = key;
    select.value = get(app.state());
  };
  return { element, sync };
}

/**
 * @param {App} app
 * @param {{label: string, control: Hideable, low: number, high: number, get: (s: State) => number,
 *   put: (s: State, v: number) => void, after?: HTMLElement}} options
 * @returns {Control}
 */
export function wholeNumber(app, { label, control, low, high, get, put, after }) {
  const id = newId("number");
  const input = h("input", {
    id, type: "number", min: low, max: high, step: 1, inputmode: "numeric",
    onchange: () => {
      const value = Math.round(Number(input.value));
      if (Number.isFinite(value)) app.change(label.toLowerCase(), (s) => put(s, Math.min(high, Math.max(low, value))));
    },
  });
  const element = h("div", { class: "field", "data-control": control }, h("label", { for: id }, label), h("span", { class: "row tight" }, input, after));
  return { element, sync: () => void (input.value = String(get(app.state()))) };
}

/**
 * @param {App} app @param {string} label @param {(s: State) => boolean} get
 * @param {(s: State, v: boolean) => void} put @param {boolean} [isView]
 * @returns {Control}
 */
export function check(app, label, get, put, isView = true) {
  const id = newId("check");
  const input = h("input", {
    id, type: "checkbox",
    onchange: () => (isView ? app.look((s) => put(s, input.checked)) : app.change(label.toLowerCase(), (s) => put(s, input.checked))),
  });
  return { element: h("label", { class: "check", for: id }, input, label), sync: () => void (input.checked = get(app.state())) };
}

/** 1, 3, 10, 30 ... @param {number} from power of ten @param {number} to */
export function decades(from, to) {
  const values = [];
  for (let e = from; e <= to; e++) for (const m of [1, 3]) values.push(Number(`${m}e${e}`));
  values.pop();
  return values;
}
