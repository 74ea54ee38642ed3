// @ts-check
// The lists of examples and of lessons, as dialogs.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { PRESETS, presetState } from "./presets.js";

/** @param {{entries: {file: string, title: string, about: string}[], open: (id: string) => Promise<void>}} view */
export function openLessons(view) {
  const cards = view.entries.map(({ file, title, about }) => h("button", {
    class: "card-button",
    onclick: async () => {
      dialog.close();
      await view.open(file.replace(/\.json$/, ""));
      document.getElementById("lessons")?.scrollIntoView({ block: "nearest" });
    },
  }, h("strong", {}, title), h("span", { class: "quiet" }, about)));
  const dialog = openDialog("Lessons", cards.length ? h("div", { class: "cards" }, cards) : h("p", { class: "quiet" }, "There are no lessons in this folder."));
}

/** @param {import("./app.js").App} app @param {(tab: any) => void} openTab */
export function openExamples(app, openTab) {
  const cards = PRESETS.map((preset) => h("button", {
    class: "card-button", "data-preset": preset.id,
    onclick: async () => {
      dialog.close();
      const state = presetState(preset);
      await app.open(state, preset.title);
      openTab(state.view.tab);
    },
  }, h("strong", {}, preset.title), h("span", { class: "quiet" }, preset.text)));
  const dialog = openDialog("Examples", h("div", { class: "cards" }, cards));
}
