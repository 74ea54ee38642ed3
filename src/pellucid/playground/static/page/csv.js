// @ts-check
// Reading tables that a visitor pastes or drops: separated text, with quotes, in any usual form.

/** What is wrong with a table, in words for its owner. */
export class TableError extends Error {}

const LARGEST_TEXT = 5_000_000; // characters
export const MOST_COLUMNS = 200;
const SEPARATORS = [",", ";", "\t", "|"];

/**
 * @typedef {{columns: string[], rows: string[][], separator: string}} Table
 */

/** @param {string} text @returns {Table} */
export function readTable(text) {
  if (text.length > LARGEST_TEXT) {
    throw new TableError(`the text has ${text.length} characters; at most ${LARGEST_TEXT} are read.`);
  }
  if (text.includes("\0")) throw new TableError("this file is not text.");
  const body = text.replace(/^\uFEFF/, "");
  const separator = bestSeparator(body);
  const lines = split(body, separator).filter((row) => row.some((cell) => cell.trim() !== ""));
  if (!lines.length) throw new TableError("there are no rows.");
  const width = lines[0].length;
  if (width < 2) throw new TableError("there is one column only; a table needs an input and a target.");
  if (width > MOST_COLUMNS) throw new TableError(`there are ${width} columns; at most ${MOST_COLUMNS} are read.`);
  const ragged = lines.findIndex((row) => row.length !== width);
  if (ragged > 0) {
    const n = lines[ragged].length;
    throw new TableError(`row ${ragged + 1} has ${n} cells where the first has ${width}.`);
  }
  const headed = lines[0].some((cell) => cell.trim() !== "" && toNumber(cell) === null);
  const columns = headed
    ? unique(lines[0].map((cell, i) => cell.trim() || `column ${i + 1}`))
    : lines[0].map((_, i) => `column ${i + 1}`);
  const rows = lines.slice(headed ? 1 : 0).map((row) => row.map((cell) => cell.trim()));
  if (!rows.length) throw new TableError("there are column names but no rows.");
  return { columns, rows, separator };
}

/**
 * A cell as a number: 1.5, -2e3, 1,5 (comma as the decimal point); null where it is none.
 * @param {string} cell
 */
export function toNumber(cell) {
  const text = cell.trim().replace("−", "-");
  const plain = /^[+-]?\d+,\d+(e[+-]?\d+)?$/i.test(text) ? text.replace(",", ".") : text;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return null;
  const value = Number(plain);
  return Number.isFinite(value) ? value : null;
}

/** @param {string} text */
function bestSeparator(text) {
  const head = text.slice(0, 20_000).split(/\r\n|\r|\n/).filter((l) => l.trim()).slice(0, 20);
  let best = ",";
  let score = -1;
  for (const separator of SEPARATORS) {
    const counts = head.map((line) => split(line, separator)[0]?.length ?? 0);
    const even = counts.every((c) => c === counts[0]);
    const points = counts[0] > 1 ? counts[0] + (even ? 1000 : 0) : -1;
    if (points > score) [best, score] = [separator, points];
  }
  return best;
}

/**
 * Rows of cells; a quoted cell may hold separators, line ends and doubled quotes (RFC 4180).
 * @param {string} text @param {string} separator
 */
function split(text, separator) {
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (c === '"' && cell === "") {
      quoted = true;
    } else if (c === separator) {
      row.push(cell);
      cell = "";
    } else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else {
      cell += c;
    }
  }
  if (cell !== "" || row.length) rows.push([...row, cell]);
  return rows;
}

/** @param {string[]} names */
function unique(names) {
  const seen = new Map();
  return names.map((name) => {
    const n = seen.get(name) ?? 0;
    seen.set(name, n + 1);
    return n ? `${name} (${n + 1})` : name;
  });
}

/**
 * What a column could be: an input, a regression target, classes.
 * @param {Table} table @param {number} j
 */
export function columnKind(table, j) {
  const cells = table.rows.map((row) => row[j]);
  const missing = cells.filter((cell) => cell === "").length;
  const numeric = cells.every((cell) => cell === "" || toNumber(cell) !== null);
  const values = new Set(cells.filter((cell) => cell !== ""));
  return { numeric, missing, distinct: values.size };
}

/**
 * Rows of chosen columns as points and targets; rows with an empty cell there are left out.
 * @param {Table} table @param {number[]} inputs one or two columns @param {number} target
 * @param {boolean} asClasses @param {number} mostRows @param {number} mostClasses
 */
export function chooseColumns(table, inputs, target, asClasses, mostRows, mostClasses) {
  const used = [...inputs, target];
  const full = table.rows.filter((row) => used.every((j) => row[j] !== ""));
  const leftOut = table.rows.length - full.length;
  const rows = full.slice(0, mostRows);
  if (rows.length < 4) throw new TableError(`only ${rows.length} rows are complete; at least 4 are needed.`);
  const X = rows.map((row) => inputs.map((j) => numeric(table, row, j)));
  const base = { X, leftOut, cut: full.length - rows.length, columns: inputs.map((j) => table.columns[j]), target: table.columns[target] };
  if (!asClasses) return { ...base, y: rows.map((row) => numeric(table, row, target)), classes: null };
  const classes = [...new Set(rows.map((row) => row[target]))].sort(naturally);
  if (classes.length < 2) throw new TableError(`“${table.columns[target]}” holds one class only.`);
  if (classes.length > mostClasses) {
    throw new TableError(
      `“${table.columns[target]}” has ${classes.length} different values; at most ${mostClasses} classes can be shown. ` +
        "Is it a number to predict?",
    );
  }
  return { ...base, y: rows.map((row) => classes.indexOf(row[target])), classes };
}

/** @param {Table} table @param {string[]} row @param {number} j */
function numeric(table, row, j) {
  const value = toNumber(row[j]);
  if (value === null) throw new TableError(`“${row[j]}” in column “${table.columns[j]}” is no number.`);
  return value;
}

/** @param {string} a @param {string} b */
const naturally = (a, b) => a.localeCompare(b, "en", { numeric: true });

/**
 * @param {string[]} columns @param {(string | number)[][]} rows
 */
export function writeTable(columns, rows) {
  const cell = (/** @type {string | number} */ v) =>
    /[",\r\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v);
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
