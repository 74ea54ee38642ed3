// @ts-check
// Where a value sampled on a grid crosses a level: marching squares. The lines are between samples,
// so they are approximate; exact lines come from the engine's regions.

/**
 * @param {ArrayLike<number>} values grid, rows from the top @param {number} columns @param {number} rows
 * @param {number} level @param {number} [stride] @param {number} [offset]
 * @returns {Float64Array} segments (column, row, column, row) in units of cells, centres at +0.5
 */
export function contour(values, columns, rows, level, stride = 1, offset = 0) {
  /** @type {number[]} */
  const segments = [];
  const at = (/** @type {number} */ c, /** @type {number} */ r) => values[(r * columns + c) * stride + offset] - level;
  for (let r = 0; r + 1 < rows; r++) {
    for (let c = 0; c + 1 < columns; c++) {
      const a = at(c, r);
      const b = at(c + 1, r);
      const d = at(c + 1, r + 1);
      const e = at(c, r + 1);
      /** @type {number[]} */
      const ends = [];
      if (a > 0 !== b > 0) ends.push(c + 0.5 + a / (a - b), r + 0.5);
      if (b > 0 !== d > 0) ends.push(c + 1.5, r + 0.5 + b / (b - d));
      if (e > 0 !== d > 0) ends.push(c + 0.5 + e / (e - d), r + 1.5);
      if (a > 0 !== e > 0) ends.push(c + 0.5, r + 0.5 + a / (a - e));
      for (let i = 0; i + 3 < ends.length; i += 4) segments.push(ends[i], ends[i + 1], ends[i + 2], ends[i + 3]);
    }
  }
  return Float64Array.from(segments);
}
