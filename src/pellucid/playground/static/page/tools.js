// @ts-check
// What the workbench holds.

import { batchView } from "./batch_view.js";
import { codeView } from "./code_view.js";
import { CompareView } from "./compare_view.js";
import { OwnDataView } from "./own_data_view.js";
import { SeedsView } from "./seeds_view.js";
import { timelineView } from "./timeline_view.js";
import { unitsView } from "./units_view.js";
import { viewsView } from "./views_view.js";
import { Workbench } from "./workbench.js";
import { WorkedView } from "./worked_view.js";

/**
 * @typedef {{app: import("./app.js").App, fields: import("./fields.js").Fields,
 *   health: import("./health.js").Health, theme: import("./theme.js").Theme,
 *   network: import("./network_view.js").NetworkView, plane: import("./plane_view.js").PlaneView,
 *   server: string, formats: string[], quiz: (root: HTMLElement) => void}} Parts
 */

/** @param {Parts} parts @param {HTMLElement} root */
export function makeWorkbench({ app, fields, health, theme, network, plane, server, formats, quiz }, root) {
  /** @type {(id: import("./workbench.js").Tool["id"]) => () => boolean} */
  const open = (id) => () => app.state().view.tab === id;
  /** @type {OwnDataView | null} */
  let data = null;
  const workbench = new Workbench(app, [
    { id: "worked", title: "Worked pass", control: "worked", build: (r) => new WorkedView(app, network, r, open("worked")) },
    { id: "units", title: "Units", control: "unitHealth", build: (r) => unitsView(app, health, r, open("units")) },
    { id: "seeds", title: "Capacity or luck?", control: "seeds", build: (r) => void new SeedsView(app, fields, theme, r, server) },
    { id: "data", title: "Your data", control: "ownData", build: (r) => (data = new OwnDataView(app, plane, r, open("data"), server)) },
    { id: "views", title: "Other views", control: "views", build: (r) => viewsView(app, fields, theme, r, open("views")) },
    { id: "timeline", title: "Timeline", control: "timeline", build: (r) => timelineView(app, r, open("timeline")) },
    { id: "batch", title: "Next step", control: "views", build: (r) => batchView(app, r, open("batch")) },
    { id: "compare", title: "A against B", control: "compare", build: (r) => void new CompareView(app, fields, theme, r, open("compare")) },
    { id: "code", title: "Code", control: "code", build: (r) => codeView(app, r, open("code"), server, formats) },
    { id: "challenges", title: "Predict", control: "challenges", build: quiz },
  ], root);
  document.addEventListener("dragover", (e) => e.preventDefault());
  document.addEventListener("drop", (e) => {
    e.preventDefault();
    const file = e.dataTransfer?.files[0];
    if (!file) return;
    workbench.open("data", true);
    data?.take(file);
  });
  return workbench;
}
