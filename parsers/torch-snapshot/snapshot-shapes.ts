/**
 * What dicts and lists mean in a memory snapshot, whatever encoding they came in: dicts become rows by the keys they
 * have, in any order, and go straight into columns. This is the general way, which checks every kind and keeps unknown
 * keys; `snapshot-machine.ts` adds the fast one for entries as torch pickles them, in WebAssembly, and
 * `json-machine.ts` the one for the stacks of JSON.
 */
import {
  batchBytes,
  ColumnBatch,
  type ColumnsOf,
  ENUMS,
  LAYOUTS,
  NULL_HIGH,
  NULL_I32,
  NULL_U8,
} from '../../src/model/columns.js';
import type { RowSink, SnapshotSink } from '../../src/model/parser.js';
import type { Note } from '../../src/model/tables.js';
import type { TraceModule } from '../../src/wasm/trace-module.js';
import { clip, keyText, toJson } from './generic-values.js';
import { HOST_DEVICE, HostRows } from './host-rows.js';
import { bit, ENTRY_KEYS, FRAME_MASK, KEY, KEY_NAMES } from './keys.js';
import { type SegmentFields, SegmentRows } from './segment-rows.js';
import { mixFrame, STACK_HASH_START, type StackDictionary } from './stack-dictionary.js';
import {
  ANNOTATION,
  BIG,
  BLOCK,
  CONST,
  DICT,
  ENTRY,
  FLOAT,
  FRAME,
  INT,
  KNOWN_TEXTS,
  LIMITS,
  LIST,
  MOST_STACK_FRAMES,
  OBJ,
  PAIR,
  Ref,
  ROWS,
  SEGMENT,
  STACK,
  STR,
  ValueStack,
} from './value-stack.js';
import { watched } from './watched-sink.js';

const ACTION_BIT = bit('action');
const STATE_BIT = bit('state');
const BLOCKS_BIT = bit('blocks');
const ANNOTATION_MASK = bit('stage') | bit('name');
const SIZE_BIT = bit('size');
const OTHER_ACTION = ENUMS.trace_action.indexOf('other');
const OOM_ACTION = ENUMS.trace_action.indexOf('oom');
const MAX_EXTRAS = 100_000;
const MAX_EXTRA_CHARS = 16_000_000;
/** By device and key; beyond them every value is a note of its own. */
const MAX_EXTRA_KEYS = 1000;
/** Far above any machine; each device costs tables of its own. */
const MAX_DEVICES = 1024;

/** A key or value of trace entries without a column, with its first place. */
interface ExtraKey {
  readonly key: string;
  readonly device: number;
  readonly seq: number;
  count: number;
}

/** What a machine works with. */
export interface SnapshotParts {
  readonly sink: RowSink;
  readonly out: SnapshotSink;
  readonly dictionary: StackDictionary;
  readonly module: TraceModule;
  /** Rows of a batch of events. */
  readonly eventRows: number;
  readonly batches: SnapshotBatches;
}

export interface SnapshotBatches {
  readonly segments: ColumnBatch;
  readonly blocks: ColumnBatch;
  readonly annotations: ColumnBatch;
  readonly hostEvents: ColumnBatch;
  readonly hostSegments: ColumnBatch;
}

/** The root value once all was read: a plain value with {@link Ref}s for rows. */
export type RootValue = unknown;

export abstract class SnapshotShapes extends ValueStack {
  private readonly sink: RowSink;
  private readonly out: SnapshotSink;
  protected readonly module: TraceModule;
  protected readonly batch: ColumnBatch;
  private readonly batchAt: number;
  private readonly annotationBatch: ColumnBatch;
  readonly segments: SegmentRows;
  readonly host: HostRows;
  root: RootValue;

  /** Of known texts, by id: their number as a key, 0 for none; their code as an action, 255 for none. */
  protected readonly keyOfText = new Uint8Array(KNOWN_TEXTS);
  protected readonly actionOfText = new Uint8Array(KNOWN_TEXTS).fill(255);
  protected readonly knownTexts: number;
  private readonly deviceTracesText: number;
  private readonly legacyTracesText: number;
  private readonly hostTracesText: number;

