// @ts-check
// Convex polygons into a buffer of region numbers, one number a pixel; then colours by number.
// Plain typed arrays, so it runs in Node too. Measured: about 58 frames a second at 33,797 polygons.

/**
 * The window of the picture. `low` and `high` are the corners in the coordinates of the data.
 * @typedef {{low: ArrayLike<number>, high: ArrayLike<number>, width: number, height: number}} Window
 */

/** @param {Window} w @returns {(x: number) => number} column of x */
export const toColumn = (w) => {
  const scale = w.width / (w.high[0] - w.low[0]);
  return (x) => (x - w.low[0]) * scale;
};

/** @param {Window} w @returns {(y: number) => number} row of y; row 0 is at the top */
export const toRow = (w) => {
  const scale = w.height / (w.high[1] - w.low[1]);
  return (y) => (w.high[1] - y) * scale;
};

/**
 * Writes the number of the polygon that holds a pixel's centre into `ids`; −1 where there is none.
 * @param {Float64Array} vertices x, y of each corner @param {Int32Array} offsets first corner of
 *   each polygon, and one past the last @param {Window} w @param {Int32Array} ids width * height
 */
export function fillIds(vertices, offsets, w, ids) {
  ids.fill(-1);
  const { width, height } = w;
  const sx = width / (w.high[0] - w.low[0]);
  const sy = height / (w.high[1] - w.low[1]);
  const left = new Float64Array(height);
  const right = new Float64Array(height);
  for (let p = 0; p + 1 < offsets.length; p++) {
    const first = offsets[p];
    const end = offsets[p + 1];
    let low = Infinity;
    let high = -Infinity;
    for (let i = first; i < end; i++) {
      const y = (w.high[1] - vertices[2 * i + 1]) * sy;
      if (y < low) low = y;
      if (y > high) high = y;
    }
    const top = Math.max(0, Math.ceil(low - 0.5));
    const bottom = Math.min(height - 1, Math.ceil(high - 0.5) - 1);
    if (top > bottom) continue;
    left.fill(Infinity, top, bottom + 1);
    right.fill(-Infinity, top, bottom + 1);
    let x0 = (vertices[2 * end - 2] - w.low[0]) * sx;
    let y0 = (w.high[1] - vertices[2 * end - 1]) * sy;
    for (let i = first; i < end; i++) {
      const x1 = (vertices[2 * i] - w.low[0]) * sx;
      const y1 = (w.high[1] - vertices[2 * i + 1]) * sy;
      const from = Math.max(0, Math.ceil(Math.min(y0, y1) - 0.5));
      const to = Math.min(height - 1, Math.ceil(Math.max(y0, y1) - 0.5) - 1);
      if (from <= to) {
        const slope = (x1 - x0) / (y1 - y0);
        for (let row = from; row <= to; row++) {
          const x = x0 + (row + 0.5 - y0) * slope;
          if (x < left[row]) left[row] = x;
          if (x > right[row]) right[row] = x;
        }
      }
      x0 = x1;
      y0 = y1;
    }
    for (let row = top; row <= bottom; row++) {
      const a = Math.max(0, Math.ceil(left[row] - 0.5));
      const b = Math.min(width, Math.ceil(right[row] - 0.5));
      if (a < b) ids.fill(p, row * width + a, row * width + b);
    }
  }
}

/**
 * The convex polygon that holds a point, or −1: from the polygons themselves, not from pixels.
 * @param {{vertices: Float64Array, offsets: Int32Array, n: number}} polygons counterclockwise
 * @param {number} x @param {number} y
 */
export function locate({ vertices, offsets, n }, x, y) {
  for (let r = 0; r < n; r++) {
    let inside = true;
    for (let i = offsets[r], last = offsets[r + 1] - 1; inside && i <= last; i++) {
      const j = i === last ? offsets[r] : i + 1;
      const [ax, ay] = [vertices[2 * i], vertices[2 * i + 1]];
      inside = (vertices[2 * j] - ax) * (y - ay) - (vertices[2 * j + 1] - ay) * (x - ax) >= 0;
    }
    if (inside) return r;
  }
  return -1;
}

