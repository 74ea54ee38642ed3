// @ts-check
// Links, files and classroom links; and opening them.

import { copyText, download, openDialog } from "./dialog.js";
import { h, say } from "./dom.js";
import { fromText, LONGEST_LINK, toFile, toLink } from "./links.js";
import { copy, HIDEABLE } from "./state.js";

/** @typedef {import("./app.js").App} App */

/** What the names of hideable controls say. @type {Record<string, string>} */
const WORDS = {
  data: "data sets", noise: "noise", split: "test share", dataSeed: "seed of the rows", ownData: "own data", features: "inputs",
  layers: "number of layers", units: "units a layer", activation: "activations", weights: "editing weights", scheme: "first weights",
  seed: "seed", likelihood: "loss", optimizer: "optimizer", learningRate: "learning rate", batchSize: "batch size", schedule: "schedule",
  regularization: "regularisation", play: "train button", step: "step button", reset: "reset button", speed: "speed", plane: "drawing options",
  colour: "colour by", regions: "regions", curves: "curves", gradients: "gradient curves", inspector: "probe point", worked: "worked pass",
  unitHealth: "units", seeds: "32 seeds", compare: "comparison", timeline: "timeline", code: "code", views: "other views",
  challenges: "challenges", share: "share button", undo: "undo and redo",
};

/** @param {App} app */
export async function openShare(app) {
  const page = location.href.split("#")[0];
  let whole = false;
  const field = h("textarea", { rows: 4, readonly: true, "aria-label": "link", "data-test": "link" });
  const note = h("p", { class: "quiet" });
  const hidden = new Set(/** @type {string[]} */ (app.state().hide));
  const make = async () => {
    const base = whole ? await app.whole() : { ...copy(app.state()), run: null };
    const state = /** @type {import("./state.js").State} */ ({ ...base, hide: HIDEABLE.filter((n) => hidden.has(n)) });
    const link = await toLink(state, page);
    field.value = link;
    say(note, link.length > LONGEST_LINK ? `${link.length} characters: too long for mail and chat; save a file instead.` : `${link.length} characters. The part behind # never leaves the browser.`);
    return state;
  };
  const kind = (/** @type {boolean} */ w, /** @type {string} */ label, /** @type {string} */ id) =>
    h("label", { class: "check" }, h("input", { type: "radio", name: "kind", id, checked: w === whole, onchange: () => ((whole = w), make()) }), label);
  const copyButton = h("button", { class: "primary", onclick: () => copyText(field.value, copyButton) }, "Copy the link");
  const save = h("button", { onclick: async () => download("playground.json", toFile(await make()), "application/json") }, "Save as a file");
  const paste = h("textarea", { rows: 2, "aria-label": "a link or the text of a file to open", placeholder: "Paste a link here", "data-test": "paste-link" });
  const file = h("input", { type: "file", accept: ".json,application/json", "aria-label": "open a saved file", onchange: async () => file.files?.[0] && open(await file.files[0].text()) });
  const wrong = h("p", { class: "warn", role: "alert" });
  const open = async (/** @type {string} */ text) => {
    try {
      const state = await fromText(text);
      if (!state) throw new Error("there is no state of the playground in it.");
      await app.open(state, "opened");
      dialog.close();
    } catch (error) {
      say(wrong, `Not opened: ${error instanceof Error ? error.message : error}`);
    }
  };
  const boxes = HIDEABLE.map((name) => h("label", { class: "check" }, h("input", {
    type: "checkbox", checked: hidden.has(name),
    onchange: (/** @type {any} */ e) => (e.target.checked ? hidden.add(name) : hidden.delete(name), make()),
  }), WORDS[name] ?? name));
  const dialog = openDialog("Share",
    h("div", { class: "row" }, kind(false, "settings: others start from the same seed", "kind-settings"), kind(true, "everything: weights, optimizer, step", "kind-whole")),
    field, note, h("div", { class: "row" }, copyButton, save),
    h("details", {}, h("summary", {}, "For a class: hide controls in the link"), h("div", { class: "boxes" }, boxes)),
    h("h3", {}, "Open"), paste, h("div", { class: "row" }, h("button", { "data-test": "open-link", onclick: () => open(paste.value) }, "Open the link"), file), wrong);
  await make();
}
