/** Lifetimes as rows, written while a walk goes forward over a trace. */
import type { WalkEvents } from '../../allocator/walk/backward-walk.js';
import type { ForwardWalk, LifeObserver } from '../../allocator/walk/forward-walk.js';
import { growColumn } from '../../allocator/walk/grow-column.js';
import type { SegmentMap } from '../../allocator/walk/segment-map.js';
import { ColumnBatch, LAYOUTS, NULL_I32, putI64, putNullI64, type TableLayout } from '../../model/columns.js';
import { BEFORE_TRACE, NEVER } from '../../model/derived-tables.js';
import { BATCH_ROWS } from '../../model/tables.js';
import { FREE_COMPLETED } from '../../model/trace-action-codes.js';
import { BLOCK_STATES } from '../../model/vocabulary.js';
import type { SpooledEvents } from './trace-spool.js';

const PENDING = BLOCK_STATES.indexOf('active_pending_free');

export type PutRows = (batch: ColumnBatch) => void;

/** Rows of one table, handed on a batch at a time. `Columns` are the arrays of the present batch. */
class RowBuffer<Columns> {
  columns: Columns;
  private batch: ColumnBatch;
  private readonly layout: TableLayout;
  private readonly device: number;
  private readonly columnsOf: (batch: ColumnBatch) => Columns;
  private readonly put: PutRows;

  constructor(layout: TableLayout, device: number, columnsOf: (batch: ColumnBatch) => Columns, put: PutRows) {
    this.layout = layout;
    this.device = device;
    this.columnsOf = columnsOf;
    this.put = put;
    // Most snapshots are small, and a full batch has some megabytes.
    this.batch = this.sized(1024);
    this.columns = columnsOf(this.batch);
  }

  /** The place of the next row in {@link columns}. */
  next(): number {
    if (this.batch.rows === this.batch.capacity) {
      this.flush();
      if (this.batch.capacity < BATCH_ROWS) {
        this.batch = this.sized(BATCH_ROWS);
        this.columns = this.columnsOf(this.batch);
      }
    }
    return this.batch.rows++;
  }

  flush(): void {
    if (this.batch.rows > 0) this.put(this.batch);
    this.batch.rows = 0;
  }

  private sized(rows: number): ColumnBatch {
    const batch = new ColumnBatch(this.layout, rows);
    batch.i32('device').fill(this.device);
    return batch;
  }
}

const blockColumns = (batch: ColumnBatch) => ({
  block: batch.i32('block'),
  address: batch.i64('address'),
  from: batch.i32('from_seq'),
  to: batch.i32('to_seq'),
  pending: batch.i32('pending_seq'),
  requested: batch.i64('requested_bytes'),
  actual: batch.i64('actual_bytes'),
  least: batch.i64('least_bytes'),
  most: batch.i64('most_bytes'),
  stream: batch.i64('stream'),
  pool: batch.i32('pool'),
  stack: batch.i32('stack_id'),
  origin: batch.u8('stack_origin'),
  allocUs: batch.i64('alloc_us'),
  freeUs: batch.i64('free_us'),
  context: batch.i32('compile_context_id'),
  metadata: batch.i32('user_metadata_id'),
  label: batch.i32('label'),
});

const segmentColumns = (batch: ColumnBatch) => ({
  address: batch.i64('address'),
  bytes: batch.i64('total_bytes'),
  from: batch.i32('from_seq'),
  to: batch.i32('to_seq'),
  stream: batch.i64('stream'),
  type: batch.u8('segment_type'),
  pool: batch.i32('pool'),
  expandable: batch.u8('is_expandable'),
  inferred: batch.u8('is_inferred'),
});

export interface LifeSinks {
  readonly blockLives: PutRows;
  readonly segmentLives: PutRows;
}

/** What a slot of the walk holds in addition to the walk's own columns. */
class Births {
  block = new Int32Array(1024);
  pending = new Int32Array(1024);
  timeUs = new Float64Array(1024);
  stream = new Float64Array(1024);
  context = new Int32Array(1024);
  metadata = new Int32Array(1024);

  grow(slot: number): void {
    while (slot >= this.block.length) {
      this.block = growColumn(this.block);
      this.pending = growColumn(this.pending);
      this.timeUs = growColumn(this.timeUs);
      this.stream = growColumn(this.stream);
      this.context = growColumn(this.context);
      this.metadata = growColumn(this.metadata);
    }
  }
}

/** Writes a row when a life ends, so that memory is that of what is live. {@link finish} after the last entry. */
export class LifeRows implements LifeObserver {
  /** Blocks so far: the number of the next one. */
  blocks = 0;
  private readonly blockRows: RowBuffer<ReturnType<typeof blockColumns>>;
  private readonly segmentRows: RowBuffer<ReturnType<typeof segmentColumns>>;
  /** The store's number of a pool as walks number them; −1 = not known. */
  private readonly poolNumber: (pool: number) => number;
  private readonly births = new Births();
  private seq = BEFORE_TRACE;
  private segmentFrom = new Int32Array(256);
  private readonly openSegments = new Set<number>();
  private segments: SegmentMap | undefined;

