import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sequential, trainingScript } from "../../../src/pellucid/playground/static/page/code.js";
import { decimal, factor, figure, listed, whole } from "../../../src/pellucid/playground/static/page/format.js";
import { judgeLayer, proportion } from "../../../src/pellucid/playground/static/page/health.js";
import { countParameters, likelihoodOf, makeJob, widthsOf } from "../../../src/pellucid/playground/static/page/job.js";
import { networkLayout } from "../../../src/pellucid/playground/static/page/network_layout.js";
import { makeProblem } from "../../../src/pellucid/playground/static/page/problem.js";
import { toSafetensors } from "../../../src/pellucid/playground/static/page/safetensors.js";
import { judgeSeeds } from "../../../src/pellucid/playground/static/page/seeds_verdict.js";
import { readState, usualState } from "../../../src/pellucid/playground/static/page/state.js";

const sources = JSON.parse(readFileSync(new URL("../../../src/pellucid/playground/static/datasets.json", import.meta.url), "utf8"));

test("numbers are written as the walkthrough writes them", () => {
  assert.equal(decimal(1.6), "1.6");
  assert.equal(decimal(0.18349), "0.1835");
  assert.equal(decimal(-0.5), "−0.5");
  assert.equal(factor(-0.5), "(−0.5)");
  assert.equal(decimal(1 / 3), "0.3333");
  assert.equal(figure(0.000012345), "1.23e-5".replace("-", "−"));
  assert.equal(figure(NaN), "undefined");
  assert.equal(whole(1234567), "1\u202f234\u202f567");
  assert.equal(listed(["a", "b", "c"]), "a, b and c");
});

test("every data set makes a problem: the same one for the same seed", () => {
  for (const name of Object.keys(sources)) {
    const state = readState({ data: { name } });
    const [a, b] = [makeProblem(state, sources), makeProblem(state, sources)];
    assert.deepEqual(a, b);
    assert.equal(a.train.length + a.test.length, a.n);
    assert.equal(new Set([...a.train, ...a.test]).size, a.n);
    const inside = [...a.points].every((v, i) => v >= a.low[i % a.d] && v <= a.high[i % a.d]);
    assert.ok(inside, name);
    const other = makeProblem(readState({ data: { name, seed: 1 } }), sources);
    assert.notDeepEqual(a.train, other.train);
  }
});

test("the outputs follow the likelihood", () => {
  const of = (partial) => {
    const state = readState(partial);
    const problem = makeProblem(state, sources);
    return [likelihoodOf(state, problem).name, widthsOf(state, problem).at(-1)];
  };
  assert.deepEqual(of({}), ["bernoulli", 1]);
  assert.deepEqual(of({ likelihood: { name: "categorical" } }), ["categorical", 2]);
  assert.deepEqual(of({ data: { name: "ten_clouds" } }), ["categorical", 10]);
  assert.deepEqual(of({ data: { name: "ten_clouds" }, likelihood: { name: "bernoulli" } }), ["categorical", 10]);
  assert.deepEqual(of({ data: { name: "plane" } }), ["gaussian", 1]);
  assert.deepEqual(of({ data: { name: "plane" }, likelihood: { name: "quantile" } }), ["quantile", 3]);
  assert.deepEqual(of({ data: { name: "plane" }, likelihood: { name: "poisson" } }), ["gaussian", 1]);
});

test("a job has rows and parameters of the right sizes", () => {
  const state = readState({ features: ["x1", "x1*x2", "sin x2"] });
  const problem = makeProblem(state, sources);
  const job = makeJob(state, problem, new Float32Array(3));
  assert.deepEqual(job.widths, [3, 8, 8, 1]);
  assert.equal(countParameters(job.widths), 3 * 8 + 8 + 8 * 8 + 8 + 8 + 1);
  assert.equal(job.rows.X.length, 3 * job.rows.n);
  assert.equal(job.rows.n, problem.train.length);
  assert.equal(job.validation?.n, problem.test.length);
});