  protected columns!: ColumnsOf<typeof LAYOUTS.trace_entry>;

  /** Entries seen per device. */
  readonly traceLengths: number[] = [];
  /** Device of the trace list now being filled, valid while the mark stack is as it was. */
  protected device = -1;
  protected deviceMarkDepth = -1;
  protected deviceMark = -1;

  /** Key bits seen on any entry, segment, block; `entriesWithout*` for keys that may be missing. */
  entryBits = 0;
  /** Codes of the actions seen. */
  actionBits = 0;
  segmentBits = 0;
  blockBits = 0;
  frameExtras = new Map<string, number>();
  private extras = 0;
  private extraChars = 0;
  private extrasDropped = false;
  private readonly extraKeys = new Map<string, ExtraKey>();
  private annotations = 0;

  private readonly slots = new Int32Array(32);
  /** Of the stack that is read; in the module. */
  protected frames!: Int32Array;
  protected readonly framesAt: number;
  private regrown = 0;

  constructor(parts: SnapshotParts, windowBytes?: number) {
    super(parts.dictionary, windowBytes);
    const { module, batches, eventRows } = parts;
    this.sink = parts.sink;
    this.module = module;
    this.out = watched(parts.out, () => this.remap());
    this.framesAt = module.reserve((MOST_STACK_FRAMES + 1) * 4);
    this.batchAt = module.reserve(batchBytes(LAYOUTS.trace_entry, eventRows));
    this.batch = new ColumnBatch(LAYOUTS.trace_entry, eventRows, module.buffer, this.batchAt);
    this.mapRows();
    this.annotationBatch = batches.annotations;
    this.segments = new SegmentRows(this.out, batches.segments, batches.blocks);
    this.host = new HostRows(this.out, batches.hostEvents, batches.hostSegments);
    const { texts } = this.dictionary;
    for (const name of KEY_NAMES) this.keyOfText[texts.internText(name)] = KEY[name];
    ENUMS.trace_action.forEach((name, code) => {
      if (code !== OTHER_ACTION) this.actionOfText[texts.internText(name)] = code;
    });
    this.knownTexts = texts.count;
    this.deviceTracesText = texts.internText('device_traces');
    this.legacyTracesText = texts.internText('traces');
    this.hostTracesText = texts.internText('host_traces');
  }

  /** Makes all arrays over the memory of the module again if it has grown. To be called after whatever may grow it. */
  protected remap(): void {
    if (this.frames.length === 0) this.mapTables();
  }

  /** Makes the arrays over the memory of the module. */
  protected mapTables(): void {
    this.mapRows();
  }

  private mapRows(): void {
    const { buffer } = this.module;
    this.batch.moveTo(buffer, this.batchAt);
    this.columns = this.batch.columns(LAYOUTS.trace_entry);
    this.frames = new Int32Array(buffer, this.framesAt, MOST_STACK_FRAMES + 1);
  }

  /** Gives memory of the module back; nothing can be read any more. */
  close(): void {
    this.module.release(this.framesAt);
    this.module.release(this.batchAt);
  }

  /** The root value is in stack slot 0. */
  protected finish(): void {
    this.root = this.toValue(0);
    for (const extra of this.extraKeys.values()) this.sink.note(extraNote(extra));
    this.flushEvents();
    this.flushAnnotations();
    this.segments.flush();
    this.host.flush();
  }

  protected flushEvents(): void {
    if (this.batch.rows === 0) return;
    this.out.events(this.batch);
    this.batch.rows = 0;
  }

  // ------------------------------------------------------------------ dicts

