// An instance of the module: calls into it, and a fresh one after a trap.

import { Memory, Refused, need } from "./abi.js";

/**
 * What the module is linked against: nothing of it is needed but the end after an abort.
 * @returns {any}
 */
function imports() {
  const nothing = () => 0;
  const end = (/** @type {number} */ code) => {
    throw new WebAssembly.RuntimeError(`the engine ended (${code})`);
  };
  const wasi = { proc_exit: end, fd_write: nothing, fd_read: nothing, fd_close: nothing, fd_seek: nothing };
  return { env: { emscripten_notify_memory_growth: nothing }, wasi_snapshot_preview1: wasi };
}

/**
 * @param {WebAssembly.Module} module
 * @returns {Record<string, any>}
 */
function instantiate(module) {
  const { exports } = new WebAssembly.Instance(module, imports());
  /** @type {any} */ (exports)._initialize?.();
  return exports;
}

/** One instance of the module: what runs in it, and what is left when it ends. */
export class Instance {
  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.module = module;
    this.exports = instantiate(module);
    this.memory = new Memory(this.exports);
  }

  /**
   * @template {Instance} T
   * @this {new (module: WebAssembly.Module) => T}
   * @param {WebAssembly.Module|BufferSource} source
   * @returns {Promise<T>}
   */
  static async open(source) {
    return new this(source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source));
  }

  /** A fresh instance; what the last one held is gone. */
  restart() {
    this.exports = instantiate(this.module);
    this.memory = new Memory(this.exports);
  }

  /**
   * Runs a call; what it put into the memory is given back. After a trap there is a fresh instance.
   * @template T
   * @param {(exports: Record<string, any>, memory: Memory) => T} use
   * @returns {T}
   */
  call(use) {
    try {
      const result = use(this.exports, this.memory);
      this.memory.clear();
      return result;
    } catch (error) {
      if (error instanceof Refused) {
        this.memory.clear();
        throw error;
      }
      const deep = error instanceof RangeError;
      this.restart();
      throw new Refused(
        deep
          ? "this goes deeper than the engine's stack holds; take fewer units or a smaller domain."
          : "the engine ran out of memory and was restarted; take a smaller network, fewer rows or a limit.",
      );
    }
  }

  /**
   * Throws the module's own words where a call was refused.
   * @param {number} result
   * @returns {number}
   */
  check(result) {
    need(result >= 0, () => this.memory.refusal());
    return result;
  }
}
