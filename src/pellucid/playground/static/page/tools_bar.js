// @ts-check
// Undo, redo, share, presets, light or dark.

import { h, refill, set } from "./dom.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app @param {import("./theme.js").Theme} theme @param {HTMLElement} root @param {{share: () => void, presets: () => void, lessons: () => void}} open */
export function toolsBar(app, theme, root, open) {
  const undo = h("button", { "data-control": "undo", "data-test": "undo", title: "Undo (Ctrl+Z)", "aria-label": "undo", onclick: () => app.undo() }, "↶");
  const redo = h("button", { "data-control": "undo", "data-test": "redo", title: "Redo (Ctrl+Shift+Z)", "aria-label": "redo", onclick: () => app.redo() }, "↷");
  const share = h("button", { "data-control": "share", "data-test": "share", onclick: open.share }, "Share");
  const presets = h("button", { "data-test": "presets", onclick: open.presets }, "Examples");
  const lessons = h("button", { "data-test": "lessons", onclick: open.lessons }, "Lessons");
  const mode = h("button", { "aria-label": "light or dark", title: "Light or dark", onclick: () => theme.toggle() }, "◐");
  refill(root, h("span", { class: "joined" }, undo, redo), lessons, presets, share, mode);
  const sync = () => {
    const { history } = app;
    undo.disabled = !history.canUndo;
    redo.disabled = !history.canRedo;
    set(undo, "title", history.canUndo ? `Undo: ${history.present.label} (Ctrl+Z)` : "Nothing to undo");
    const next = history.present.children.at(-1);
    set(redo, "title", next ? `Redo: ${next.label} (Ctrl+Shift+Z)` : "Nothing to redo");
  };
  app.events.on("history", sync);
  sync();
  document.addEventListener("keydown", (e) => {
    const typing = e.target instanceof HTMLInputElement && ["text", "number", "search"].includes(e.target.type);
    if (typing || e.target instanceof HTMLTextAreaElement) return;
    if (e.key === " " && e.target === document.body) {
      e.preventDefault();
      app.toggle();
    } else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z") {
      e.preventDefault();
      if (e.shiftKey) app.redo();
      else app.undo();
    } else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "y") {
      e.preventDefault();
      app.redo();
    }
  });
}
