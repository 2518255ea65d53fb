/**
 * Writes pickles opcode for opcode as CPython's C pickler does (`Modules/_pickle.c`). {@link Raw} puts any bytes
 * anywhere, for files that no pickler writes. Strings are memoised by their text, dicts, lists and tuples by identity.
 */

/** A Python float; JavaScript numbers are written as ints. */
export class PyFloat {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

export class PyTuple {
  readonly items: readonly PyValue[];
  constructor(...items: PyValue[]) {
    this.items = items;
  }
}

/**
 * A string object of its own. A plain JavaScript string is one shared Python object per text; torch makes new objects
 * for some strings, which the pickler then writes again. Bytes may be anything: Python's pickler writes lone
 * surrogates.
 */
export class PyText {
  readonly text: string | Buffer;
  constructor(text: string | Buffer) {
    this.text = text;
  }
}

/** Bytes in the place of one value. `memoised`: how many memo slots they write. */
export class Raw {
  readonly bytes: Buffer;
  readonly memoised: number;
  constructor(bytes: Buffer | readonly number[], memoised = 0) {
    this.bytes = Buffer.from(bytes);
    this.memoised = memoised;
  }
}

export type PyDict = Map<string | PyText, PyValue>;
/** Maps are dicts with their keys in order; plain objects too, but a plain object cannot have a key `__proto__`. */
export type PyValue =
  | (null | boolean | number | bigint | string)
  | (PyFloat | PyText | PyTuple | Raw)
  | readonly PyValue[]
  | ReadonlyMap<string | PyText, PyValue>
  | { readonly [key: string]: PyValue };

/** Opcodes by name. Upstream: CPython `Lib/pickletools.py`. */
export const OP = {
  ...{ MARK: 0x28, EMPTY_TUPLE: 0x29, STOP: 0x2e, POP: 0x30, POP_MARK: 0x31, DUP: 0x32, BINFLOAT: 0x47, BININT: 0x4a },
  ...{ BININT1: 0x4b, BININT2: 0x4d, NONE: 0x4e, PERSID: 0x50, BINPERSID: 0x51, REDUCE: 0x52, BINUNICODE: 0x58 },
  ...{ EMPTY_LIST: 0x5d, APPEND: 0x61, BUILD: 0x62, GLOBAL: 0x63, DICT: 0x64, APPENDS: 0x65, BINGET: 0x68, INST: 0x69 },
  ...{ LONG_BINGET: 0x6a, LIST: 0x6c, OBJ: 0x6f, BINPUT: 0x71, LONG_BINPUT: 0x72, SETITEM: 0x73, TUPLE: 0x74 },
  ...{ SETITEMS: 0x75, EMPTY_DICT: 0x7d, PROTO: 0x80, NEWOBJ: 0x81, EXT1: 0x82, EXT2: 0x83, EXT4: 0x84, TUPLE1: 0x85 },
  ...{ TUPLE2: 0x86, TUPLE3: 0x87, NEWTRUE: 0x88, NEWFALSE: 0x89, LONG1: 0x8a, LONG4: 0x8b, SHORT_BINUNICODE: 0x8c },
  ...{ BINUNICODE8: 0x8d, NEWOBJ_EX: 0x92, STACK_GLOBAL: 0x93, MEMOIZE: 0x94, FRAME: 0x95, BYTEARRAY8: 0x96 },
  ...{ NEXT_BUFFER: 0x97, READONLY_BUFFER: 0x98 },
} as const;
const TUPLES = [OP.EMPTY_TUPLE, OP.TUPLE1, OP.TUPLE2, OP.TUPLE3] as const;

/** BATCHSIZE: items per SETITEMS or APPENDS. */
const BATCH = 1000;
/** FRAME_SIZE_TARGET: a frame is closed at the first value boundary past this many bytes. */
const FRAME_TARGET_BYTES = 64 * 1024;
const FRAME_HEADER_BYTES = 9;
/** FRAME_SIZE_MIN: shorter frames are written without a header. */
const FRAME_MIN_BYTES = 4;
/** More than any value but a text, long or raw needs, so that one check of the space serves all its bytes. */
const RESERVE_BYTES = 16;

export interface PickleOptions {
  /** Default: 4. */
  readonly protocol?: number;
  /** Write memo opcodes and refer to strings and objects seen before. Default: yes. */
  readonly memo?: boolean;
  /** Of protocol 4. Default: yes. */
  readonly frames?: boolean;
  /** End with STOP. Default: yes. */
  readonly stop?: boolean;
}

/** The bytes of `value` in one buffer. Memory besides: one memo entry per string, list, dict and tuple. */
export function pickle(value: PyValue, options: PickleOptions = {}): Buffer {
  const writer = new Pickler(options);
  writer.save(value);
  return writer.finish();
}

/** Without frames, so that bytes can be cut and replaced. */
export function pickled(value: PyValue, options: PickleOptions = {}): Buffer {
  return pickle(value, { frames: false, ...options });
}

/** A class because its fields are the hot path: a snapshot of 100,000 entries is millions of values. */
class Pickler {
  private readonly protocol: number;
  private readonly hasMemo: boolean;
  private readonly hasFrames: boolean;
  private readonly hasStop: boolean;
  private bytes = Buffer.allocUnsafe(1 << 16);
  private end = 2;
  /** Where the open frame's content begins; its header comes before it. -1: none is open. */
  private frameStart = -1;
  private readonly memo = new Map<string | object, number>();
  private slots = 0;

