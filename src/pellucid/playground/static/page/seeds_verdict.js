// @ts-check
// What many seeds say about a network: evidence, told as such.

/** @typedef {{loss: number, status: string}} Ended */

/**
 * Below which mean training loss a network fits: for classes a tenth of guessing (log of their
 * number), for numbers a normal density whose squared error is a twentieth of the targets' variance.
 * @param {{classes: string[] | null, y: ArrayLike<number>, train: ArrayLike<number>}} problem
 */
function fitsBelow({ classes, y, train }) {
  if (classes) return 0.1 * Math.log(classes.length);
  const own = Array.from(train, (i) => y[i]);
  const mean = own.reduce((a, b) => a + b, 0) / own.length;
  const variance = own.reduce((a, v) => a + (v - mean) ** 2, 0) / own.length;
  return 0.5 * Math.log(2 * Math.PI) + 0.5 * 0.05 * variance;
}

/**
 * @param {Ended[]} own @param {Ended[]} wider
 * @param {{classes: string[] | null, y: ArrayLike<number>, train: ArrayLike<number>}} problem
 */
export function judgeSeeds(own, wider, problem) {
  const goal = fitsBelow(problem);
  const fit = (/** @type {Ended[]} */ runs) => runs.filter((r) => r.loss < goal && r.status !== "diverged").length;
  const [good, wide] = [fit(own), fit(wider)];
  const best = Math.min(...own.map((r) => (Number.isFinite(r.loss) ? r.loss : Infinity)));
  const diverged = own.filter((r) => r.status === "diverged").length;
  const evidence = [
    `${good} of ${own.length} seeds fit the training rows (best mean loss ${best.toPrecision(3)} nats)${diverged ? `; ${diverged} diverged` : ""}.`,
    `Of the wider network, ${wide} of ${wider.length} seeds fit.`,
  ];
  return { words: verdict(good, own.length, wide), evidence, goal };
}

/** @param {number} good @param {number} n @param {number} wide */
function verdict(good, n, wide) {
  if (good === n) return "Every seed fits: neither capacity nor optimization is the trouble on the training rows.";
  if (good > 0) return "Optimization failure: weights that fit exist, since some seeds find them; others do not.";
  if (wide > 0) return "Capacity failure suspected: no seed fits, and a wider network does.";
  return "Undecided: no seed fits, of the wider network neither. Train longer, or with another rate, before blaming the size.";
}
