// @ts-check
// Classroom links: which controls show.

import { HIDEABLE } from "./state.js";

const PANELS = ["data", "training", "workbench"]; // vanish with the last of their controls

/** @param {import("./app.js").App} app @param {() => void} onchange */
export function hiding(app, onchange) {
  let before = false; // whether anything is hidden
  const apply = () => {
    const hidden = new Set(/** @type {string[]} */ (app.state().hide));
    const only = app.shownOnly && new Set(app.shownOnly);
    const any = hidden.size > 0 || only !== null;
    if (!any && !before) return;
    before = any;
    for (const element of document.querySelectorAll("[data-control]")) {
      const name = element.getAttribute("data-control") ?? "";
      element.classList.toggle("put-away", hidden.has(name) || (only !== null && !only.has(name)));
    }
    for (const id of PANELS) {
      const panel = document.getElementById(id);
      panel?.classList.toggle("put-away", any && !panel.querySelector("[data-control]:not(.put-away)"));
    }
    onchange();
    const known = HIDEABLE.filter((n) => hidden.has(n));
    document.documentElement.dataset.hidden = known.join(" ");
  };
  app.events.on("state", apply);
  // panels that are built later carry their marks too
  new MutationObserver(apply).observe(document.body, { childList: true, subtree: true });
  apply();
}
