// @ts-check
// Puts the page together: engine, data, controller, views.

import { Engine } from "../engine/engine.js";
import { keepAddress } from "./address.js";
import { App } from "./app.js";
import { CurvesView } from "./curves_view.js";
import { DataPanel } from "./data_panel.js";
import { byId, h } from "./dom.js";
import { openExamples, openLessons } from "./examples.js";
import { Fields } from "./fields.js";
import { Health } from "./health.js";
import { hiding } from "./hiding.js";
import { Inspector } from "./inspector.js";
import { mountLessons } from "./lessons.js";
import { fromText } from "./links.js";
import { NetworkView } from "./network_view.js";
import { notices } from "./notices.js";
import { PlanePanel } from "./plane_panel.js";
import { mountQuiz } from "./quiz.js";
import { openShare } from "./share.js";
import { startDocument, stateOf, tellStart } from "./start.js";
import { usualState } from "./state.js";
import { summary } from "./summary.js";
import { Theme } from "./theme.js";
import { makeWorkbench } from "./tools.js";
import { toolsBar } from "./tools_bar.js";
import { trainingPanel } from "./training_panel.js";
import { transport } from "./transport.js";
import { UnitCard } from "./unit_card.js";

/**
 * The state of the address or of the start document, or a fresh one with what is wrong with them.
 * @param {import("./start.js").Start | null} start
 */
async function firstState(start) {
  try {
    const state = (await fromText(location.hash)) ?? (start && (await stateOf(start)));
    return { state: state ?? usualState(), wrong: "" };
  } catch (error) {
    return { state: usualState(), wrong: `The link could not be opened: ${error instanceof Error ? error.message : error}` };
  }
}

/** What the server or an export says in the head of the page. @param {string} name */
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";

/** @param {any} tables with what the page looks up by name */
function prepared(tables) {
  const straight = tables.activations.filter((/** @type {any} */ a) => a.is_piecewise_linear);
  return { ...tables, piecewise: new Set(straight.map((/** @type {any} */ a) => a.name)) };
}

async function main() {
  byId("not-started").remove();
  const engine = await Engine.open();
  const base = new URL("..", import.meta.url);
  const [tables, sources, start] = await Promise.all([
    engine.tables(),
    fetch(new URL("datasets.json", base)).then((r) => r.json()),
    startDocument(),
  ]);
  const { state, wrong } = await firstState(start);
  const app = new App(engine, prepared(tables), sources);
  await app.open(state, "start");
  app.forgetStart();
  /** @type {import("./lessons.js").LessonsView | null} */
  let lessonsView = null;
  const theme = new Theme(() => app.events.emit("theme"));
  const fields = new Fields(app);
  const health = new Health(app);
  notices(app, byId("notices"));
  transport(app, byId("transport"));
  toolsBar(app, theme, byId("tools"), {
    share: () => openShare(app),
    presets: () => openExamples(app, (tab) => workbench.open(tab)),
    lessons: () => lessonsView && openLessons(lessonsView),
  });
  const data = new DataPanel(app, theme, byId("data"));
  data.onown = () => workbench.open("data", true);
  trainingPanel(app, byId("training"));
  const network = new NetworkView(app, fields, theme, health, byId("network"));
  new UnitCard(app, health, network, byId("network"));
  new CurvesView(app, fields, theme, byId("curves"));
  const plane = new PlanePanel(app, fields, theme, byId("plane"));
  new Inspector(app, fields, plane.view, byId("inspector"));
  const server = meta("pellucid-server");
  const quiz = (/** @type {HTMLElement} */ root) => {
    const section = h("section", { id: "quiz", "aria-label": "Predict, then reveal" });
    root.append(section);
    mountQuiz(app, section);
  };
  const parts = { app, fields, health, theme, network, plane: plane.view, server, formats: start?.server?.save ?? [], quiz };
  const workbench = makeWorkbench(parts, byId("workbench"));
  plane.view.onenter = () => workbench.open("worked", true);
  summary(app, fields, health, byId("summary"));
  hiding(app, () => workbench.mend());
  keepAddress(app, (text) => app.tell({ kind: "error", text }));
  app.announce();
  if (start) tellStart(app, start);
  if (wrong) app.tell({ kind: "error", text: wrong });
  lessonsView = await mountLessons(app, byId("lessons"));
  document.documentElement.dataset.ready = "true";
  Object.assign(window, { pellucid: app }); // for the curious, and for tests
}

main().catch((error) => {
  const box = byId("notices");
  box.textContent = `The playground could not start: ${error.message}`;
  console.error(error);
});
