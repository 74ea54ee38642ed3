// @ts-check
// The lower half: one tool at a time, as tabs. A tool is built when it is first opened.

import { h, refill, set } from "./dom.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{id: import("./state.js").State["view"]["tab"], title: string, control: string, build: (root: HTMLElement) => ({show?: () => void} | void)}} Tool */

export class Workbench {
  /** @type {Map<string, {panel: HTMLElement, tab: HTMLButtonElement, view?: {show?: () => void} | void, built: boolean, tool: Tool}>} */
  tools = new Map();

  /** @param {App} app @param {Tool[]} tools @param {HTMLElement} root */
  constructor(app, tools, root) {
    this.app = app;
    const bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Tools" });
    for (const tool of tools) {
      const tab = h("button", {
        role: "tab", id: `tab-${tool.id}`, "aria-controls": `tool-${tool.id}`, "data-control": tool.control,
        onclick: () => this.open(tool.id),
      }, tool.title);
      const panel = h("div", { role: "tabpanel", id: `tool-${tool.id}`, "aria-labelledby": `tab-${tool.id}`, class: "tool", tabindex: "0" });
      this.tools.set(tool.id, { panel, tab, built: false, tool });
      bar.append(tab);
    }
    bar.addEventListener("keydown", (e) => this.#key(e));
    refill(root, bar, ...[...this.tools.values()].map((t) => t.panel));
    this.open(app.state().view.tab);
  }

  /** @param {Tool["id"]} id @param {boolean} [scroll] */
  open(id, scroll = false) {
    this.app.state().view.tab = id;
    for (const [name, entry] of this.tools) {
      const chosen = name === id;
      entry.panel.hidden = !chosen;
      set(entry.tab, "aria-selected", String(chosen));
      set(entry.tab, "tabindex", chosen ? "0" : "-1");
    }
    const entry = this.tools.get(id);
    if (!entry) return;
    if (!entry.built) {
      entry.built = true;
      entry.view = entry.tool.build(entry.panel);
    }
    entry.view?.show?.();
    if (scroll) entry.panel.scrollIntoView({ block: "nearest" });
  }

  /** Where the tool on screen was hidden, the first that is not takes its place. */
  mend() {
    const away = (/** @type {{tab: HTMLElement} | undefined} */ t) => t?.tab.classList.contains("put-away");
    if (!away(this.tools.get(this.app.state().view.tab))) return;
    const next = [...this.tools.values()].find((t) => !away(t));
    if (next) this.open(next.tool.id);
  }

  /** Whether a tool is on screen: others do no work. @param {Tool["id"]} id */
  isOpen(id) {
    return this.app.state().view.tab === id;
  }

  /** @param {KeyboardEvent} e */
  #key(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const names = [...this.tools.keys()].filter((n) => !this.tools.get(n)?.tab.classList.contains("put-away"));
    const at = names.indexOf(this.app.state().view.tab);
    const next = /** @type {Tool["id"]} */ (names[(at + by + names.length) % names.length]);
    this.open(next);
    this.tools.get(next)?.tab.focus();
  }
}
