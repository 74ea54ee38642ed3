// @ts-check
// Elements without a framework. Nothing here takes markup as text, so nothing can be injected.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Props */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Props} [props] names of attributes; functions listen ("onclick")
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag @param {Props} [props] @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

/**
 * @template {Element} E
 * @param {E} element @param {Props} props @param {(Child | Child[])[]} children
 * @returns {E}
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

/** @param {Element} element @param {string} name @param {Props[string]} value */
export function set(element, name, value) {
  if (typeof value === "function") element.addEventListener(name.slice(2), value);
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (name === "value" && "value" in element) Object.assign(element, { value: String(value) });
  else if (name === "checked" && "checked" in element) Object.assign(element, { checked: true });
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
const nodes = (children) =>
  children
    .flat()
    .filter((c) => c !== null && c !== undefined && c !== false)
    .map((c) => (typeof c === "number" ? String(c) : /** @type {Node | string} */ (c)));

/** New children for an element. @param {Element} element @param {...(Child | Child[])} children */
export function refill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return /** @type {T} */ (found);
}

/** Writes only what changed: layout is not touched for nothing. @param {Node} node @param {string} text */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

let count = 0;
/** A new id, to tie labels to fields. @param {string} stem */
export const newId = (stem) => `${stem}-${++count}`;

/**
 * A labelled field: the label stands in front.
 * @param {string} label @param {HTMLElement} field @param {string} [help] told on hover and to screen readers
 * @param {Child} [after]
 */
export function labelled(label, field, help, after) {
  field.id ||= newId("field");
  const description = help ? h("small", { id: `${field.id}-help`, class: "help" }, help) : null;
  if (help) field.setAttribute("aria-describedby", `${field.id}-help`);
  return h("div", { class: "field" }, h("label", { for: field.id }, label), field, after, description);
}

/**
 * @param {readonly (readonly [string, string])[]} options value and text
 * @param {string} value @param {(value: string) => void} onchange @param {Props} [props]
 */
export function select(options, value, onchange, props = {}) {
  const element = h("select", { ...props, onchange: () => onchange(element.value) },
    options.map(([v, t]) => h("option", { value: v, selected: v === value }, t)));
  return element;
}

/** The head of a table; a column without a name has no header. @param {string[]} names */
export const tableHead = (names) =>
  h("thead", {}, h("tr", {}, names.map((name) => (name ? h("th", { scope: "col" }, name) : h("td", {})))));

/** A canvas for so many CSS pixels, sharp on dense screens. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} [densest] */
export function sharpen(canvas, width, height, densest = 2) {
  const ratio = Math.min(densest, globalThis.devicePixelRatio || 1);
  const [w, t] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== t) Object.assign(canvas, { width: w, height: t });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