  constructor({ protocol = 4, memo = true, frames = true, stop = true }: PickleOptions) {
    this.protocol = protocol;
    this.hasMemo = memo;
    this.hasFrames = frames && protocol >= 4;
    this.hasStop = stop;
    this.bytes[0] = OP.PROTO;
    this.bytes[1] = protocol;
  }

  finish(): Buffer {
    if (this.hasStop) this.operation(OP.STOP);
    if (this.hasFrames && this.frameStart >= 0) this.closeFrame();
    return this.bytes.subarray(0, this.end);
  }

  save(item: PyValue): void {
    if (this.frameStart >= 0 && this.end - this.frameStart >= FRAME_TARGET_BYTES) this.closeFrame();
    this.reserve(RESERVE_BYTES);
    if (typeof item === 'number') this.writeInt(item);
    else if (typeof item === 'boolean') this.byte(item ? OP.NEWTRUE : OP.NEWFALSE);
    else if (item === null) this.byte(OP.NONE);
    else if (typeof item === 'bigint') this.put(long(item));
    else if (item instanceof PyFloat) {
      this.byte(OP.BINFLOAT);
      this.end = this.bytes.writeDoubleBE(item.value, this.end);
    } else if (item instanceof Raw) {
      this.put(item.bytes);
      this.slots += item.memoised;
    } else {
      const known = this.memo.get(item);
      if (known === undefined) this.saveNew(item);
      else if (known <= 0xff) {
        this.byte(OP.BINGET);
        this.byte(known);
      } else {
        this.byte(OP.LONG_BINGET);
        this.end = this.bytes.writeUInt32LE(known, this.end);
      }
    }
  }

  private saveNew(item: Exclude<PyValue, null | number | bigint | boolean | PyFloat | Raw>): void {
    if (typeof item === 'string' || item instanceof PyText) {
      const value = typeof item === 'string' ? item : item.text;
      if (typeof value === 'string') this.writeText(value);
      else this.put(text(value, this.protocol));
    } else if (item instanceof PyTuple) {
      const { items } = item;
      if (items.length > 3) this.byte(OP.MARK);
      for (const part of items) this.save(part);
      this.operation(TUPLES[items.length] ?? OP.TUPLE);
      if (items.length === 0) return;
    } else if (Array.isArray(item)) {
      this.byte(OP.EMPTY_LIST);
      this.memoize(item);
      this.saveItems(item);
      return;
    } else {
      this.byte(OP.EMPTY_DICT);
      this.memoize(item);
      this.saveEntries(item instanceof Map ? item : new Map(Object.entries(item)));
      return;
    }
    this.memoize(item);
  }

  private saveItems(items: readonly PyValue[]): void {
    if (items.length === 1) {
      this.save(items[0]!);
      this.operation(OP.APPEND);
      return;
    }
    for (let start = 0; start < items.length; start += BATCH) {
      this.operation(OP.MARK);
      const stop = Math.min(start + BATCH, items.length);
      for (let i = start; i < stop; i += 1) this.save(items[i]!);
      this.operation(OP.APPENDS);
    }
  }

  private saveEntries(entries: ReadonlyMap<string | PyText, PyValue>): void {
    if (entries.size === 0) return;
    if (entries.size > 1) this.operation(OP.MARK);
    let count = 0;
    for (const [key, value] of entries) {
      this.save(key);
      this.save(value);
      count += 1;
      // CPython starts another batch whenever the last one was full: a dict of a multiple of 1000 ends in an empty one.
      if (count % BATCH === 0) {
        this.operation(OP.SETITEMS);
        this.operation(OP.MARK);
      }
    }
    this.operation(entries.size === 1 ? OP.SETITEM : OP.SETITEMS);
  }

