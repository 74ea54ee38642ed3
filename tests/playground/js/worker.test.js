// The worker's protocol, with this process in the place of the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

const engine = new URL("../../../src/pellucid/playground/static/engine/", import.meta.url);
const module = await WebAssembly.compile(gunzipSync(readFileSync(new URL("pellucid.wasm.gz", engine))));

/** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
const open = new Map();
/** @type {any[]} */
const snapshots = [];
/** @type {number[]} */
const progress = [];
let next = 1;
/** @type {any} */
const self = {
  /** @param {any} data */
  postMessage(data) {
    if (data.snapshot) return snapshots.push(data.snapshot);
    if (data.progress !== undefined) return progress.push(data.progress);
    const call = open.get(data.id);
    open.delete(data.id);
    return data.error === undefined ? call?.resolve(data.result) : call?.reject(new Error(data.error));
  },
};
/** @type {any} */ (globalThis).self = self;
// Node lets a thousand messages of a port go before a timer; a page does not.
globalThis.MessageChannel = /** @type {any} */ (class {
  port1 = { onmessage: () => {} };
  port2 = { postMessage: () => setImmediate(() => this.port1.onmessage()) };
});
await import(new URL("worker.js", engine).href);
self.onmessage({ data: { module } });

/**
 * @param {string} method
 * @param {...any} args
 * @returns {Promise<any>}
 */
function call(method, ...args) {
  const id = next++;
  return new Promise((resolve, reject) => {
    open.set(id, { resolve, reject });
    self.onmessage({ data: { id, method, args } });
  });
}

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function job(more = {}) {
  const widths = [2, 4, 2];
  const n = 60;
  const X = Float32Array.from({ length: 2 * n }, (_, i) => Math.sin(i * i));
  const labels = Int32Array.from({ length: n }, (_, i) => i % 2);
  return {
    widths,
    hidden: [{ name: "tanh" }],
    likelihood: { name: "categorical" },
    optimizer: { name: "sgd", learning_rate: 0.1 },
    batch_size: 10,
    rows: { X, labels, n },
    parameters: await call("initialize", { widths, seed: 1 }),
    ...more,
  };
}

test("steps, and all records between two answers", async () => {
  assert.equal((await call("load", await job())).step, 0);
  const snapshot = await call("step", 25);
  assert.equal(snapshot.step, 25);
  assert.equal(snapshot.status, "paused");
  assert.deepEqual([...snapshot.records.steps], Array.from({ length: 25 }, (_, i) => i));
});

test("runs flat out, tells once until it is acknowledged, pauses between two steps", async () => {
  await call("load", await job());
  snapshots.length = 0;
  const ended = call("run");
  await sleep(150);
  assert.equal(snapshots.length, 1);
  assert.equal(snapshots[0].status, "running");
  self.onmessage({ data: { acknowledge: true } });
  await sleep(100);
  assert.equal(snapshots.length, 2);
  assert.ok(snapshots[1].step > snapshots[0].step);
  assert.equal(snapshots[1].records.steps[0], snapshots[0].step);
  const state = await call("state");
  assert.ok(state.byteLength > 0);
  const paused = await call("pause");
  assert.deepEqual(await ended, paused);
  assert.ok(paused.updates_per_second > 0);
  await sleep(30);
  assert.equal((await call("pause")).step, paused.step);
});

test("training rests for a page that is late, until it has drawn or for a while", async (t) => {
  /** @type {(() => void)[]} */
  const rests = [];
  const timer = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ f, /** @type {number} */ ms) =>
    String(f).includes("soon") ? rests.push(f) : timer(f, ms));
  const until = async (/** @type {() => boolean} */ done) => {
    for (let tries = 0; !done(); tries++) {
      assert.ok(tries < 2000, "it never came");
      await sleep(1); // the worker's portions are run between two looks
    }
  };
  const bytes = async () => Buffer.from(await call("state"));
  await call("load", await job());
  snapshots.length = 0;
  const ended = call("run");
  await until(() => rests.length === 1);
  const resting = await bytes();
  await sleep(20); // in which it would make hundreds of steps, did it not rest
  assert.deepEqual(await bytes(), resting);

  self.onmessage({ data: { acknowledge: true } });
  await until(() => rests.length === 2);
  assert.equal(snapshots.length, 2);
  const again = await bytes();
  assert.notDeepEqual(again, resting);

  await sleep(110); // longer than LATEST after the snapshot; nothing but the timer that is held back here goes on
  assert.deepEqual(await bytes(), again);
  rests.at(-1)?.();
  await sleep(30); // in which it would rest again after its first portion of about 8 milliseconds
  assert.equal(rests.length, 2); // so long after the snapshot it rests no more
  assert.notDeepEqual(await bytes(), again);
  await call("pause");
  await ended;
});

test("a run of so many steps takes as many", async () => {
  await call("load", await job());
  assert.equal((await call("run", 1234)).step, 1234);
});

test("a state taken from a running training goes on bit for bit", async () => {
  await call("load", await job());
  const ended = call("run");
  await sleep(30);
  const state = await call("state");
  await call("pause");
  await ended;
  const { step } = await call("load", await job(), state);
  const on = await call("step", 100);
  await call("load", await job());
  const whole = await call("step", step + 100);
  assert.equal(whole.step, on.step);
  assert.deepEqual(whole.parameters, on.parameters);
});

test("an edit keeps the step, also while it runs", async () => {
  await call("load", await job());
  await call("step", 5);
  const parameters = await call("initialize", { widths: [2, 4, 2], seed: 9 });
  const edited = await call("edit", parameters);
  assert.equal(edited.step, 5);
  assert.deepEqual(edited.parameters, parameters);
});

test("one of many trains to its end and tells how far it is", async () => {
  progress.length = 0;
  const result = await call("train", await job({ seed: 3 }), 5000);
  assert.equal(result.steps, 5000);
  assert.equal(result.records.steps.length, 5000);
  assert.equal(progress.at(-1), 5000);
  assert.ok(result.loss < Math.log(2) + 0.1);
});

test("divergence ends a run and says where", async () => {
  const wild = await job({
    widths: [2, 1], hidden: [], likelihood: { name: "gaussian" },
    optimizer: { name: "sgd", learning_rate: 1e3 }, record_every: 10,
  });
  const { X, n } = wild.rows;
  wild.rows = { X, n, targets: Float32Array.from({ length: n }, (_, i) => i) };
  wild.parameters = await call("initialize", { widths: [2, 1] });
  await call("load", wild);
  const snapshot = await call("run");
  assert.equal(snapshot.status, "diverged");
  assert.ok(snapshot.diverged_at > 0);
  assert.ok(snapshot.parameters.every(Number.isFinite));
});

test("what cannot be done is answered with a sentence", async () => {
  await assert.rejects(call("load", await job({ widths: [2, 3] })), /activations for 0 hidden layers/);
  await assert.rejects(call("step", 1), /no run is loaded/);
  await assert.rejects(call("nothing"), /has no nothing/);
  await assert.rejects(call("constructor"), /has no constructor/);
  await assert.rejects(call("regions", { widths: [2, 2] }, null, {}), /activations/);
});
