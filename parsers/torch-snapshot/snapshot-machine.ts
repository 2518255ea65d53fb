/**
 * The fast way into event rows: `src/wasm/assembly/decode.ts` reads consecutive trace entries of the shape torch writes
 * from the window into the batch of events. What it asks for while it reads (a stack or a text that it does not know)
 * is answered here.
 */
import { ENUMS, NULL_U8 } from '../../src/model/columns.js';
import type { EntryCalls } from '../../src/wasm/trace-module.js';
import { PickleMachine } from './pickle-machine.js';
import type { SnapshotParts } from './snapshot-shapes.js';
import { STACK_HASH_START } from './stack-dictionary.js';
import { ENTRY, KNOWN_TEXTS, LIMITS } from './value-stack.js';

const OOM_ACTION = ENUMS.trace_action.indexOf('oom');
/** Places of `COUNTS` in `decode.ts`. */
const MEMO_COUNT = 0;
const ROWS = 1;
const SEQ = 2;
const KEY_BITS = 3;
const ACTION_BITS = 4;
const HITS = 5;
const MEMO_FULL = 6;
const COUNTS = 7;
/** Readable bytes behind the position where no entry is read any more. */
const MARGIN_BYTES = 4096;

export class SnapshotMachine extends PickleMachine implements EntryCalls {
  /** Entries that took this way, for the statistics. */
  fastEntries = 0;
  private readonly countsAt: number;
  private counts!: Int32Array;
  private readonly isFast: boolean;

  /** `isFast`: false for the general way alone, with which tests compare. */
  constructor(parts: SnapshotParts, isFast = true) {
    super(parts);
    this.isFast = isFast;
    const { module } = parts;
    module.calls = this;
    module.exports.beginEntries(STACK_HASH_START);
    this.countsAt = module.exports.counts();
    this.mapTables();
    new Uint8Array(module.buffer, module.exports.keys(), KNOWN_TEXTS).set(this.keyOfText);
    const actions = this.actionOfText.map((code) => (code === OOM_ACTION ? NULL_U8 : code));
    new Uint8Array(module.buffer, module.exports.actions(), KNOWN_TEXTS).set(actions);
  }

  override close(): void {
    this.module.exports.endEntries();
    super.close();
  }

  protected override mapTables(): void {
    super.mapTables();
    const { exports, buffer } = this.module;
    this.counts = new Int32Array(buffer, this.countsAt, COUNTS);
    exports.placeTables(this.memoAt, this.memoSlots, this.framesAt);
    const { columns } = this;
    const inOrder = [columns.device, columns.seq, columns.action, columns.addr, columns.size_bytes, columns.stream];
    inOrder.push(columns.time_us, columns.pool, columns.stack_id, columns.compile_context_id, columns.user_metadata_id);
    exports.placeColumns(this.batch.capacity, ...inOrder.map(({ byteOffset }) => byteOffset));
  }

  /**
   * Reads as many consecutive trace entries as possible, starting at the EMPTY_DICT at `start`. Only inside a trace
   * list whose device the general way has found.
   */
  protected override fastPath(start: number, end: number): number {
    const limit = end - MARGIN_BYTES;
    const below = this.sp - 1;
    const isInTrace =
      this.device >= 0 &&
      this.deviceMarkDepth === this.markDepth &&
      this.marks[this.markDepth - 1] === this.deviceMark &&
      (below < this.deviceMark || this.kinds[below] === ENTRY);
    if (!isInTrace || !this.isFast || start >= limit) return start;
    const { device, batch, windowAt } = this;
    const firstSeq = this.traceLengths[device]!;
    this.counts[MEMO_COUNT] = this.memoCount;
    this.counts[ROWS] = batch.rows;
    this.counts[SEQ] = firstSeq;
    let p = start;
    for (;;) {
      const { readEntries } = this.module.exports;
      p = (readEntries(windowAt + p, windowAt + limit, device, !this.memoOverwritten) >>> 0) - windowAt;
      this.remap();
      if (this.counts[MEMO_FULL] === 0) break;
      this.growMemo(p);
    }
    const { counts } = this;
    const taken = counts[SEQ]! - firstSeq;
    if (taken === 0) return start;
    this.memoCount = counts[MEMO_COUNT]!;
    this.traceLengths[device] = counts[SEQ]!;
    this.fastEntries += taken;
    this.entryBits |= counts[KEY_BITS]!;
    this.actionBits |= counts[ACTION_BITS]!;
    batch.rows = counts[ROWS]!;
    if (batch.rows === batch.capacity) this.flushEvents();
    if (below >= this.deviceMark) this.payloads[below] = this.payloads[below]! + taken;
    else this.push(ENTRY, taken);
    return p;
  }

  internStack(depth: number, hash: number): number {
    this.remap();
    if (this.dictionary.pooledFrames + depth > LIMITS.pooledFrames) return -1;
    return this.dictionary.internStack(this.frames, depth, hash);
  }

  internText(at: number, length: number): number {
    this.remap();
    return this.dictionary.texts.intern(this.buf, (at >>> 0) - this.windowAt, length);
  }

  internPool(first: number, second: number): number {
    return this.dictionary.internPool(first, second);
  }

  /** Stacks that were predicted, for the statistics. */
  get predictedStacks(): number {
    return this.counts[HITS]!;
  }
}