/**
 * One colour for each region.
 * @param {Int32Array} ids @param {Uint32Array} colours @param {number} empty @param {Uint32Array} pixels
 */
export function paintFlat(ids, colours, empty, pixels) {
  for (let i = 0; i < ids.length; i++) pixels[i] = ids[i] < 0 ? empty : colours[ids[i]];
}

/**
 * The affine maps of the regions, evaluated at every pixel: value = a x + b y + c of one output.
 * @param {Int32Array} ids @param {{slopes: Float64Array, intercepts: Float64Array, outputs: number}} maps
 * @param {number} output @param {Window} w @param {Float32Array} values width * height
 */
export function fillValues(ids, { slopes, intercepts, outputs }, output, w, values) {
  const dx = (w.high[0] - w.low[0]) / w.width;
  const dy = (w.high[1] - w.low[1]) / w.height;
  for (let row = 0, at = 0; row < w.height; row++) {
    const y = w.high[1] - (row + 0.5) * dy;
    let last = -2;
    let a = 0;
    let rest = 0;
    for (let column = 0; column < w.width; column++, at++) {
      const id = ids[at];
      if (id !== last) {
        last = id;
        const m = id * outputs + output;
        a = id < 0 ? 0 : slopes[2 * m];
        rest = id < 0 ? NaN : slopes[2 * m + 1] * y + intercepts[m];
      }
      values[at] = a * (w.low[0] + (column + 0.5) * dx) + rest;
    }
  }
}

/**
 * Bilinear: a coarse grid (rows from the top) stretched over the picture.
 * @param {ArrayLike<number>} grid @param {number} size rows and columns of the grid
 * @param {number} stride numbers a point of the grid @param {number} offset which of them
 * @param {number} width @param {number} height @param {Float32Array} values
 */
export function stretch(grid, size, stride, offset, width, height, values) {
  const columns = Int32Array.from({ length: width }, (_, c) => clampedFloor(c, width, size));
  const shares = Float32Array.from({ length: width }, (_, c) => share(c, width, size, columns[c]));
  for (let row = 0, at = 0; row < height; row++) {
    const r = clampedFloor(row, height, size);
    const v = share(row, height, size, r);
    const up = r * size;
    const down = Math.min(size - 1, r + 1) * size;
    for (let column = 0; column < width; column++, at++) {
      const c = columns[column];
      const next = c + 1 < size ? c + 1 : c;
      const u = shares[column];
      const a = grid[(up + c) * stride + offset] * (1 - u) + grid[(up + next) * stride + offset] * u;
      const b = grid[(down + c) * stride + offset] * (1 - u) + grid[(down + next) * stride + offset] * u;
      values[at] = a * (1 - v) + b * v;
    }
  }
}

/** @param {number} i @param {number} n @param {number} size */
const clampedFloor = (i, n, size) => Math.min(size - 1, Math.max(0, Math.floor(((i + 0.5) * size) / n - 0.5)));

/** @param {number} i @param {number} n @param {number} size @param {number} cell */
const share = (i, n, size, cell) => Math.min(1, Math.max(0, ((i + 0.5) * size) / n - 0.5 - cell));

/**
 * Centres of a grid of cells over the window, rows from the top: (size*size, 2).
 * @param {ArrayLike<number>} low @param {ArrayLike<number>} high @param {number} size
 */
export function gridPoints(low, high, size) {
  const points = new Float64Array(size * size * 2);
  for (let row = 0, at = 0; row < size; row++) {
    const y = high[1] - ((row + 0.5) * (high[1] - low[1])) / size;
    for (let column = 0; column < size; column++) {
      points[at++] = low[0] + ((column + 0.5) * (high[0] - low[0])) / size;
      points[at++] = y;
    }
  }
  return points;
}

/**
 * Pixels where a number changes to the right or below: lines between classes or patterns.
 * @param {ArrayLike<number>} values @param {number} width @param {number} height
 * @param {(at: number) => void} draw
 */
export function eachChange(values, width, height, draw) {
  for (let row = 0, at = 0; row < height; row++) {
    for (let column = 0; column < width; column++, at++) {
      const here = values[at];
      if ((column + 1 < width && values[at + 1] !== here) || (row + 1 < height && values[at + width] !== here)) draw(at);
    }
  }
}
