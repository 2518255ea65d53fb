/** Rows of lifetimes, and of the entries that none of them restores, in batches that JavaScript takes over. */
import { Lives, NEVER } from './lives';
import { NULL } from './memory';
import { Pools } from './pools';
import { Segment } from './segments';
import { ACTION, FREE_COMPLETED, Shapes, Trace } from './trace';

/** Tables, as `flush` names them, and the columns that the module fills, in the order in which JavaScript has them. */
export const BLOCK_LIFE: i32 = 0;
export const SEGMENT_LIFE: i32 = 1;
export const TRACE_ENTRY: i32 = 2;

/** Bits of `block_life.entries`: entries of the trace that the row restores. */
const RESTORES_ALLOC: u8 = 1;
const RESTORES_REQUEST: u8 = 2;
const RESTORES_COMPLETION: u8 = 4;
/** They name the pool. */
const NAMES_POOL: u8 = 8;

/** The batch of a table is full or the last: its rows are taken over before this returns. */
declare function flush(table: i32, rows: i32): void;

/** A batch of a table: where its columns are. */
export class Batch {
  rows: i32 = 0;
  columns: StaticArray<usize> = new StaticArray<usize>(24);

  constructor(
    public table: i32,
    public capacity: i32,
  ) {}

  /** The place of the next row. */
  next(): i32 {
    if (this.rows === this.capacity) this.hand();
    return this.rows++;
  }

  hand(): void {
    if (this.rows > 0) flush(this.table, this.rows);
    this.rows = 0;
  }

  u8(column: i32, row: i32, value: u8): void {
    store<u8>(this.columns[column] + usize(row), value);
  }

  i32(column: i32, row: i32, value: i32): void {
    store<i32>(this.columns[column] + (usize(row) << 2), value);
  }

  i64(column: i32, row: i32, value: i64): void {
    store<i64>(this.columns[column] + (usize(row) << 3), value);
  }
}

/** Columns of `block_life`, in the order in which JavaScript names them. */
enum Life {
  block,
  address,
  from_seq,
  to_seq,
  pending_seq,
  requested_bytes,
  excess_bytes,
  least_bytes,
  most_bytes,
  stream,
  pool,
  stack_id,
  stack_origin,
  alloc_us,
  request_us,
  free_us,
  free_stack_id,
  compile_context_id,
  user_metadata_id,
  entries,
  label,
}

enum Extent {
  address,
  total_bytes,
  from_seq,
  to_seq,
  stream,
  segment_type,
  pool,
  is_expandable,
  is_inferred,
}

enum Entry {
  seq,
  action,
  addr,
  size_bytes,
  stream,
  time_us,
  pool,
  stack_id,
  compile_context_id,
  user_metadata_id,
}

/** Rows of `segment_life`. */
export class SegmentRows {
  constructor(
    private to: Batch,
    private pools: Pools,
  ) {}

  /** An extent of a segment that begins with entry `fromSeq`. */
  add(segment: Segment, fromSeq: i32): void {
    const to = this.to;
    const row = to.next();
    to.i64(Extent.address, row, segment.address);
    to.i64(Extent.total_bytes, row, segment.end - segment.address);
    to.i32(Extent.from_seq, row, fromSeq);
    to.i32(Extent.to_seq, row, segment.toSeq);
    to.i64(Extent.stream, row, segment.stream);
    to.u8(Extent.segment_type, row, segment.small === 1 ? 0 : 1);
    to.i32(Extent.pool, row, this.pools.fromWalk(segment.pool));
    to.u8(Extent.is_expandable, row, segment.expandable);
    to.u8(Extent.is_inferred, row, segment.inferred === 0 ? 0 : 1);
  }
}

/** Rows of `trace_entry`. */
export class EntryRows {
  constructor(
    private to: Batch,
    private trace: Trace,
  ) {}

  add(seq: i32): void {
    const to = this.to;
    const trace = this.trace;
    const shapes = trace.shapes;
    const chunk = trace.chunkOf(seq);
    const at = trace.placeOf(seq);
    const shape = chunk.shape.at(at);
    const row = to.next();
    to.i32(Entry.seq, row, seq);
    to.u8(Entry.action, row, chunk.action[at] & ACTION);
    to.i64(Entry.addr, row, trace.addresses.keys[chunk.address.at(at)]);
    to.i64(Entry.size_bytes, row, shapes.size[shape]);
    to.i64(Entry.stream, row, shapes.stream[shape]);
    to.i64(Entry.time_us, row, chunk.timeAt(at));
    to.i32(Entry.pool, row, shapes.pool[shape]);
    to.i32(Entry.stack_id, row, chunk.stack.at(at));
    to.i32(Entry.compile_context_id, row, shapes.context[shape]);
    to.i32(Entry.user_metadata_id, row, shapes.metadata[shape]);
  }
}

/** Rows of `block_life`, in the order of the blocks. */
export class LifeRows {
  private shapes: Shapes;

