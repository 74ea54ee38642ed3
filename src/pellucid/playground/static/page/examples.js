// @ts-check
// The list of examples as a dialog.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { PRESETS, presetState } from "./presets.js";

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
