import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseColumns, columnKind, readTable, TableError, toNumber, writeTable } from "../../../src/pellucid/playground/static/page/csv.js";

const refused = (text, message) => assert.throws(() => readTable(text), (e) => e instanceof TableError && message.test(e.message));

test("commas, semicolons, tabs and bars; with a header and without", () => {
  for (const sep of [",", ";", "\t", "|"]) {
    const table = readTable(["a", "b", "c"].join(sep) + "\n" + [1, 2, "x"].join(sep) + "\r\n" + [3, 4, "y"].join(sep));
    assert.deepEqual(table.columns, ["a", "b", "c"]);
    assert.deepEqual(table.rows, [["1", "2", "x"], ["3", "4", "y"]]);
  }
  const bare = readTable("1,2\n3,4\n");
  assert.deepEqual(bare.columns, ["column 1", "column 2"]);
  assert.equal(bare.rows.length, 2);
});

test("quotes hold separators, line ends and quotes", () => {
  const table = readTable('name,note\n"a, b","line\nbreak"\n"say ""hi""",c\n');
  assert.deepEqual(table.rows, [["a, b", "line\nbreak"], ['say "hi"', "c"]]);
  assert.deepEqual(readTable(writeTable(table.columns, table.rows)).rows, table.rows);
});

test("decimal commas with semicolons", () => {
  const table = readTable("x;y\n1,5;2,25\n-0,5;1e3\n");
  assert.equal(table.separator, ";");
  assert.deepEqual(table.rows.map((r) => r.map(toNumber)), [[1.5, 2.25], [-0.5, 1000]]);
});

test("what is no number is null", () => {
  for (const text of ["", "abc", "1.2.3", "1e", "0x10", "Infinity", "nan", "1 2", "--1", "1e999"]) assert.equal(toNumber(text), null, text);
  for (const [text, value] of [["1.", 1], [".5", 0.5], ["+3", 3], ["−2", -2], [" 7 ", 7]]) assert.equal(toNumber(text), value);
});

test("refusals say what is wrong", () => {
  refused("", /no rows/);
  refused("a,b\n", /no rows/);
  refused("a\n1\n", /one column only/);
  refused("a,b\n1,2\n3\n", /row 3 has 1 cells where the first has 2/);
  refused("a,b\0\n", /not text/);
  refused("x".repeat(5_000_001), /characters/);
});

test("columns become points and classes", () => {
  const table = readTable("x,y,kind\n1,2,b\n3,4,a\n5,,a\n7,8,b\n9,1,a\n");
  assert.deepEqual(columnKind(table, 1), { numeric: true, missing: 1, distinct: 4 });
  const chosen = chooseColumns(table, [0, 1], 2, true, 100, 10);
  assert.deepEqual(chosen.classes, ["a", "b"]);
  assert.deepEqual(chosen.y, [1, 0, 1, 0]);
  assert.equal(chosen.leftOut, 1);
  assert.throws(() => chooseColumns(table, [0, 2], 1, false, 100, 10), /“b” in column “kind” is no number/);
  assert.throws(() => chooseColumns(table, [0, 1], 2, false, 100, 10), /is no number/);
  const many = readTable("x,y\n" + Array.from({ length: 12 }, (_, i) => `${i},c${i}`).join("\n"));
  assert.throws(() => chooseColumns(many, [0], 1, true, 100, 10), /12 different values; at most 10/);
});
