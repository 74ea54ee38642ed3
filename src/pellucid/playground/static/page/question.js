// @ts-check
// One question on the page: think, answer, then see.

import { h, newId, refill, say } from "./dom.js";
import { figure, whole } from "./format.js";
import { expected, grade } from "./lesson_answers.js";
import { inline } from "./lesson_text.js";

/** @typedef {import("./lesson_answers.js").Question} Question */
/** @typedef {import("./app.js").App} App */
/** @typedef {import("./lesson_format.js").Goal} Goal */

const LETTERS = "abcdefghij";

/**
 * @param {Question} question
 * @param {(right: boolean | null) => void} [answered] null: the answer was shown
 * @returns {HTMLElement}
 */
export function questionView(question, answered = () => {}) {
  const told = h("p", { class: "quiz-told", role: "status" });
  let open = true;
  /** @param {string} text @param {boolean | null} right */
  const close = (text, right) => {
    if (!open) return;
    open = false;
    for (const control of form.querySelectorAll("input, button")) set(control);
    say(told, `${text} ${question.explanation ?? ""}`.trim());
    told.classList.add(right ? "quiz-right" : "quiz-wrong");
    answered(right);
  };
  const fields = question.form === "choice" ? choices(question) : line(question);
  const form = h("form", { class: "quiz-question", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = fields.given();
    if (given === null) return say(told, "Choose an answer first.");
    const found = grade(question, given);
    if (!found.understood) return say(told, `That could not be read: ${needs(question)}.`);
    close(found.right ? "Right." : `No: ${expected(question)}.`, found.right);
  } },
    h("p", { class: "quiz-text", id: fields.labelId }, inline(question.text)),
    fields.element,
    h("div", { class: "quiz-buttons" },
      h("button", { type: "submit" }, "Check"),
      h("button", { type: "button", onclick: () => close(`The answer is ${expected(question)}.`, null) }, "Show the answer"),
    ),
    told,
  );
  return form;
}

/** @param {Element} control */
const set = (control) => control.setAttribute("disabled", "");

/** @param {Question} question */
function needs(question) {
  const n = question.answer.length;
  return n === 1 ? "give one number, such as 12, 0.25 or 1/4" : `give ${n} numbers with commas between them`;
}

/** @param {Question} question */
function choices(question) {
  const labelId = newId("question");
  const name = newId("choice");
  const element = h("div", { class: "quiz-choices", role: "radiogroup", "aria-labelledby": labelId },
    (question.choices ?? []).map((choice, i) => {
      const id = newId("option");
      return h("div", { class: "quiz-choice" },
        h("input", { type: "radio", name, id, value: i }),
        h("label", { for: id }, `${LETTERS[i]}) `, inline(choice)));
    }));
  const given = () => {
    const chosen = /** @type {HTMLInputElement | null} */ (element.querySelector("input:checked"));
    return chosen ? Number(chosen.value) : null;
  };
  return { element, labelId, given };
}

/** @param {Question} question */
function line(question) {
  const labelId = newId("question");
  const input = h("input", { type: "text", class: "quiz-line", autocomplete: "off", "aria-labelledby": labelId, placeholder: question.hint ?? "" });
  return { element: input, labelId, given: () => (input.value.trim() ? input.value : null) };
}

// ---- golf

/** @type {Record<keyof Goal, {label: string, of: (app: App) => number}>} */
const MEASURES = {
  training_loss: { label: "training loss", of: (app) => app.snapshot().training_loss },
  validation_loss: { label: "test loss", of: (app) => app.snapshot().validation_loss },
  units: { label: "hidden units", of: (app) => app.state().hidden.reduce((sum, l) => sum + l.units, 0) },
  parameters: { label: "parameters", of: (app) => app.parameters().length },
  hidden_layers: { label: "hidden layers", of: (app) => app.state().hidden.length },
  step: { label: "updates", of: (app) => app.snapshot().step },
};

/**
 * A goal for the run at hand, measured as it goes.
 * @param {App} app @param {string} ask @param {Goal} goal @param {string} explain
 * @param {(right: boolean) => void} [answered]
 * @returns {{element: HTMLElement, close: () => void}}
 */
export function goalView(app, ask, goal, explain, answered = () => {}) {
  const asked = /** @type {[keyof Goal, number][]} */ (Object.entries(goal).filter(([, most]) => most !== null));
  const table = h("ul", { class: "quiz-goal" });
  const told = h("p", { class: "quiz-told", role: "status" });
  let reached = false;
  const measure = () => {
    const rows = asked.map(([name, most]) => ({ ...MEASURES[name], most, now: MEASURES[name].of(app) }));
    const sign = (/** @type {number} */ v) => (Number.isInteger(v) ? whole(v) : figure(v));
    refill(table, rows.map((r) =>
      h("li", { class: r.now <= r.most ? "quiz-met" : "quiz-open" },
        `${r.now <= r.most ? "✓" : "○"} ${r.label}: ${sign(r.now)}, at most ${sign(r.most)}`)));
    if (reached || !rows.every((r) => r.now <= r.most)) return;
    reached = true;
    say(told, `Reached. ${explain}`.trim());
    told.classList.add("quiz-right");
    answered(true);
  };
  const stop = [app.onsnapshot(measure), app.events.on("state", measure)];
  measure();
  return {
    element: h("div", { class: "quiz-question" }, h("p", { class: "quiz-text" }, inline(ask)), table, told),
    close: () => stop.forEach((end) => end()),
  };
}
