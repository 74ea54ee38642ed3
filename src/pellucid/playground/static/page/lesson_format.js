// @ts-check
// What a file of a lesson may hold; lessons.py of the package checks the same form.

import { choice, integer, list, number, optional, record, StateError, text } from "./schema.js";
import { HIDEABLE } from "./state.js";

export const WIDGETS = /** @type {const} */ ([
  "linear", "collapse", "gates", "hinges", "tent", "gradients", "symmetry",
]);
export const GENERATED = /** @type {const} */ ([
  "parameter-count", "weight-shape", "gradient-shape", "side", "blocked", "active-units",
  "regions-bound", "loss-of-point",
]);
export const MEASURES = /** @type {const} */ ([
  "training_loss", "validation_loss", "units", "parameters", "hidden_layers", "step",
]);
const HUGE = 1e300;

/** Settings by name that are checked elsewhere. */
const anything = {
  usual: () => /** @type {Record<string, unknown>} */ ({}),
  /** @param {unknown} value @param {string} path */
  read(value, path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new StateError(`${path} needs settings by name.`);
    }
    return /** @type {Record<string, unknown>} */ (value);
  },
};
const measure = () => optional(number(0, -HUGE, HUGE));
const goal = record({
  training_loss: measure(),
  validation_loss: measure(),
  units: measure(),
  parameters: measure(),
  hidden_layers: measure(),
  step: measure(),
});
const question = record({
  ask: text("", 1000),
  choices: optional(list(text("", 400), 2, 10)),
  answer: optional(integer(0, 0, 9)),
  number: optional(number(0, -HUGE, HUGE)),
  tolerance: number(1e-9, 0, HUGE),
  explain: text("", 2000),
  generated: optional(choice("side", GENERATED)),
  goal: optional(goal),
});
const step = record({
  title: text("", 120),
  text: text("", 5000),
  state: optional(anything),
  show: optional(list(choice("data", HIDEABLE), 0, 64)),
  widget: optional(choice("linear", WIDGETS)),
  question: optional(question),
});
const lesson = record({
  format: integer(0, 1, 1), // it has to be said
  order: number(1000, -HUGE, HUGE),
  title: text("", 120),
  about: text("", 400),
  steps: list(step, 1, 50),
});

/** @typedef {ReturnType<typeof lesson.read>} Lesson */
/** @typedef {Lesson["steps"][number]} Step */
/** @typedef {NonNullable<Step["question"]>} LessonQuestion */
/** @typedef {NonNullable<LessonQuestion["goal"]>} Goal */

/**
 * A checked lesson. Throws StateError with one clear sentence.
 * @param {unknown} value
 * @returns {Lesson}
 */
export function readLesson(value) {
  const found = lesson.read(value, "");
  if (found.format !== 1) throw new StateError("the lesson needs the format 1.");
  if (!found.title) throw new StateError("the lesson needs a title.");
  found.steps.forEach((s, i) => checkStep(s, `steps[${i}]`));
  return found;
}

/** @param {Step} s @param {string} where */
function checkStep(s, where) {
  if (!s.text) throw new StateError(`${where}.text needs to be a text.`);
  const q = s.question;
  if (!q) return;
  const kinds = [q.choices, q.number, q.generated, q.goal].filter((v) => v !== null);
  if (kinds.length !== 1) {
    throw new StateError(`${where}.question needs exactly one of choices, number, generated and goal.`);
  }
  if (!q.generated && !q.ask) throw new StateError(`${where}.question.ask needs to be a text.`);
  if (q.choices && (q.answer === null || q.answer >= q.choices.length)) {
    throw new StateError(`${where}.question.answer needs the place of the right choice, from 0.`);
  }
  if (q.goal && Object.values(q.goal).every((v) => v === null)) {
    throw new StateError(`${where}.question.goal needs one of ${MEASURES.join(", ")}.`);
  }
}
