/** Escapes of JSON strings. */

/** How far an escape is off: what is wrong, and where. */
export interface EscapeFault {
  readonly what: string;
  readonly at: number;
}

const SINGLE: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/**
 * Writes what the string body `from[start, end)` means to the beginning of `into`, as UTF-8, which is never longer. A
 * lone surrogate (torch's names of odd files, as Python escapes them) becomes the three bytes that Python's pickles
 * have for it, so that both encodings give the same text.
 *
 * @returns the number of bytes, or what is wrong.
 */
export function unescapeJson(from: Uint8Array, start: number, end: number, into: Uint8Array): number | EscapeFault {
  let length = 0;
  let at = start;
  while (at < end) {
    const byte = from[at]!;
    if (byte !== 0x5c) {
      into[length++] = byte;
      at += 1;
      continue;
    }
    const kind = from[at + 1]!;
    if (kind !== 0x75) {
      const single = SINGLE.get(kind);
      if (single === undefined) return { what: 'an escape that JSON does not have', at };
      into[length++] = single;
      at += 2;
      continue;
    }
    let code = hex4(from, at + 2, end);
    if (code < 0) return { what: 'a \\u escape without four hexadecimal digits', at };
    at += 6;
    if (code >= 0xd800 && code < 0xdc00 && from[at] === 0x5c && from[at + 1] === 0x75) {
      const low = hex4(from, at + 2, end);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      }
    }
    if (code < 0x80) into[length++] = code;
    else if (code < 0x800) {
      into[length++] = 0xc0 | (code >> 6);
      into[length++] = 0x80 | (code & 0x3f);
    } else {
      if (code < 0x10000) into[length++] = 0xe0 | (code >> 12);
      else {
        into[length++] = 0xf0 | (code >> 18);
        into[length++] = 0x80 | ((code >> 12) & 0x3f);
      }
      into[length++] = 0x80 | ((code >> 6) & 0x3f);
      into[length++] = 0x80 | (code & 0x3f);
    }
  }
  return length;
}

function hex4(from: Uint8Array, start: number, end: number): number {
  if (start + 4 > end) return -1;
  let code = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = from[at]!;
    const lower = byte | 0x20;
    const digit = byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}
