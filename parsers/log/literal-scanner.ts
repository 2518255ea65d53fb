/** Slots of the shift table; three bytes are hashed into it. */
import { maxOf, minOf } from '../../src/model/lists.js';

const SLOTS = 65_536;

/**
 * Finds any of many literals in bytes in one pass (Wu–Manber over blocks of three bytes): if the bytes at the end of a
 * window of the shortest literal's length end no literal, the window advances by up to that length less two. Most lines
 * of a log contain no literal; this makes them cost almost nothing, however many literals there are.
 */
export class LiteralScanner {
  /** Indices into the literal list of those found at the last returned position. */
  readonly found: number[] = [];
  /** Length of the longest literal: how far a hit may extend after its first byte. */
  readonly longest: number;
  private readonly literals: readonly Uint8Array[];
  private readonly window: number;
  private readonly shift = new Uint8Array(SLOTS);
  /** By slot, the literals whose window ends there. */
  private readonly candidates: (readonly number[] | undefined)[] = new Array(SLOTS);

  constructor(literals: readonly string[]) {
    this.literals = literals.map((literal) => Buffer.from(literal, 'utf8'));
    const lengths = this.literals.map((literal) => literal.length);
    this.window = Math.min(minOf(lengths), 255);
    if (this.window < 3) throw new RangeError('a literal needs at least three bytes');
    this.longest = maxOf(lengths);
    this.shift.fill(this.window - 2);
    this.literals.forEach((literal, index) => {
      for (let end = 2; end < this.window; end += 1) {
        const slot = slotOf(literal[end - 2]!, literal[end - 1]!, literal[end]!);
        this.shift[slot] = Math.min(this.shift[slot]!, this.window - 1 - end);
        if (end === this.window - 1) this.candidates[slot] = [...(this.candidates[slot] ?? []), index];
      }
    });
  }

  /** Start of the first literal that begins in [from, startLimit) and ends by `end`, or -1. Fills {@link found}. */
  next(bytes: Uint8Array, from: number, startLimit: number, end: number): number {
    const { window, shift } = this;
    const last = Math.min(end, startLimit + window - 1);
    let position = from + window - 1;
    while (position < last) {
      const slot = (bytes[position - 2]! ^ (bytes[position - 1]! << 5) ^ (bytes[position]! << 9)) & (SLOTS - 1);
      const step = shift[slot]!;
      if (step !== 0) {
        position += step;
        continue;
      }
      const start = position - window + 1;
      if (this.matchesAt(bytes, start, end, slot)) return start;
      position += 1;
    }
    return -1;
  }

  private matchesAt(bytes: Uint8Array, start: number, end: number, slot: number): boolean {
    const { found, literals } = this;
    if (found.length > 0) found.length = 0;
    for (const index of this.candidates[slot]!) {
      const literal = literals[index]!;
      if (start + literal.length > end) continue;
      let at = 0;
      while (at < literal.length && bytes[start + at] === literal[at]) at += 1;
      if (at === literal.length) found.push(index);
    }
    return found.length > 0;
  }
}

function slotOf(first: number, second: number, third: number): number {
  return (first ^ (second << 5) ^ (third << 9)) & (SLOTS - 1);
}
