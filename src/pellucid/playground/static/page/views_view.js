// @ts-check
// Other views of the same network, side by side.

import { ConfusionView } from "./confusion_view.js";
import { h } from "./dom.js";
import { Pump } from "./fields.js";
import { SliceView } from "./slice_view.js";
import { SurfaceView } from "./surface_view.js";
import { WarpView } from "./warp_view.js";

/** @param {import("./app.js").App} app @param {import("./fields.js").Fields} fields @param {{current: import("./palette.js").Palette}} theme @param {HTMLElement} root @param {() => boolean} isOpen */
export function viewsView(app, fields, theme, root, isOpen) {
  const places = Array.from({ length: 4 }, () => h("div", { class: "stack" }));
  root.append(h("div", { class: "views" }, places));
  const all = [
    new WarpView(app, fields, theme, places[0]),
    new SurfaceView(app, fields, theme, places[1]),
    new SliceView(app, fields, theme, places[2]),
    new ConfusionView(app, places[3]),
  ];
  const pump = new Pump(async () => {
    for (const view of all) await view.work();
  });
  const show = () => {
    if (isOpen()) pump.wanted();
  };
  for (const name of /** @type {const} */ (["snapshot", "select", "theme", "problem"])) app.events.on(name, show);
  return { show };
}
