/**
 * SQLite's variable-length integers: up to eight bytes of seven bits, high first, and a ninth of eight. Upstream:
 * sqlite.org/fileformat2.html, 1.6.
 */

/**
 * The last one read, as two's complement in halves: negative rowids have nine bytes, and a double holds only 53 bits.
 */
export class Varint {
  /** Signed. */
  high = 0;
  /** Unsigned. */
  low = 0;

  /**
   * Returns the position after it. Reads up to nine bytes without a check: the caller checks whether they belong to the
   * page.
   */
  read(bytes: Uint8Array, at: number): number {
    let high = 0;
    let low = 0;
    for (let i = 0; i < 8; i++) {
      const byte = bytes[at++]!;
      high = (high << 7) | (low >>> 25);
      low = (low << 7) | (byte & 127);
      if (byte < 128) {
        this.high = high;
        this.low = low >>> 0;
        return at;
      }
    }
    this.high = (high << 8) | (low >>> 24);
    this.low = ((low << 8) | bytes[at++]!) >>> 0;
    return at;
  }

  /** As a length; beyond 2⁵³ it is not exact, and beyond 2⁶³ negative, but no length is as large. */
  get value(): number {
    return this.high * 4294967296 + this.low;
  }
}
