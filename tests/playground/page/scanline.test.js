import assert from "node:assert/strict";
import { test } from "node:test";
import { contour } from "../../../src/pellucid/playground/static/page/contour.js";
import { uniforms } from "../../../src/pellucid/playground/static/page/random.js";
import { fillIds, fillValues, gridPoints, locate, stretch } from "../../../src/pellucid/playground/static/page/scanline.js";

/** A square cut by random lines into convex cells. */
function cells(n, seed) {
  const u = uniforms(seed);
  let all = [[[-1, -1], [1, -1], [1, 1], [-1, 1]]];
  for (let i = 0; i < n; i++) {
    const angle = u() * 2 * Math.PI;
    const [a, b, c] = [Math.cos(angle), Math.sin(angle), u() - 0.5];
    const next = [];
    for (const cell of all) {
      for (const sign of [1, -1]) {
        const v = cell.map(([x, y]) => sign * (a * x + b * y + c));
        const out = [];
        cell.forEach((p, k) => {
          const m = (k + 1) % cell.length;
          if (v[k] >= 0) out.push(p);
          if (v[k] * v[m] < 0) {
            const t = v[k] / (v[k] - v[m]);
            out.push([p[0] + t * (cell[m][0] - p[0]), p[1] + t * (cell[m][1] - p[1])]);
          }
        });
        if (out.length > 2) next.push(out);
      }
    }
    all = next;
  }
  const offsets = Int32Array.from([0, ...all.map(((s) => (c) => (s += c.length))(0))]);
  return { vertices: Float64Array.from(all.flat(2)), offsets, n: all.length };
}

for (const [seed, width, height] of [[1, 100, 100], [2, 333, 217], [3, 64, 200]]) {
  test(`cells of ${seed} cover every pixel, with the cell of its centre`, () => {
    const polygons = cells(25, seed);
    const w = { low: [-1, -1], high: [1, 1], width, height };
    const ids = new Int32Array(width * height);
    fillIds(polygons.vertices, polygons.offsets, w, ids);
    let off = 0;
    for (let r = 0; r < height; r++) {
      for (let c = 0; c < width; c++) {
        const id = ids[r * width + c];
        assert.ok(id >= 0, `pixel ${c}, ${r} is empty`);
        if (id !== locate(polygons, -1 + ((c + 0.5) * 2) / width, 1 - ((r + 0.5) * 2) / height)) off++;
      }
    }
    assert.ok(off <= 2, `${off} pixels differ`); // a centre on a line to rounding
  });
}

test("a window inside, beside and beyond the polygons", () => {
  const polygons = cells(5, 4);
  const ids = new Int32Array(100);
  fillIds(polygons.vertices, polygons.offsets, { low: [2, 2], high: [3, 3], width: 10, height: 10 }, ids);
  assert.ok(ids.every((id) => id === -1));
  fillIds(polygons.vertices, polygons.offsets, { low: [-3, -3], high: [3, 3], width: 10, height: 10 }, ids);
  assert.equal(ids.filter((id) => id >= 0).length, 16); // centres at ±0.3 and ±0.9
});

test("values are those of the maps at the pixels' centres", () => {
  const ids = Int32Array.from([0, 0, 1, -1]);
  const maps = { slopes: Float64Array.of(1, 10, 0, 0, 2, 0, 0, 3), intercepts: Float64Array.of(0.5, 0, 0, 1), outputs: 2 };
  const values = new Float32Array(4);
  const w = { low: [0, 0], high: [2, 2], width: 2, height: 2 };
  fillValues(ids, maps, 0, w, values);
  assert.deepEqual([...values].slice(0, 3), [0.5 + 15 + 0.5, 1.5 + 15 + 0.5, 1]);
  assert.ok(Number.isNaN(values[3]));
  fillValues(ids, maps, 1, w, values);
  assert.equal(values[2], 1.5 + 1);
});

test("a stretched grid keeps constants and linear functions", () => {
  const size = 16;
  const points = gridPoints([0, 0], [1, 1], size);
  const grid = Float32Array.from({ length: size * size }, (_, i) => 2 * points[2 * i] - points[2 * i + 1]);
  const values = new Float32Array(80 * 80);
  stretch(grid, size, 1, 0, 80, 80, values);
  for (let i = 10; i < 70; i++) {
    const [x, y] = [(i + 0.5) / 80, 1 - (40 + 0.5) / 80];
    assert.ok(Math.abs(values[40 * 80 + i] - (2 * x - y)) < 1e-6);
  }
});

test("the contour of a circle has its length", () => {
  const n = 120;
  const grid = Float64Array.from({ length: n * n }, (_, i) => Math.hypot((i % n) - 60, Math.floor(i / n) - 60) - 40);
  const lines = contour(grid, n, n, 0);
  let length = 0;
  for (let i = 0; i < lines.length; i += 4) length += Math.hypot(lines[i] - lines[i + 2], lines[i + 1] - lines[i + 3]);
  assert.ok(Math.abs(length - 2 * Math.PI * 40) < 0.5, String(length));
});