  /**
   * Gives meaning to a dict at `mark - 1` with the key/value pairs from `mark` to `sp`; leaves `sp` at `mark` or just
   * below.
   */
  protected setItems(mark: number): void {
    const { kinds, payloads, slots, keyOfText, knownTexts } = this;
    const target = mark - 1;
    let bits = 0;
    let unknown = false;
    for (let slot = mark; slot < this.sp; slot += 2) {
      const text = payloads[slot]!;
      const key = kinds[slot] === STR && text < knownTexts ? keyOfText[text]! : 0;
      if (key === 0) {
        unknown = true;
        continue;
      }
      slots[key] = slot + 1;
      bits |= 1 << key;
    }
    if (kinds[target] === DICT) {
      if ((bits & FRAME_MASK) === FRAME_MASK && (bits & (ACTION_BIT | STATE_BIT | BLOCKS_BIT)) === 0) {
        this.frame(target, mark, unknown || bits !== FRAME_MASK);
        return;
      }
      if ((bits & ACTION_BIT) !== 0 && this.findDevice(target)) {
        this.entry(target, mark, bits, unknown);
        return;
      }
      if ((bits & ACTION_BIT) !== 0 && this.inHostTrace(target)) {
        this.hostEntry(target, mark, bits);
        return;
      }
      if ((bits & BLOCKS_BIT) !== 0 && (bits & bit('total_size')) !== 0) {
        this.segment(target, mark, bits, unknown);
        return;
      }
      if ((bits & STATE_BIT) !== 0 && (bits & SIZE_BIT) !== 0) {
        this.block(target, mark, bits, unknown);
        return;
      }
      if ((bits & ANNOTATION_MASK) === ANNOTATION_MASK) {
        this.annotation(target, mark, bits);
        return;
      }
    }
    this.genericDict(target, mark);
  }

  /** Any dict other than a row: a Map, so that a key named `__proto__` is just a key. */
  private genericDict(target: number, mark: number): void {
    let object: Map<string, unknown>;
    if (this.kinds[target] === OBJ) object = this.objects[this.payloads[target]!] as Map<string, unknown>;
    else {
      object = new Map();
      this.resolve(target, OBJ, this.addObject(object));
    }
    for (let slot = mark; slot < this.sp; slot += 2) {
      if (object.size >= LIMITS.objects) this.fail('MBF2105', `a dict of more than ${LIMITS.objects} keys`);
      object.set(keyText(this.toValue(slot)), this.toValue(slot + 1));
    }
    this.sp = mark;
  }

  private textAt(slot: number, what: string): number {
    if (this.kinds[slot] !== STR) this.fail('MBF2107', `${what} is ${this.kindName(slot)}, not a string`);
    return this.payloads[slot]!;
  }

  /** A count of bytes: an integer from 0 to 2^53. */
  private sizeAt(slot: number, what: string): number {
    const value = this.numberAt(slot, what);
    if (value < 0) this.fail('MBF2107', `${what} is negative (${value})`);
    return value;
  }

  private numberAt(slot: number, what: string): number {
    const kind = this.kinds[slot];
    const value = this.numbers[slot]!;
    if (kind === INT || (kind === FLOAT && Number.isSafeInteger(value))) return value;
    if (kind === BIG)
      this.fail('MBF2107', `${what} is beyond 2^53 (${clip(String(this.bigs[this.payloads[slot]!]), 40)})`);
    return this.fail('MBF2107', `${what} is ${this.kindName(slot)}, not an integer`);
  }

  /** An address or stream: any 64-bit integer, kept as two halves. */
  private putWide(array: Uint32Array, row: number, slot: number, what: string): void {
    if (this.kinds[slot] === BIG) {
      const value = this.bigs[this.payloads[slot]!]!;
      if (value < -(2n ** 63n) || value >= 2n ** 64n) this.fail('MBF2107', `${what} does not fit 64 bits`);
      const wide = BigInt.asUintN(64, value);
      array[row * 2] = Number(wide & 0xffffffffn);
      array[row * 2 + 1] = Number(wide >> 32n);
      return;
    }
    this.putNumber(array, row, this.numberAt(slot, what));
  }

  private putNumber(array: Uint32Array, row: number, value: number): void {
    const high = Math.floor(value / 4294967296);
    array[row * 2] = value - high * 4294967296;
    array[row * 2 + 1] = high;
  }

  private frame(target: number, mark: number, extras: boolean): void {
    const { slots } = this;
    const name = this.textAt(slots[KEY.name]!, 'frame.name');
    const filename = this.textAt(slots[KEY.filename]!, 'frame.filename');
    const line = this.lineAt(slots[KEY.line]!);
    if (extras) {
      for (let slot = mark; slot < this.sp; slot += 2) {
        const key = keyText(this.toValue(slot));
        if (key !== 'name' && key !== 'filename' && key !== 'line') this.countFrameExtra(key);
      }
    }
    if (this.dictionary.frameCount >= LIMITS.frames) this.fail('MBF2105', `more than ${LIMITS.frames} frames`);
    this.sp = mark;
    this.resolve(target, FRAME, this.dictionary.internFrame(name, filename, line));
  }

