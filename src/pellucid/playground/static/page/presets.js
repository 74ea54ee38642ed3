// @ts-check
// Examples to begin with: each a state, some with weights written by hand.

import { floatsToText } from "./packing.js";
import { readState } from "./state.js";

/** @typedef {{id: string, title: string, text: string, state: Record<string, any>, parameters?: number[]}} Preset */

const layers = (/** @type {number[]} */ units, /** @type {string} */ name = "relu") =>
  units.map((n) => ({ units: n, activation: { name, parameters: [] } }));

/** Weights of a layer row by row, then its biases. @param {number[][]} W @param {number[]} b */
const layer = (W, b) => [...W.flat(), ...b];

const FLOWER = {
  title: "A flower, worked by hand",
  columns: ["x0", "x1", "x2", "x3"],
  target: "species",
  classes: ["A", "B", "C"],
  X: [[0.5, -1, 2, 1.5], [1, 1, 0, 0], [-1, 0, 3, 0.25]],
  y: [1, 0, 2],
};

const TENT = layer([[1], [1]], [0, -0.5]);
const FOLD = layer([[2, -4], [2, -4]], [0, -0.5]);

/** @type {Preset[]} */
export const PRESETS = [
  { id: "spirals", title: "Two spirals", text: "The usual test: hard for two layers of eight, easy for more.", state: {} },
  {
    id: "flower", title: "Flower, worked by hand", text: "Four inputs, three ReLU units, three classes: z = (−0.25, 0.925, 1.25), every number forward and back.",
    state: { data: { own: FLOWER, test: 0 }, hidden: layers([3]), probe: [0.5, -1, 2, 1.5], training: { optimizer: "sgd", learning_rate: 0.1, batch_size: 0 }, view: { tab: "worked", axes: [0, 2], stepBy: "1" } },
    parameters: [
      ...layer([[1, 0.5, 0, 1], [0, 1, 0.5, -0.5], [-1, 0, 1, 0.5]], [0.1, 0, -0.2]),
      ...layer([[1, 0.5, -1], [0, 1, 0.5], [-0.5, 0, 1]], [0.2, -0.1, 0]),
    ],
  },
  { id: "line", title: "A line cannot part rings", text: "No hidden layer: one straight boundary, whatever the training.", state: { data: { name: "concentric" }, hidden: [] } },
  { id: "collapse", title: "Layers without activation", text: "Two layers of eight identity units still compute one affine map.", state: { data: { name: "concentric" }, hidden: layers([8, 8], "identity") } },
  {
    id: "xor", title: "Exclusive or, written down", text: "Two ReLU units whose weights a person chose: h = relu(x₁ + x₂), relu(−x₁ − x₂).",
    state: { data: { name: "xor" }, hidden: layers([2]), view: { colour: "pattern" } },
    parameters: [...layer([[1, 1], [-1, -1]], [0, 0]), ...layer([[-4, -4]], [4])],
  },
  {
    id: "tent", title: "Folding: 8 pieces from 6 units", text: "Three tent maps after one another: each layer doubles the straight pieces.",
    state: {
      data: { own: { title: "Eight straight pieces", columns: ["x"], target: "y", classes: null, X: Array.from({ length: 33 }, (_, i) => [i / 32]), y: Array.from({ length: 33 }, (_, i) => 1 - Math.abs(((i / 4) % 2) - 1)) }, test: 0 },
      hidden: layers([2, 2, 2]),
    },
    parameters: [...TENT, ...FOLD, ...FOLD, ...layer([[2, -4]], [0])],
  },
  { id: "sine", title: "A curve from hinges", text: "One input: every ReLU unit adds one bend to the curve.", state: { data: { name: "sine" }, hidden: layers([12]) } },
  { id: "vanishing", title: "Vanishing gradients", text: "Six sigmoid layers: watch the gradients of the first layers.", state: { data: { name: "moons" }, hidden: layers([8, 8, 8, 8, 8, 8], "sigmoid"), training: { optimizer: "sgd", learning_rate: 0.3 } } },
  { id: "dead", title: "Units that die", text: "A learning rate that is too large leaves units that no gradient reaches.", state: { data: { name: "moons" }, hidden: layers([8]), training: { optimizer: "sgd", learning_rate: 3 }, view: { tab: "units" } } },
  { id: "diverge", title: "Divergence", text: "Too large a rate: the page keeps the last finite weights and says what to do.", state: { data: { name: "plane" }, hidden: layers([8, 8]), training: { optimizer: "sgd", learning_rate: 3, batch_size: 10 } } },
  { id: "small", title: "Too small, or unlucky?", text: "Three units on the spirals: train 32 seeds and see.", state: { hidden: layers([3]), view: { tab: "seeds" } } },
  { id: "overfit", title: "Overfitting", text: "Fifty noisy rows, many units: the test loss turns up while the training loss falls.", state: { data: { name: "moons", n: 50, noise: 0.3, test: 0.5 }, hidden: layers([32, 32]), view: { test: true } } },
  { id: "ten", title: "Ten classes", text: "Softmax over ten clouds.", state: { data: { name: "ten_clouds" }, hidden: layers([16]), view: { colour: "class" } } },
  { id: "wide", title: "Thousands of regions", text: "Three layers of 32 units, drawn exactly.", state: { hidden: layers([32, 32, 32]), view: { colour: "pattern", points: false }, training: { learning_rate: 0.003 } } },
];

/** @param {Preset} preset */
export function presetState({ state, parameters }) {
  const start = parameters ? floatsToText(Float32Array.from(parameters)) : null;
  return readState({ ...state, start });
}
