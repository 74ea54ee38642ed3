import assert from "node:assert/strict";
import { test } from "node:test";
import { fromText, toFile, toHash } from "../../../src/pellucid/playground/static/page/links.js";
import { PRESETS, presetState } from "../../../src/pellucid/playground/static/page/presets.js";
import { StateError } from "../../../src/pellucid/playground/static/page/schema.js";
import { compact, readState, usualState } from "../../../src/pellucid/playground/static/page/state.js";

test("a usual state is compacted to its version and read back", () => {
  assert.deepEqual(compact(usualState()), { version: 1 });
  assert.deepEqual(readState({ version: 1 }), usualState());
});

test("every preset survives a link and a file", async () => {
  for (const preset of PRESETS) {
    const state = presetState(preset);
    assert.deepEqual(await fromText(await toHash(state)), state, preset.id);
    assert.deepEqual(await fromText(`https://example.org/play/index.html${await toHash(state)}`), state);
    assert.deepEqual(await fromText(toFile(state)), state);
  }
});

test("a run in a link comes back byte for byte", async () => {
  const state = usualState();
  state.run = { parameters: "AAAA", state: "AQID", offset: 7 };
  assert.deepEqual((await fromText(await toHash(state)))?.run, state.run);
});

const wrong = [
  [{ trainng: {} }, /trainng is no setting; there are/],
  [{ training: { learning_rate: "fast" } }, /training.learning_rate is "fast"; it needs a number/],
  [{ training: { learning_rate: Infinity } }, /learning_rate/],
  [{ hidden: [{ units: 0 }] }, /hidden\[0\].units is 0; it needs a whole number from 1 to 128/],
  [{ hidden: Array(9).fill({ units: 1 }) }, /hidden is .*; it needs a list of 0 to 8/],
  [{ version: 2 }, /version is 2/],
  [{ hide: ["everything"] }, /hide\[0\] is "everything"; it needs one of/],
  [{ data: { own: { X: [[1, 2]], y: [] } } }, /X has 1 rows and y has 0/],
  [{ data: { own: { X: [[1]], y: [0] } } }, /row 0 has 1 numbers for 2 columns/],
  [{ data: { own: { X: [[1, 2]], y: [2], classes: ["a", "b"] } } }, /y\[0\] is 2; it needs a label from 0 to 1/],
  [null, /the state is null/],
  [[], /the state is \[\]/],
];
for (const [given, message] of wrong) {
  test(`refused with a sentence: ${JSON.stringify(given)?.slice(0, 50)}`, () => {
    assert.throws(() => readState(given), (error) => error instanceof StateError && message.test(error.message));
  });
}

test("damaged links are refused with a sentence, others are no state", async () => {
  const hash = await toHash(usualState());
  for (const bad of ["#s=!!!", hash.slice(0, -3), "#s=", "{not json"]) {
    await assert.rejects(fromText(bad), StateError, bad);
  }
  assert.equal(await fromText(""), null);
  assert.equal(await fromText("#lesson=rings"), null);
  await assert.rejects(fromText('{"version":7}'), /version is 7/);
});

test("a link that unpacks to far too much is refused", async () => {
  const { squeeze } = await import("../../../src/pellucid/playground/static/page/packing.js");
  const bomb = await squeeze(" ".repeat(40_000_000));
  assert.ok(bomb.length < 100_000);
  await assert.rejects(fromText(`#s=${bomb}`), StateError);
});
