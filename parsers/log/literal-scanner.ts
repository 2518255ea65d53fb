import { maxOf, minOf } from '../../src/model/lists.js';

/** So many bytes of a literal contain four that are aligned, wherever it is. */
const WINDOW = 7;
const WORD = 4;
/** Of a literal of six bytes the last word may reach one byte behind it. */
const SHORTEST = WINDOW - 1;
/** They are among the first ones. */
const MOST_BYTES = 16;
const HASH_BITS = 17;
/**
 * Finds any of many literals in bytes in one pass: each aligned word of four bytes is looked up in a bitmap of the
 * words in seven bytes of each literal. Most lines of a log contain no literal; this makes them cost almost nothing,
 * however many literals there are.
 */
export class LiteralScanner {
  /** Indices into the literal list of those found at the last returned position, in ascending order. */
  readonly found: number[] = [];
  /** Length of the longest literal: how far a hit may extend after its first byte. */
  readonly longest: number;
  private readonly literals: readonly Uint8Array[];
  private readonly bitmap = new Int32Array(1 << (HASH_BITS - 5));
  /** By hash, the last one of the words with it; of each word the one before, both counted from 1. */
  private readonly heads = new Uint16Array(1 << HASH_BITS);
  private readonly before: number[] = [0];
  /** Of each word its literal, its bytes, and where it is in that. */
  private readonly owners: number[] = [0];
  private readonly words: number[] = [0];
  private readonly offsets: number[] = [0];
  /** Of all offsets the largest. */
  private latest = 0;

  constructor(literals: readonly string[]) {
    this.literals = literals.map((literal) => Buffer.from(literal, 'utf8'));
    const lengths = this.literals.map((literal) => literal.length);
    if (minOf(lengths) < SHORTEST) throw new RangeError(`a literal needs at least ${SHORTEST} bytes`);
    this.longest = maxOf(lengths);
    const words = this.literals.map(wordsOfLiteral);
    const uses = new Uint16Array(1 << HASH_BITS);
    for (const list of words) for (const word of list) uses[hashOf(word)]! += 1;
    this.literals.forEach((literal, index) => {
      // The seven bytes whose words the fewest literals have.
      const counts = words[index]!.map((word) => uses[hashOf(word)]!);
      let start = 0;
      let least = Number.POSITIVE_INFINITY;
      for (let at = 0; at <= counts.length - WORD; at += 1) {
        const sum = counts[at]! + counts[at + 1]! + counts[at + 2]! + counts[at + 3]!;
        if (sum < least) [start, least] = [at, sum];
      }
      for (let offset = start; offset < start + WORD; offset += 1) {
        const word = words[index]![offset];
        if (word !== undefined) this.addWord(word, offset, index);
        else
          for (let behind = 0; behind < 256; behind += 1)
            this.addWord(wordsOfLiteral(Uint8Array.of(...literal, behind))[offset]!, offset, index);
      }
    });
    if (this.words.length > 0xffff) throw new RangeError('too many literals');
  }

  private addWord(word: number, offset: number, index: number): void {
    const hash = hashOf(word);
    this.bitmap[hash >>> 5]! |= 1 << hash;
    this.before.push(this.heads[hash]!);
    this.heads[hash] = this.words.length;
    this.words.push(word);
    this.offsets.push(offset);
    this.owners.push(index);
    this.latest = Math.max(this.latest, offset);
  }

  /** Start of the first literal that begins in [from, startLimit) and ends by `end`, or -1. Fills {@link found}. */
  next(bytes: Uint8Array, from: number, startLimit: number, end: number): number {
    const { bitmap, found, latest } = this;
    if (found.length > 0) found.length = 0;
    const { words, shift } = wordsOf(bytes);
    const stopAt = (begin: number): number => Math.ceil((Math.min(end, begin + latest) + shift) / WORD);
    let start = -1;
    let limit = startLimit;
    let stop = stopAt(limit);
    for (let at = (from + shift) >>> 2; at < stop; at += 1) {
      const word = words[at]!;
      const hash = hashOf(word);
      if (((bitmap[hash >>> 5]! >>> hash) & 1) === 0) continue;
      for (let entry = this.heads[hash]!; entry > 0; entry = this.before[entry]!) {
        if (this.words[entry] !== word) continue;
        const begin = at * WORD - shift - this.offsets[entry]!;
        if (begin < from || begin >= limit || !this.isAt(this.owners[entry]!, bytes, begin, end)) continue;
        if (begin !== start) found.length = 0;
        start = begin;
        found.push(this.owners[entry]!);
        // What begins before it may be found behind it.
        limit = begin + 1;
        stop = stopAt(limit);
      }
    }
    if (found.length > 1) found.sort((a, b) => a - b);
    return start;
  }

  private isAt(index: number, bytes: Uint8Array, start: number, end: number): boolean {
    const literal = this.literals[index]!;
    if (start + literal.length > end) return false;
    let at = 0;
    while (at < literal.length && bytes[start + at] === literal[at]) at += 1;
    return at === literal.length;
  }
}

const hashOf = (word: number): number => Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS);

/** Of each of the first bytes, the four from there on, as the machine reads them. */
function wordsOfLiteral(literal: Uint8Array): Int32Array {
  const length = Math.min(literal.length, MOST_BYTES);
  const words = new Int32Array(length - WORD + 1);
  for (let shift = 0; shift < WORD; shift += 1) {
    area.set(literal.subarray(shift, length));
    for (let at = shift; at < words.length; at += WORD) words[at] = areaWords[(at - shift) / WORD]!;
  }
  return words;
}
const area = new Uint8Array(MOST_BYTES);
const areaWords = new Int32Array(area.buffer);

/** The aligned words of bytes, the first of which may begin before them. */
function wordsOf(bytes: Uint8Array): { readonly words: Int32Array; readonly shift: number } {
  const shift = bytes.byteOffset % WORD;
  const count = Math.ceil((shift + bytes.length) / WORD);
  if (bytes.byteOffset - shift + count * WORD <= bytes.buffer.byteLength)
    return { words: new Int32Array(bytes.buffer, bytes.byteOffset - shift, count), shift };
  const padded = new Uint8Array(count * WORD);
  padded.set(bytes, shift);
  return { words: new Int32Array(padded.buffer), shift };
}