  constructor(device: number, sinks: LifeSinks, poolNumber: (pool: number) => number) {
    this.blockRows = new RowBuffer(LAYOUTS.block_life, device, blockColumns, sinks.blockLives);
    this.segmentRows = new RowBuffer(LAYOUTS.segment_life, device, segmentColumns, sinks.segmentLives);
    this.poolNumber = poolNumber;
  }

  entry(seq: number): void {
    this.seq = seq;
  }

  blockBegins(walk: ForwardWalk, slot: number, batch?: WalkEvents, row = 0): void {
    const { births } = this;
    births.grow(slot);
    births.block[slot] = this.blocks++;
    births.pending[slot] = walk.state[slot] === PENDING ? BEFORE_TRACE : NEVER;
    // All events come from the spool, which has these columns.
    const events = batch as SpooledEvents | undefined;
    births.timeUs[slot] = events?.timeUs[row] ?? Number.NaN;
    births.stream[slot] = events?.stream[row] ?? walk.streamAt(walk.address[slot]!);
    births.context[slot] = events?.compileContext[row] ?? NULL_I32;
    births.metadata[slot] = events?.userMetadata[row] ?? NULL_I32;
  }

  blockPends(_walk: ForwardWalk, slot: number): void {
    this.births.pending[slot] = this.seq;
  }

  blockEnds(walk: ForwardWalk, slot: number, batch: WalkEvents, row: number): void {
    const isCompleted = batch.action[row] === FREE_COMPLETED;
    this.writeBlock(walk, slot, this.seq, isCompleted ? (batch as SpooledEvents).timeUs[row]! : Number.NaN);
  }

  segmentBegins(segments: SegmentMap, slot: number): void {
    this.segments = segments;
    if (slot >= this.segmentFrom.length) this.segmentFrom = growColumn(this.segmentFrom);
    this.segmentFrom[slot] = this.seq;
    this.openSegments.add(slot);
  }

  segmentEnds(segments: SegmentMap, slot: number): void {
    this.openSegments.delete(slot);
    // What joins and parts within one entry was never seen.
    if (this.segmentFrom[slot] !== this.seq) this.writeSegment(segments, slot, this.seq);
  }

  /** Writes what is live after the last entry. */
  finish(walk: ForwardWalk): void {
    for (const slot of walk.liveSlots()) this.writeBlock(walk, slot, NEVER, Number.NaN);
    for (const slot of this.openSegments) this.writeSegment(this.segments!, slot, NEVER);
    this.blockRows.flush();
    this.segmentRows.flush();
  }

  private writeBlock(walk: ForwardWalk, slot: number, toSeq: number, freeUs: number): void {
    const { births, blockRows } = this;
    const row = blockRows.next();
    const to = blockRows.columns;
    to.block[row] = births.block[slot]!;
    putI64(to.address, row, walk.address[slot]!);
    to.from[row] = walk.allocSeq[slot]!;
    to.to[row] = toSeq;
    to.pending[row] = births.pending[slot]!;
    putKnown(to.requested, row, walk.requested[slot]! < 0 ? Number.NaN : walk.requested[slot]!);
    putI64(to.actual, row, walk.size[slot]!);
    putI64(to.least, row, walk.min[slot]!);
    putI64(to.most, row, walk.max[slot]!);
    putKnown(to.stream, row, births.stream[slot]!);
    to.pool[row] = this.poolNumber(walk.pool[slot]!);
    to.stack[row] = walk.stack[slot]! < 0 ? NULL_I32 : walk.stack[slot]!;
    to.origin[row] = walk.origin[slot]!;
    putKnown(to.allocUs, row, births.timeUs[slot]!);
    putKnown(to.freeUs, row, freeUs);
    to.context[row] = births.context[slot]!;
    to.metadata[row] = births.metadata[slot]!;
    to.label[row] = NULL_I32;
  }

  private writeSegment(segments: SegmentMap, slot: number, toSeq: number): void {
    const { segmentRows } = this;
    const row = segmentRows.next();
    const to = segmentRows.columns;
    const owner = segments.owner(slot);
    putI64(to.address, row, segments.address[slot]!);
    putI64(to.bytes, row, segments.end[slot]! - segments.address[slot]!);
    to.from[row] = this.segmentFrom[slot]!;
    to.to[row] = toSeq;
    putKnown(to.stream, row, owner.stream);
    to.type[row] = owner.small === 1 ? 0 : 1;
    to.pool[row] = this.poolNumber(owner.pool);
    to.expandable[row] = owner.expandable;
    to.inferred[row] = owner.inferred === 0 ? 0 : 1;
  }
}

/** NaN = unknown. Streams are pointers and may be any integer. */
function putKnown(column: Uint32Array, row: number, value: number): void {
  if (Number.isNaN(value)) putNullI64(column, row);
  else putI64(column, row, value);
}
