/**
 * Pickles made by hand, legal or not: Python-like values are encoded as CPython's pickler would, and a {@link Raw} puts any bytes anywhere.
 * Nothing here can be trusted to be right by construction, so `pickle-builder.test.ts` holds it against `pickle.loads`.
 */

/** Opcodes by name. Upstream: CPython `Lib/pickletools.py`. */
export const OP = {
  MARK: 0x28,
  EMPTY_TUPLE: 0x29,
  STOP: 0x2e,
  POP: 0x30,
  POP_MARK: 0x31,
  DUP: 0x32,
  BINFLOAT: 0x47,
  BININT: 0x4a,
  BININT1: 0x4b,
  BININT2: 0x4d,
  NONE: 0x4e,
  PERSID: 0x50,
  BINPERSID: 0x51,
  REDUCE: 0x52,
  BINUNICODE: 0x58,
  EMPTY_LIST: 0x5d,
  APPEND: 0x61,
  BUILD: 0x62,
  GLOBAL: 0x63,
  DICT: 0x64,
  APPENDS: 0x65,
  BINGET: 0x68,
  INST: 0x69,
  LONG_BINGET: 0x6a,
  LIST: 0x6c,
  OBJ: 0x6f,
  BINPUT: 0x71,
  LONG_BINPUT: 0x72,
  SETITEM: 0x73,
  TUPLE: 0x74,
  SETITEMS: 0x75,
  EMPTY_DICT: 0x7d,
  PROTO: 0x80,
  NEWOBJ: 0x81,
  EXT1: 0x82,
  EXT2: 0x83,
  EXT4: 0x84,
  TUPLE1: 0x85,
  TUPLE2: 0x86,
  TUPLE3: 0x87,
  NEWTRUE: 0x88,
  NEWFALSE: 0x89,
  LONG1: 0x8a,
  LONG4: 0x8b,
  SHORT_BINUNICODE: 0x8c,
  BINUNICODE8: 0x8d,
  NEWOBJ_EX: 0x92,
  STACK_GLOBAL: 0x93,
  MEMOIZE: 0x94,
  FRAME: 0x95,
  BYTEARRAY8: 0x96,
  NEXT_BUFFER: 0x97,
  READONLY_BUFFER: 0x98,
} as const;

/** Bytes that stand for one value, or for whatever the test wants to happen there. `memoised`: how many memo slots they write. */
export class Raw {
  readonly bytes: Buffer;
  readonly memoised: number;
  constructor(bytes: Buffer | readonly number[], memoised = 0) {
    this.bytes = Buffer.from(bytes);
    this.memoised = memoised;
  }
}

export class Tuple {
  readonly items: readonly Py[];
  constructor(...items: Py[]) {
    this.items = items;
  }
}

/** A Python float; JavaScript numbers are ints. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A str of these very bytes, valid UTF-8 or not (Python's pickler writes lone surrogates). */
export class TextBytes {
  readonly bytes: Buffer;
  constructor(bytes: Buffer | readonly number[]) {
    this.bytes = Buffer.from(bytes);
  }
}

/** `Map`s are dicts with their keys in order; plain objects too, but no plain object has a key `__proto__`. */
export type Py =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Raw
  | TextBytes
  | Tuple
  | readonly Py[]
  | ReadonlyMap<string, Py>
  | { readonly [key: string]: Py };

export interface PickleOptions {
  readonly protocol?: number;
  /** Write memo opcodes and refer to strings and objects seen before, as CPython does. Default true. */
  readonly memo?: boolean;
  readonly stop?: boolean;
}

const BATCH = 1000;

