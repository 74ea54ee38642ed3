// @ts-check
// Files that take Python to read: networks of every format, Parquet tables.

import { stateOf, tellStart } from "./start.js";

/** @typedef {import("./app.js").App} App */

const TABLES = /\.(parquet|feather|arrow)$/i;
const TEXT = /\.(csv|tsv|txt)$/i;
const STATE = /\.json$/i;

/** What a file is, by its name. @param {string} name @returns {"text" | "state" | "table" | "network"} */
export function kindOf(name) {
  if (TEXT.test(name)) return "text";
  if (STATE.test(name)) return "state";
  return TABLES.test(name) ? "table" : "network";
}

/**
 * Opens a network's file, with the rows at hand where they fit it.
 * @param {App} app @param {string} server @param {File} file
 */
export async function openNetwork(app, server, file) {
  const network = await send(`${server}network?name=${encodeURIComponent(file.name)}`, file);
  await open(app, { network, table: null });
}

/** A table's columns, without reading it yet. @param {string} server @param {File} file @returns {Promise<{columns: {name: string, kind: string}[], n_rows: number}>} */
export const readColumns = (server, file) => send(`${server}table?name=${encodeURIComponent(file.name)}`, file);

/** @param {App} app @param {string} server @param {File} file @param {string} target */
export async function openTable(app, server, file, target) {
  const place = `${server}table?name=${encodeURIComponent(file.name)}&target=${encodeURIComponent(target)}`;
  await open(app, { network: null, table: await send(place, file) });
}

/** @param {App} app @param {{network: any, table: any}} given */
async function open(app, given) {
  const start = { format: 1, link: null, state: null, lessons: [], server: null, ...given };
  const state = await stateOf(start);
  if (!state) return;
  await app.open(state, given.network ? `network ${given.network.name}` : `data: ${given.table.name}`);
  tellStart(app, start);
}

/** @param {string} place @param {File} file @returns {Promise<any>} */
async function send(place, file) {
  const answer = await fetch(place, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file });
  const found = await answer.json().catch(() => ({ error: `the server answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(found.error);
  return found;
}
