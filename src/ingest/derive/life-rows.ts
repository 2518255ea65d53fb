/** Lifetimes as rows, written while a walk goes forward over a trace. */
import type { WalkEvents } from '../../allocator/walk/backward-walk.js';
import type { ForwardWalk, LifeObserver } from '../../allocator/walk/forward-walk.js';
import { growColumn } from '../../allocator/walk/grow-column.js';
import type { SegmentMap } from '../../allocator/walk/segment-map.js';
import {
  ColumnBatch,
  type ColumnsOf,
  LAYOUTS,
  NULL_I32,
  putI64,
  putNullI64,
  type TableLayout,
} from '../../model/columns.js';
import { BEFORE_TRACE, NEVER } from '../../model/derived-tables.js';
import { BATCH_ROWS } from '../../model/tables.js';
import { FREE_COMPLETED } from '../../model/trace-action-codes.js';
import { BLOCK_STATES } from '../../model/vocabulary.js';
import type { SpooledEvents } from './trace-spool.js';

const PENDING = BLOCK_STATES.indexOf('active_pending_free');

export type PutRows = (batch: ColumnBatch) => void;

/** Rows of one table, handed on a batch at a time. */
class RowBuffer<Layout extends TableLayout> {
  /** Of the present batch. */
  columns: ColumnsOf<Layout>;
  private batch: ColumnBatch;
  private readonly layout: Layout;
  private readonly device: number;
  private readonly put: PutRows;

  constructor(layout: Layout, device: number, put: PutRows) {
    this.layout = layout;
    this.device = device;
    this.put = put;
    // Most snapshots are small, and a full batch has some megabytes.
    this.batch = this.sized(1024);
    this.columns = this.batch.columns(layout);
  }

  /** The place of the next row in {@link columns}. */
  next(): number {
    if (this.batch.rows === this.batch.capacity) {
      this.flush();
      if (this.batch.capacity < BATCH_ROWS) {
        this.batch = this.sized(BATCH_ROWS);
        this.columns = this.batch.columns(this.layout);
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
  private readonly blockRows: RowBuffer<typeof LAYOUTS.block_life>;
  private readonly segmentRows: RowBuffer<typeof LAYOUTS.segment_life>;
  /** The store's number of a pool as walks number them; −1 = not known. */
  private readonly poolNumber: (pool: number) => number;
  private readonly births = new Births();
  private seq = BEFORE_TRACE;
  private segmentFrom = new Int32Array(256);
  private readonly openSegments = new Set<number>();
  private segments: SegmentMap | undefined;

  constructor(device: number, sinks: LifeSinks, poolNumber: (pool: number) => number) {
    this.blockRows = new RowBuffer(LAYOUTS.block_life, device, sinks.blockLives);
    this.segmentRows = new RowBuffer(LAYOUTS.segment_life, device, sinks.segmentLives);
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
    to.from_seq[row] = walk.allocSeq[slot]!;
    to.to_seq[row] = toSeq;
    to.pending_seq[row] = births.pending[slot]!;
    putKnown(to.requested_bytes, row, walk.requested[slot]! < 0 ? Number.NaN : walk.requested[slot]!);
    putI64(to.actual_bytes, row, walk.size[slot]!);
    putI64(to.least_bytes, row, walk.min[slot]!);
    putI64(to.most_bytes, row, walk.max[slot]!);
    putKnown(to.stream, row, births.stream[slot]!);
    to.pool[row] = this.poolNumber(walk.pool[slot]!);
    to.stack_id[row] = walk.stack[slot]! < 0 ? NULL_I32 : walk.stack[slot]!;
    to.stack_origin[row] = walk.origin[slot]!;
    putKnown(to.alloc_us, row, births.timeUs[slot]!);
    putKnown(to.free_us, row, freeUs);
    to.compile_context_id[row] = births.context[slot]!;
    to.user_metadata_id[row] = births.metadata[slot]!;
    to.label[row] = NULL_I32;
  }

  private writeSegment(segments: SegmentMap, slot: number, toSeq: number): void {
    const { segmentRows } = this;
    const row = segmentRows.next();
    const to = segmentRows.columns;
    const owner = segments.owner(slot);
    putI64(to.address, row, segments.address[slot]!);
    putI64(to.total_bytes, row, segments.end[slot]! - segments.address[slot]!);
    to.from_seq[row] = this.segmentFrom[slot]!;
    to.to_seq[row] = toSeq;
    putKnown(to.stream, row, owner.stream);
    to.segment_type[row] = owner.small === 1 ? 0 : 1;
    to.pool[row] = this.poolNumber(owner.pool);
    to.is_expandable[row] = owner.expandable;
    to.is_inferred[row] = owner.inferred === 0 ? 0 : 1;
  }
}

/** NaN = unknown. Streams are pointers and may be any integer. */
function putKnown(column: Uint32Array, row: number, value: number): void {
  if (Number.isNaN(value)) putNullI64(column, row);
  else putI64(column, row, value);
}
