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

export function pickle(value: PyValue): Buffer {
  const frames: Buffer[] = [];
  let frame: number[] = [];
  const memo = new Map<unknown, number>();

  const closeFrame = (): void => {
    const header = Buffer.alloc(9);
    header.writeUInt8(OP.frame, 0);
    header.writeBigUInt64LE(BigInt(frame.length), 1);
    // FRAME_SIZE_MIN: shorter frames are written without a header.
    frames.push(...(frame.length >= 4 ? [header] : []), Buffer.from(frame));
    frame = [];
  };

  const little = (number: number, bytes: number): void => {
    for (let i = 0; i < bytes; i += 1) frame.push(Math.floor(number / 256 ** i) & 0xff);
  };

  const memoize = (key: unknown): void => {
    memo.set(key, memo.size);
    frame.push(OP.memoize);
  };

  const writeInt = (number: number): void => {
    if (!Number.isSafeInteger(number)) throw new RangeError(`not an exact integer: ${number}`);
    if (number >= 0 && number <= 0xff) {
      frame.push(OP.binInt1, number);
    } else if (number >= 0 && number <= 0xffff) {
      frame.push(OP.binInt2);
      little(number, 2);
    } else if (number >= -(2 ** 31) && number < 2 ** 31) {
      frame.push(OP.binInt);
      little(number >>> 0, 4);
    } else {
      if (number < 0) throw new RangeError('large negative integers do not occur in snapshots');
      let bytes = 4;
      // One bit more than the magnitude, for the sign.
      while (number >= 2 ** (8 * bytes - 1)) bytes += 1;
      frame.push(OP.long1, bytes);
      little(number, bytes);
    }
  };

  const writeText = (text: string): void => {
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length <= 0xff) {
      frame.push(OP.shortBinUnicode, bytes.length);
    } else {
      frame.push(OP.binUnicode);
      little(bytes.length, 4);
    }
    frame.push(...bytes);
  };

  const save = (item: PyValue): void => {
    if (frame.length >= FRAME_TARGET_BYTES) closeFrame();
    if (typeof item === 'boolean') {
      frame.push(item ? OP.newTrue : OP.newFalse);
      return;
    }
    if (typeof item === 'number') {
      writeInt(item);
      return;
    }
    if (item instanceof PyFloat) {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleBE(item.value);
      frame.push(OP.binFloat, ...bytes);
      return;
    }
    const known = memo.get(item);
    if (known !== undefined) {
      if (known <= 0xff) frame.push(OP.binGet, known);
      else {
        frame.push(OP.longBinGet);
        little(known, 4);
      }
    } else if (typeof item === 'string' || item instanceof PyText) {
      writeText(typeof item === 'string' ? item : item.text);
      memoize(item);
    } else if (item instanceof PyPair) {
      for (const part of item.items) save(part);
      frame.push(OP.tuple2);
      memoize(item);
    } else if (Array.isArray(item)) {
      frame.push(OP.emptyList);
      memoize(item);
      saveBatches(item, save, OP.append, OP.appends);
    } else {
      frame.push(OP.emptyDict);
      memoize(item);
      const saveEntry = ([key, entry]: [string | PyText, PyValue]): void => {
        save(key);
        save(entry);
      };
      saveBatches([...item], saveEntry, OP.setItem, OP.setItems);
      // CPython starts another batch whenever the last one was full, so these dicts end in an empty one.
      if (item.size > 0 && item.size % BATCH === 0) frame.push(OP.mark, OP.setItems);
    }
  };

  const saveBatches = <T>(items: readonly T[], saveOne: (item: T) => void, one: number, many: number): void => {
    if (items.length === 1) {
      saveOne(items[0]!);
      frame.push(one);
      return;
    }
    for (let start = 0; start < items.length; start += BATCH) {
      frame.push(OP.mark);
      for (const item of items.slice(start, start + BATCH)) saveOne(item);
      frame.push(many);
    }
  };

  save(value);
  frame.push(OP.stop);
  closeFrame();
  return Buffer.concat([Buffer.from([OP.proto, 4]), ...frames]);
}
