// @ts-check
// Predict, then reveal: questions about the network at hand, golf, and those of the course.

import { h, refill, say } from "./dom.js";
import { makeQuestion } from "./lesson_questions.js";
import { goalView, questionView } from "./question.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./lesson_format.js").Goal} Goal */

const BANK = new URL("../lessons/bank/questions.json", import.meta.url);
const NO_GOAL = { training_loss: null, validation_loss: null, units: null, parameters: null, hidden_layers: null, step: null };

/** @type {{title: string, ask: string, goal: Goal}[]} */
const GOLF = [
  { title: "Rings, few units", ask: "Data `concentric`: a training loss of at most 0.1 with as few hidden units as you can. Par is 4.", goal: { ...NO_GOAL, training_loss: 0.1, units: 4 } },
  { title: "Spirals, few parameters", ask: "Data `spirals`: a test loss of at most 0.2 with at most 130 parameters.", goal: { ...NO_GOAL, validation_loss: 0.2, parameters: 130 } },
  { title: "XOR in a hurry", ask: "Data `xor`: a training loss of at most 0.1 within 300 updates.", goal: { ...NO_GOAL, training_loss: 0.1, step: 300 } },
];

/** @param {App} app @param {HTMLElement} element */
export function mountQuiz(app, element) {
  const score = { right: 0, asked: 0 };
  const told = h("p", { class: "quiz-score", role: "status" });
  const place = h("div", { class: "quiz-place" });
  let close = () => {};
  let seed = 1;
  /** @param {HTMLElement} view @param {() => void} [end] */
  const put = (view, end = () => {}) => {
    close();
    close = end;
    refill(place, view);
    /** @type {HTMLElement | null} */ (view.querySelector("input"))?.focus();
  };
  const count = (/** @type {boolean | null} */ right) => {
    score.asked += 1;
    score.right += right ? 1 : 0;
    say(told, `${score.right} of ${score.asked} right`);
  };
  const golf = (/** @type {number} */ i) => {
    const view = goalView(app, GOLF[i].ask, GOLF[i].goal, "", count);
    put(view.element, view.close);
  };
  const button = (/** @type {string} */ text, /** @type {() => void} */ act) =>
    h("button", { type: "button", onclick: act }, text);
  element.classList.add("quiz-panel");
  element.append(
    h("h2", {}, "Predict, then reveal"),
    h("div", { class: "quiz-buttons" },
      button("A question about this network", async () => {
        await app.pause();
        put(questionView(await makeQuestion(app, null, seed++), count));
      }),
      button("A question of the course", async () => put(questionView(await ofTheBank(), count))),
      GOLF.map((g, i) => button(`Golf: ${g.title}`, () => golf(i)))),
    place, told);
}

/** @type {Promise<import("./lesson_answers.js").Question[]> | null} */
let bank = null;

/** One of the questions that `pellucid quiz` asks, with numbers that were drawn before. */
async function ofTheBank() {
  bank ??= fetch(BANK).then((answer) => answer.json()).then((found) => found.questions);
  const questions = await bank;
  return questions[Math.floor(Math.random() * questions.length)];
}
