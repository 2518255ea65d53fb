/** A window that slides over a byte stream, and errors with their position in the stream. */
import { type ErrorCode, MbfError } from '../../src/model/errors.js';
import type { ByteSource } from '../../src/model/parser.js';

/** 2 MiB: smaller windows slide more often, larger ones take memory and leave the caches; neither is faster. */
const WINDOW_BYTES = 2 * 1024 * 1024;
/** Zeroed bytes behind the end of the data: a cut operand reads zeros and is found to overrun. */
const SLACK_BYTES = 65_536;

export abstract class ByteWindow {
  protected buf: Buffer = Buffer.alloc(0);
  protected view: DataView = new DataView(new ArrayBuffer(0));
  /** Position of the next read, and end of the data, in the window. The bytes after the end are zero. */
  protected pos = 0;
  protected end = 0;
  /** Bytes of the stream before the window. */
  protected base = 0;
  protected eof = false;
  /** Bytes needed from `pos` on; 0 for as many as fit. */
  protected needed = 0;
  private readonly windowBytes: number;

  constructor(windowBytes = WINDOW_BYTES) {
    this.windowBytes = windowBytes;
  }

  /** `sizeBytes`: of the stream, if known. */
  protected openWindow(sizeBytes = Number.POSITIVE_INFINITY): void {
    // One more byte, so that the end is found without a further window.
    const bytes = Math.min(this.windowBytes, Math.max(sizeBytes + 1, 2 * SLACK_BYTES));
    this.setWindow(this.resized(bytes + SLACK_BYTES));
  }

  /** So many bytes, the first of which are those of the present window. */
  protected resized(bytes: number): Buffer {
    const grown = Buffer.alloc(bytes);
    this.buf.copy(grown, 0, 0, this.end);
    return grown;
  }

  protected fail(code: ErrorCode, fact: string, pos = this.pos): never {
    throw new MbfError(code, fact, { offset: this.base + Math.min(pos, this.end) });
  }

  protected setWindow(buffer: Buffer): void {
    this.buf = buffer;
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  }

  /** Keeps at least `needed` (or 64 KiB) unread bytes in the window unless the stream ended. */
  protected async fill(source: ByteSource, progress?: (bytes: number) => void): Promise<void> {
    const minimum = Math.max(this.needed, Math.min(SLACK_BYTES, this.windowBytes >> 1));
    if (this.eof || this.end - this.pos >= minimum) return;
    const capacity = this.buf.length - SLACK_BYTES;
    if (minimum > capacity / 2) this.setWindow(this.resized(minimum * 2 + SLACK_BYTES));
    this.buf.copyWithin(0, this.pos, this.end);
    this.base += this.pos;
    this.end -= this.pos;
    this.pos = 0;
    const limit = this.buf.length - SLACK_BYTES;
    while (this.end < limit) {
      const count = await source.read(this.buf.subarray(0, limit), this.end);
      if (count === 0) {
        this.eof = true;
        this.buf.fill(0, this.end, this.end + SLACK_BYTES);
        break;
      }
      this.end += count;
    }
    this.needed = 0;
    progress?.(this.base + this.end);
  }
}
