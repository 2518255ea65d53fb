/** From the bytes of a file to those of the log in it, in one pass; each line of the log knows its line of the file. */
export const LF = 10;
export const CR = 13;
export const SPACE = 32;
export const CHUNK_BYTES = 256 * 1024;
/** Line ends, and blanks, that are held back until text comes; those beyond are dropped: each takes memory. */
export const MOST_HELD = 1024;

/** Numbers in order of their arrival. */
export class Numbers {
  private values = new Uint32Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.values[index]!;
  }
}

/** Takes the bytes of a file and holds those of the log. */
export abstract class Unwrap {
  private out = Buffer.allocUnsafe(2 * CHUNK_BYTES);
  private filled = 0;
  private given = 0;
  private line = 1;
  private fileLine = 1;
  /** Lines of the log with text or an end, the first one and each whose distance in the file to the next is another. */
  private readonly bends = new Numbers();
  private readonly fileBends = new Numbers();
  /** The line that came last, its line of the file, and how far that is from the one before. */
  private lastLine = 0;
  private lastFileLine = 0;
  private stride = -1;
  /** Where each record begins, by bytes and lines of the log; only if they are wanted. */
  records: { readonly bytes: Numbers; readonly lines: Numbers } | undefined;
  /** The last line of the log has text. */
  private isOpen = false;
  /** Line ends before the next byte of text. */
  private breaks = 0;
  /** Bytes of the line of the file. */
  private taken = 0;
  /** The line of the file has a text, perhaps an empty one. */
  protected hasText = false;
  /** The text of the next line of the file goes on in the same line of the log. */
  protected isCut = false;
  /** The head is not of this notation. */
  isFaulty = false;

  protected abstract byte(byte: number): void;

  take(bytes: Uint8Array): void {
    this.out.copyWithin(0, this.given, this.filled);
    this.filled -= this.given;
    this.given = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (byte === LF) this.lineEnd();
      else {
        this.taken += 1;
        this.byte(byte);
      }
    }
  }

  get size(): number {
    return this.filled - this.given;
  }

  give(target: Uint8Array, start: number): number {
    const count = this.out.copy(target, start, this.given, Math.min(this.filled, this.given + target.length - start));
    this.given += count;
    return count;
  }

  /** The line of the file that holds a line of the log. */
  lineOf(line: number): number {
    const { bends, fileBends } = this;
    let low = 0;
    for (let high = bends.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (bends.at(middle) <= line) low = middle;
      else high = middle - 1;
    }
    if (bends.length === 0) return line;
    const first = bends.at(low);
    const fileLine = fileBends.at(low);
    const isLast = low + 1 === bends.length;
    const lines = (isLast ? this.lastLine : bends.at(low + 1)) - first;
    const fileLines = (isLast ? this.lastFileLine : fileBends.at(low + 1)) - fileLine;
    return lines === 0 ? fileLine : fileLine + (line - first) * (fileLines / lines);
  }

  private begin(): void {
    this.isOpen = true;
    const { line, fileLine } = this;
    const stride = fileLine - this.lastFileLine;
    if (this.bends.length === 0) this.bend(line, fileLine);
    else if (stride !== this.stride) {
      if (this.stride >= 0) this.bend(this.lastLine, this.lastFileLine);
      this.stride = stride;
    }
    this.lastLine = line;
    this.lastFileLine = fileLine;
  }

  private bend(line: number, fileLine: number): void {
    this.bends.push(line);
    this.fileBends.push(fileLine);
  }

  private put(byte: number): void {
    if (this.filled === this.out.length) this.out = Buffer.concat([this.out], 2 * this.filled);
    this.out[this.filled] = byte;
    this.filled += 1;
  }

  private close(): void {
    if (!this.isOpen) this.begin();
    this.put(LF);
    this.line += 1;
    this.isOpen = false;
  }

  protected lineEnd(): void {
    // A line that had nothing to do with the log is none; one whose text is empty is a blank line.
    if (!this.isCut && (this.isOpen || this.hasText || this.taken === 0)) this.close();
    this.fileLine += 1;
    this.taken = 0;
    this.breaks = 0;
    this.hasText = false;
  }

  protected text(byte: number): void {
    for (; this.breaks > 0; this.breaks -= 1) this.close();
    if (!this.isOpen) this.begin();
    this.put(byte);
  }

  protected character(code: number): void {
    if (code === LF || code === CR) this.innerEnd();
    else if (code < 0x80) this.text(code);
    else for (const byte of Buffer.from(String.fromCodePoint(code))) this.text(byte);
  }

  /** The next line of the file is another record. */
  protected endRecord(): void {
    this.records?.bytes.push(this.filled);
    this.records?.lines.push(this.line);
  }

  /** A line end in the text; the last one of a text is the end of its last line. */
  protected innerEnd(): void {
    if (this.breaks < MOST_HELD) this.breaks += 1;
  }

  /** A text that is a line, or some, of its own. */
  protected beginText(): void {
    if (this.hasText) this.innerEnd();
    this.hasText = true;
  }

  protected endText(hasEnd: boolean): void {
    if (hasEnd) this.breaks -= 1;
  }

  protected blank(): void {
    if (this.isOpen && this.breaks === 0) this.text(SPACE);
  }

  /** A line of its own without text. */
  protected emptyLine(): void {
    if (this.isOpen) this.innerEnd();
    else this.hasText = true;
  }

  /** What follows is another line than what the line of the file has so far. */
  protected separate(): void {
    this.breaks = Math.max(this.breaks, this.isOpen ? 1 : 0);
  }
}