export function pickled(value: Py, options: PickleOptions = {}): Buffer {
  const protocol = options.protocol ?? 4;
  const memoised = new Map<unknown, number>();
  let slots = 0;
  const out: Buffer[] = [Buffer.from([OP.PROTO, protocol])];
  const put = (...bytes: number[]): void => void out.push(Buffer.from(bytes));

  const memoise = (key: unknown): void => {
    if (options.memo === false) return;
    memoised.set(key, slots);
    if (protocol >= 4) put(OP.MEMOIZE);
    else if (slots < 256) put(OP.BINPUT, slots);
    else out.push(longPut(slots));
    slots += 1;
  };
  const recall = (key: unknown): boolean => {
    const slot = memoised.get(key);
    if (slot === undefined) return false;
    if (slot < 256) put(OP.BINGET, slot);
    else out.push(longGet(slot));
    return true;
  };
  const batches = <T>(items: readonly T[], one: number, many: number, save: (item: T) => void): void => {
    if (items.length === 1) {
      save(items[0]!);
      put(one);
      return;
    }
    for (let at = 0; at < items.length; at += BATCH) {
      put(OP.MARK);
      for (const item of items.slice(at, at + BATCH)) save(item);
      put(many);
    }
  };
  const save = (item: Py): void => {
    if (item === null) put(OP.NONE);
    else if (typeof item === 'boolean') put(item ? OP.NEWTRUE : OP.NEWFALSE);
    else if (typeof item === 'number' || typeof item === 'bigint') out.push(integer(item));
    else if (item instanceof Float) out.push(float(item.value));
    else if (item instanceof Raw) {
      out.push(item.bytes);
      slots += item.memoised;
    } else if (typeof item === 'string' || item instanceof TextBytes) {
      if (recall(item)) return;
      out.push(text(typeof item === 'string' ? Buffer.from(item, 'utf8') : item.bytes, protocol));
      memoise(item);
    } else if (item instanceof Tuple) {
      if (recall(item)) return;
      if (item.items.length > 3) put(OP.MARK);
      for (const part of item.items) save(part);
      put([OP.EMPTY_TUPLE, OP.TUPLE1, OP.TUPLE2, OP.TUPLE3][item.items.length] ?? OP.TUPLE);
      memoise(item);
    } else if (Array.isArray(item)) {
      if (recall(item)) return;
      put(OP.EMPTY_LIST);
      memoise(item);
      batches(item as readonly Py[], OP.APPEND, OP.APPENDS, save);
    } else {
      if (recall(item)) return;
      put(OP.EMPTY_DICT);
      memoise(item);
      const pairs = item instanceof Map ? [...(item as ReadonlyMap<string, Py>)] : Object.entries(item);
      batches(pairs, OP.SETITEM, OP.SETITEMS, ([key, part]) => {
        save(key);
        save(part);
      });
    }
  };
  save(value);
  if (options.stop !== false) put(OP.STOP);
  return Buffer.concat(out);
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

export function longPut(slot: number): Buffer {
  return Buffer.concat([Buffer.from([OP.LONG_BINPUT]), u32(slot)]);
}

export function longGet(slot: number): Buffer {
  return Buffer.concat([Buffer.from([OP.LONG_BINGET]), u32(slot)]);
}

export function text(bytes: Buffer, protocol = 4): Buffer {
  if (protocol >= 4 && bytes.length < 256) {
    return Buffer.concat([Buffer.from([OP.SHORT_BINUNICODE, bytes.length]), bytes]);
  }
  return Buffer.concat([Buffer.from([OP.BINUNICODE]), u32(bytes.length), bytes]);
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = OP.BINFLOAT;
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

function integer(value: number | bigint): Buffer {
  const wide = BigInt(value);
  if (wide >= 0n && wide < 256n) return Buffer.from([OP.BININT1, Number(wide)]);
  if (wide >= 0n && wide < 65536n) return Buffer.from([OP.BININT2, Number(wide & 0xffn), Number(wide >> 8n)]);
  if (wide >= -(2n ** 31n) && wide < 2n ** 31n)
    return Buffer.concat([Buffer.from([OP.BININT]), u32(Number(BigInt.asUintN(32, wide)))]);
  let length = 1;
  while (wide < -(1n << BigInt(8 * length - 1)) || wide >= 1n << BigInt(8 * length - 1)) length += 1;
  const bytes: number[] = [];
  let rest = BigInt.asUintN(8 * length, wide);
  for (let i = 0; i < length; i++) {
    bytes.push(Number(rest & 0xffn));
    rest >>= 8n;
  }
  const header = length < 256 ? Buffer.from([OP.LONG1, length]) : Buffer.concat([Buffer.from([OP.LONG4]), u32(length)]);
  return Buffer.concat([header, Buffer.from(bytes)]);
}
