/** How many blocks there are of each size. */

export class SizeCounts {
  /** Of all of them. */
  bytes = 0;
  private readonly counts = new Map<number, number>();

  add(size: number, count = 1): void {
    this.counts.set(size, this.countOf(size) + count);
    this.bytes += size * count;
  }

  has(size: number): boolean {
    return this.countOf(size) > 0;
  }

  countOf(size: number): number {
    return this.counts.get(size) ?? 0;
  }

  /** One of this size less; false if there is none left. */
  take(size: number): boolean {
    const count = this.countOf(size);
    if (count === 0) return false;
    this.counts.set(size, count - 1);
    this.bytes -= size;
    return true;
  }

  [Symbol.iterator](): IterableIterator<[number, number]> {
    return this.counts.entries();
  }
}
