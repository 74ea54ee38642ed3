// @ts-check
// The network as code and as files, with every digit.

import { networkDocument, sequential, trainingScript } from "./code.js";
import { copyText, download } from "./dialog.js";
import { h, refill } from "./dom.js";
import { toSafetensors, toStateDict } from "./safetensors.js";

/** @typedef {import("./app.js").App} App */

const KINDS = { torch: "PyTorch module", script: "Training script" };

/** @param {App} app @param {HTMLElement} root @param {() => boolean} isOpen @param {string} server address of the server's calls, or "" @param {string[]} formats that the server writes */
export function codeView(app, root, isOpen, server, formats) {
  let kind = /** @type {keyof typeof KINDS} */ ("torch");
  const code = h("pre", { tabindex: "0", "data-test": "code", "aria-label": "code" });
  const tabs = h("span", { class: "joined" });
  const copyButton = h("button", { onclick: () => copyText(code.textContent ?? "", copyButton) }, "Copy");
  const bytes = () => toSafetensors(app.widths(), app.parameters());
  const files = [
    h("button", { onclick: () => download(kind === "torch" ? "network.py" : "train.py", code.textContent ?? "", "text/x-python") }, "Save as .py"),
    h("button", { "data-test": "safetensors", onclick: () => download("network.safetensors", bytes(), "application/octet-stream") }, "state_dict (.safetensors)"),
    h("button", { onclick: () => download("network.json", `${JSON.stringify(toStateDict(app.widths(), app.parameters()))}\n`, "application/json") }, "state_dict (.json)"),
    ...formats.map((format) => h("button", { onclick: () => fromServer(format) }, `.${format}`)),
  ];
  root.append(h("div", { class: "row" }, tabs, copyButton, files), code);
  const fromServer = async (/** @type {string} */ format) => {
    const body = JSON.stringify(networkDocument(app.job(), app.parameters(), app.state(), app.problem));
    const response = await fetch(`${server}save?format=${format}`, { method: "POST", headers: { "content-type": "application/json" }, body });
    if (!response.ok) {
      const { error } = await response.json().catch(() => ({ error: `the server answered ${response.status}.` }));
      app.tell({ kind: "error", text: `Not saved: ${error}` });
      return;
    }
    download(`network.${format}`, await response.arrayBuffer(), "application/octet-stream");
  };
  const show = () => {
    if (!isOpen() || app.running) return;
    refill(tabs, Object.entries(KINDS).map(([name, title]) => h("button", {
      "aria-pressed": String(name === kind), onclick: () => ((kind = /** @type {keyof typeof KINDS} */ (name)), show()),
    }, title)));
    const job = app.job();
    code.textContent = kind === "torch"
      ? sequential(job, app.parameters(), app.features())
      : trainingScript(job, app.state(), app.problem, app.snapshot().step, app.run.mixed);
  };
  for (const name of /** @type {const} */ (["snapshot", "status"])) app.events.on(name, show);
  return { show };
}
