import assert from "node:assert/strict";
import { test } from "node:test";
import { needsScaling, standardised, standardisedRows } from "../../../src/pellucid/playground/static/page/scaling.js";

test("columns of any unit come to mean 0 and deviation 1; a constant stays finite", () => {
  const X = [[1.6, 50, 7], [1.8, 90, 7], [1.7, 70, 7]];
  assert.ok(needsScaling([[50, 90, 70]]));
  assert.ok(needsScaling([[1.6, 1.8, 1.7]]));
  assert.ok(!needsScaling([[-1, 0, 1], [0, 1, 0]]));
  const scaled = standardisedRows(X);
  assert.deepEqual(scaled.map((row) => row[2]), [0, 0, 0]);
  for (const j of [0, 1]) {
    const column = scaled.map((row) => row[j]);
    assert.ok(Math.abs(column.reduce((a, b) => a + b)) < 1e-6);
    assert.ok(Math.abs(column.reduce((a, b) => a + b * b, 0) / 3 - 1) < 1e-6);
  }
  assert.deepEqual(standardised([5, 5]), [0, 0]);
});
