/**
 * Pages of torch's memory viewer that carry a pickled snapshot as base64: `torch.cuda._memory_viz` (`trace_plot`,
 * `segment_plot`) writes `add_local_files([{"name": "snapshot.pickle", "base64": "…"}], …)` after padding the pickle
 * with 1 to 3 zero bytes. The page is never held in memory: it is searched and decoded in pieces.
 */
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource } from '../../src/model/parser.js';

/** How far the pickle is padded so that base64 needs no `=`. */
export const PAGE_PADDING_BYTES = 3;

const WINDOW_BYTES = 1024 * 1024;
/** A match of {@link FILE} is never longer. */
const OVERLAP_BYTES = 256;
const FILE = /base64["']?\s{0,64}:\s{0,64}["'`]/;

/** Six bits by character; −1 is none, −2 a blank, −3 the end of the string. Both alphabets of RFC 4648. */
const SIX_BITS = new Int8Array(256).fill(-1);
'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.split('').forEach((char, value) => {
  SIX_BITS[char.charCodeAt(0)] = value;
});
SIX_BITS['-'.charCodeAt(0)] = 62;
SIX_BITS['_'.charCodeAt(0)] = 63;
for (const char of ' \t\r\n') SIX_BITS[char.charCodeAt(0)] = -2;
for (const char of '"\'`=') SIX_BITS[char.charCodeAt(0)] = -3;

/** The first file of a page. */
export interface EmbeddedFile {
  /** Its bytes, decoded while they are read. */
  readonly source: ByteSource;
  /** Position in the page of the file's byte at `offset`, to three bytes. */
  pageOffset(offset: number): number;
  /** Reads the page to its end, and counts the files behind this one. */
  furtherFiles(): Promise<number>;
}

/**
 * Searches the page for its first embedded file.
 *
 * @throws {MbfError} MBF2303 if there is none; while reading the file MBF2301 if the page ends inside it, MBF2304 if it
 * is invalid base64.
 */
export async function openPage(page: ByteSource, windowBytes = WINDOW_BYTES): Promise<EmbeddedFile> {
  const window = Buffer.alloc(Math.max(windowBytes, 2 * OVERLAP_BYTES));
  let pos = 0;
  let end = 0;
  /** Bytes of the page before the window. */
  let base = 0;
  let eof = false;

  /** Drops the bytes before `pos` and reads on. */
  async function refill(): Promise<void> {
    window.copyWithin(0, pos, end);
    base += pos;
    end -= pos;
    pos = 0;
    const count = eof || end === window.length ? 0 : await page.read(window, end);
    eof ||= count === 0;
    end += count;
  }

  /** Moves `pos` behind the quote that opens the next file; false at the end of the page. */
  async function nextFile(): Promise<boolean> {
    for (;;) {
      const match = FILE.exec(window.toString('latin1', pos, end));
      if (match !== null) {
        pos += match.index + match[0].length;
        return true;
      }
      if (eof) return false;
      pos = Math.max(pos, end - OVERLAP_BYTES);
      await refill();
    }
  }

  if (!(await nextFile())) {
    throw new MbfError('MBF2303', "a page of torch's memory viewer without a snapshot in it", { offset: base + end });
  }
  const start = base + pos;
  let isClosed = false;
  /** Bits of characters not yet worth a byte. */
  let held = 0;
  let heldBits = 0;

  async function read(target: Uint8Array, at: number): Promise<number> {
    let to = at;
    while (to === at && !isClosed) {
      if (pos === end) {
        await refill();
        if (pos === end)
          throw new MbfError('MBF2301', 'the page ends in the middle of its embedded snapshot', { offset: base + end });
      }
      // Four characters at a time while nothing odd is among them.
      while (heldBits === 0 && pos + 4 <= end && to + 3 <= target.length) {
        const bits =
          (SIX_BITS[window[pos]!]! << 18) |
          (SIX_BITS[window[pos + 1]!]! << 12) |
          (SIX_BITS[window[pos + 2]!]! << 6) |
          SIX_BITS[window[pos + 3]!]!;
        if (bits < 0) break;
        target[to] = bits >> 16;
        target[to + 1] = bits >> 8;
        target[to + 2] = bits;
        to += 3;
        pos += 4;
      }
      while (pos < end && to < target.length) {
        const six = SIX_BITS[window[pos]!]!;
        if (six === -1) {
          throw new MbfError('MBF2304', 'a character in the embedded snapshot that base64 does not have', {
            offset: base + pos,
          });
        }
        if (six === -3) {
          // One character left over is 6 bits: no byte ends there.
          if (heldBits === 6) {
            throw new MbfError('MBF2304', 'the embedded snapshot ends in the middle of a byte', { offset: base + pos });
          }
          isClosed = true;
          break;
        }
        pos += 1;
        if (six === -2) continue;
        held = ((held << 6) | six) & 0xfff;
        heldBits += 6;
        if (heldBits >= 8) {
          heldBits -= 8;
          target[to++] = held >> heldBits;
          held &= (1 << heldBits) - 1;
        }
        if (heldBits === 0) break;
      }
      if (to === target.length) break;
    }
    return to - at;
  }

  return {
    source: { sizeBytes: page.sizeBytes === undefined ? undefined : Math.ceil(page.sizeBytes * 0.75), read },
    pageOffset: (offset) => start + Math.floor(offset / 3) * 4,
    async furtherFiles() {
      let count = 0;
      while (await nextFile()) count += 1;
      return count;
    },
  };
}
