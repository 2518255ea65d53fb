/**
 * Converts JSON as Python writes it to valid JSON: `NaN`, `Infinity` and `-Infinity` outside of texts become texts of
 * the same length, so that every offset is unchanged. Python's `json` writes them by default, and a NaN loss is the
 * important case.
 */
import type { ByteSource } from '../../src/model/parser.js';

/** DEL: JSON allows it in a text as it is. */
export const NAN_TEXT = '\u007f';

const WORDS: readonly { readonly word: Buffer; readonly instead: Buffer }[] = [
  // `"NaN"` is longer; an unused text of one character replaces it.
  { word: Buffer.from('NaN'), instead: Buffer.from(`"${NAN_TEXT}"`) },
  { word: Buffer.from('-Infinity'), instead: Buffer.from('"-inf"   ') },
  { word: Buffer.from('Infinity'), instead: Buffer.from('"inf"   ') },
];
const LONGEST = 9;

/**
 * Changes `bytes` in place. The second result is how many bytes at the end are to be looked at again with what follows.
 */
class Replacer {
  private isInString = false;
  private isEscaped = false;

  run(bytes: Buffer, end: number, isLast: boolean): number {
    let at = 0;
    while (at < end) {
      const byte = bytes[at]!;
      if (this.isInString) {
        if (this.isEscaped) this.isEscaped = false;
        else if (byte === 0x5c) this.isEscaped = true;
        else if (byte === 0x22) this.isInString = false;
      } else if (byte === 0x22) this.isInString = true;
      else if (byte === 0x4e || byte === 0x49 || byte === 0x2d) {
        if (!isLast && end - at < LONGEST) return end - at;
        for (const { word, instead } of WORDS) {
          if (at + word.length > end || bytes.compare(word, 0, word.length, at, at + word.length) !== 0) continue;
          instead.copy(bytes, at);
          at += word.length - 1;
          break;
        }
      }
      at += 1;
    }
    return 0;
  }
}

/** The same stream with those words replaced. */
export function plainJson(source: ByteSource): ByteSource {
  const replacer = new Replacer();
  const carry = Buffer.alloc(LONGEST);
  let carried = 0;
  let ended = false;
  return {
    sizeBytes: source.sizeBytes,
    async read(target, start) {
      if (ended) return 0;
      const bytes = Buffer.from(target.buffer, target.byteOffset + start, target.length - start);
      if (bytes.length <= LONGEST) throw new RangeError('a buffer of a few bytes');
      for (;;) {
        carry.copy(bytes, 0, 0, carried);
        const count = await source.read(bytes, carried);
        const end = carried + count;
        ended = count === 0;
        const kept = replacer.run(bytes, end, ended);
        bytes.copy(carry, 0, end - kept, end);
        carried = kept;
        if (end - kept > 0 || ended) return end - kept;
      }
    },
  };
}

/** The same for one line. */
export function plainJsonText(text: string): string {
  if (!/NaN|Infinity/.test(text)) return text;
  const bytes = Buffer.from(text, 'utf8');
  new Replacer().run(bytes, bytes.length, true);
  return bytes.toString('utf8');
}