test("dead, always on, saturated and doubled units are found, and others are not", () => {
  const n = 50;
  const z = Float32Array.from({ length: n * 4 }, (_, i) => [-1, 2, Math.sin(i), 2 * Math.sin(i - 1)][i % 4]);
  const verdicts = (a, f) => judgeLayer(z, z.map(f), 4, a, 0).map((j) => j.verdict);
  assert.deepEqual(verdicts("relu", (v) => Math.max(0, v)), ["dead", "always on", "well", "double"]);
  const far = z.map((v) => 9 * v);
  assert.equal(judgeLayer(far, far.map(Math.tanh), 4, "tanh", 0)[1].verdict, "saturated");
  assert.equal(proportion(Float32Array.of(1, 2), Float32Array.of(2, 4)), 0.5);
  assert.equal(proportion(Float32Array.of(1, 2), Float32Array.of(2, 4.1)), null);
});

test("units do not overlap, whatever the widths", () => {
  for (const widths of [[2, 1], [2, 8, 8, 1], [7, 16, 3], [2, 64, 64, 64, 10], [2, ...Array(8).fill(128), 1]]) {
    const { columns, tile, input, width, height } = networkLayout(widths, 600);
    const all = columns.flat();
    assert.equal(all.length, widths.reduce((a, b) => a + b));
    for (const { x, y } of all) assert.ok(x > 0 && x < width && y > 0 && y < height);
    columns.forEach((column, l) => {
      const size = l === 0 ? input : tile;
      column.forEach((a, i) => column.slice(i + 1).forEach((b) => assert.ok(Math.hypot(a.x - b.x, a.y - b.y) >= size)));
    });
  }
});

test("a safetensors file says where its numbers are", () => {
  const parameters = Float32Array.from({ length: countParameters([2, 3, 1]) }, (_, i) => i / 7);
  const file = toSafetensors([2, 3, 1], parameters);
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  assert.equal((8 + length) % 8, 0);
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  assert.deepEqual(header["0.weight"].shape, [3, 2]);
  assert.deepEqual(header["2.bias"], { dtype: "F32", shape: [1], data_offsets: [48, 52] });
  assert.equal(new DataView(file.buffer).getFloat32(8 + length + 48, true), parameters[12]);
});

test("code holds every parameter, shortest and exact", () => {
  const state = usualState();
  const problem = makeProblem(state, sources);
  const job = makeJob(state, problem, new Float32Array());
  const parameters = Float32Array.from({ length: countParameters(job.widths) }, (_, i) => Math.sin(i));
  const text = sequential(job, parameters, ["x1", "x2"]);
  const numbers = [...text.matchAll(/tensor\((.*)\)/g)].flatMap((m) => JSON.parse(m[1]).flat());
  assert.deepEqual(Float32Array.from(numbers), parameters);
  assert.match(trainingScript(job, state, problem, 100), /seed=0,\n    optimizer="adam",\n    learning_rate=0.01,\n    steps=100/);
});

test("what many seeds say", () => {
  const problem = { classes: ["a", "b"], y: [0, 1], train: [0, 1] };
  const runs = (losses) => losses.map((loss) => ({ loss, status: "paused" }));
  const say = (own, wider) => judgeSeeds(runs(own), runs(wider), problem).words;
  assert.match(say([0.01, 0.02], [0.01]), /^Every seed fits/);
  assert.match(say([0.01, 0.5], [0.01]), /^Optimization failure/);
  assert.match(say([0.4, 0.5], [0.01]), /^Capacity failure suspected/);
  assert.match(say([0.4, 0.5], [0.3]), /^Undecided/);
  const { evidence } = judgeSeeds([{ loss: NaN, status: "diverged" }, ...runs([0.01])], runs([0.01]), problem);
  assert.match(evidence[0], /1 of 2 seeds fit.*1 diverged/);
});