  protected countFrameExtra(name: string): void {
    const key = clip(name);
    if (this.frameExtras.size < 64 || this.frameExtras.has(key))
      this.frameExtras.set(key, (this.frameExtras.get(key) ?? 0) + 1);
  }

  /**
   * A line number; C++ frames without debug information carry 0, or 2^64 − 1 where the symboliser failed: both are 0,
   * torch's "unknown".
   */
  private lineAt(slot: number): number {
    if (this.kinds[slot] === BIG) return 0;
    const line = this.numberAt(slot, 'frame.line');
    return line < 0 || line > 0x7fffffff ? 0 : line;
  }

  /** The stack a `frames` value means: −1 where the key is missing. */
  private stackOf(bits: number): number {
    if ((bits & (1 << KEY.frames)) === 0) return NULL_I32;
    const slot = this.slots[KEY.frames]!;
    const kind = this.kinds[slot];
    if (kind === STACK) return this.payloads[slot]!;
    if (kind === LIST) return 0;
    return this.fail('MBF2107', `frames is ${this.kindName(slot)}, not a list of frames`);
  }

  private poolOf(key: number, bits: number, what: string): number {
    if ((bits & (1 << key)) === 0) return NULL_I32;
    const slot = this.slots[key]!;
    if (this.kinds[slot] === PAIR) return this.payloads[slot]!;
    const value = this.toValue(slot);
    if (Array.isArray(value) && value.length === 2 && value.every((part) => Number.isSafeInteger(part))) {
      return this.dictionary.internPool(value[0] as number, value[1] as number);
    }
    return this.fail('MBF2107', `${what} is ${this.kindName(slot)}, not a pair of integers`);
  }

  /**
   * Whether the dict at `target` is in a list of `device_traces`, and of which device: its list is below it, and the
   * outer list with the key `device_traces` below that. Items of both lists are either above a MARK (batches) or
   * appended one by one.
   */
  private findDevice(target: number): boolean {
    const { marks, kinds, payloads } = this;
    const isTraces = (slot: number): boolean =>
      slot >= 0 &&
      kinds[slot] === STR &&
      (payloads[slot] === this.deviceTracesText || payloads[slot] === this.legacyTracesText);
    const isList = (slot: number): boolean =>
      slot >= 0 && (kinds[slot] === LIST || kinds[slot] === OBJ || kinds[slot] === ROWS);
    const depth = this.markDepth;
    const inner = depth > 0 ? marks[depth - 1]! : -1;
    const batched = target === inner || kinds[target - 1] === ENTRY;
    const list = batched ? inner - 1 : target - 1;
    if (!isList(list)) return false;
    const outerMark = batched ? (depth > 1 ? marks[depth - 2]! : -1) : inner;
    let device = -1;
    if (outerMark > 0 && isList(outerMark - 1) && isTraces(outerMark - 2) && list >= outerMark) {
      const appended = kinds[outerMark - 1] === OBJ ? (this.objects[payloads[outerMark - 1]!] as unknown[]).length : 0;
      device = appended + list - outerMark;
    } else if (isList(list - 1) && isTraces(list - 2)) {
      device = kinds[list - 1] === OBJ ? (this.objects[payloads[list - 1]!] as unknown[]).length : 0;
    }
    if (device < 0) return false;
    if (device >= MAX_DEVICES) this.fail('MBF2105', `device ordinal ${device}`);
    this.device = device;
    this.deviceMarkDepth = depth;
    // The mark is another one where entries are appended one by one.
    this.deviceMark = batched ? inner : -1;
    while (this.traceLengths.length <= device) this.traceLengths.push(0);
    return true;
  }

