/**
 * Pinned memory of the host (torch 2.14, `_record_memory_history(record_pinned_host_memory=True)`): `host_segments` and
 * `host_traces`. Upstream: torch `THCPModule_memorySnapshot` (the dicts), `aten/src/ATen/core/CachingHostAllocator.h`
 * (`getSegments`, `record_trace`). The dicts have the keys of a device's, with device −1; a segment is one block, and
 * the trace is one list.
 */
import { type ColumnBatch, ENUMS, NULL_U8, putI64 } from '../../src/model/columns.js';
import type { SnapshotSink } from '../../src/model/parser.js';
import type { SegmentFields } from './segment-rows.js';
import { LIMITS } from './value-stack.js';

/** The ordinal that torch gives to the host. */
export const HOST_DEVICE = -1;

export interface HostEntry {
  readonly action: number;
  /** Row 0 of a 64-bit column: the address; row 1: the time. */
  readonly wide: Uint32Array;
  readonly bytes: number;
  readonly pool: number;
  readonly stack: number;
}

export class HostRows {
  segmentCount = 0;
  eventCount = 0;
  private readonly out: SnapshotSink;
  private readonly eventBatch: ColumnBatch;
  private readonly segmentBatch: ColumnBatch;

  constructor(out: SnapshotSink, eventBatch: ColumnBatch, segmentBatch: ColumnBatch) {
    this.out = out;
    this.eventBatch = eventBatch;
    this.segmentBatch = segmentBatch;
  }

  addSegment(fields: SegmentFields): void {
    const batch = this.segmentBatch;
    const row = batch.rows++;
    batch.i32('segment')[row] = this.segmentCount++;
    batch.i64('address').set(fields.wide.subarray(0, 2), row * 2);
    putI64(batch.i64('total_bytes'), row, fields.totalBytes);
    putI64(batch.i64('allocated_bytes'), row, fields.allocatedHeaderBytes ?? 0);
    putI64(batch.i64('active_bytes'), row, fields.activeHeaderBytes ?? fields.allocatedHeaderBytes ?? 0);
    batch.i32('pool')[row] = fields.pool;
    batch.i32('stack_id')[row] = fields.stack;
    if (batch.rows === batch.capacity) this.flushSegments();
  }

  /** False: more entries than a trace can have. */
  addEvent(entry: HostEntry): boolean {
    if (this.eventCount >= LIMITS.eventsPerDevice) return false;
    const batch = this.eventBatch;
    const row = batch.rows++;
    batch.i32('seq')[row] = this.eventCount++;
    batch.u8('action')[row] = entry.action === NULL_U8 ? ENUMS.trace_action.indexOf('other') : entry.action;
    batch.i64('addr').set(entry.wide.subarray(0, 2), row * 2);
    putI64(batch.i64('size_bytes'), row, entry.bytes);
    batch.i64('time_us').set(entry.wide.subarray(2, 4), row * 2);
    batch.i32('pool')[row] = entry.pool;
    batch.i32('stack_id')[row] = entry.stack;
    if (batch.rows === batch.capacity) this.flushEvents();
    return true;
  }

  private flushEvents(): void {
    if (this.eventBatch.rows > 0) this.out.hostEvents(this.eventBatch);
    this.eventBatch.rows = 0;
  }

  private flushSegments(): void {
    if (this.segmentBatch.rows > 0) this.out.hostSegments(this.segmentBatch);
    this.segmentBatch.rows = 0;
  }

  flush(): void {
    this.flushEvents();
    this.flushSegments();
  }
}
