/**
 * Segments and blocks of the final state: blocks wait here until their segment is complete (it names the device, and
 * before torch 2.1 also the only address), then go out as rows. Checks on the way what torch guarantees of a state
 * (FORMAT.md, invariants 1, 2 and 7).
 */
import { type ColumnBatch, ENUMS, NULL_HIGH, NULL_U8, putI64, putNullI64 } from '../../src/model/columns.js';
import type { SnapshotSink } from '../../src/model/parser.js';
import type { Note } from '../../src/model/tables.js';
import { doubled } from './text-interner.js';
import { LIMITS } from './value-stack.js';

export interface SegmentFields {
  readonly device: number;
  /** Rows 0 and 1 of a 64-bit column: address and stream. */
  readonly wide: Uint32Array;
  readonly totalBytes: number;
  readonly allocatedHeaderBytes: number | null;
  readonly activeHeaderBytes: number | null;
  readonly requestedHeaderBytes: number | null;
  readonly type: string;
  readonly pool: number;
  /** 0, 1 or {@link NULL_U8}. */
  readonly expandable: number;
  readonly stack: number;
  readonly blockCount: number;
}

const ALLOCATED = ENUMS.block_state.indexOf('active_allocated');
const PENDING = ENUMS.block_state.indexOf('active_pending_free');
const INACTIVE = ENUMS.block_state.indexOf('inactive');

export class SegmentRows {
  /** Violated invariants by kind, with an example each; see {@link SegmentRows.notes}. */
  private readonly violations = new Map<string, { text: string; count: number }>();
  segmentCount = 0;
  blockCount = 0;
  private pending = 0;
  private addresses = new Uint32Array(1 << 11);
  private sizes = new Float64Array(1 << 10);
  private requested = new Float64Array(1 << 10);
  private leftOver = new Float64Array(1 << 10);
  private states = new Uint8Array(1 << 10);
  private stacks = new Int32Array(1 << 10);
  /** Device, start and end of every segment, for the disjointness check at the end. */
  private readonly extents: { device: number; start: number; end: number }[] = [];
  private readonly out: SnapshotSink;
  private readonly segmentBatch: ColumnBatch;
  private readonly blockBatch: ColumnBatch;

  constructor(out: SnapshotSink, segmentBatch: ColumnBatch, blockBatch: ColumnBatch) {
    this.out = out;
    this.segmentBatch = segmentBatch;
    this.blockBatch = blockBatch;
  }

  /**
   * Keeps a block for the segment that will close over it. `wide` is row 0 of a 64-bit column. Returns what is wrong,
   * if anything.
   */
  addBlock(
    wide: Uint32Array,
    size: number,
    requested: number | null,
    state: string,
    stack: number,
  ): string | undefined {
    const code =
      state === 'active_awaiting_free'
        ? PENDING
        : ENUMS.block_state.indexOf(state as (typeof ENUMS.block_state)[number]);
    if (code < 0) return `block.state is ${JSON.stringify(state.slice(0, 80))}`;
    if (this.pending >= LIMITS.pendingBlocks) return `a segment of more than ${LIMITS.pendingBlocks} blocks`;
    const row = this.pending++;
    if (row === this.sizes.length) {
      this.addresses = doubled(this.addresses);
      this.sizes = doubled(this.sizes);
      this.requested = doubled(this.requested);
      this.leftOver = doubled(this.leftOver);
      this.states = doubled(this.states);
      this.stacks = doubled(this.stacks);
    }
    this.addresses[row * 2] = wide[0]!;
    this.addresses[row * 2 + 1] = wide[1]!;
    this.sizes[row] = size;
    // For inactive blocks requested_size is a left-over of whatever the block object last held. It has its own column,
    // for exports: nothing is requested of a free block.
    this.requested[row] = code === INACTIVE || requested === null ? -1 : requested;
    this.leftOver[row] = code === INACTIVE && requested !== null ? requested : -1;
    this.states[row] = code;
    this.stacks[row] = stack;
    return undefined;
  }

  /** Closes a segment over the blocks added since the last one. Returns what is wrong, if anything. */
  add(fields: SegmentFields): string | undefined {
    const unclaimed = this.unclaimed(fields);
    if (unclaimed !== undefined) return unclaimed;
    if (!Number.isInteger(fields.device) || fields.device < 0 || fields.device > 1023)
      return `segment.device is ${fields.device}`;
    const ordinal = this.segmentCount++;
    const batch = this.segmentBatch;
    const row = batch.rows++;
    const address = wideNumber(fields.wide, 0);
    batch.i32('segment')[row] = ordinal;
    batch.i32('device')[row] = fields.device;
    batch.i64('address').set(fields.wide.subarray(0, 2), row * 2);
    putI64(batch.i64('total_bytes'), row, fields.totalBytes);
    putOptional(batch.i64('allocated_header_bytes'), row, fields.allocatedHeaderBytes);
    putOptional(batch.i64('active_header_bytes'), row, fields.activeHeaderBytes);
    putOptional(batch.i64('requested_header_bytes'), row, fields.requestedHeaderBytes);
    batch.i64('stream').set(fields.wide.subarray(2, 4), row * 2);
    const type = ENUMS.segment_type.indexOf(fields.type as (typeof ENUMS.segment_type)[number]);
    batch.u8('segment_type')[row] = type < 0 ? ENUMS.segment_type.indexOf('unknown') : type;
    batch.i32('pool')[row] = fields.pool;
    batch.u8('is_expandable')[row] = fields.expandable === NULL_U8 ? NULL_U8 : fields.expandable;
    batch.i32('stack_id')[row] = fields.stack;
    if (batch.rows === batch.capacity) this.flushSegments();

    this.extents.push({ device: fields.device, start: address, end: address + fields.totalBytes });
    this.emitBlocks(ordinal, fields, address);
    return undefined;
  }

