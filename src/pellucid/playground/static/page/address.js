// @ts-check
// The address bar keeps the settings, so that a reload or a bookmark loses nothing.

import { fromText, LONGEST_LINK, toHash } from "./links.js";

const WAIT = 800; // milliseconds after the last change

/** @param {import("./app.js").App} app @param {(wrong: string) => void} tell */
export function keepAddress(app, tell) {
  let timer = 0;
  let own = location.hash;
  let written = false; // then undo must write, too, even where it is back at the start
  const write = async () => {
    if (location.hash.startsWith("#lesson=")) return;
    const hash = await toHash({ ...app.state(), run: null });
    own = hash.length > LONGEST_LINK ? "" : hash;
    written = true;
    window.history.replaceState(null, "", own || location.pathname + location.search);
  };
  app.events.on("history", () => {
    window.clearTimeout(timer);
    if (app.history.present.parent || written) timer = window.setTimeout(write, WAIT);
  });
  window.addEventListener("hashchange", async () => {
    if (location.hash === own || !location.hash.startsWith("#s=")) return;
    try {
      const state = await fromText(location.hash);
      if (state) await app.open(state, "opened a link");
    } catch (error) {
      tell(`The link could not be opened: ${error instanceof Error ? error.message : error}`);
    }
  });
}