  /** Whether the dict at `target` is an item of `host_traces`: its list is below it, and the key below that. */
  private inHostTrace(target: number): boolean {
    const { kinds, payloads } = this;
    const mark = this.markDepth > 0 ? this.marks[this.markDepth - 1]! : -1;
    const list = target === mark || kinds[target - 1] === ENTRY ? mark - 1 : target - 1;
    const isList = list > 0 && (kinds[list] === LIST || kinds[list] === ROWS);
    return isList && kinds[list - 1] === STR && payloads[list - 1] === this.hostTracesText;
  }

  /** Keys without a column are left out: torch writes those of a device's entry, empty. */
  private hostEntry(target: number, mark: number, bits: number): void {
    const { slots } = this;
    const has = (key: number): boolean => (bits & (1 << key)) !== 0;
    const wide = new Uint32Array(4);
    if (has(KEY.addr)) this.putWide(wide, 0, slots[KEY.addr]!, 'addr');
    else this.putMissing(wide, 0);
    if (has(KEY.time_us)) this.putWide(wide, 1, slots[KEY.time_us]!, 'time_us');
    else this.putMissing(wide, 1);
    const actionText = this.textAt(slots[KEY.action]!, 'action');
    const isKept = this.host.addEvent({
      action: actionText < this.knownTexts ? this.actionOfText[actionText]! : NULL_U8,
      wide,
      bytes: has(KEY.size) ? this.sizeAt(slots[KEY.size]!, 'size') : 0,
      pool: this.poolOf(KEY.pool_id, bits, 'pool_id'),
      stack: this.stackOf(bits),
    });
    if (!isKept) this.fail('MBF2105', 'more than 2^31 trace entries');
    this.sp = mark;
    this.resolveRow(target, ENTRY);
  }

  private entry(target: number, mark: number, bits: number, unknown: boolean): void {
    const { slots, kinds, payloads, batch } = this;
    const device = this.device;
    const seq = this.traceLengths[device]!;
    if (seq >= LIMITS.eventsPerDevice) this.fail('MBF2105', 'more than 2^31 trace entries');
    const row = batch.rows;
    const actionText = this.textAt(slots[KEY.action]!, 'action');
    let action = actionText < this.knownTexts ? this.actionOfText[actionText]! : 255;
    if (action === 255) {
      action = OTHER_ACTION;
      this.extra(device, seq, 'action', slots[KEY.action]!);
    }
    const { columns } = this;
    columns.device[row] = device;
    columns.seq[row] = seq;
    columns.action[row] = action;
    if ((bits & (1 << KEY.addr)) !== 0) this.putWide(columns.addr, row, slots[KEY.addr]!, 'addr');
    else this.putMissing(columns.addr, row);
    const size = (bits & SIZE_BIT) !== 0 ? this.sizeAt(slots[KEY.size]!, 'size') : 0;
    this.putNumber(columns.size_bytes, row, size);
    if ((bits & (1 << KEY.stream)) !== 0) this.putWide(columns.stream, row, slots[KEY.stream]!, 'stream');
    else this.putMissing(columns.stream, row);
    if ((bits & (1 << KEY.time_us)) !== 0) this.putWide(columns.time_us, row, slots[KEY.time_us]!, 'time_us');
    else this.putMissing(columns.time_us, row);
    columns.pool[row] = this.poolOf(KEY.pool_id, bits, 'pool_id');
    columns.stack_id[row] = this.stackOf(bits);
    const optionalText = (key: number, what: string): number => {
      if ((bits & (1 << key)) === 0) return NULL_I32;
      return kinds[slots[key]!] === CONST && payloads[slots[key]!] === 0 ? NULL_I32 : this.textAt(slots[key]!, what);
    };
    columns.compile_context_id[row] = optionalText(KEY.compile_context, 'compile_context');
    columns.user_metadata_id[row] = optionalText(KEY.user_metadata, 'user_metadata');
    const freeKnown = (bits & (1 << KEY.device_free)) !== 0;
    if (action === OOM_ACTION) {
      this.out.oom({
        device,
        seq,
        requestedBytes: size,
        deviceFreeBytes: freeKnown ? this.sizeAt(slots[KEY.device_free]!, 'device_free') : null,
      });
    } else if (freeKnown) this.extra(device, seq, 'device_free', slots[KEY.device_free]!);
    if (unknown || (bits & ~ENTRY_KEYS) !== 0) {
      for (let slot = mark; slot < this.sp; slot += 2) {
        const text = payloads[slot]!;
        const key = kinds[slot] === STR && text < this.knownTexts ? this.keyOfText[text]! : 0;
        if (key === 0 || ((1 << key) & ENTRY_KEYS) === 0)
          this.extra(device, seq, clip(keyText(this.toValue(slot))), slot + 1);
      }
    }
    this.entryBits |= bits;
    this.actionBits |= 1 << action;
    this.traceLengths[device] = seq + 1;
    batch.rows = row + 1;
    if (batch.rows === batch.capacity) this.flushEvents();
    this.sp = mark;
    this.resolveRow(target, ENTRY);
  }

