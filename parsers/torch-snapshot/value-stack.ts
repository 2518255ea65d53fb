/**
 * The value stack under every encoding of a snapshot: values that were read and are not yet a row. Four parallel typed
 * arrays and a stack of marks (where each open container began), so that a million trace entries allocate no object. A
 * pickle also refers back to earlier values: the memo is one `Uint32Array` of 4-bit kind and 28-bit payload. JSON has
 * no such references and leaves it empty.
 */

import {
  BIG,
  CONST,
  DICT,
  ENTRY,
  FLOAT,
  INT,
  KIND_SHIFT,
  LIST,
  MOST_STACK_FRAMES,
  OBJ,
  PAIR,
  ROWS,
  STR,
} from '../../src/wasm/assembly/value-kinds.js';
import { ByteWindow } from './byte-window.js';
import type { StackDictionary } from './stack-dictionary.js';
import { doubled } from './text-interner.js';

export * from '../../src/wasm/assembly/value-kinds.js';

/** Rows leave a constant word: a second reference to one row is meaningless and is rejected. */
export const ROW_WORD = (ENTRY << KIND_SHIFT) >>> 0;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;

/** Far above anything torch writes; each stops a way to exhaust memory with a small file. */
export const LIMITS = {
  textBytes: 16 * 1024 * 1024,
  /**
   * Of all distinct strings, and of those beyond 16 KiB, which have to fit DuckDB's memory together (96 MiB while
   * ingesting).
   */
  pooledTextBytes: 1024 * 1024 * 1024,
  pooledLongTextBytes: 48 * 1024 * 1024,
  integerBytes: 64,
  memoJump: 65_536,
  /** The most that the module can reserve at once: 1 GiB less a page. */
  memoSlots: (1 << 28) - 16_384,
  stackSlots: 4 * 1024 * 1024,
  markDepth: 1_000,
  objects: 2_000_000,
  frames: 2_000_000,
  stackFrames: MOST_STACK_FRAMES,
  /** Of all distinct stacks; 22 million is the most that was seen. */
  pooledFrames: 1 << 27,
  /** Frames read again because their list went on growing: appended one by one, n frames are n²/2. */
  regrownFrames: 1 << 24,
  pools: 100_000,
  pendingBlocks: 8_000_000,
  eventsPerDevice: 0x7fffffff,
} as const;

const KIND_NAMES = [
  ...['a constant', 'an integer', 'a string', 'an empty dict', 'an empty list', 'a frame', 'a stack', 'a trace entry'],
  ...['a block', 'a segment', 'an annotation', 'a list of rows', 'an object', 'a big integer', 'a float', 'a pair'],
];

/** A reference to a value other than a plain one, inside generic objects. */
export class Ref {
  readonly kind: number;
  readonly payload: number;
  constructor(kind: number, payload: number) {
    this.kind = kind;
    this.payload = payload;
  }
}

export abstract class ValueStack extends ByteWindow {
  readonly dictionary: StackDictionary;

  protected kinds = new Uint8Array(1 << 12);
  protected payloads = new Int32Array(1 << 12);
  protected numbers = new Float64Array(1 << 12);
  protected memoRefs = new Int32Array(1 << 12);
  protected sp = 0;
  protected readonly marks = new Int32Array(LIMITS.markDepth + 1);
  protected markDepth = 0;
  protected memo: Uint32Array = new Uint32Array(0);
  protected readonly objects: unknown[] = [];
  protected readonly bigs: bigint[] = [];

  constructor(dictionary: StackDictionary, windowBytes?: number) {
    super(windowBytes);
    this.dictionary = dictionary;
  }

  /** What the strings read so far take; to be called now and then. */
  protected checkTexts(): void {
    const { texts } = this.dictionary;
    if (texts.pooledBytes > LIMITS.pooledTextBytes)
      this.fail('MBF2105', `strings of more than ${LIMITS.pooledTextBytes} bytes altogether`);
    if (texts.longBytes > LIMITS.pooledLongTextBytes)
      this.fail('MBF2105', `strings beyond 16 KiB of more than ${LIMITS.pooledLongTextBytes} bytes altogether`);
  }

  protected push(kind: number, payload: number): void {
    const sp = this.sp++;
    this.kinds[sp] = kind;
    this.payloads[sp] = payload;
    this.memoRefs[sp] = -1;
  }

  protected growStack(p: number): void {
    if (this.kinds.length >= LIMITS.stackSlots) this.fail('MBF2105', `more than ${LIMITS.stackSlots} open values`, p);
    this.kinds = doubled(this.kinds);
    this.payloads = doubled(this.payloads);
    this.numbers = doubled(this.numbers);
    this.memoRefs = doubled(this.memoRefs);
  }
  /** Gives the container at `slot` its final kind, also where it was memoised while empty. */
  protected resolve(slot: number, kind: number, payload: number): void {
    this.kinds[slot] = kind;
    this.payloads[slot] = payload;
    const index = this.memoRefs[slot]!;
    if (index >= 0)
      this.memo[index] = kind >= ENTRY && kind <= ROWS ? ROW_WORD : ((kind << KIND_SHIFT) | payload) >>> 0;
  }

  /** The dict at `slot` was a row: join it to a run of rows of the same kind right below. */
  protected resolveRow(slot: number, kind: number): void {
    this.resolve(slot, kind, 1);
    this.sp = slot + 1;
    const floor = this.markDepth > 0 ? this.marks[this.markDepth - 1]! : 0;
    if (slot > floor && this.kinds[slot - 1] === kind) {
      this.payloads[slot - 1] = this.payloads[slot - 1]! + 1;
      this.sp = slot;
    }
  }

  protected addObject(object: unknown): number {
    if (this.objects.length >= LIMITS.objects) {
      this.fail('MBF2105', `more than ${LIMITS.objects} objects that do not belong to a snapshot`);
    }
    return this.objects.push(object) - 1;
  }

  /** A plain value for the generic parts: settings, unknown keys. Rows and stacks become {@link Ref}s. */
  protected toValue(slot: number): unknown {
    const payload = this.payloads[slot]!;
    const kind = this.kinds[slot]!;
    switch (kind) {
      case CONST:
        return payload === 0 ? null : payload === 2;
      case INT:
      case FLOAT:
        return this.numbers[slot];
      case STR:
        return this.dictionary.text(payload);
      case BIG:
        return this.bigs[payload];
      case OBJ:
        return this.objects[payload];
      case LIST:
        return [];
      case DICT:
        return new Map<string, unknown>();
      case PAIR:
        return [...this.dictionary.pool(payload)];
      default:
        return new Ref(kind, payload);
    }
  }

  /** What the value at `slot` is, for messages. */
  protected kindName(slot: number): string {
    return KIND_NAMES[this.kinds[slot]!] ?? 'unknown';
  }

  /** An integer of any size. */
  protected pushInteger(value: bigint): void {
    if (value >= -BigInt(MAX_SAFE) && value <= BigInt(MAX_SAFE)) {
      this.push(INT, 0);
      this.numbers[this.sp - 1] = Number(value);
      return;
    }
    if (this.bigs.length >= LIMITS.objects) this.fail('MBF2105', `more than ${LIMITS.objects} integers beyond 2^53`);
    this.push(BIG, this.bigs.push(value) - 1);
  }
}
