// @ts-check
// Bytes as text that fits into a link, and back.

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function fromBase64(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

/** @param {Float32Array} numbers */
export const floatsToText = (numbers) =>
  toBase64(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));

/** @param {string} text */
export function textToFloats(text) {
  const bytes = fromBase64(text);
  return new Float32Array(bytes.buffer, 0, bytes.length >> 2);
}

/** @param {string} text */
export async function squeeze(text) {
  return toBase64(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text)));
}

/**
 * @param {string} packed
 * @param {number} [most] bytes; a link cannot make the page run out of memory
 */
export async function unsqueeze(packed, most = 32_000_000) {
  const bytes = await through(new DecompressionStream("deflate-raw"), fromBase64(packed), most);
  return new TextDecoder().decode(bytes);
}

/**
 * @param {CompressionStream | DecompressionStream} stream
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {number} [most]
 */
async function through(stream, bytes, most = Infinity) {
  const writer = stream.writable.getWriter();
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => undefined); // what is wrong is told by the reader below
  const parts = [];
  let size = 0;
  const reader = stream.readable.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError("the packed text is too large");
    }
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