  private putMissing(array: Uint32Array, row: number): void {
    array[row * 2] = 0;
    array[row * 2 + 1] = NULL_HIGH;
  }

  private extra(device: number, seq: number, key: string, valueSlot: number): void {
    if (this.extras >= MAX_EXTRAS || this.extraChars >= MAX_EXTRA_CHARS) {
      if (!this.extrasDropped) {
        this.extrasDropped = true;
        const text = `only the first ${this.extras} values of unknown keys are kept`;
        this.sink.note({ kind: 'extras_dropped', severity: 'warning', text, device, seq });
      }
      return;
    }
    const valueJson = toJson(this.toValue(valueSlot));
    this.extras += 1;
    this.extraChars += valueJson.length;
    this.out.eventExtra({ device, seq, key, valueJson });
    // Counted here and reported once: a key that every entry has would send a million notes to another thread.
    const place = `${device} ${key}`;
    const known = this.extraKeys.get(place);
    if (known !== undefined) known.count += 1;
    else if (this.extraKeys.size < MAX_EXTRA_KEYS) this.extraKeys.set(place, { key, device, seq, count: 1 });
    else this.sink.note(extraNote({ key, device, seq, count: 1 }));
  }

  private segment(target: number, mark: number, bits: number, unknown: boolean): void {
    const { slots, kinds, payloads } = this;
    const has = (key: number): boolean => (bits & (1 << key)) !== 0;
    if (!has(KEY.address)) this.fail('MBF2107', 'a segment without an address');
    const blocks = slots[KEY.blocks]!;
    const blockCount = kinds[blocks] === ROWS ? payloads[blocks]! : kinds[blocks] === LIST ? 0 : -1;
    if (blockCount < 0) this.fail('MBF2107', `blocks is ${this.kindName(blocks)}, not a list of blocks`);
    const optionalSize = (key: number, what: string): number | null =>
      has(key) ? this.sizeAt(slots[key]!, what) : null;
    const expandable = has(KEY.is_expandable) ? this.flagAt(slots[KEY.is_expandable]!, 'is_expandable') : NULL_U8;
    const wide = new Uint32Array(4);
    this.putWide(wide, 0, slots[KEY.address]!, 'segment.address');
    if (has(KEY.stream)) this.putWide(wide, 1, slots[KEY.stream]!, 'segment.stream');
    else this.putMissing(wide, 1);
    const fields: SegmentFields = {
      device: has(KEY.device) ? this.numberAt(slots[KEY.device]!, 'segment.device') : 0,
      wide,
      totalBytes: this.sizeAt(slots[KEY.total_size]!, 'segment.total_size'),
      allocatedHeaderBytes: optionalSize(KEY.allocated_size, 'segment.allocated_size'),
      activeHeaderBytes: optionalSize(KEY.active_size, 'segment.active_size'),
      requestedHeaderBytes: optionalSize(KEY.requested_size, 'segment.requested_size'),
      type: has(KEY.segment_type) ? this.dictionary.text(this.textAt(slots[KEY.segment_type]!, 'segment_type')) : '',
      pool: this.poolOf(KEY.segment_pool_id, bits, 'segment_pool_id'),
      expandable,
      stack: this.stackOf(bits),
      blockCount,
    };
    const isHost = fields.device === HOST_DEVICE;
    const problem = isHost ? this.segments.leaveBlocks(fields) : this.segments.add(fields);
    if (problem !== undefined) this.fail('MBF2107', problem);
    if (isHost) this.host.addSegment(fields);
    if (unknown) this.noteUnknown('segment', mark);
    this.segmentBits |= bits;
    this.sp = mark;
    this.resolveRow(target, SEGMENT);
  }

