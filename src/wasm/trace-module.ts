/** The WebAssembly module of `assembly/`, with its memory as JavaScript sees it. */
import { randomInt } from 'node:crypto';
import { batchBytes, ColumnBatch, type TableLayout } from '../model/columns.js';
import type { SharedMemory } from '../model/parser.js';
import { MODULE } from './module.gen.js';

/** Exports of `assembly/index.ts`, described there. Pointers and lengths are bytes. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  allocate(bytes: number): number;
  reserve(bytes: number): number;
  resize(at: number, bytes: number): number;
  release(at: number): void;
  beginEntries(hashStart: number): void;
  endEntries(): void;
  counts(): number;
  keys(): number;
  actions(): number;
  placeTables(memo: number, slots: number, frames: number): void;
  placeColumns(rows: number, ...columns: number[]): void;
  readEntries(from: number, limit: number, device: number, mayPredict: boolean): number;
  setSeed(low: number, high: number): void;
  reset(): void;
  openTrace(): number;
  selectTrace(number: number): void;
  /** The places are those of action, addr, size, stream, time, pool, stack, compile context, user metadata. */
  addEntries(from: number, to: number, ...places: readonly number[]): number;
  traceFigures(to: number): void;
  lastSeqs(count: number, times: number, seqs: number): void;
  openWalk(
    isExpandable: number,
    maxSplitBytes: number,
    maxNonSplitRoundingBytes: number,
    largeSegmentBytes: number,
    defaultPool: number,
    batchRows: number,
  ): void;
  setDivision(interval: number, divisions: number): void;
  setColumn(table: number, column: number, pointer: number): void;
  finalSegment(
    address: number,
    bytes: number,
    stream: number,
    isSmall: number,
    pool: number,
    isExpandable: number,
    inferred: number,
  ): void;
  finalBlock(address: number, bytes: number, requested: number, state: number, stack: number): void;
  hasLoneRequests(): number;
  walkBack(requestsRecorded: number, completionsRecorded: number): void;
  walkFigures(to: number): void;
  livesColumns(to: number): void;
  goForward(labels: number, columns: number, entries: number, cuts: number, cutCount: number, most: number): number;
}

/** What `assembly/decode.ts` asks while it reads. They must not call the module. */
export interface EntryCalls {
  /** The stack of the first `depth` frames in the area of frames; −1 if its frames exceed the limit. */
  internStack(depth: number, hash: number): number;
  /** `at` in the memory. */
  internText(at: number, length: number): number;
  internPool(first: number, second: number): number;
}

/** Modules of this size, and so many, wait for the next file. */
const KEPT_BYTES = 32 * 1024 * 1024;
const KEPT_MODULES = 2;
const kept: TraceModule[] = [];
let compiled: WebAssembly.Module | undefined;

/**
 * An instance for one file at a time. Any call into it may grow its memory, which detaches all arrays over it: after
 * each call those are to be made again whose {@link buffer} has changed.
 */
export class TraceModule implements SharedMemory {
  readonly exports: Exports;
  /** Of the decoder that reads with it. */
  calls: EntryCalls | undefined;
  /** Takes over rows of a table: see `flush` in `assembly/rows.ts`. */
  onRows: (table: number, rows: number) => void = () => {};
  private readonly placed = new Map<ColumnBatch, number>();
  private seen: ArrayBuffer;

  private constructor() {
    compiled ??= new WebAssembly.Module(Buffer.from(MODULE, 'base64'));
    const decode: EntryCalls = {
      internStack: (depth, hash) => this.calls!.internStack(depth, hash),
      internText: (at, length) => this.calls!.internText(at, length),
      internPool: (first, second) => this.calls!.internPool(first, second),
    };
    const rows = { flush: (table: number, count: number) => this.onRows(table, count) };
    this.exports = new WebAssembly.Instance(compiled, { decode: { ...decode }, rows }).exports as Exports;
    this.exports.setSeed(randomInt(2 ** 31), randomInt(2 ** 31));
    this.seen = this.buffer;
  }

  /** One without a file. Its memory may hold bytes of an earlier one. */
  static take(): TraceModule {
    return kept.pop() ?? new TraceModule();
  }

  /** To be called when all memory reserved for the file was released; not after an error. */
  giveBack(): void {
    this.calls = undefined;
    if (kept.length < KEPT_MODULES && this.buffer.byteLength <= KEPT_BYTES) kept.push(this);
  }

  /**
   * The place of so many bytes of any content; those from `at` on are moved there. Pages never written cost nothing.
   *
   * @throws {RangeError} as for an array that is too large.
   */
  reserve(bytes: number, at = 0): number {
    try {
      // Pointers beyond 2 GiB come as negative numbers.
      return (at === 0 ? this.exports.reserve(bytes) : this.exports.resize(at, bytes)) >>> 0;
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      throw new RangeError(`no memory of ${bytes} bytes`);
    }
  }

  /** 0 is ignored. */
  release(at: number): void {
    if (at !== 0) this.exports.release(at);
  }

  get buffer(): ArrayBuffer {
    return this.exports.memory.buffer;
  }

  /** A batch in the module's memory. */
  batch(layout: TableLayout, capacity: number): ColumnBatch {
    const at = this.exports.allocate(batchBytes(layout, capacity)) >>> 0;
    this.refresh();
    const batch = new ColumnBatch(layout, capacity, this.buffer, at);
    this.placed.set(batch, at);
    return batch;
  }

  releaseBatch(batch: ColumnBatch): void {
    this.release(this.placed.get(batch) ?? 0);
    this.placed.delete(batch);
  }

  /** Moves all batches that {@link batch} gave to the memory as it is now. */
  refresh(): void {
    if (this.seen === this.buffer) return;
    this.seen = this.buffer;
    for (const [batch, at] of this.placed) batch.moveTo(this.seen, at);
  }

  /** The numbers that `fill` writes to the place it is given. */
  numbers(count: number, fill: (to: number) => void): Float64Array {
    return this.during(count * 8, (place) => {
      fill(place);
      return new Float64Array(this.buffer, place, count).slice();
    });
  }

  /** Calls `use` with the place of so many bytes, which are free again when it returns. */
  during<T>(bytes: number, use: (place: number) => T): T {
    const place = this.reserve(bytes);
    try {
      return use(place);
    } finally {
      this.release(place);
    }
  }
}
