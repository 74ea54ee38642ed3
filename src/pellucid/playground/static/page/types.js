// @ts-check
// Shapes of what travels between the engine and the page; types only.

/** @typedef {import("../engine/engine.js").Engine} Engine */
/** @typedef {import("./state.js").Named} Named */

/** @typedef {import("../engine/types.js").Snapshot} Snapshot */
/** @typedef {import("../engine/types.js").Job} Job */
/** @typedef {import("../engine/types.js").Worked} WorkedNumbers */

/**
 * The exact regions of one network on the window of the picture.
 * @typedef {import("../engine/types.js").RegionsResult & {parameters: Float32Array, step: number,
 *   outputs: number, low: number[], high: number[], counted: boolean,
 *   net: import("../engine/types.js").Net | undefined}} Regions
 */

/**
 * A moment that training can be taken back to, with all that the optimizer remembers.
 * @typedef {{step: number, loss: number, test: number, state: ArrayBuffer, parameters: Float32Array,
 *   kind: string, offset: number, mixed: boolean}} Checkpoint
 */

/** @typedef {{kind: "info" | "warning" | "error", text: string, actions?: {label: string, act: () => void}[]}} Notice */

export {};