  /** The blocks added since the last segment belong to one of the host. Returns what is wrong, if anything. */
  leaveBlocks(fields: SegmentFields): string | undefined {
    const problem = this.unclaimed(fields);
    this.pending = 0;
    return problem;
  }

  private unclaimed({ blockCount }: SegmentFields): string | undefined {
    if (blockCount === this.pending) return undefined;
    return `a segment lists ${blockCount} blocks, but ${this.pending} were read since the last segment`;
  }

  private emitBlocks(ordinal: number, fields: SegmentFields, address: number): void {
    const batch = this.blockBatch;
    const colSegment = batch.i32('segment');
    const colDevice = batch.i32('device');
    const colAddress = batch.i64('address');
    const colSize = batch.i64('size_bytes');
    const colRequested = batch.i64('requested_bytes');
    const colState = batch.u8('state');
    const colStack = batch.i32('stack_id');
    const colLeftOver = batch.i64('left_over_bytes');
    let next = address;
    let allocated = 0;
    let active = 0;
    let previousInactive = false;
    for (let i = 0; i < this.pending; i++) {
      const row = batch.rows++;
      const size = this.sizes[i]!;
      const state = this.states[i]!;
      const requested = this.requested[i]!;
      colSegment[row] = ordinal;
      colDevice[row] = fields.device;
      if (this.addresses[i * 2 + 1] === NULL_HIGH && this.addresses[i * 2] === 0) putI64(colAddress, row, next);
      else {
        colAddress[row * 2] = this.addresses[i * 2]!;
        colAddress[row * 2 + 1] = this.addresses[i * 2 + 1]!;
        const at = wideNumber(this.addresses, i);
        if (at !== next) this.violate('tiling', `block at 0x${hex(at)} where 0x${hex(next)} was due`);
        next = at;
      }
      next += size;
      putI64(colSize, row, size);
      putOptional(colRequested, row, requested < 0 ? null : requested);
      colState[row] = state;
      colStack[row] = this.stacks[i]!;
      putOptional(colLeftOver, row, this.leftOver[i]! < 0 ? null : this.leftOver[i]!);
      if (state === ALLOCATED) allocated += size;
      if (state !== INACTIVE) active += size;
      if (state === INACTIVE && previousInactive)
        this.violate('coalescing', `two neighbouring free blocks before 0x${hex(next)}`);
      previousInactive = state === INACTIVE;
      if (state !== INACTIVE && requested > size)
        this.violate('requested_size', `${requested} bytes requested in a block of ${size}`);
      if (size % 512 !== 0) this.violate('alignment', `a block of ${size} bytes, no multiple of 512`);
      if (batch.rows === batch.capacity) this.flushBlocks();
    }
    this.blockCount += this.pending;
    this.pending = 0;
    if (next !== address + fields.totalBytes) {
      this.violate(
        'tiling',
        `blocks of segment 0x${hex(address)} sum to ${next - address} of ${fields.totalBytes} bytes`,
      );
    }
    const header = (name: string, stated: number | null, summed: number): void => {
      if (stated !== null && stated !== summed)
        this.violate('header_sums', `${name} of 0x${hex(address)} is ${stated}, its blocks sum to ${summed}`);
    };
    header('allocated_size', fields.allocatedHeaderBytes, allocated);
    header('active_size', fields.activeHeaderBytes, active);
  }

  private violate(kind: string, text: string): void {
    const known = this.violations.get(kind);
    if (known === undefined) this.violations.set(kind, { text, count: 1 });
    else known.count += 1;
  }

  private flushSegments(): void {
    if (this.segmentBatch.rows > 0) this.out.segments(this.segmentBatch);
    this.segmentBatch.rows = 0;
  }

  private flushBlocks(): void {
    if (this.blockBatch.rows > 0) this.out.blocks(this.blockBatch);
    this.blockBatch.rows = 0;
  }

  flush(): void {
    this.flushSegments();
    this.flushBlocks();
  }

  /** Blocks that no segment claimed. */
  get orphans(): number {
    return this.pending;
  }

  /**
   * What the state violates, one note a kind. An allocator of torch produces none of them, so the file was made or
   * changed by other hands.
   */
  notes(): Note[] {
    this.extents.sort((a, b) => a.device - b.device || a.start - b.start);
    for (let i = 1; i < this.extents.length; i++) {
      const [previous, current] = [this.extents[i - 1]!, this.extents[i]!];
      if (previous.device === current.device && current.start < previous.end) {
        this.violate('overlap', `segments overlap at 0x${hex(current.start)} on device ${current.device}`);
      }
    }
    return [...this.violations].map(([kind, { text, count }]) => ({
      kind: `invariant_${kind}`,
      severity: 'warning',
      text,
      count,
    }));
  }
}

function putOptional(array: Uint32Array, row: number, value: number | null): void {
  if (value === null) putNullI64(array, row);
  else putI64(array, row, value);
}

/** An unsigned 64-bit row as a double: exact below 2^53, which covers every address of today's devices. */
function wideNumber(wide: Uint32Array, row: number): number {
  return wide[row * 2 + 1]! * 4294967296 + wide[row * 2]!;
}

function hex(address: number): string {
  return address.toString(16);
}
