/**
 * Writes protocol-4 pickles opcode for opcode as CPython's C pickler does (`Modules/_pickle.c`), for the types a memory snapshot is
 * made of: dict, list, tuple, str, int, float, bool. Dicts, lists and tuples are memoised by identity.
 */

/** A Python float; JavaScript numbers are written as ints. */
export class PyFloat {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A Python tuple of two: the only length a snapshot has. */
export class PyPair {
  readonly items: readonly [PyValue, PyValue];
  constructor(first: PyValue, second: PyValue) {
    this.items = [first, second];
  }
}

/**
 * A string object of its own. Plain JavaScript strings stand for one shared Python object per text; torch makes new objects for some
 * strings, which the pickler then writes out again.
 */
export class PyText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type PyDict = Map<string | PyText, PyValue>;
export type PyValue = boolean | number | string | PyFloat | PyText | PyPair | PyValue[] | PyDict;

const OP = {
  proto: 0x80,
  frame: 0x95,
  stop: 0x2e,
  mark: 0x28,
  emptyDict: 0x7d,
  emptyList: 0x5d,
  append: 0x61,
  appends: 0x65,
  setItem: 0x73,
  setItems: 0x75,
  tuple2: 0x86,
  memoize: 0x94,
  binGet: 0x68,
  longBinGet: 0x6a,
  shortBinUnicode: 0x8c,
  binUnicode: 0x58,
  binInt: 0x4a,
  binInt1: 0x4b,
  binInt2: 0x4d,
  long1: 0x8a,
  binFloat: 0x47,
  newTrue: 0x88,
  newFalse: 0x89,
} as const;

/** BATCHSIZE: items per SETITEMS or APPENDS. */
const BATCH = 1000;
/** FRAME_SIZE_TARGET: a frame is closed at the first value boundary past this many bytes. */
const FRAME_TARGET_BYTES = 64 * 1024;
const FRAME_HEADER_BYTES = 9;
/** FRAME_SIZE_MIN: shorter frames are written without a header. */
const FRAME_MIN_BYTES = 4;
/** More than any value but a text needs, so that one check of the room serves all its bytes. */
const ROOM_BYTES = 16;

/** The bytes of `value` in one buffer. Memory beside it: one memo entry per string, list, dict and tuple. */
export function pickle(value: PyValue): Buffer {
  const writer = new Pickler();
  writer.save(value);
  return writer.finish();
}

/** A class because its fields are the hot path: a snapshot of 100,000 entries is millions of values. */
class Pickler {
  private bytes = Buffer.allocUnsafe(1 << 20);
  private end = 0;
  /** Where the open frame's content begins; its header lies before it. -1: none is open. */
  private frameStart = -1;
  private readonly memo = new Map<string | object, number>();

  constructor() {
    this.bytes[0] = OP.proto;
    this.bytes[1] = 4;
    this.end = 2;
  }

  finish(): Buffer {
    this.room(ROOM_BYTES);
    this.byte(OP.stop);
    this.closeFrame();
    return this.bytes.subarray(0, this.end);
  }

  save(item: PyValue): void {
    if (this.frameStart >= 0 && this.end - this.frameStart >= FRAME_TARGET_BYTES) this.closeFrame();
    this.room(ROOM_BYTES);
    if (typeof item === 'number') this.writeInt(item);
    else if (typeof item === 'boolean') this.byte(item ? OP.newTrue : OP.newFalse);
    else if (item instanceof PyFloat) {
      this.byte(OP.binFloat);
      this.end = this.bytes.writeDoubleBE(item.value, this.end);
    } else {
      const known = this.memo.get(item);
      if (known === undefined) this.saveNew(item);
      else if (known <= 0xff) {
        this.byte(OP.binGet);
        this.byte(known);
      } else {
        this.byte(OP.longBinGet);
        this.end = this.bytes.writeUInt32LE(known, this.end);
      }
    }
  }

  private saveNew(item: Exclude<PyValue, number | boolean | PyFloat>): void {
    if (typeof item === 'string' || item instanceof PyText) {
      this.writeText(typeof item === 'string' ? item : item.text);
      this.memoize(item);
    } else if (item instanceof PyPair) {
      this.save(item.items[0]);
      this.save(item.items[1]);
      this.operation(OP.tuple2);
      this.memoize(item);
    } else if (Array.isArray(item)) {
      this.byte(OP.emptyList);
      this.memoize(item);
      this.saveItems(item);
    } else {
      this.byte(OP.emptyDict);
      this.memoize(item);
      this.saveEntries(item);
    }
  }

