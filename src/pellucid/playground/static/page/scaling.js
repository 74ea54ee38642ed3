// @ts-check
// Columns of a visitor's own rows with mean 0 and deviation 1.

/** @param {number[]} values */
function momentsOf(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return { mean, deviation: Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length) };
}

/** Whether one of the columns is far from mean 0 and deviation 1. @param {number[][]} columns */
export function needsScaling(columns) {
  return columns.some((values) => {
    const { mean, deviation } = momentsOf(values);
    return deviation > 4 || deviation < 0.1 || Math.abs(mean) > 4 * deviation;
  });
}

/** @param {number[]} values @returns {number[]} */
export function standardised(values) {
  const { mean, deviation } = momentsOf(values);
  return values.map((v) => Number(((v - mean) / (deviation || 1)).toPrecision(7)));
}

/** @param {number[][]} X (n, d) */
export const columnsOf = (X) => (X[0] ?? []).map((_, j) => X.map((row) => row[j]));

/** @param {number[][]} X (n, d) */
export function standardisedRows(X) {
  const columns = columnsOf(X).map(standardised);
  return X.map((_, i) => columns.map((column) => column[i]));
}
