// @ts-check
// The full verdict of `pellucid.diagnose`, where Python serves the page: asked for, told as it comes,
// given up when the visitor says so.

import { h, refill, say } from "./dom.js";
import { inputRows } from "./problem.js";

/** @typedef {import("./app.js").App} App */

/** The rows and the recipe as the server takes them. @param {App} app @param {number} steps @param {number} budget seconds */
export function question(app, steps, budget) {
  const state = app.state();
  const { problem } = app;
  const names = app.features();
  const flat = inputRows(problem.points, state, problem);
  const X = Array.from({ length: problem.n }, (_, i) => Array.from(flat.subarray(i * names.length, (i + 1) * names.length)));
  const job = app.job();
  return {
    table: { name: problem.title, columns: names, X, target: problem.target, task: problem.task, y: Array.from(problem.y), classes: problem.classes, notes: [] },
    recipe: {
      hidden: state.hidden.map((l) => l.units), activation: state.hidden.length ? state.hidden.map((l) => written(l.activation)) : "relu", optimizer: job.optimizer.name,
      learning_rate: job.optimizer.learning_rate, steps, batch_size: job.batch_size || null, weight_decay: job.weight_decay, schedule: "constant", standardize: false,
    },
    seed: state.seed,
    budget,
  };
}

/** As Python reads it: leaky_relu(0.1). @param {import("./state.js").Named} activation */
const written = ({ name, parameters }) => (parameters.length ? `${name}(${parameters.join(",")})` : name);

/** @param {App} app @param {HTMLElement} root @param {string} server address of the server's calls @param {() => number} steps */
export function verdictCall(app, root, server, steps) {
  const text = h("pre", { hidden: true, tabindex: "0", "aria-label": "verdict", "data-test": "diagnosis" });
  const status = h("p", { class: "quiet", role: "status" });
  /** @type {AbortController | null} */
  let running = null;
  const button = h("button", { "data-test": "diagnose", onclick: () => (running ? running.abort() : ask()) }, "Ask diagnose for its verdict");
  root.append(h("div", { class: "row" }, button, status), text);
  const ask = async () => {
    running = new AbortController();
    button.textContent = "Stop";
    text.hidden = true;
    try {
      const body = JSON.stringify(question(app, steps(), 60));
      const answer = await fetch(`${server}verdict`, { method: "POST", headers: { "content-type": "application/json" }, body, signal: running.signal });
      if (!answer.ok) throw new Error((await answer.json()).error);
      for await (const line of lines(answer)) {
        if (line.error) throw new Error(line.error);
        if (line.queued) say(status, `waiting: ${line.queued} before it`);
        if (line.stage) say(status, `${line.stage}: ${Math.round(100 * line.done)} %`);
        if (line.text) {
          text.hidden = false;
          refill(text, line.text);
          say(status, "");
        }
      }
    } catch (error) {
      say(status, running.signal.aborted ? "stopped." : `No verdict: ${error instanceof Error ? error.message : error}`);
    } finally {
      running = null;
      button.textContent = "Ask diagnose for its verdict";
    }
  };
}

/** Objects of JSON, one a line. @param {Response} answer @returns {AsyncGenerator<any>} */
async function* lines(answer) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const parts = rest.split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part.trim()) yield JSON.parse(part);
    if (done) break;
  }
}
