// @ts-check
// What Python or an exported folder gives the page to start with: a link, a state, rows, a network.

import { fromText } from "./links.js";
import { floatsToText } from "./packing.js";
import { uniforms } from "./random.js";
import { columnsOf, needsScaling, standardised, standardisedRows } from "./scaling.js";
import { readState } from "./state.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Named} Named */
/** @typedef {import("./app.js").App} App */
/**
 * @typedef {{name: string, widths: number[], hidden: Named[], output: Named, parameters: number[],
 *   likelihood: Named | null, feature_names: string[] | null, classes: string[] | null, notes: string[]}} GivenNetwork
 * @typedef {{name: string, columns: string[], X: number[][], target: string, task: string, y: number[],
 *   classes: string[] | null, notes: string[]}} GivenTable
 * @typedef {{format: number, link: string | null, state: unknown, network: GivenNetwork | null,
 *   table: GivenTable | null, lessons: string[], server: {save: string[]} | null}} Start
 */

const LONGEST_NAME = 60;
const ROWS = 64; // that stand in where a network comes without any
/** Data sets with so many classes, for a network of two inputs. @type {Record<number, string>} */
const BY_CLASSES = { 2: "spirals", 3: "penguins", 4: "blobs", 10: "ten_clouds" };

/** The start document that the head of the page names; null where it names none. @returns {Promise<Start | null>} */
export async function startDocument() {
  const place = document.querySelector('meta[name="pellucid-start"]')?.getAttribute("content");
  if (!place) return null;
  const answer = await fetch(place);
  if (!answer.ok) throw new Error(`what the page should start with could not be loaded (${answer.status}).`);
  return answer.json();
}

/**
 * The state that a start document asks for; null where it asks for none.
 * @param {Start} start
 * @returns {Promise<State | null>}
 */
export async function stateOf({ link, state, network, table }) {
  if (link) return fromText(`#${link}`);
  if (state) return readState(state);
  if (!network && !table) return null;
  return readState({ version: 1, ...(network ? layersOf(network) : {}), data: dataOf(network, table) });
}

/** @param {GivenNetwork} network */
function layersOf({ widths, hidden, parameters, likelihood }) {
  const d_out = widths[widths.length - 1];
  const usual = { name: d_out === 1 ? "auto" : "categorical", parameters: [] };
  return {
    hidden: hidden.map((activation, l) => ({ units: widths[l + 1], activation })),
    likelihood: likelihood ?? usual,
    start: floatsToText(Float32Array.from(parameters)),
  };
}

/** @param {GivenNetwork | null} network @param {GivenTable | null} table */
function dataOf(network, table) {
  if (table) return { own: ownRows(network ? table : scaled(table)) };
  const { widths, likelihood } = /** @type {GivenNetwork} */ (network);
  const [d_in, d_out] = [widths[0], widths[widths.length - 1]];
  const labels = likelihood ? ["categorical", "bernoulli"].includes(likelihood.name) : d_out > 1;
  const k = labels ? Math.max(2, d_out) : 0;
  if (d_in === 1 && !labels) return { name: "sine" };
  if (d_in === 2 && !labels) return { name: "hills" };
  if (d_in === 2 && k in BY_CLASSES) return { name: BY_CLASSES[k] };
  return { own: standIn(/** @type {GivenNetwork} */ (network), d_in, k), test: 0 };
}

/** What has to be standardised of rows that no network was trained on. @param {GivenTable} table */
const toScale = ({ X, y, classes }) => ({ inputs: needsScaling(columnsOf(X)), target: !classes && needsScaling([y]) });

/** @param {GivenTable} table @returns {GivenTable} */
function scaled(table) {
  const { inputs, target } = toScale(table);
  return { ...table, X: inputs ? standardisedRows(table.X) : table.X, y: target ? standardised(table.y) : table.y };
}

/** @param {GivenTable} table */
function scalingNote(table) {
  const { inputs, target } = toScale(table);
  const what = [inputs ? "The inputs" : "", target ? "the target" : ""].filter(Boolean).join(" and ");
  if (!what) return [];
  return [`${what[0].toUpperCase()}${what.slice(1)} ${inputs ? "were" : "was"} standardised (mean 0, deviation 1).`];
}

/** @param {GivenTable} table */
const ownRows = ({ name, columns, X, target, y, classes }) => ({
  title: short(name, 80),
  columns: columns.map((c) => short(c)),
  target: short(target),
  classes: classes?.map((c) => short(c)) ?? null,
  X,
  y,
});

/** Random rows without meaning, for a network of a shape that no data set has. @param {GivenNetwork} network @param {number} d_in @param {number} k classes, 0: a number */
function standIn({ feature_names, classes }, d_in, k) {
  const u = uniforms(0);
  return {
    title: "random rows (the network came without any)",
    columns: (feature_names ?? Array.from({ length: d_in }, (_, j) => `x${j + 1}`)).map((c) => short(c)),
    target: "y",
    classes: k ? (classes ?? Array.from({ length: k }, (_, c) => `${c}`)).map((c) => short(c)) : null,
    X: Array.from({ length: ROWS }, () => Array.from({ length: d_in }, () => 2 * u() - 1)),
    y: Array.from({ length: ROWS }, (_, i) => (k ? i % k : 0)),
  };
}

/** @param {string} text @param {number} [longest] */
const short = (text, longest = LONGEST_NAME) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);

/** Says what a visitor should know of what was opened. @param {App} app @param {Start} start */
export function tellStart(app, { network, table }) {
  if (network && String(app.widths()) !== String(network.widths)) {
    const given = network.widths.join("-");
    const text = `The network ${network.name} has the widths ${given}, and these rows need ${app.widths().join("-")}: its weights were not taken.`;
    return app.tell({ kind: "error", text });
  }
  const notes = [...(network?.notes ?? []), ...(table?.notes ?? []), ...(table && !network ? scalingNote(table) : [])];
  if (notes.length) app.tell({ kind: "info", text: notes.join(" ") });
  return undefined;
}
