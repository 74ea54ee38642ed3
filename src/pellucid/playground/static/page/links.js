// @ts-check
// States as links and as files. A link is the address with the state behind the #; nothing is sent.

import { squeeze, unsqueeze } from "./packing.js";
import { StateError } from "./schema.js";
import { compact, readState } from "./state.js";

/** @typedef {import("./state.js").State} State */

export const LONGEST_LINK = 16_000; // characters; longer ones break in mail and chat
const KEY = "s=";

/** @param {State} state */
export async function toHash(state) {
  return `#${KEY}${await squeeze(JSON.stringify(compact(state)))}`;
}

/**
 * @param {State} state @param {string} page address without a hash
 */
export const toLink = async (state, page) => page + (await toHash(state));

/**
 * The state of a link, of its part behind the #, or of a file's text; null where there is none.
 * @param {string} given
 * @returns {Promise<State | null>}
 */
export async function fromText(given) {
  const text = given.trim();
  if (text.startsWith("{")) return readState(parsed(text));
  const hash = text.includes("#") ? text.slice(text.indexOf("#") + 1) : text;
  if (!hash) return null;
  if (hash.startsWith(KEY)) {
    let json;
    try {
      json = await unsqueeze(hash.slice(KEY.length));
    } catch {
      throw new StateError("this link is cut off or damaged; copy it again as a whole.");
    }
    return readState(parsed(json));
  }
  return null;
}

/** @param {string} text @returns {unknown} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new StateError("this is no state of the playground: it is not JSON.");
  }
}

/** @param {State} state */
export const toFile = (state) => `${JSON.stringify(compact(state), null, 1)}\n`;