  constructor(
    private to: Batch,
    private entryRows: EntryRows,
    private trace: Trace,
    private lives: Lives,
    private pools: Pools,
    /** Number of the label of each life, as i32; 0 = none is known. */
    private labels: usize,
  ) {
    this.shapes = trace.shapes;
  }

  /** The life `life`, which begins with an entry or before all. */
  add(life: i32): void {
    const lives = this.lives;
    const shapes = this.shapes;
    const trace = this.trace;
    const fromSeq = lives.fromSeq[life];
    const toSeq = lives.toSeq[life];
    const pendingSeq = lives.pendingSeq[life];
    const pool = this.pools.fromWalk(lives.pool[life]);
    const request = pendingSeq >= 0 && pendingSeq < NEVER ? pendingSeq : -1;
    const completion = toSeq < NEVER && trace.actionAt(toSeq) === FREE_COMPLETED ? toSeq : -1;
    // Entries of the same shape as this one are restored, if they have the pool that the row has, or none.
    let like = fromSeq >= 0 ? trace.shapeAt(fromSeq) : this.freesLike(life, request >= 0 ? request : completion);
    let address: i64 = 0;
    let stream: i64 = 0;
    let allocTime: i64 = NULL;
    let context = -1;
    let metadata = -1;
    let entries: u8 = like >= 0 && shapes.pool[like] >= 0 ? NAMES_POOL : 0;
    if (fromSeq >= 0) {
      const chunk = trace.chunkOf(fromSeq);
      const at = trace.placeOf(fromSeq);
      address = trace.addresses.keys[chunk.address.at(at)];
      allocTime = chunk.timeAt(at);
      stream = shapes.stream[like];
      context = shapes.context[like];
      metadata = shapes.metadata[like];
      if (!this.hasPool(like, pool)) like = -1;
      if (like >= 0) entries |= RESTORES_ALLOC;
      else this.entryRows.add(fromSeq);
    } else {
      const before = lives.starts - 1 - life;
      address = lives.startAddress[before];
      stream = lives.startStream[before];
      if (like >= 0 && !this.hasPool(like, pool)) like = -1;
    }
    let freeStack = -1;
    if (request >= 0) {
      freeStack = trace.stackAt(request);
      if (like >= 0 && trace.shapeAt(request) === like) entries |= RESTORES_REQUEST;
      else this.entryRows.add(request);
    } else if (completion >= 0) freeStack = trace.stackAt(completion);
    if (completion >= 0) {
      const isAlike = like >= 0 && trace.shapeAt(completion) === like && trace.stackAt(completion) === freeStack;
      if (isAlike) entries |= RESTORES_COMPLETION;
      else this.entryRows.add(completion);
    }
    const to = this.to;
    const row = to.next();
    const bytes = i64(lives.bytes[life]);
    const requested = lives.requested[life];
    to.i32(Life.block, row, life);
    to.i64(Life.address, row, address);
    to.i32(Life.from_seq, row, fromSeq);
    to.i32(Life.to_seq, row, toSeq);
    to.i32(Life.pending_seq, row, pendingSeq);
    to.i64(Life.requested_bytes, row, requested < 0 ? NULL : i64(requested));
    to.i64(Life.excess_bytes, row, bytes - max<i64>(0, i64(requested)));
    const least = lives.leastOf(life, bytes);
    const most = lives.mostOf(life, bytes);
    const isCertain = least === bytes && most === bytes;
    to.i64(Life.least_bytes, row, isCertain ? NULL : least);
    to.i64(Life.most_bytes, row, isCertain ? NULL : most);
    to.i64(Life.stream, row, stream);
    to.i32(Life.pool, row, pool);
    to.i32(Life.stack_id, row, lives.stack[life]);
    to.u8(Life.stack_origin, row, lives.origin[life]);
    to.i64(Life.alloc_us, row, allocTime);
    to.i64(Life.request_us, row, request < 0 ? NULL : trace.timeAt(request));
    to.i64(Life.free_us, row, completion < 0 ? NULL : trace.timeAt(completion));
    to.i32(Life.free_stack_id, row, freeStack);
    to.i32(Life.compile_context_id, row, context);
    to.i32(Life.user_metadata_id, row, metadata);
    to.u8(Life.entries, row, entries);
    to.i32(Life.label, row, this.labels === 0 ? -1 : load<i32>(this.labels + (usize(life) << 2)));
  }

  /** The shape of entry `free`, if a row of a life from before the trace has all of its fields; −1. */
  private freesLike(life: i32, free: i32): i32 {
    if (free < 0) return -1;
    const lives = this.lives;
    const shape = this.trace.shapeAt(free);
    const requested = i64(lives.requested[life]);
    const stream = lives.startStream[lives.starts - 1 - life];
    return this.shapes.is(shape, requested, stream, this.shapes.pool[shape], -1, -1) ? shape : -1;
  }

  private hasPool(shape: i32, pool: i32): bool {
    return this.shapes.pool[shape] < 0 || this.shapes.pool[shape] === pool;
  }
}
