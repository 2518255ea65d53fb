/**
 * A recorded trace as a replay wants it: whole columns, every free tied to its allocation, every allocation to its
 * pool.
 */

import type { PoolId } from '../caching/block.js';
import type { AllocatorSettings } from '../settings.js';
import {
  ALLOC,
  FREE_COMPLETED,
  FREE_REQUESTED,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
} from '../trace-action-codes.js';
import { AddressTable } from '../walk/address-table.js';
import type { AllocatorState } from '../walk/allocator-state.js';
import type { WalkEvents } from '../walk/walk-input.js';

/** What is known of one device's allocator. Rows of `events` are all entries of the trace, in order. */
export interface RecordedTrace {
  readonly settings: AllocatorSettings;
  /**
   * A memory fraction's limit, where it is known to the byte: garbage collection and refusals below what the device has
   * depend on it.
   */
  readonly allowedBytes?: number;
  /** Before the first entry. */
  readonly start: AllocatorState;
  readonly events: WalkEvents;
  /** Pools of allocations that are not in the default one, by entry. */
  readonly poolOfSeq: ReadonlyMap<number, number>;
  /** Class of size and pool of what segment_alloc and segment_map entries brought, by entry. */
  readonly growths: ReadonlyMap<number, { readonly small: number; readonly pool: number }>;
  /** Stacks of segment_free and segment_unmap entries that come from `torch.cuda.empty_cache()`. */
  readonly emptyCacheStacks: ReadonlySet<number>;
  /** Torch's id of a pool as the columns number it (0 = default). */
  readonly poolId: (pool: number) => PoolId;
  /** Whether entries name their pools, as from torch 2.12. */
  readonly namesPools?: boolean;
  /** Reserved and free on the device together at the last OOM; absent without one. */
  readonly budgetBytes?: number;
  /** False where the file contains no settings, as those of torch 2.1: `settings` are the defaults then. */
  readonly namesSettings?: boolean;
}

/** A trace with what {@link prepareRecording} found in it. */
export interface Recording extends RecordedTrace {
  /**
   * The allocation each alloc, free_requested and free_completed entry is about: blocks of the start state are numbered
   * by row, allocations of the trace follow in order. −1 on other entries, and on frees of memory that nothing accounts
   * for.
   */
  readonly allocation: Int32Array;
  /** Number of allocations, those of the start state included. */
  readonly allocations: number;
  /** Pool of every alloc and growth entry that is not of the default pool. */
  readonly poolOf: ReadonlyMap<number, number>;
  /**
   * Private pools with cudaMalloc segments although segments are expandable: a MemPool with an allocator of its own.
   */
  readonly customPools: ReadonlySet<number>;
  /** Lowest address mapped, by {@link reservationKey}: the reservation starts there or below. */
  readonly reservationStarts: ReadonlyMap<string, number>;
  /** Rows of the segment_map entries in ascending order, by {@link reservationKey}. */
  readonly mapRows: ReadonlyMap<string, readonly number[]>;
  readonly allocEntries: number;
  readonly streams: readonly number[];
  /**
   * Address space of one reservation of expandable segments: 1.125 × the device's total, which snapshots do not
   * contain. Infinity unless a replay found that it must be less; it decides between the block at the growing edge and
   * one inside.
   */
  readonly reservationBytes: number;
  /**
   * The most that is reserved at an entry or later: the device had it before too, unless others gave memory back
   * meanwhile. That others take more in the course of a run is common.
   */
  readonly reachedLater: Float64Array;
  /**
   * Addresses of the segments from before the recording in the order of their creation, as far as a replay found it:
   * no file has it, and from torch 2.12 it decides between free blocks of one size.
   */
  readonly segmentOrder?: readonly number[];
  /** Memory of the device that this allocator cannot have; absent where the device's total is not known. */
  readonly outsideBytes?: number;
  /** Private pools that no entry names, found by the flushes that freed them. */
  readonly inferredPools?: number;
}

/** Expandable memory of one stream, pool and size class is in one reservation. */
export function reservationKey(stream: number, pool: number, small: number): string {
  return `${stream} ${pool} ${small}`;
}

