// @ts-check
// What the page has to say: one message at a time, with what can be done about it.

import { h, refill } from "./dom.js";

/** @param {import("./app.js").App} app @param {HTMLElement} root */
export function notices(app, root) {
  app.events.on("notice", () => {
    const { notice } = app;
    if (!notice) return refill(root);
    const close = () => app.tell(null);
    refill(root, h("div", { class: `notice ${notice.kind}` },
      h("p", {}, notice.text),
      h("div", { class: "row" },
        (notice.actions ?? []).map(({ label, act }) => h("button", { class: "primary", onclick: () => (close(), act()) }, label)),
        h("button", { "aria-label": "close this message", onclick: close }, "Close"))));
  });
}
