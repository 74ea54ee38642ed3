// @ts-check
// A visitor's own rows: pasted, dropped, drawn or typed; and the rows at hand as a file.

import { chooseColumns, columnKind, readTable, TableError, writeTable } from "./csv.js";
import { download } from "./dialog.js";
import { h, refill, say } from "./dom.js";
import { listed, plural } from "./format.js";
import { SHAPE_SIGNS } from "./palette.js";
import { fromText } from "./links.js";
import { RowEditor } from "./row_editor.js";
import { needsScaling, standardised, standardisedRows } from "./scaling.js";
import { kindOf, openNetwork, openTable, readColumns } from "./server_files.js";
import { MOST_CLASSES, MOST_INPUTS, MOST_ROWS } from "./state.js";

/** @typedef {import("./app.js").App} App */

export class OwnDataView {
  /** @type {import("./csv.js").Table | null} */
  table = null;
  drawing = false;
  penClass = h("select", { "aria-label": "class to draw" });

  /** @param {App} app @param {import("./plane_view.js").PlaneView} plane @param {HTMLElement} root @param {() => boolean} isOpen @param {string} server */
  constructor(app, plane, root, isOpen, server) {
    this.app = app;
    this.server = server;
    this.text = h("textarea", { rows: 5, "aria-label": "table as text", placeholder: "x1,x2,class\n0.2,0.7,a\n0.9,0.1,b", "data-test": "csv" });
    const file = h("input", { type: "file", accept: server ? null : ".csv,.tsv,.txt,.json,text/csv", "aria-label": "a file", onchange: () => file.files?.[0] && this.take(file.files[0]) });
    this.wrong = h("p", { class: "warn", role: "alert", "data-test": "csv-error" });
    this.picker = h("div", { class: "picker" });
    this.pen = h("div", { class: "row" });
    root.append(
      h("div", { class: "two" },
        h("div", { class: "stack" }, h("h3", {}, "Bring a table"),
          h("p", { class: "quiet" }, `Drop a CSV file anywhere on the page, choose one, or paste its text.${server ? " Parquet files and networks (ONNX, PyTorch, safetensors, …) are read too." : ""} It stays on your machine.`),
          file, this.text, h("div", { class: "row" }, h("button", { class: "primary", "data-test": "read-csv", onclick: () => this.read(this.text.value, "pasted table") }, "Read the text")),
          this.wrong, this.picker),
        h("div", { class: "stack" }, h("h3", {}, "Draw points"), this.pen, h("h3", {}, "Rows"), (this.editorRoot = h("div", {})),
          h("div", { class: "row" }, h("button", { onclick: () => this.#export(), "data-test": "export-points" }, "Save the rows as CSV")))));
    this.editor = new RowEditor(app, this.editorRoot, isOpen);
    plane.ondraw = (point) => this.#draw(point);
    app.events.on("state", () => this.#pen());
    this.#pen();
  }

  show = () => this.editor.show();

  /** Reads a file that was chosen or dropped. @param {File} file */
  async take(file) {
    if (file.size > 20_000_000) return say(this.wrong, `Not read: ${file.name} has ${Math.round(file.size / 1e6)} MB; at most 20 are read here.`);
    const kind = kindOf(file.name);
    try {
      if (kind === "state") await this.#state(await file.text());
      else if (kind === "text" || !this.server) this.read(await file.text(), file.name);
      else if (kind === "network") await openNetwork(this.app, this.server, file);
      else this.#chooseTarget(file, (await readColumns(this.server, file)).columns);
    } catch (error) {
      say(this.wrong, `Not read: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** A saved state of the playground. @param {string} text */
  async #state(text) {
    const state = await fromText(text);
    if (state) await this.app.open(state, "opened a file");
  }

  /** Of a table that Python reads: which column to predict. @param {File} file @param {{name: string}[]} columns */
  #chooseTarget(file, columns) {
    const target = h("select", { "aria-label": "target column" }, columns.map((c) => h("option", { value: c.name, selected: c === columns.at(-1) }, c.name)));
    const use = h("button", { class: "primary", onclick: () => openTable(this.app, this.server, file, target.value).catch((e) => say(this.wrong, `Not read: ${e.message}`)) }, "Use this target");
    refill(this.picker, h("p", {}, `${plural(columns.length, "column")}. Target: `), target, use);
  }

  /** @param {string} text @param {string} name */
  read(text, name) {
    say(this.wrong, "");
    try {
      this.table = readTable(text);
      this.#choose(this.table, name);
    } catch (error) {
      this.table = null;
      refill(this.picker);
      if (!(error instanceof TableError)) throw error;
      say(this.wrong, `Not read: ${error.message}`);
    }
  }

  /** Which columns are inputs and target; sensible ones are chosen already. @param {import("./csv.js").Table} table @param {string} name */
  #choose(table, name) {
    const kinds = table.columns.map((_, j) => columnKind(table, j));
    const numeric = kinds.flatMap((k, j) => (k.numeric && k.distinct > 1 ? [j] : []));
    const last = table.columns.length - 1;
    const named = table.columns.findIndex((c) => /^(class|label|target|y|species)$/i.test(c));
    const firstText = kinds.findIndex((k) => !k.numeric && k.distinct <= MOST_CLASSES);
    const target = named >= 0 ? named : firstText >= 0 ? firstText : last;
    const inputs = new Set(numeric.filter((j) => j !== target).slice(0, 2));
    const option = (/** @type {string} */ c, /** @type {number} */ j) => h("option", { value: j, selected: j === target }, c);
    const targetField = h("select", { "aria-label": "target column", onchange: () => asClasses.checked = likely(Number(targetField.value)) }, table.columns.map(option));
    const likely = (/** @type {number} */ j) => !kinds[j].numeric || kinds[j].distinct <= Math.min(MOST_CLASSES, 10);
    const asClasses = h("input", { type: "checkbox", checked: likely(target) });
    const scale = h("input", { type: "checkbox", checked: needsScaling([...inputs, ...(asClasses.checked ? [] : [target])].map((j) => numbersOf(table, j))) });
    const boxes = numeric.map((j) => h("label", { class: "check" }, h("input", {
      type: "checkbox", checked: inputs.has(j), onchange: (/** @type {any} */ e) => (e.target.checked ? inputs.add(j) : inputs.delete(j)),
    }), table.columns[j]));
    const use = h("button", { class: "primary", "data-test": "use-columns", onclick: () => this.#use(table, name, [...inputs].sort((a, b) => a - b), Number(targetField.value), asClasses.checked, scale.checked) }, "Use these columns");
    refill(this.picker,
      h("p", {}, `${plural(table.rows.length, "row")}, ${plural(table.columns.length, "column")}. Inputs (up to ${MOST_INPUTS}; the picture shows two):`),
      h("div", { class: "checks" }, boxes), h("div", { class: "row" }, "Target ", targetField, h("label", { class: "check" }, asClasses, "its values are classes")),
      h("label", { class: "check" }, scale, "standardise the inputs, and a target of numbers (mean 0, deviation 1)"), use);
  }

  /** @param {import("./csv.js").Table} table @param {string} title @param {number[]} inputs @param {number} target @param {boolean} asClasses @param {boolean} scale */
  #use(table, title, inputs, target, asClasses, scale) {
    try {
      const used = inputs.filter((j) => j !== target);
      if (!used.length) throw new TableError("choose at least one input column that is not the target.");
      if (used.length > MOST_INPUTS) throw new TableError(`${used.length} inputs are chosen; at most ${MOST_INPUTS} are taken.`);
      const { X, y, classes, columns, target: name, leftOut, cut } = chooseColumns(table, used, target, asClasses, MOST_ROWS, MOST_CLASSES);
      const notes = [leftOut ? `${plural(leftOut, "row")} with empty cells left out` : "", cut ? `${plural(cut, "row")} beyond the first ${MOST_ROWS} left out` : ""].filter(Boolean);
      const own = { title: title.slice(0, 80), columns: columns.map((c) => c.slice(0, 60)), target: name.slice(0, 60), classes: classes?.map((c) => c.slice(0, 60)) ?? null, X: scale ? standardisedRows(X) : X, y: scale && !classes ? standardised(y) : y };
      this.adopt(own, `data: ${title}`);
      say(this.wrong, notes.length ? `${listed(notes)}.` : "");
    } catch (error) {
      if (!(error instanceof TableError)) throw error;
      say(this.wrong, `Not used: ${error.message}`);
    }
  }

  /** @param {import("./state.js").OwnData} own @param {string} label */
  adopt(own, label) {
    return this.app.change(label, (s) => {
      s.data.own = own;
      s.data.noise = 0;
      s.likelihood = { name: "auto", parameters: [] };
      s.probe = null;
      s.view.axes = [0, 1];
      s.view.zoom = 1;
      s.start = null;
    });
  }

  /** The pen: which class a click on the picture draws. */
  #pen() {
    const { app } = this;
    const { problem } = app;
    const canDraw = problem.d <= 2;
    const toggle = h("button", { "aria-pressed": String(this.drawing), disabled: !canDraw, "data-test": "draw", onclick: () => {
      this.drawing = !this.drawing;
      this.#pen();
    } }, this.drawing ? "Drawing: click the picture" : "Draw on the picture");
    const classes = problem.classes ?? [];
    const chosen = Math.max(0, this.penClass.selectedIndex);
    refill(this.penClass, classes.map((c, k) => h("option", { value: k, selected: k === chosen }, `${SHAPE_SIGNS[k % 10]} ${c}`)));
    const blank = h("button", { onclick: () => this.adopt({ title: "drawn points", columns: ["x1", "x2"], target: "class", classes: ["0", "1"], X: [[-0.8, -0.8], [0.8, 0.8]], y: [0, 1] }, "a blank sheet") }, "Blank sheet");
    refill(this.pen, toggle, classes.length ? this.penClass : null, blank);
  }

  /** @param {number[]} point @returns {boolean} whether the click was taken */
  #draw(point) {
    const { problem } = this.app;
    if (!this.drawing || problem.d > 2) return false;
    const y = problem.classes ? Number(this.penClass.value) : problem.d === 1 ? point[1] : 0;
    const own = this.editor.own();
    own.X = [...own.X, point.slice(0, problem.d).map((v) => Number(v.toFixed(4)))];
    own.y = [...own.y, Number(y.toFixed(4))];
    this.adopt(own, "a point drawn");
    return true;
  }

  #export() {
    const { problem } = this.app;
    const inTest = new Set(problem.test);
    const rows = Array.from({ length: problem.n }, (_, i) => [
      ...problem.points.subarray(i * problem.d, (i + 1) * problem.d),
      problem.classes ? problem.classes[problem.y[i]] : problem.y[i],
      inTest.has(i) ? "test" : "train",
    ]);
    download("points.csv", writeTable([...problem.columns, problem.target, "part"], rows), "text/csv");
  }
}

/** The numbers of a column. @param {import("./csv.js").Table} table @param {number} j */
const numbersOf = (table, j) => table.rows.map((r) => Number(r[j].replace(",", "."))).filter(Number.isFinite);
