// @ts-check
// Train, pause, step, reset; where the run is.

import { h, refill, say, select, set } from "./dom.js";
import { figure, whole } from "./format.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app @param {HTMLElement} root */
export function transport(app, root) {
  const play = h("button", { class: "primary", "data-control": "play", "data-test": "play", title: "Train or pause (space bar)", onclick: () => app.toggle() }, "");
  const reset = h("button", { "data-control": "reset", "data-test": "reset", title: "Back to the same first weights", onclick: () => app.reset() }, "↺ Reset");
  const step = h("button", { "data-control": "step", "data-test": "step", onclick: () => app.step(updates(app)) }, "Step");
  const by = select([["1", "1 update"], ["10", "10"], ["100", "100"], ["epoch", "1 epoch"]], app.state().view.stepBy,
    (v) => app.look((s) => (s.view.stepBy = /** @type {any} */ (v))), { "aria-label": "size of a step", "data-control": "step" });
  const speed = select([["1", "1 update a frame"], ["10", "10 a frame"], ["100", "100 a frame"], ["full", "as fast as it goes"]], app.state().view.speed, async (v) => {
    const wasRunning = app.running;
    if (wasRunning) await app.toggle();
    app.look((s) => (s.view.speed = /** @type {any} */ (v)));
    if (wasRunning) app.play();
  }, { "aria-label": "speed", "data-control": "speed" });
  const steps = h("strong", { "data-test": "step-count" });
  const epoch = h("span", {});
  const rate = h("span", { class: "quiet", "data-test": "speed" });
  refill(root, reset, play, h("span", { class: "joined" }, step, by), speed,
    h("span", { class: "where" }, "step ", steps, h("span", { class: "quiet" }, " · epoch ", epoch), rate));
  let meter = { step: 0, time: 0, speed: 0 };
  const show = app.frames.once(() => {
    const s = app.snapshot();
    say(steps, whole(s.step));
    say(epoch, figure((s.step * batch(app)) / Math.max(1, app.problem.train.length), s.step > 1e4 ? 5 : 3));
    const now = performance.now();
    if (now - meter.time > 500) {
      const speed = meter.time && s.step > meter.step ? ((s.step - meter.step) * 1000) / (now - meter.time) : 0;
      meter = { step: s.step, time: now, speed };
    }
    say(rate, app.running && meter.speed ? ` · ${whole(Number(meter.speed.toPrecision(2)))} updates/s` : "");
  }, 60);
  const status = () => {
    say(play, app.running ? "❚❚ Pause" : "▶ Train");
    set(play, "aria-pressed", String(app.running));
    root.dataset.status = app.status;
    by.value = app.state().view.stepBy;
    speed.value = app.state().view.speed;
  };
  app.events.on("snapshot", show);
  app.events.on("status", () => (status(), show()));
  app.events.on("select", status);
  status();
}

/** @param {App} app */
function batch(app) {
  const b = app.state().training.batch_size;
  return b && b < app.problem.train.length ? b : app.problem.train.length;
}

/** How many updates a press of Step makes. @param {App} app */
function updates(app) {
  const by = app.state().view.stepBy;
  return by === "epoch" ? Math.max(1, Math.ceil(app.problem.train.length / batch(app))) : Number(by);
}