  private flagAt(slot: number, what: string): number {
    if (this.kinds[slot] === CONST && this.payloads[slot] !== 0) return this.payloads[slot] === 2 ? 1 : 0;
    if (this.kinds[slot] === INT) return this.numbers[slot] === 0 ? 0 : 1;
    return this.fail('MBF2107', `${what} is ${this.kindName(slot)}, not a bool`);
  }

  private block(target: number, mark: number, bits: number, unknown: boolean): void {
    const { slots } = this;
    const has = (key: number): boolean => (bits & (1 << key)) !== 0;
    const wide = new Uint32Array(2);
    if (has(KEY.address)) this.putWide(wide, 0, slots[KEY.address]!, 'block.address');
    else this.putMissing(wide, 0);
    let requested = has(KEY.requested_size) ? this.sizeAt(slots[KEY.requested_size]!, 'block.requested_size') : null;
    let stack = this.stackOf(bits);
    if (has(KEY.history)) {
      // torch 1.13 and 2.0: the newest history entry holds what later became requested_size and frames.
      const newest = newestOf(this.toValue(slots[KEY.history]!));
      requested ??= newest?.requestedBytes ?? null;
      if (stack === NULL_I32) stack = newest?.stack ?? NULL_I32;
    }
    const state = this.dictionary.text(this.textAt(slots[KEY.state]!, 'block.state'));
    const size = this.sizeAt(slots[KEY.size]!, 'block.size');
    const problem = this.segments.addBlock(wide, size, requested, state, stack);
    if (problem !== undefined) this.fail('MBF2107', problem);
    if (unknown) this.noteUnknown('block', mark);
    this.blockBits |= bits;
    this.sp = mark;
    this.resolveRow(target, BLOCK);
  }

  private noteUnknown(what: string, mark: number): void {
    for (let slot = mark; slot < this.sp; slot += 2) {
      const text = this.payloads[slot]!;
      if (this.kinds[slot] === STR && text < this.knownTexts && this.keyOfText[text] !== 0) continue;
      const key = clip(keyText(this.toValue(slot)), 80);
      const value = clip(toJson(this.toValue(slot + 1), 80), 80);
      this.sink.note({ kind: 'unknown_key', severity: 'info', text: `${what} key not known: ${key} (e.g. ${value})` });
    }
  }

  private annotation(target: number, mark: number, bits: number): void {
    const { slots, annotationBatch: batch } = this;
    const has = (key: number): boolean => (bits & (1 << key)) !== 0 && this.kinds[slots[key]!] === INT;
    const row = batch.rows++;
    const stage = this.dictionary.text(this.textAt(slots[KEY.stage]!, 'annotation.stage'));
    const stageCode = ENUMS.annotation_stage.indexOf(stage as (typeof ENUMS.annotation_stage)[number]);
    batch.i32('ordinal')[row] = this.annotations++;
    batch.u8('stage')[row] = stageCode < 0 ? ENUMS.annotation_stage.indexOf('other') : stageCode;
    batch.i32('name_id')[row] = this.textAt(slots[KEY.name]!, 'annotation.name');
    const device = has(KEY.device) ? this.numbers[slots[KEY.device]!]! : NULL_I32;
    batch.i32('device')[row] = device >= 0 && device < MAX_DEVICES ? device : NULL_I32;
    if (has(KEY.time_us)) this.putNumber(batch.i64('time_us'), row, this.numbers[slots[KEY.time_us]!]!);
    else this.putMissing(batch.i64('time_us'), row);
    if (batch.rows === batch.capacity) this.flushAnnotations();
    this.sp = mark;
    this.resolveRow(target, ANNOTATION);
  }

  private flushAnnotations(): void {
    if (this.annotationBatch.rows > 0) this.out.annotations(this.annotationBatch);
    this.annotationBatch.rows = 0;
  }

  // ------------------------------------------------------------------ lists

