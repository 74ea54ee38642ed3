// @ts-check
// Small pictures of what single units compute.

/** @typedef {import("./palette.js").Palette} Palette */

const BOUNDED = new Set(["tanh", "sigmoid", "hardtanh", "softsign"]);

/**
 * The value that is drawn at full strength, one for all units of a layer, so that they compare.
 * @param {Float32Array} values (n, width) @param {string} activation
 */
export function reach(values, activation) {
  if (BOUNDED.has(activation)) return 1;
  let largest = 0;
  for (let i = 0; i < values.length; i++) {
    const v = Math.abs(values[i]);
    if (v > largest && v < Infinity) largest = v;
  }
  return largest || 1;
}

/**
 * @param {CanvasRenderingContext2D} context of a canvas with size x size pixels
 * @param {Float32Array} values (size*size, width) @param {number} width @param {number} unit
 * @param {number} size @param {number} most @param {Palette} palette
 */
export function paintTile(context, values, width, unit, size, most, palette) {
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0, at = unit; i < pixels.length; i++, at += width) pixels[i] = palette.at(values[at] / most);
  context.putImageData(image, 0, 0);
}

/**
 * For one input: the curve of the unit over it.
 * @param {CanvasRenderingContext2D} context @param {Float32Array} values (n, width) @param {number} width
 * @param {number} unit @param {number} n @param {number} most @param {Palette} palette
 */
export function paintCurveTile(context, values, width, unit, n, most, palette) {
  const { width: w, height: h } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = palette.dark ? "#1c2025" : "#fbfbf9";
  context.fillRect(0, 0, w, h);
  context.strokeStyle = palette.line;
  context.beginPath();
  context.moveTo(0, h / 2);
  context.lineTo(w, h / 2);
  context.stroke();
  context.strokeStyle = palette.ink;
  context.lineWidth = w / 24;
  context.beginPath();
  for (let i = 0; i < n; i++) {
    const x = (i / (n - 1)) * w;
    const y = h / 2 - (values[i * width + unit] / most) * h * 0.44;
    if (i) context.lineTo(x, y);
    else context.moveTo(x, y);
  }
  context.stroke();
}
