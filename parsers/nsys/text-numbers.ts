/** Which of an export's texts its rows name, and numbers for the texts inside the rows themselves. */
import type { NsysText } from '../../src/model/nsys-rows.js';

/** Numbers up to here are kept as bits; the exporter counts from 0, and 16M texts are more than any report has. */
const MOST_BITS = 2 ** 24;

/** Ids of texts that were seen in a column. */
export class UsedTexts {
  private bits = new Uint8Array(2 ** 13);
  private readonly others = new Set<number>();

  /** The 64-bit column `ids`, from row `at` on. */
  addColumn(ids: Uint32Array, rows: number, at: number): void {
    let last = -1;
    for (let row = at; row < at + rows; row++) {
      const low = ids[row * 2]!;
      if (low === last) continue;
      const high = ids[row * 2 + 1]!;
      if (high === 0) {
        last = low;
        this.add(low);
      } else if (high < 0x200000) this.add(high * 2 ** 32 + low);
    }
  }

  add(id: number): void {
    if (id >= MOST_BITS) {
      this.others.add(id);
      return;
    }
    const byte = id >>> 3;
    if (byte >= this.bits.length) {
      const larger = new Uint8Array(Math.max(byte + 1, this.bits.length * 2));
      larger.set(this.bits);
      this.bits = larger;
    }
    this.bits[byte]! |= 1 << (id & 7);
  }

  has(id: number): boolean {
    if (id >= MOST_BITS) return this.others.has(id);
    return ((this.bits[id >>> 3] ?? 0) & (1 << (id & 7))) !== 0;
  }
}

/** Texts per message. */
const TEXTS_AT_ONCE = 2048;

/** Sends texts in messages. */
export class TextBatches {
  private waiting: NsysText[] = [];
  private readonly send: (texts: readonly NsysText[]) => void;

  constructor(send: (texts: readonly NsysText[]) => void) {
    this.send = send;
  }

  add(id: number, text: string): void {
    this.waiting.push({ id, text });
    if (this.waiting.length >= TEXTS_AT_ONCE) this.flush();
  }

  flush(): void {
    if (this.waiting.length > 0) this.send(this.waiting);
    this.waiting = [];
  }
}

/**
 * Numbers texts as they come, from −1 down, so that they never meet the exporter's own. Profilers write a number into
 * each range ("aten::mm, op_id = 17"), so the texts of a long capture may all differ: only the recent ones are
 * remembered, and one that comes again much later gets a second number.
 */
export class RowTexts extends TextBatches {
  private readonly known = new Map<string, number>();
  private next = -1;
  private readonly most: number;

  constructor(send: (texts: readonly NsysText[]) => void, most = 65_536) {
    super(send);
    this.most = most;
  }

  number(text: string): number {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    if (this.known.size >= this.most) this.known.clear();
    const id = this.next--;
    this.known.set(text, id);
    this.add(id, text);
    return id;
  }
}

/** Longer texts are cut: names of kernels with all their template arguments reach 200 KB. */
const MOST_TEXT_CHARS = 16_384;

export function cutText(text: string): string {
  return text.length <= MOST_TEXT_CHARS ? text : `${text.slice(0, MOST_TEXT_CHARS)}…`;
}
