import { maxOf, minOf } from '../../src/model/lists.js';

/** So many bytes of a literal contain four that are aligned, wherever it is. */
const WINDOW = 7;
const WORD = 4;
/** Of a literal of six bytes the last word may reach one byte behind it. */
const SHORTEST = WINDOW - 1;
/** The window of a literal begins at most so far in it. */
const LATEST = 24;
const HASH_BITS = 17;
const FACTOR = 0x9e3779b1;
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
    const uses = new Map<number, number>();
    for (const literal of this.literals)
      for (let at = 0; at + WORD <= literal.length; at += 1) {
        const word = wordAt(literal, at);
        uses.set(word, (uses.get(word) ?? 0) + 1);
      }
    const usesAt = (literal: Uint8Array, at: number): number => uses.get(wordAt(literal, at)) ?? 0;
    this.literals.forEach((literal, index) => {
      // The seven bytes whose words are the least frequent ones.
      let start = 0;
      let least = Number.POSITIVE_INFINITY;
      for (let at = 0; at <= Math.min(LATEST, literal.length - WINDOW); at += 1) {
        const sum = [0, 1, 2, 3].reduce((total, offset) => total + usesAt(literal, at + offset), 0);
        if (sum < least) [start, least] = [at, sum];
      }
      for (let offset = start; offset < start + WORD; offset += 1) {
        if (offset + WORD <= literal.length) this.addWord(wordAt(literal, offset), offset, index);
        else for (let last = 0; last < 256; last += 1) this.addWord(wordAt(literal, offset, last), offset, index);
      }
    });
    if (this.words.length > 0xffff) throw new RangeError('too many literals');
  }

  private addWord(word: number, offset: number, index: number): void {
    const hash = Math.imul(word, FACTOR) >>> (32 - HASH_BITS);
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
      const hash = Math.imul(word, FACTOR) >>> (32 - HASH_BITS);
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

/** The four bytes at `at`; where the literal ends before, `last` is behind it. */
function wordAt(literal: Uint8Array, at: number, last = 0): number {
  const bytes = Uint8Array.of(literal[at]!, literal[at + 1]!, literal[at + 2]!, literal[at + 3] ?? last);
  return new Int32Array(bytes.buffer)[0]!;
}

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
