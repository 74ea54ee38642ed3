// Runs the engine's core in Node for the tests: one JSON line in, one out. Arrays travel as their bytes.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";

const engine = new URL("../../src/pellucid/playground/static/engine/", import.meta.url);
const { Core } = await import(new URL("core.js", engine));
const { ACTIVATIONS, LIKELIHOODS, OPTIMIZERS, SCHEDULES, SCHEMES } = await import(new URL("abi.js", engine));
const { bounds } = await import(new URL("bounds.js", engine));
const file = process.argv[2] ?? new URL("pellucid.wasm.gz", engine);
const core = await Core.open(gunzipSync(readFileSync(file)));

const TYPES = { Float32Array, Float64Array, Int32Array, Uint8Array };

function decode(value) {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null || typeof value !== "object") return value;
  if (value.type === "ArrayBuffer") return Uint8Array.from(Buffer.from(value.bytes, "base64")).buffer;
  if (value.type === "number") return Number(value.text.replace("inf", "Infinity").replace("nan", "NaN"));
  if (value.type === "bigint") return BigInt(value.text);
  if (value.type in TYPES) {
    const bytes = Uint8Array.from(Buffer.from(value.bytes, "base64"));
    return new TYPES[value.type](bytes.buffer);
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, decode(part)]));
}

function encode(value) {
  if (typeof value === "bigint") return { type: "bigint", text: String(value) };
  if (typeof value === "number" && !Number.isFinite(value)) return { type: "number", text: String(value) };
  if (value instanceof ArrayBuffer)
    return { type: "ArrayBuffer", bytes: Buffer.from(value).toString("base64") };
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
    return { type: value.constructor.name, bytes };
  }
  if (Array.isArray(value)) return value.map(encode);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, encode(part)]));
}

// How long so many calls take, in seconds, with their arguments given once.
function time({ method, args, times }) {
  core[method](...args);
  const start = performance.now();
  for (let i = 0; i < times; ++i) core[method](...args);
  return (performance.now() - start) / 1000;
}

// Reads beyond the memory.
const trap = () => core.call((exports) => exports.pellucid_columns(-16, 2, -16, 1));
const tables = () => ({ ACTIVATIONS, LIKELIHOODS, OPTIMIZERS, SCHEDULES, SCHEMES });
const others = { bounds, tables, time, trap };
for await (const line of createInterface({ input: process.stdin })) {
  const { method, args } = decode(JSON.parse(line));
  let answer;
  try {
    answer = { result: (method in others ? others[method] : core[method].bind(core))(...args) ?? null };
  } catch (error) {
    answer = { error: error.message, kind: error.constructor.name };
  }
  console.log(JSON.stringify(encode(answer)));
}