/** O(entries). */
export function prepareRecording(trace: RecordedTrace): Recording {
  const { events, start } = trace;
  const { count, action, address, stream, seq } = events;
  const allocation = new Int32Array(count).fill(-1);
  const live = new AddressTable();
  for (let row = 0; row < start.blocks.count; row += 1) live.set(start.blocks.address[row]!, row);
  let allocations = start.blocks.count;
  let allocEntries = 0;
  const streams = new Set<number>();
  let lastStream = Number.NaN;
  for (let i = 0; i < count; i += 1) {
    const code = action[i]!;
    if (code === ALLOC) {
      allocation[i] = allocations;
      live.set(address[i]!, allocations);
      allocations += 1;
      allocEntries += 1;
      // Nearly always the one before.
      if (stream[i] !== lastStream) {
        lastStream = stream[i]!;
        streams.add(lastStream);
      }
    } else if (code === FREE_REQUESTED || code === FREE_COMPLETED) {
      allocation[i] = live.get(address[i]!);
      if (allocation[i]! >= 0 && code === FREE_COMPLETED) live.set(address[i]!, -1);
    }
  }
  const poolOf = poolsBySeq(trace);
  const { segments } = start;
  for (let i = 0; i < segments.count; i += 1) streams.add(segments.stream[i]!);
  return {
    ...trace,
    allocation,
    allocations,
    poolOf,
    customPools: customPools(trace, poolOf),
    ...reservations(trace, seq),
    allocEntries,
    streams: [...streams].filter((one) => !Number.isNaN(one)),
    reservationBytes: Number.POSITIVE_INFINITY,
    reachedLater: mostFromEnd(recordedReserve(trace)),
  };
}

function poolsBySeq({ events, poolOfSeq, growths }: RecordedTrace): Map<number, number> {
  const pools = new Map(poolOfSeq);
  for (const [seq, { pool }] of growths) if (pool > 0) pools.set(seq, pool);
  // From torch 2.12 the entries contain it.
  if (events.pool !== undefined)
    for (let i = 0; i < events.count; i += 1) if (events.pool[i]! > 0) pools.set(events.seq[i]!, events.pool[i]!);
  return pools;
}

function customPools({ settings, start, events }: RecordedTrace, poolOf: ReadonlyMap<number, number>): Set<number> {
  const pools = new Set<number>();
  if (!settings.expandableSegments) return pools;
  const { segments } = start;
  for (let i = 0; i < segments.count; i += 1)
    if (segments.expandable[i] !== 1 && segments.pool[i]! > 0) pools.add(segments.pool[i]!);
  for (let i = 0; i < events.count; i += 1) {
    const pool = events.action[i] === SEGMENT_ALLOC ? poolOf.get(events.seq[i]!) : undefined;
    if (pool !== undefined) pools.add(pool);
  }
  return pools;
}

/**
 * A page is unmapped only after it was mapped, so the runs of the start and the map entries show every lowest address.
 */
function reservations(
  { start, events, growths }: RecordedTrace,
  seqs: Int32Array,
): Pick<Recording, 'reservationStarts' | 'mapRows'> {
  const reservationStarts = new Map<string, number>();
  const mapRows = new Map<string, number[]>();
  const note = (key: string, address: number): void => {
    reservationStarts.set(key, Math.min(reservationStarts.get(key) ?? Number.POSITIVE_INFINITY, address));
  };
  const { segments } = start;
  for (let i = 0; i < segments.count; i += 1) {
    if (segments.expandable[i] !== 1) continue;
    note(reservationKey(segments.stream[i]!, segments.pool[i]!, segments.small[i]!), segments.address[i]!);
  }
  for (let i = 0; i < events.count; i += 1) {
    const growth = events.action[i] === SEGMENT_MAP ? growths.get(seqs[i]!) : undefined;
    if (growth === undefined) continue;
    const key = reservationKey(events.stream[i]!, growth.pool, growth.small);
    note(key, events.address[i]!);
    const rows = mapRows.get(key);
    if (rows === undefined) mapRows.set(key, [i]);
    else rows.push(i);
  }
  return { reservationStarts, mapRows };
}

/** In place: the maximum of each value and all behind it. */
function mostFromEnd(values: Float64Array): Float64Array {
  for (let i = values.length - 2; i >= 0; i -= 1) values[i] = Math.max(values[i]!, values[i + 1]!);
  return values;
}

/** Reserved bytes after each entry. */
export function recordedReserve({ start, events }: Pick<Recording, 'start' | 'events'>): Float64Array {
  const reserved = new Float64Array(events.count);
  let bytes = 0;
  for (let i = 0; i < start.segments.count; i += 1) bytes += start.segments.totalBytes[i]!;
  for (let i = 0; i < events.count; i += 1) {
    const code = events.action[i]!;
    if (code === SEGMENT_ALLOC || code === SEGMENT_MAP) bytes += events.sizeBytes[i]!;
    else if (code === SEGMENT_FREE || code === SEGMENT_UNMAP) bytes -= events.sizeBytes[i]!;
    reserved[i] = bytes;
  }
  return reserved;
}
