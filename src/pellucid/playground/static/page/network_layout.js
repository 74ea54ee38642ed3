// @ts-check
// Where the units of the network stand in its drawing. Pure arithmetic, tested in Node.

/**
 * @typedef {{x: number, y: number}} Place
 * @typedef {{tile: number, input: number, columns: Place[][], x: number[], height: number, width: number, crowded: boolean}} NetworkLayout
 */

const HEADER = 86; // pixels above the first unit: the layer's controls
const EDGE = 26;
const INPUT = 30; // pixels of an input's box at least, where there are few
const FEW_INPUTS = 9;

/**
 * `columns[l]` are the centres of the units of layer l, 0 for the inputs.
 * @param {number[]} widths @param {number} width pixels there are @returns {NetworkLayout}
 */
export function networkLayout(widths, width) {
  const most = Math.max(...widths);
  const n = widths.length;
  const spread = Math.max(width, n * 86);
  const step = (spread - 2 * EDGE - 36) / Math.max(1, n - 1);
  const tile = most <= 8 ? 38 : most <= 12 ? 30 : most <= 16 ? 24 : 14;
  const gap = tile > 20 ? Math.round(tile / 4) : 3;
  const input = widths[0] <= FEW_INPUTS ? Math.max(tile, INPUT) : tile;
  const tall = most <= 16 ? most : 16; // wider layers stand in several columns
  const inputs = Math.min(widths[0], tall) * (input + gap);
  const height = HEADER + Math.max(3 * 48, tall * (tile + gap), inputs) + 14;
  const middle = HEADER + (height - HEADER - 14) / 2;
  const x = widths.map((_, l) => EDGE + 18 + l * step);
  const columns = widths.map((count, l) => {
    const rows = Math.min(count, tall);
    const across = Math.ceil(count / rows);
    const pitch = (l === 0 ? input : tile) + gap;
    return Array.from({ length: count }, (_, k) => {
      const row = k % rows;
      const column = Math.floor(k / rows);
      return {
        x: x[l] + (column - (across - 1) / 2) * pitch,
        y: middle + (row - (rows - 1) / 2) * pitch,
      };
    });
  });
  return { tile, input, columns, x, height, width: spread, crowded: most > 16 };
}

/** @param {Place} a @param {Place} b @param {number} tile */
export function edgePath(a, b, tile) {
  const half = tile / 2;
  const x0 = a.x + half;
  const x1 = b.x - half;
  const bend = (x1 - x0) * 0.45;
  const r = (/** @type {number} */ v) => Math.round(v * 10) / 10;
  return `M${r(x0)} ${r(a.y)}C${r(x0 + bend)} ${r(a.y)} ${r(x1 - bend)} ${r(b.y)} ${r(x1)} ${r(b.y)}`;
}
