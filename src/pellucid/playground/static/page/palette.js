// @ts-check
// Colours and marks. Those of Okabe and Ito (2002), as in the figures of the package;
// a second sign (shape, dash, text) always says the same.

const CLASS_COLOURS = [
  "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#767676",
  "#7a4d00", "#1b1b1b",
];
const DARK_COLOURS = [
  "#56b4e9", "#f0b429", "#2fc79a", "#ff8a4c", "#0a84d0", "#e59ac4", "#f0e442", "#a3acb8",
  "#c89b5a", "#f4f4f4",
];
const SHAPES = /** @type {const} */ ([
  "circle", "square", "triangle", "diamond", "down", "plus", "cross", "left", "right", "star",
]);
export const SHAPE_SIGNS = ["●", "■", "▲", "◆", "▼", "✚", "✖", "◀", "▶", "★"];

/** @typedef {[number, number, number]} Rgb */

/** @param {string} hex @returns {Rgb} */
export function rgb(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** @param {Rgb} a @param {Rgb} b @param {number} t @returns {Rgb} */
const mix = (a, b, t) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];

/** As one number for a Uint32Array over RGBA bytes (all browsers' machines are little-endian). @param {Rgb} c */
export const packed = ([r, g, b]) =>
  ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;

/** Everything that depends on light or dark. */
export class Palette {
  /** @param {boolean} dark */
  constructor(dark) {
    this.dark = dark;
    this.classes = dark ? DARK_COLOURS : CLASS_COLOURS;
    this.negative = rgb(dark ? "#1785c9" : "#0072b2");
    this.positive = rgb(dark ? "#e6a11a" : "#e69f00");
    this.middle = rgb(dark ? "#1c2025" : "#fbfbf9");
    this.ink = dark ? "#e6e8eb" : "#1b1f24";
    this.paper = dark ? "#14171b" : "#ffffff";
    this.line = dark ? "#59626e" : "#aab1ba";
    this.diverging = this.#ramp();
  }

  /** 512 colours from −1 over 0 to 1. */
  #ramp() {
    const colours = new Uint32Array(512);
    const strongest = this.dark ? 0.88 : 0.84;
    for (let i = 0; i < 512; i++) {
      const t = (i - 255.5) / 255.5;
      const end = t < 0 ? this.negative : this.positive;
      colours[i] = packed(mix(this.middle, end, strongest * Math.abs(t) ** 0.85));
    }
    return colours;
  }

  /** @param {number} t from −1 to 1 */
  at(t) {
    const index = Math.round((Math.min(1, Math.max(-1, t)) + 1) * 255.5);
    return this.diverging[Number.isNaN(index) ? 256 : index];
  }

  /** Tint of a class; `sure` from 0 (undecided) to 1. @param {number} k @param {number} sure */
  tint(k, sure) {
    const colour = rgb(this.classes[k % this.classes.length]);
    return packed(mix(this.middle, colour, 0.12 + 0.7 * Math.min(1, Math.max(0, sure))));
  }

  /** A quiet colour for a number, the same for the same number. @param {number} hash */
  quiet(hash) {
    const hue = (hash & 0xffff) / 0x10000;
    const light = (this.dark ? 0.2 : 0.74) + (((hash >>> 16) & 255) / 255) * (this.dark ? 0.22 : 0.18);
    return packed(hsl(hue, this.dark ? 0.38 : 0.46, light));
  }

  /** Direction of a slope as hue, its size as strength. @param {number} gx @param {number} gy @param {number} largest */
  direction(gx, gy, largest) {
    const size = Math.hypot(gx, gy);
    if (!(size > 0)) return packed(this.middle);
    const hue = (Math.atan2(gy, gx) / (2 * Math.PI) + 1) % 1;
    const strength = Math.min(1, size / (largest || 1)) ** 0.5;
    return packed(mix(this.middle, hsl(hue, 0.62, this.dark ? 0.46 : 0.58), 0.15 + 0.8 * strength));
  }
}

/** @param {number} h @param {number} s @param {number} l all from 0 to 1 @returns {Rgb} */
function hsl(h, s, l) {
  const f = (/** @type {number} */ n) => {
    const k = (n + h * 12) % 12;
    return 255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [f(0), f(8), f(4)];
}

/**
 * The mark of a class around (x, y), as a path.
 * @param {CanvasRenderingContext2D} c @param {number} k @param {number} x @param {number} y @param {number} r
 */
export function mark(c, k, x, y, r) {
  const polygon = (/** @type {number[][]} */ corners) => {
    corners.forEach(([dx, dy], i) => (i ? c.lineTo(x + r * dx, y + r * dy) : c.moveTo(x + r * dx, y + r * dy)));
    c.closePath();
  };
  switch (SHAPES[k % SHAPES.length]) {
    case "circle":
      c.moveTo(x + r, y);
      c.arc(x, y, r, 0, 2 * Math.PI);
      break;
    case "square":
      return polygon([[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]]);
    case "triangle":
      return polygon([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]]);
    case "down":
      return polygon([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]]);
    case "left":
      return polygon([[-1.2, 0], [0.8, 1.1], [0.8, -1.1]]);
    case "right":
      return polygon([[1.2, 0], [-0.8, 1.1], [-0.8, -1.1]]);
    case "diamond":
      return polygon([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
    case "plus":
      return polygon([[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]]);
    case "cross":
      return polygon([[0, -0.5], [0.7, -1.2], [1.2, -0.7], [0.5, 0], [1.2, 0.7], [0.7, 1.2], [0, 0.5], [-0.7, 1.2], [-1.2, 0.7], [-0.5, 0], [-1.2, -0.7], [-0.7, -1.2]]);
    default:
      return polygon(Array.from({ length: 10 }, (_, i) => {
        const size = i % 2 ? 0.55 : 1.35;
        return [size * Math.sin((i * Math.PI) / 5), -size * Math.cos((i * Math.PI) / 5)];
      }));
  }
}