  /** Gives meaning to a list at `mark - 1` with the items from `mark` to `sp`; leaves `sp` at `mark`. */
  protected appends(mark: number): void {
    const { kinds, payloads } = this;
    const list = mark - 1;
    const listKind = kinds[list]!;
    const first = kinds[mark]!;
    if (first === FRAME && (listKind === LIST || listKind === STACK)) this.stackList(list, mark);
    else if (first >= ENTRY && first <= ANNOTATION && (listKind === LIST || listKind === ROWS)) {
      let count = listKind === ROWS ? payloads[list]! : 0;
      for (let slot = mark; slot < this.sp; slot++) {
        if (kinds[slot] !== first)
          this.fail('MBF2107', `a list mixes ${this.kindName(mark)} with ${this.kindName(slot)}`);
        count += payloads[slot]!;
      }
      if (count > 0xfffffff) this.fail('MBF2105', 'more than 2^28 rows in one list');
      this.resolve(list, ROWS, count);
    } else if (listKind === LIST || listKind === OBJ) {
      let items: unknown[];
      if (listKind === OBJ) items = this.objects[payloads[list]!] as unknown[];
      else {
        items = [];
        this.resolve(list, OBJ, this.addObject(items));
      }
      if (items.length + this.sp - mark > LIMITS.objects)
        this.fail('MBF2105', `a list of more than ${LIMITS.objects} values`);
      for (let slot = mark; slot < this.sp; slot++) items.push(this.toValue(slot));
    } else this.fail('MBF2107', `${this.kindName(mark)} in a list that began as ${this.kindName(list)}`);
    this.sp = mark;
    this.device = -1;
  }

  private stackList(list: number, mark: number): void {
    const { kinds, payloads, frames, dictionary } = this;
    let depth = 0;
    let hash = STACK_HASH_START;
    if (kinds[list] === STACK) {
      this.regrown += dictionary.stackFrames(payloads[list]!).length;
      if (this.regrown > LIMITS.regrownFrames) this.fail('MBF2105', 'stacks that are written frame by frame');
      for (const frame of dictionary.stackFrames(payloads[list]!)) {
        frames[depth++] = frame;
        hash = mixFrame(hash, frame);
      }
    }
    if (depth + this.sp - mark > LIMITS.stackFrames)
      this.fail('MBF2105', `a stack of more than ${LIMITS.stackFrames} frames`);
    for (let slot = mark; slot < this.sp; slot++) {
      if (kinds[slot] !== FRAME) this.fail('MBF2107', `a stack holds ${this.kindName(slot)}`);
      const frame = payloads[slot]!;
      frames[depth++] = frame;
      hash = mixFrame(hash, frame);
    }
    if (dictionary.pooledFrames + depth > LIMITS.pooledFrames)
      this.fail('MBF2105', `stacks of more than ${LIMITS.pooledFrames} frames altogether`);
    this.resolve(list, STACK, dictionary.internStack(frames, depth, hash));
  }
}

/**
 * `category` does not come from the allocator: `_memory_viz._profile_to_snapshot` writes it, for the tensors of
 * torch.profiler's memory timeline.
 */
function extraNote({ key, device, seq, count }: ExtraKey): Note {
  const place = { device, seq, count };
  if (key !== 'category')
    return { kind: 'unknown_key', severity: 'info', text: `trace entry key or value not known: ${key}`, ...place };
  const text =
    "converted from torch.profiler's memory timeline: entries are tensors and not blocks, segments are unknown, and the last device may be the host";
  return { kind: 'profiler_conversion', severity: 'info', text, ...place };
}

/** Requested bytes and stack of the newest entry of a torch 1.13/2.0 `history` list. */
function newestOf(history: unknown): { requestedBytes: number | null; stack: number } | undefined {
  const newest: unknown = Array.isArray(history) ? history[0] : undefined;
  if (!(newest instanceof Map)) return undefined;
  const size: unknown = newest.get('real_size');
  const frames: unknown = newest.get('frames') ?? newest.get('cpp_frames');
  return {
    requestedBytes: typeof size === 'number' && size >= 0 ? size : null,
    stack: frames instanceof Ref && frames.kind === STACK ? frames.payload : NULL_I32,
  };
}
