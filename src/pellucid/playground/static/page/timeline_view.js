// @ts-check
// Back and forth in time: checkpoints of the run, actions of the visitor, branches.

import { h, newId, refill, say, set } from "./dom.js";
import { figure, whole } from "./format.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app @param {HTMLElement} root @param {() => boolean} isOpen */
export function timelineView(app, root, isOpen) {
  const id = newId("scrub");
  const where = h("output", { for: id });
  const scrub = h("input", { id, type: "range", min: 0, max: 0, step: 1, "data-test": "scrub" });
  const list = h("ol", { class: "moments" });
  root.append(
    h("div", { class: "field slider" }, h("label", { for: id }, "Scrub through the run"), where, scrub,
      h("small", { class: "help" }, "Every stop holds the exact weights and all that the optimizer remembers. Train from an earlier one, and a branch begins; the old one stays.")),
    h("h3", {}, "What was done"), list);
  let moving = Promise.resolve();
  scrub.addEventListener("input", () => {
    const checkpoint = app.track.all[Number(scrub.value)];
    if (checkpoint) moving = moving.then(() => app.rewind(checkpoint));
  });
  const stops = () => {
    const { all } = app.track;
    set(scrub, "max", Math.max(0, all.length - 1));
    const step = app.snapshot().step;
    let at = all.length - 1;
    while (at > 0 && all[at].step > step) at--;
    if (document.activeElement !== scrub || app.running) scrub.value = String(Math.max(0, at));
    const text = `step ${whole(step)}, loss ${figure(app.snapshot().training_loss, 4)}`;
    say(where, text);
    set(scrub, "aria-valuetext", text);
  };
  const moments = () => {
    const { history } = app;
    const line = new Set(history.line());
    refill(list, history.all().map((m) => {
      const run = m.content.run;
      const here = m === history.present;
      return h("li", { class: `${here ? "here" : ""}${line.has(m) ? "" : " aside"}` },
        h("button", { class: "small", "aria-current": here ? "step" : null, disabled: here, onclick: () => app.goTo(m.id) }, m.label),
        h("span", { class: "quiet" }, run ? ` step ${whole(run.step)}, loss ${figure(run.loss)}` : " (weights no longer kept: starts anew)", line.has(m) ? "" : " (another branch)"));
    }));
  };
  const show = () => {
    if (!isOpen()) return;
    stops();
    moments();
  };
  app.events.on("history", show);
  app.events.on("snapshot", app.frames.once(() => isOpen() && stops()));
  return { show };
}