  private saveItems(items: readonly PyValue[]): void {
    if (items.length === 1) {
      this.save(items[0]!);
      this.operation(OP.append);
      return;
    }
    for (let start = 0; start < items.length; start += BATCH) {
      this.operation(OP.mark);
      const stop = Math.min(start + BATCH, items.length);
      for (let i = start; i < stop; i += 1) this.save(items[i]!);
      this.operation(OP.appends);
    }
  }

  private saveEntries(entries: PyDict): void {
    if (entries.size === 0) return;
    if (entries.size === 1) {
      for (const [key, value] of entries) {
        this.save(key);
        this.save(value);
      }
      this.operation(OP.setItem);
      return;
    }
    let count = 0;
    this.operation(OP.mark);
    for (const [key, value] of entries) {
      this.save(key);
      this.save(value);
      count += 1;
      // CPython starts another batch whenever the last one was full, so dicts of a multiple of 1000 end in an empty one.
      if (count % BATCH === 0) {
        this.operation(OP.setItems);
        this.operation(OP.mark);
      }
    }
    this.operation(OP.setItems);
  }

  private writeInt(number: number): void {
    if (!Number.isSafeInteger(number)) throw new RangeError(`not an exact integer: ${number}`);
    if (number >= 0 && number <= 0xff) {
      this.byte(OP.binInt1);
      this.byte(number);
    } else if (number >= 0 && number <= 0xffff) {
      this.byte(OP.binInt2);
      this.end = this.bytes.writeUInt16LE(number, this.end);
    } else if (number >= -(2 ** 31) && number < 2 ** 31) {
      this.byte(OP.binInt);
      this.end = this.bytes.writeInt32LE(number, this.end);
    } else {
      if (number < 0) throw new RangeError('large negative integers do not occur in snapshots');
      let length = 5;
      // One bit more than the magnitude, for the sign.
      while (number >= 2 ** (8 * length - 1)) length += 1;
      this.byte(OP.long1);
      this.byte(length);
      this.end = this.bytes.writeUInt32LE(number % 2 ** 32, this.end);
      this.end = this.bytes.writeUIntLE(Math.floor(number / 2 ** 32), this.end, length - 4);
    }
  }

  private writeText(text: string): void {
    const length = Buffer.byteLength(text, 'utf8');
    this.room(ROOM_BYTES + length);
    if (length <= 0xff) {
      this.byte(OP.shortBinUnicode);
      this.byte(length);
    } else {
      this.byte(OP.binUnicode);
      this.end = this.bytes.writeUInt32LE(length, this.end);
    }
    this.end += this.bytes.write(text, this.end, 'utf8');
  }

  private memoize(item: string | object): void {
    this.memo.set(item, this.memo.size);
    this.byte(OP.memoize);
  }

  /** An opcode after other values were saved, whose room is used up by then. */
  private operation(code: number): void {
    this.room(ROOM_BYTES);
    this.byte(code);
  }

  private byte(value: number): void {
    this.bytes[this.end] = value;
    this.end += 1;
  }

  /** Makes room for `count` bytes and opens a frame where none is open. */
  private room(count: number): void {
    const needed = this.end + count + FRAME_HEADER_BYTES;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, needed));
      this.bytes.copy(larger, 0, 0, this.end);
      this.bytes = larger;
    }
    if (this.frameStart < 0) {
      this.end += FRAME_HEADER_BYTES;
      this.frameStart = this.end;
    }
  }

  private closeFrame(): void {
    const length = this.end - this.frameStart;
    const header = this.frameStart - FRAME_HEADER_BYTES;
    if (length < FRAME_MIN_BYTES) {
      this.bytes.copyWithin(header, this.frameStart, this.end);
      this.end -= FRAME_HEADER_BYTES;
    } else {
      this.bytes[header] = OP.frame;
      this.bytes.writeBigUInt64LE(BigInt(length), header + 1);
    }
    this.frameStart = -1;
  }
}
