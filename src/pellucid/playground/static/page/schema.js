// @ts-check
// Small readers for plain data that came from outside: a link, a file, a lesson.
// A reader takes a value and the path to it, and returns a checked copy or says what is wrong.

/** What a visitor is told; never a stack trace. */
export class StateError extends Error {}

/**
 * @template T
 * @typedef {{read: (value: unknown, path: string) => T, usual: () => T}} Reader
 */

/** @param {string} path @param {unknown} value @param {string} needs @returns {never} */
function refuse(path, value, needs) {
  const shown = JSON.stringify(value);
  throw new StateError(
    `${path || "the state"} is ${shown === undefined ? "missing" : shown.slice(0, 60)}; it needs ${needs}.`,
  );
}

/**
 * @param {number} usual @param {number} low @param {number} high
 * @returns {Reader<number>}
 */
export function number(usual, low, high) {
  return {
    usual: () => usual,
    read(value, path) {
      if (typeof value !== "number" || !Number.isFinite(value) || value < low || value > high) {
        refuse(path, value, `a number from ${low} to ${high}`);
      }
      return /** @type {number} */ (value);
    },
  };
}

/**
 * @param {number} usual @param {number} low @param {number} high
 * @returns {Reader<number>}
 */
export function integer(usual, low, high) {
  return {
    usual: () => usual,
    read(value, path) {
      if (!Number.isSafeInteger(value) || Number(value) < low || Number(value) > high) {
        refuse(path, value, `a whole number from ${low} to ${high}`);
      }
      return Number(value);
    },
  };
}

/** @param {boolean} usual @returns {Reader<boolean>} */
export function flag(usual) {
  return {
    usual: () => usual,
    read: (value, path) =>
      typeof value === "boolean" ? value : refuse(path, value, "true or false"),
  };
}

/** @param {string} usual @param {number} longest @returns {Reader<string>} */
export function text(usual, longest) {
  return {
    usual: () => usual,
    read(value, path) {
      if (typeof value !== "string" || value.length > longest) {
        refuse(path, value, `a text of at most ${longest} characters`);
      }
      return /** @type {string} */ (value);
    },
  };
}

/**
 * @template {string} T
 * @param {T} usual @param {readonly T[]} choices
 * @returns {Reader<T>}
 */
export function choice(usual, choices) {
  return {
    usual: () => usual,
    read(value, path) {
      if (!choices.includes(/** @type {T} */ (value))) {
        refuse(path, value, `one of ${choices.join(", ")}`);
      }
      return /** @type {T} */ (value);
    },
  };
}

/**
 * @template T
 * @param {Reader<T>} item @param {number} fewest @param {number} most @param {() => T[]} [usual]
 * @returns {Reader<T[]>}
 */
export function list(item, fewest, most, usual = () => []) {
  return {
    usual,
    read(value, path) {
      if (!Array.isArray(value) || value.length < fewest || value.length > most) {
        refuse(path, value, `a list of ${fewest} to ${most}`);
      }
      return /** @type {unknown[]} */ (value).map((v, i) => item.read(v, `${path}[${i}]`));
    },
  };
}

/**
 * @template T
 * @param {Reader<T>} inner
 * @returns {Reader<T | null>}
 */
export function optional(inner) {
  return {
    usual: () => null,
    read: (value, path) => (value === null ? null : inner.read(value, path)),
  };
}

/**
 * @template {Record<string, Reader<any>>} F
 * @param {F} fields
 * @returns {Reader<{[K in keyof F]: ReturnType<F[K]["read"]>}>}
 */
export function record(fields) {
  const names = Object.keys(fields);
  return {
    usual: () =>
      /** @type {any} */ (Object.fromEntries(names.map((n) => [n, fields[n].usual()]))),
    read(value, path) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        refuse(path, value, "settings by name");
      }
      const given = /** @type {Record<string, unknown>} */ (value);
      const stranger = Object.keys(given).find((n) => !Object.hasOwn(fields, n));
      if (stranger !== undefined) {
        const all = names.join(", ");
        throw new StateError(`${join(path, stranger)} is no setting; there are ${all}.`);
      }
      const read = names.map((n) => [
        n,
        Object.hasOwn(given, n) ? fields[n].read(given[n], join(path, n)) : fields[n].usual(),
      ]);
      return /** @type {any} */ (Object.fromEntries(read));
    },
  };
}

/** @param {string} path @param {string} name */
const join = (path, name) => (path ? `${path}.${name}` : name);

/**
 * What differs from the usual values, so that links stay short; undefined where nothing does.
 * @param {unknown} value @param {unknown} usual
 * @returns {unknown}
 */
export function difference(value, usual) {
  if (isPlain(value) && isPlain(usual)) {
    const parts = Object.entries(value)
      .map(([name, v]) => [name, difference(v, usual[name])])
      .filter(([, d]) => d !== undefined);
    return parts.length ? Object.fromEntries(parts) : undefined;
  }
  return JSON.stringify(value) === JSON.stringify(usual) ? undefined : value;
}

/** @param {unknown} v @returns {v is Record<string, unknown>} */
const isPlain = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
