import assert from "node:assert/strict";
import { test } from "node:test";
import { Curve, MOST_POINTS } from "../../../src/pellucid/playground/static/page/curve.js";
import { History } from "../../../src/pellucid/playground/static/page/history.js";
import { MOST_CHECKPOINTS, Track } from "../../../src/pellucid/playground/static/page/track.js";

test("undo and redo walk the line; a new action begins a branch", () => {
  const h = new History("start", 0);
  h.push("one", 1);
  h.push("two", 2);
  assert.equal(h.undo().content, 1);
  assert.equal(h.undo().content, 0);
  assert.equal(h.canUndo, false);
  assert.equal(h.undo().content, 0);
  assert.equal(h.redo().content, 1);
  h.push("other", 3);
  assert.equal(h.canRedo, false);
  assert.deepEqual(h.tips().map((m) => m.content).sort(), [2, 3]);
  assert.deepEqual(h.line().map((m) => m.content), [0, 1, 3]);
});

test("going to another branch makes redo follow it", () => {
  const h = new History("start", "a");
  const b = h.push("b", "b");
  h.undo();
  h.push("c", "c");
  h.goTo(b.id);
  assert.equal(h.present.content, "b");
  h.undo();
  assert.equal(h.redo().content, "b");
  assert.equal(h.goTo(99), null);
});

test("the oldest moments are forgotten, the present one never", () => {
  const h = new History("start", 0, 10);
  for (let i = 1; i <= 50; i++) h.push(String(i), i);
  assert.equal(h.present.content, 50);
  assert.ok(h.all().length <= 10);
  for (let i = 0; i < 20; i++) h.undo();
  assert.equal(h.canUndo, false);
});

test("a curve stays small, keeps its ends, and can be cut", () => {
  const curve = new Curve();
  for (let i = 0; i < 20_000; i++) curve.add(i, 1 / (i + 1), NaN);
  assert.ok(curve.length <= MOST_POINTS + 1);
  assert.equal(curve.steps[0], 0);
  assert.equal(curve.steps.at(-1), 19_999);
  const part = curve.upTo(500);
  assert.ok(part.steps.every((s) => s <= 500));
  curve.add(19_999, 7, NaN);
  assert.equal(curve.losses.at(-1), 7);
  curve.add(3, 1, NaN);
  assert.equal(curve.steps.at(-1), 19_999);
});

test("checkpoints stay in order and few", () => {
  const track = new Track();
  const at = (step) => ({ step, loss: 0, test: 0, state: new ArrayBuffer(1), parameters: new Float32Array(1), kind: "", offset: 0 });
  for (let step = 0; step < 100_000; step++) if (track.wants(step)) track.add(at(step));
  assert.ok(track.all.length <= MOST_CHECKPOINTS);
  assert.ok(track.all.every((c, i, all) => i === 0 || all[i - 1].step < c.step));
  track.add(at(50));
  assert.ok(track.has(50));
  assert.equal(track.upTo(50).last, 50);
});
