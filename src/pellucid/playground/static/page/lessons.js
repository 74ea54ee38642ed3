// @ts-check
// Lessons: a file with text, states of the page, widgets and questions, one step after another.

import { h, refill, say } from "./dom.js";
import { readLesson } from "./lesson_format.js";
import { makeQuestion } from "./lesson_questions.js";
import { paragraphs } from "./lesson_text.js";
import { goalView, questionView } from "./question.js";
import { readState } from "./state.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./lesson_format.js").Lesson} Lesson */
/** @typedef {import("./lesson_format.js").Step} Step */
/** @typedef {{file: string, title: string, about: string}} Entry */

/** @type {Record<import("./lesson_format.js").Lesson["steps"][number]["widget"] & string, () => Promise<{mount: (element: HTMLElement, app: App) => Promise<() => void>}>>} */
const WIDGETS = {
  linear: () => import("../widgets/linear.js"),
  collapse: () => import("../widgets/collapse.js"),
  gates: () => import("../widgets/gates.js"),
  hinges: () => import("../widgets/hinges.js"),
  tent: () => import("../widgets/tent.js"),
  gradients: () => import("../widgets/gradients.js"),
  symmetry: () => import("../widgets/symmetry.js"),
};
const FOLDER = new URL("../lessons/", import.meta.url);

/**
 * Opens in an element the lesson that is chosen, or that the address names.
 * @param {App} app @param {HTMLElement} element
 */
export async function mountLessons(app, element) {
  const view = new LessonsView(app, element);
  await view.list();
  const follow = () => view.follow(location.hash);
  addEventListener("hashchange", follow);
  await follow();
  if (!view.lesson && app.state().lesson) await view.open(app.state().lesson, 0, false);
  return view;
}

export class LessonsView {
  /** @type {Lesson | null} */
  lesson = null;
  id = "";
  place = 0;
  /** @type {Entry[]} */
  entries = [];
  /** @type {(() => void)[]} */
  #cleanups = [];

  /** @param {App} app @param {HTMLElement} element */
  constructor(app, element) {
    this.app = app;
    this.body = h("article", { class: "lesson-body", hidden: true });
    this.problem = h("p", { class: "lesson-problem", role: "status" });
    element.classList.add("panel", "lesson-panel");
    element.append(this.body, this.problem);
  }

  /** Finds out which lessons there are; the header lists them. */
  async list() {
    const answer = await fetch(new URL("index.json", FOLDER));
    this.entries = answer.ok ? await answer.json() : [];
  }

  /** @param {string} hash as in "#lesson=tent" or "#lesson=tent&step=2" */
  async follow(hash) {
    const asked = new URLSearchParams(hash.slice(1));
    const id = asked.get("lesson");
    if (id !== null) await this.open(id, Number(asked.get("step") ?? 1) - 1 || 0);
  }

  /**
   * @param {string} id @param {number} [place] from 0 @param {boolean} [takesState]
   */
  async open(id, place = 0, takesState = true) {
    this.#clean();
    say(this.problem, "");
    try {
      const answer = await fetch(new URL(`${encodeURIComponent(id)}.json`, FOLDER));
      if (!answer.ok) throw new Error(`there is no lesson “${id}”.`);
      this.lesson = readLesson(await answer.json());
      this.id = id;
      const at = Math.min(Math.max(0, place), this.lesson.steps.length - 1);
      const before = this.lesson.steps.slice(0, at).findLast((s) => s.state);
      if (before && takesState && !this.lesson.steps[at].state) await this.#take(before);
      await this.show(at, takesState);
    } catch (error) {
      this.close();
      say(this.problem, `This lesson cannot be opened: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {number} place @param {boolean} [takesState] */
  async show(place, takesState = true) {
    if (!this.lesson) return;
    this.#clean();
    this.place = place;
    const step = this.lesson.steps[place];
    if (step.state && takesState) await this.#take(step);
    this.app.show(step.show);
    this.body.hidden = false;
    const heading = h("h2", { tabindex: -1 }, this.lesson.title);
    const [widget, question] = [await this.#widget(step), await this.#question(step)];
    refill(this.body, heading, this.#steps(),
      h("div", { class: "lesson-side" },
        h("div", { class: "lesson-text" }, step.title && h("h3", {}, step.title), paragraphs(step.text), question),
        widget),
      this.#buttons());
    if (place > 0) heading.focus();
  }

  /** Opens the state of a step. @param {Step} step */
  #take(step) {
    const title = this.lesson?.title ?? "lesson";
    return this.app.open(readState({ version: 1, ...step.state, lesson: this.id }), title);
  }

  close() {
    this.#clean();
    this.lesson = null;
    this.app.show(null);
    this.body.hidden = true;
    if (location.hash.startsWith("#lesson=")) history.replaceState(null, "", location.pathname + location.search);
  }

  #steps() {
    const n = this.lesson?.steps.length ?? 1;
    return h("p", { class: "lesson-place" }, `Step ${this.place + 1} of ${n}`);
  }

  #buttons() {
    const last = (this.lesson?.steps.length ?? 1) - 1;
    const button = (/** @type {string} */ text, /** @type {() => void} */ act, disabled = false) =>
      h("button", { type: "button", onclick: act, disabled }, text);
    return h("div", { class: "lesson-buttons" },
      button("Back", () => this.show(this.place - 1), this.place === 0),
      button("Next", () => this.show(this.place + 1), this.place === last),
      button("End the lesson", () => this.close()));
  }

  /** @param {Step} step */
  async #widget(step) {
    if (!step.widget) return null;
    const element = h("div", { class: `widget widget-${step.widget}` });
    const { mount } = await WIDGETS[step.widget]();
    this.#cleanups.push(await mount(element, this.app));
    return element;
  }

  /** @param {Step} step */
  async #question(step) {
    const q = step.question;
    if (!q) return null;
    if (q.goal) {
      const view = goalView(this.app, q.ask, q.goal, q.explain);
      this.#cleanups.push(view.close);
      return view.element;
    }
    if (q.generated) return questionView(await makeQuestion(this.app, q.generated, Date.now() % 1e9));
    if (q.choices) {
      return questionView({ text: q.ask, form: "choice", choices: q.choices, answer: [q.answer ?? 0], explanation: q.explain });
    }
    return questionView({ text: q.ask, form: "number", answer: [q.number ?? 0], tolerance: q.tolerance, explanation: q.explain });
  }

  #clean() {
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
  }
}
