// @ts-check
// Dialogs of the browser's own kind: Escape closes them, the focus stays inside.

import { h } from "./dom.js";

/**
 * @param {string} title @param {...(Node | null)} children
 * @returns {HTMLDialogElement}
 */
export function openDialog(title, ...children) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const close = h("button", { class: "small", "aria-label": "close", onclick: () => dialog.close() }, "×");
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, h("div", { class: "panel-head" }, heading, close), ...children);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Offers bytes or text as a file. @param {string} name @param {BlobPart} content @param {string} type */
export function download(name, content, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const a = h("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {string} text @param {HTMLElement} button told what became of it */
export async function copyText(text, button) {
  const before = button.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied ✓";
  } catch {
    button.textContent = "Select the text and copy it";
  }
  setTimeout(() => (button.textContent = before), 1600);
}
