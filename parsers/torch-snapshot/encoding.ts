/** Detects the encoding of a stream by its first bytes. */
import type { ByteSource } from '../../src/model/parser.js';

export type Encoding = 'pickle' | 'json' | 'html';

/** A file with more whitespace before the first bracket is not a snapshot. */
const MAX_BLANK_BYTES = 4096;

export interface DetectedStream {
  readonly encoding: Encoding;
  /** The whole stream again, from its first byte. */
  readonly source: ByteSource;
}

/** Anything that begins like neither JSON nor HTML is left to the pickle machine, whose errors name opcodes. */
export async function detectEncoding(source: ByteSource): Promise<DetectedStream> {
  const head = Buffer.alloc(MAX_BLANK_BYTES);
  let length = 0;
  let encoding: Encoding | undefined;
  while (encoding === undefined && length < head.length) {
    const count = await source.read(head, length);
    if (count === 0) break;
    length += count;
    encoding = encodingOf(head.subarray(0, length));
  }
  return { encoding: encoding ?? 'pickle', source: rejoined(head.subarray(0, length), source) };
}

/** Undefined as long as there is nothing but blanks. */
export function encodingOf(bytes: Uint8Array): Encoding | undefined {
  let at = 0;
  if (bytes[0] === 0xef) {
    if (bytes.length < 3) return undefined;
    if (bytes[1] === 0xbb && bytes[2] === 0xbf) at = 3;
  }
  while (at < bytes.length && isBlank(bytes[at]!)) at += 1;
  if (at === bytes.length) return undefined;
  const byte = bytes[at]!;
  if (byte === 0x7b || byte === 0x5b) return 'json';
  return byte === 0x3c ? 'html' : 'pickle';
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** `head`, then what `rest` still has. */
function rejoined(head: Uint8Array, rest: ByteSource): ByteSource {
  let at = 0;
  return {
    sizeBytes: rest.sizeBytes,
    read(target, start) {
      if (at >= head.length) return rest.read(target, start);
      const piece = head.subarray(at, at + target.length - start);
      target.set(piece, start);
      at += piece.length;
      return Promise.resolve(piece.length);
    },
  };
}
