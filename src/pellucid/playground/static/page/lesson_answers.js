// @ts-check
// Answers to questions: read kindly, graded by comparing with what the engine computed.

/**
 * One question. `answer` holds numbers, of a choice the index; a number counts as right where it is
 * no farther off than `tolerance`.
 * @typedef {{text: string, form: "number" | "numbers" | "choice", choices?: string[], answer: number[],
 *   tolerance?: number, hint?: string, expected?: string, explanation?: string}} Question
 */

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * The numbers in a text such as "(2, 3/4)", "2 x 3" or "-0.5; 1"; null where one cannot be read.
 * @param {string} text
 * @returns {number[] | null}
 */
function readNumbers(text) {
  const words = text
    .replaceAll("−", "-")
    .replace(/[()[\]{}×x]/gi, " ")
    .split(/[\s,;]+/)
    .filter(Boolean);
  const found = words.map(readNumber);
  return found.length && found.every((v) => Number.isFinite(v)) ? found : null;
}

/** @param {string} word @returns {number} */
function readNumber(word) {
  const parts = word.split("/");
  if (parts.length === 2) return readNumber(parts[0]) / readNumber(parts[1]);
  const power = word.split("^");
  if (power.length === 2) return readNumber(power[0]) ** readNumber(power[1]);
  return NUMBER.test(word) ? Number(word) : NaN;
}

/**
 * @param {Question} question @param {string | number} given text, or the index of a choice
 * @returns {{understood: boolean, right: boolean}}
 */
export function grade(question, given) {
  const numbers = typeof given === "number" ? [given] : readNumbers(given);
  if (numbers === null || numbers.length !== question.answer.length) {
    return { understood: false, right: false };
  }
  const allowed = question.form === "choice" ? 0 : question.tolerance ?? 1e-9;
  return { understood: true, right: numbers.every((v, i) => Math.abs(v - question.answer[i]) <= allowed) };
}

/** The answer in words. @param {Question} question */
export function expected(question) {
  if (question.expected) return question.expected;
  if (question.form === "choice") return question.choices?.[question.answer[0]] ?? "";
  return question.answer.map((v) => String(Number(v.toPrecision(6)))).join(", ");
}
