// @ts-check
// The rows as marks: colour and shape by class; a number by colour.

import { mark } from "./palette.js";
import { toColumn, toRow } from "./scanline.js";
import { position } from "./shading.js";

/**
 * @param {CanvasRenderingContext2D} c @param {import("./problem.js").Problem} problem
 * @param {import("./state.js").State["view"]} view @param {number[] | null} axes null with one input
 * @param {import("./scanline.js").Window} w @param {import("./palette.js").Palette} palette
 * @param {import("./shading.js").Scale} scale
 */
export function drawPoints(c, problem, view, axes, w, palette, scale) {
  const radius = problem.n > 1500 ? 2 : problem.n > 700 ? 2.6 : 3.3;
  const groups = [view.points ? problem.train : [], view.test ? problem.test : []];
  groups.forEach((rows, isTest) => {
    if (problem.classes) {
      problem.classes.forEach((_, k) => {
        const own = Array.from(rows).filter((i) => problem.y[i] === k);
        trace(c, own, k, problem, axes, w, radius);
        finish(c, palette.classes[k % palette.classes.length], Boolean(isTest), palette);
      });
    } else {
      for (const i of rows) {
        trace(c, [i], 0, problem, axes, w, radius);
        finish(c, axes ? css(palette.at(position(scale, problem.y[i]))) : palette.classes[0], Boolean(isTest), palette);
      }
    }
  });
}

/** @param {CanvasRenderingContext2D} c @param {number[]} rows @param {number} k @param {import("./problem.js").Problem} problem @param {number[] | null} axes @param {import("./scanline.js").Window} w @param {number} radius */
function trace(c, rows, k, problem, axes, w, radius) {
  const [cx, cy] = [toColumn(w), toRow(w)];
  const { points, d, y } = problem;
  c.beginPath();
  for (const i of rows) {
    const px = cx(points[i * d + (axes ? axes[0] : 0)]);
    const py = cy(axes ? points[i * d + axes[1]] : y[i]);
    if (px > -6 && py > -6 && px < w.width + 6 && py < w.height + 6) mark(c, k, px, py, radius);
  }
}

/** Train rows are filled, test rows are hollow. @param {CanvasRenderingContext2D} c @param {string} colour @param {boolean} isTest @param {import("./palette.js").Palette} palette */
function finish(c, colour, isTest, palette) {
  c.lineJoin = "round";
  if (isTest) {
    c.fillStyle = palette.paper;
    c.fill();
    c.lineWidth = 1.6;
    c.strokeStyle = colour;
  } else {
    c.fillStyle = colour;
    c.lineWidth = 2;
    c.strokeStyle = palette.paper;
    c.stroke();
    c.fill();
    c.lineWidth = 0.5;
    c.strokeStyle = palette.ink;
  }
  c.stroke();
}

/** @param {number} packed */
const css = (packed) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
