// @ts-check
// The text of a lesson: paragraphs, *emphasis* and `code`; everything else is as it stands.

import { h } from "./dom.js";

/** @param {string} text @returns {HTMLElement[]} */
export const paragraphs = (text) =>
  text.split(/\n\s*\n/).map((part) => h("p", {}, inline(part.replace(/\s*\n\s*/g, " "))));

/** @param {string} text @returns {(string | HTMLElement)[]} */
export function inline(text) {
  return text.split(/(\*[^*\s][^*]*\*|`[^`]+`)/).map((part) => {
    if (part.length > 2 && part.startsWith("*") && part.endsWith("*")) return h("em", {}, part.slice(1, -1));
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) return h("code", {}, part.slice(1, -1));
    return part;
  });
}
