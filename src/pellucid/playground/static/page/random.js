// @ts-check
// The page's own seeded random numbers, for noise, splits and drawn samples. Never for weights.

/**
 * Numbers in [0, 1) from a seed: the generator known as mulberry32 (T. Ettinger, public domain).
 * @param {number} seed
 * @returns {() => number}
 */
export function uniforms(seed) {
  let s = (seed ^ 0x9e3779b9) >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Standard normal numbers by the method of Box and Muller, 1958.
 * @param {number} seed
 */
export function normals(seed) {
  const u = uniforms(seed);
  let spare = NaN;
  return () => {
    if (!Number.isNaN(spare)) {
      const value = spare;
      spare = NaN;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - u()));
    const angle = 2 * Math.PI * u();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/**
 * The numbers 0 .. n-1 in a random order (Fisher and Yates).
 * @param {number} n @param {number} seed
 */
export function shuffled(n, seed) {
  const u = uniforms(seed);
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(u() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
