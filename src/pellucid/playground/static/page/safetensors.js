// @ts-check
// Weights as a safetensors file: eight bytes of length, a header in JSON, float32 numbers.

import { layout } from "./job.js";

/**
 * Names and shapes as `nn.Sequential` of linear layers with an activation between them has them.
 * @param {number[]} widths
 */
function tensors(widths) {
  return layout(widths).flatMap(({ rows, columns, weights, biases }, l) => [
    { name: `${2 * l}.weight`, shape: [rows, columns], from: weights, to: weights + rows * columns },
    { name: `${2 * l}.bias`, shape: [rows], from: biases, to: biases + rows },
  ]);
}

/** @param {number[]} widths @param {Float32Array} parameters @param {Record<string, string>} [notes] */
export function toSafetensors(widths, parameters, notes = {}) {
  let at = 0;
  const header = /** @type {Record<string, unknown>} */ ({ __metadata__: { format: "pt", ...notes } });
  for (const { name, shape, from, to } of tensors(widths)) {
    const bytes = 4 * (to - from);
    header[name] = { dtype: "F32", shape, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const text = JSON.stringify(header);
  const head = new TextEncoder().encode(text + " ".repeat((8 - (text.length % 8)) % 8));
  const file = new Uint8Array(8 + head.length + at);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(head.length), true);
  file.set(head, 8);
  parameters.forEach((v, i) => view.setFloat32(8 + head.length + 4 * i, v, true));
  return file;
}

/** The same as plain lists. @param {number[]} widths @param {Float32Array} parameters */
export function toStateDict(widths, parameters) {
  return Object.fromEntries(tensors(widths).map(({ name, shape, from, to }) => {
    const values = Array.from(parameters.subarray(from, to), shortest);
    if (shape.length === 1) return [name, values];
    const [rows, columns] = shape;
    return [name, Array.from({ length: rows }, (_, k) => values.slice(k * columns, (k + 1) * columns))];
  }));
}

/** The shortest decimal that is the same float32. @param {number} v */
export function shortest(v) {
  for (let digits = 6; digits < 10; digits++) {
    const short = Number(v.toPrecision(digits));
    if (Math.fround(short) === v) return short;
  }
  return v;
}
