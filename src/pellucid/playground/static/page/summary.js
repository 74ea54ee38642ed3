// @ts-check
// The state of things in one sentence, now and then, for those who listen instead of look.

import { figure, listed, plural, whole } from "./format.js";

const EVERY = 4000; // milliseconds

/** @param {import("./app.js").App} app @param {import("./fields.js").Fields} fields @param {import("./health.js").Health} health @param {HTMLElement} root */
export function summary(app, fields, health, root) {
  let last = 0;
  let timer = 0;
  const tell = () => {
    timer = 0;
    last = performance.now();
    root.textContent = sentence(app, fields, health);
  };
  const soon = () => {
    if (!timer) timer = window.setTimeout(tell, Math.max(300, last + EVERY - performance.now()));
  };
  for (const name of /** @type {const} */ (["snapshot", "regions", "status", "state"])) app.events.on(name, soon);
}

/** @param {import("./app.js").App} app @param {import("./fields.js").Fields} fields @param {import("./health.js").Health} health */
export function sentence(app, fields, health) {
  const s = app.snapshot();
  const parts = [`step ${whole(s.step)}`, `training loss ${figure(s.training_loss)}`];
  if (Number.isFinite(s.validation_loss)) parts.push(`test loss ${figure(s.validation_loss)}`);
  if (fields.regions) parts.push(plural(fields.regions.n, "region"));
  for (const [verdict, n] of health.tally()) parts.push(`${plural(n, "unit")} ${verdict}`);
  return `${app.status}: ${listed(parts)}.`;
}
