/** A snapshot of one device as rows, and the forms that walks over a trace and memory_viz's own rules read it in. */
import type { FinalState, WalkEvents } from '../../src/allocator/walk/walk-input.js';
import { ENUMS } from '../../src/model/columns.js';
import type { VizSnapshot } from './memory-viz-oracle.js';

export interface SegmentRow {
  readonly address: number;
  readonly bytes: number;
  /** Default: 0. Null: unknown. */
  readonly stream?: number | null;
  /** Default: large. */
  readonly type?: string;
  /** Default: 0, the default pool. */
  readonly pool?: number;
  readonly expandable?: boolean | null;
}

export interface BlockRow {
  readonly address: number;
  readonly bytes: number;
  /** Default: unknown, which is −1. */
  readonly requested?: number;
  /** Default: active_allocated. */
  readonly state?: string;
  /** Default: unknown, which is −1. */
  readonly stack?: number;
}

export interface EventRow {
  readonly action: string;
  readonly address: number | null;
  readonly bytes: number | null;
  /** Default: 0. Null: unknown. */
  readonly stream?: number | null;
  /** Default: unknown, which is −1. */
  readonly stack?: number;
}

export interface SnapshotRows {
  readonly segments: readonly SegmentRow[];
  readonly blocks: readonly BlockRow[];
  readonly events: readonly EventRow[];
}

const orNaN = (value: number | null | undefined): number => value ?? Number.NaN;
const indexIn = (words: readonly string[], word: string): number => words.indexOf(word);
/** `active_awaiting_free` is what the doc string of torch calls the second state. */
const asWritten = (state: string): string => state.replace('awaiting', 'pending');

export function finalState({ segments, blocks }: Pick<SnapshotRows, 'segments' | 'blocks'>): FinalState {
  return {
    segments: {
      count: segments.length,
      address: Float64Array.from(segments, ({ address }) => address),
      totalBytes: Float64Array.from(segments, ({ bytes }) => bytes),
      stream: Float64Array.from(segments, ({ stream = 0 }) => orNaN(stream)),
      type: Uint8Array.from(segments, ({ type = 'large' }) => indexIn(ENUMS.segment_type, type)),
      pool: Int32Array.from(segments, ({ pool = 0 }) => pool),
      expandable: Uint8Array.from(segments, ({ expandable }) => (expandable ? 1 : 0)),
    },
    blocks: {
      count: blocks.length,
      address: Float64Array.from(blocks, ({ address }) => address),
      sizeBytes: Float64Array.from(blocks, ({ bytes }) => bytes),
      requestedBytes: Float64Array.from(blocks, ({ requested = -1 }) => requested),
      state: Uint8Array.from(blocks, ({ state = 'active_allocated' }) => indexIn(ENUMS.block_state, asWritten(state))),
      stackId: Int32Array.from(blocks, ({ stack = -1 }) => stack),
    },
  };
}

/** `firstSeq` is the seq of the first of them. */
export function walkEvents(events: readonly EventRow[], firstSeq = 0): WalkEvents {
  return {
    count: events.length,
    seq: Int32Array.from(events, (_, i) => firstSeq + i),
    action: Uint8Array.from(events, ({ action }) => indexIn(ENUMS.trace_action, action)),
    address: Float64Array.from(events, ({ address }) => orNaN(address)),
    sizeBytes: Float64Array.from(events, ({ bytes }) => orNaN(bytes)),
    stream: Float64Array.from(events, ({ stream = 0 }) => orNaN(stream)),
    stackId: Int32Array.from(events, ({ stack = -1 }) => stack),
  };
}

export function vizSnapshot({ segments, blocks, events }: SnapshotRows): VizSnapshot {
  return {
    entries: events.map(({ action, address, bytes, stream = 0 }) => ({ action, addr: address, size: bytes, stream })),
    segments: segments.map(({ address: start, bytes: size, stream = 0 }) => ({
      address: start,
      size,
      stream,
      blocks: blocks
        .filter(({ address }) => address >= start && address < start + size)
        .map(({ address, bytes, requested = -1, state = 'active_allocated' }) => ({
          address,
          size: bytes,
          requested: requested < 0 ? undefined : requested,
          state: asWritten(state),
        })),
    })),
  };
}