  private writeInt(number: number): void {
    if (!Number.isSafeInteger(number)) throw new RangeError(`not an exact integer: ${number}`);
    if (number >= 0 && number <= 0xff) {
      this.byte(OP.BININT1);
      this.byte(number);
    } else if (number >= 0 && number <= 0xffff) {
      this.byte(OP.BININT2);
      this.end = this.bytes.writeUInt16LE(number, this.end);
    } else if (number >= -(2 ** 31) && number < 2 ** 31) {
      this.byte(OP.BININT);
      this.end = this.bytes.writeInt32LE(number, this.end);
    } else if (number < 0) this.put(long(BigInt(number)));
    else {
      let length = 5;
      // One bit more than the magnitude, for the sign.
      while (number >= 2 ** (8 * length - 1)) length += 1;
      this.byte(OP.LONG1);
      this.byte(length);
      this.end = this.bytes.writeUInt32LE(number % 2 ** 32, this.end);
      this.end = this.bytes.writeUIntLE(Math.floor(number / 2 ** 32), this.end, length - 4);
    }
  }

  private writeText(value: string): void {
    const length = Buffer.byteLength(value, 'utf8');
    this.reserve(RESERVE_BYTES + length);
    if (length <= 0xff && this.protocol >= 4) {
      this.byte(OP.SHORT_BINUNICODE);
      this.byte(length);
    } else {
      this.byte(OP.BINUNICODE);
      this.end = this.bytes.writeUInt32LE(length, this.end);
    }
    this.end += this.bytes.write(value, this.end, 'utf8');
  }

  private memoize(item: string | object): void {
    if (!this.hasMemo) return;
    const slot = this.slots;
    this.slots += 1;
    this.memo.set(item, slot);
    this.reserve(RESERVE_BYTES);
    if (this.protocol >= 4) this.byte(OP.MEMOIZE);
    else this.put(slot < 256 ? Buffer.of(OP.BINPUT, slot) : longPut(slot));
  }

  /** An opcode after other values were saved, whose space is used up by then. */
  private operation(code: number): void {
    this.reserve(RESERVE_BYTES);
    this.byte(code);
  }

  private byte(value: number): void {
    this.bytes[this.end] = value;
    this.end += 1;
  }

  private put(bytes: Buffer): void {
    this.reserve(RESERVE_BYTES + bytes.length);
    this.end += bytes.copy(this.bytes, this.end);
  }

  /** Makes space for `count` bytes and opens a frame where none is open. */
  private reserve(count: number): void {
    const needed = this.end + count + FRAME_HEADER_BYTES;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, needed));
      this.bytes.copy(larger, 0, 0, this.end);
      this.bytes = larger;
    }
    if (this.hasFrames && this.frameStart < 0) {
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
      this.bytes[header] = OP.FRAME;
      this.bytes.writeBigUInt64LE(BigInt(length), header + 1);
    }
    this.frameStart = -1;
  }
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

const coded = (code: number, ...parts: readonly Buffer[]): Buffer => Buffer.concat([Buffer.of(code), ...parts]);
export const longPut = (slot: number): Buffer => coded(OP.LONG_BINPUT, u32(slot));
export const longGet = (slot: number): Buffer => coded(OP.LONG_BINGET, u32(slot));

export function text(bytes: Buffer, protocol = 4): Buffer {
  const isShort = protocol >= 4 && bytes.length < 256;
  return isShort
    ? coded(OP.SHORT_BINUNICODE, Buffer.of(bytes.length), bytes)
    : coded(OP.BINUNICODE, u32(bytes.length), bytes);
}

/** Any integer, in the shortest form. */
function long(value: bigint): Buffer {
  if (value >= 0n && value < 256n) return Buffer.of(OP.BININT1, Number(value));
  if (value >= 0n && value < 65536n) return Buffer.of(OP.BININT2, Number(value & 0xffn), Number(value >> 8n));
  if (value >= -(2n ** 31n) && value < 2n ** 31n) return coded(OP.BININT, u32(Number(BigInt.asUintN(32, value))));
  let length = 1;
  while (value < -(1n << BigInt(8 * length - 1)) || value >= 1n << BigInt(8 * length - 1)) length += 1;
  const hex = BigInt.asUintN(8 * length, value)
    .toString(16)
    .padStart(2 * length, '0');
  const bytes = Buffer.from(hex, 'hex').reverse();
  return length < 256 ? coded(OP.LONG1, Buffer.of(length), bytes) : coded(OP.LONG4, u32(length), bytes);
}
