// @ts-check
// How numbers and small texts are written.

const MINUS = "−";

/**
 * A number with a few significant digits and a real minus sign.
 * @param {number} value @param {number} [digits]
 */
export function figure(value, digits = 3) {
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1e6 || size < 1e-4
      ? value.toExponential(Math.max(0, digits - 1)).replace("e+", "e")
      : String(Number(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1))));
  return text.replaceAll("-", MINUS);
}

/**
 * Decimals as the walkthrough writes them: a zero at the end stands only where something was rounded.
 * @param {number} value @param {number} [decimals]
 */
export function decimal(value, decimals = 4) {
  if (!Number.isFinite(value)) return figure(value);
  const size = Math.abs(value);
  if (size > 0 && (size < 10 ** -decimals || size >= 1e7)) return figure(value, decimals);
  const fixed = value.toFixed(decimals);
  const exact = Math.abs(Number(fixed) - value) < 1e-12 * Math.max(1, size);
  const text = exact ? String(Number(fixed)) : fixed;
  return (text === "-0" ? "0" : text).replace("-", MINUS);
}

/** A negative factor stands in parentheses. @param {number} value @param {number} [decimals] */
export function factor(value, decimals = 4) {
  const text = decimal(value, decimals);
  return text.startsWith(MINUS) ? `(${text})` : text;
}

/** Whole numbers with thin groups: 12 345. @param {number} value */
export const whole = (value) =>
  Number.isFinite(value) ? Math.round(value).toLocaleString("en-US").replaceAll(",", "\u202f") : "–";

/** 1 unit, 2 units. @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;

/** @param {number} share from 0 to 1 */
export const percent = (share) => `${figure(100 * share, share > 0.995 && share < 1 ? 4 : 3)} %`;

/** a, b and c @param {string[]} parts */
export function listed(parts) {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
