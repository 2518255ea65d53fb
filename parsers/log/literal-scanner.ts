/**
 * Finds any of many literals in bytes in one pass (Wu–Manber over two-byte blocks): where the bytes at the end of a window of
 * the shortest literal's length end no literal, the window moves on by up to that length. A log is mostly lines nobody
 * asks about; this is what makes them cost almost nothing, however many literals there are.
 */
export class LiteralScanner {
  /** Indices into the literal list of those found at the last returned position. */
  readonly found: number[] = [];
  /** Length of the longest literal: how much of a hit may lie beyond its first byte. */
  readonly longest: number;
  private readonly literals: readonly Uint8Array[];
  private readonly window: number;
  private readonly shift = new Uint8Array(65_536);
  private readonly candidates = new Map<number, number[]>();

  constructor(literals: readonly string[]) {
    this.literals = literals.map((literal) => Buffer.from(literal, 'utf8'));
    const lengths = this.literals.map((literal) => literal.length);
    this.window = Math.min(...lengths, 255);
    if (this.window < 2) throw new RangeError('a literal needs at least two bytes');
    this.longest = Math.max(...lengths);
    this.shift.fill(this.window - 1);
    this.literals.forEach((literal, index) => {
      for (let end = 1; end < this.window; end += 1) {
        const block = literal[end - 1]! | (literal[end]! << 8);
        this.shift[block] = Math.min(this.shift[block]!, this.window - 1 - end);
        if (end === this.window - 1) this.candidates.set(block, [...(this.candidates.get(block) ?? []), index]);
      }
    });
  }

  /** Start of the first literal that begins in [from, startLimit) and ends by `end`, or -1. Fills {@link found}. */
  next(bytes: Uint8Array, from: number, startLimit: number, end: number): number {
    const { window, shift } = this;
    const last = Math.min(end, startLimit + window - 1);
    let position = from + window - 1;
    while (position < last) {
      const block = bytes[position - 1]! | (bytes[position]! << 8);
      const step = shift[block]!;
      if (step !== 0) {
        position += step;
        continue;
      }
      const start = position - window + 1;
      if (this.matchesAt(bytes, start, end, block)) return start;
      position += 1;
    }
    return -1;
  }

  private matchesAt(bytes: Uint8Array, start: number, end: number, block: number): boolean {
    this.found.length = 0;
    for (const index of this.candidates.get(block) ?? []) {
      const literal = this.literals[index]!;
      if (start + literal.length > end) continue;
      let at = 0;
      while (at < literal.length && bytes[start + at] === literal[at]) at += 1;
      if (at === literal.length) this.found.push(index);
    }
    return this.found.length > 0;
  }
}
