// @ts-check
// What may be fed to the network: functions of the point (x1, x2).
// They prepare the rows; no network is computed here.

/** @typedef {"x1" | "x2" | "x1^2" | "x2^2" | "x1*x2" | "sin x1" | "sin x2"} FeatureName */

/**
 * `affine`: exact regions in the plane are offered only where every input is.
 * @type {Record<FeatureName, {label: string, of: (x: number, y: number) => number, affine: boolean}>}
 */
export const FEATURES = {
  "x1": { label: "x₁", of: (x) => x, affine: true },
  "x2": { label: "x₂", of: (_, y) => y, affine: true },
  "x1^2": { label: "x₁²", of: (x) => x * x, affine: false },
  "x2^2": { label: "x₂²", of: (_, y) => y * y, affine: false },
  "x1*x2": { label: "x₁x₂", of: (x, y) => x * y, affine: false },
  "sin x1": { label: "sin πx₁", of: (x) => Math.sin(Math.PI * x), affine: false },
  "sin x2": { label: "sin πx₂", of: (_, y) => Math.sin(Math.PI * y), affine: false },
};

export const FEATURE_NAMES = /** @type {FeatureName[]} */ (Object.keys(FEATURES));

/**
 * Rows of points (n, d) as rows of features (n, features), float32 as the network takes them.
 * @param {ArrayLike<number>} points n*d numbers @param {number} d 1 or 2
 * @param {readonly FeatureName[]} names
 */
export function featureRows(points, d, names) {
  const n = points.length / d;
  const rows = new Float32Array(n * names.length);
  const functions = names.map((name) => FEATURES[name].of);
  for (let i = 0, at = 0; i < n; i++) {
    const x = points[i * d];
    const y = d > 1 ? points[i * d + 1] : 0;
    for (const f of functions) rows[at++] = f(x, y);
  }
  return rows;
}

/** Whether the plane of the inputs is the plane of the picture: exactly x1 and x2. */
export const isPlane = (/** @type {readonly FeatureName[]} */ names) =>
  names.length === 2 && names[0] === "x1" && names[1] === "x2";
