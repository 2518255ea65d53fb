/**
 * A payload that is longer than fits its leaf page, put together from the chain of overflow pages. Upstream:
 * sqlite.org/fileformat2.html, 1.6 and 1.7.
 *
 * Read no further than asked for, so that a large blob behind small columns costs nothing. A chain that ends early is
 * damage, and so is one that goes on behind its last byte: which is how a chain that runs in a circle ends.
 */
import { Damage } from './damage.js';
import type { PageReader } from './page-reader.js';

/** Texts of nsys have up to 183 KB; this much is held in memory at once. */
const MAX_PAYLOAD_BYTES = 268_435_456;
const FIRST_BYTES = 65_536;
/** A larger buffer is not kept for the next row. */
const KEPT_BYTES = 4 * 1_048_576;
const POINTER_BYTES = 4;

export class OverflowReader {
  /** The payload from its first byte on, as far as {@link require} has read it. */
  bytes = Buffer.alloc(FIRST_BYTES);
  private readonly reader: PageReader;
  private readonly page: Buffer;
  private readonly maxLocal: number;
  private readonly minLocal: number;
  private payload = 0;
  private loaded = 0;
  private nextPage = 0;
  /** The page that contains {@link nextPage}, for error messages. */
  private fromPage = 0;

  constructor(reader: PageReader) {
    const { pageSize, usableSize } = reader.geometry;
    this.reader = reader;
    this.page = Buffer.alloc(pageSize);
    this.maxLocal = usableSize - 35;
    this.minLocal = Math.floor(((usableSize - 12) * 32) / 255) - 23;
  }

  /**
   * Begins with the part of a payload that is in its leaf, at `at`. Returns where its cell ends, −1 if that is not
   * before `end`.
   */
  begin(leaf: Buffer, at: number, payload: number, leafPage: number, end: number): number {
    const { usableSize } = this.reader.geometry;
    const preferred = this.minLocal + ((payload - this.minLocal) % (usableSize - POINTER_BYTES));
    const local = preferred <= this.maxLocal ? preferred : this.minLocal;
    const cellEnd = at + local + POINTER_BYTES;
    if (cellEnd > end) return -1;
    if (this.bytes.length > KEPT_BYTES) this.bytes = Buffer.alloc(FIRST_BYTES);
    leaf.copy(this.bytes, 0, at, at + local);
    this.loaded = local;
    this.payload = payload;
    this.nextPage = leaf.readUInt32BE(at + local);
    this.fromPage = leafPage;
    return cellEnd;
  }

  /** Reads the first `length` bytes of the payload, which has as many. */
  require(length: number): void {
    const { reader } = this;
    const { usableSize } = reader.geometry;
    if (length <= this.loaded) return;
    if (length > MAX_PAYLOAD_BYTES) this.fail(`a row of ${this.payload} bytes; up to ${MAX_PAYLOAD_BYTES} are read`);
    while (this.loaded < length) {
      if (this.nextPage === 0) this.fail(`the overflow chain ends after ${this.loaded} of ${this.payload} bytes`);
      const page = this.nextPage;
      const at = reader.peek(page);
      if (at < 0) reader.readInto(this.page, page, this.fromPage);
      const bytes = at < 0 ? this.page : reader.window;
      const base = Math.max(at, 0);
      const count = Math.min(usableSize - POINTER_BYTES, this.payload - this.loaded);
      this.reserve(this.loaded + count);
      bytes.copy(this.bytes, this.loaded, base + POINTER_BYTES, base + POINTER_BYTES + count);
      this.loaded += count;
      this.fromPage = page;
      this.nextPage = bytes.readUInt32BE(base);
    }
    if (this.loaded === this.payload && this.nextPage !== 0) {
      this.fail(`the overflow chain goes on to page ${this.nextPage} behind the last of ${this.payload} bytes`);
    }
  }

  private reserve(length: number): void {
    if (length <= this.bytes.length) return;
    const grown = Buffer.alloc(Math.max(length, Math.min(this.payload, 2 * this.bytes.length)));
    this.bytes.copy(grown, 0, 0, this.loaded);
    this.bytes = grown;
  }

  private fail(fact: string): never {
    throw new Damage(`page ${this.fromPage}: ${fact}`, (this.fromPage - 1) * this.reader.geometry.pageSize);
  }
}
