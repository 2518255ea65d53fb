/**
 * Numbered texts in one piece of memory: half a million of them travel between threads without becoming strings again
 * on the other side.
 */
import type { NsysText } from './nsys-rows.js';

export interface PackedTexts {
  readonly ids: Float64Array<ArrayBuffer>;
  /** Where each text ends in `bytes`. */
  readonly ends: Uint32Array<ArrayBuffer>;
  /** UTF-8. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function packTexts(texts: readonly NsysText[]): PackedTexts {
  const ids = Float64Array.from(texts, ({ id }) => id);
  const ends = new Uint32Array(texts.length);
  let most = 0;
  for (const { text } of texts) most += 3 * text.length; // a UTF-16 unit is at most three bytes
  const buffer = new Uint8Array(most);
  const encoder = new TextEncoder();
  let at = 0;
  texts.forEach(({ text }, i) => {
    at += encoder.encodeInto(text, buffer.subarray(at)).written;
    ends[i] = at;
  });
  return { ids, ends, bytes: buffer.slice(0, at) };
}
