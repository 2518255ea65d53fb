/** A state of the allocator added up: by pool, by stream, its holes, and what pins its segments. */

import { type AllocatorSettings, SMALL_SEGMENT_BYTES } from '../../allocator/settings.js';
import type { AllocatorState, FreeHoles } from '../../allocator/walk/allocator-state.js';
import type { FragmentationAt, HoleAt, PoolAt, ReserveShare, StreamAt } from '../../model/results/at.js';

/** How the numbers of a state are shown to people. */
export interface StateNames {
  /** The pair of a pool as the walk numbers it; null where inferred. */
  pool(segment: number): readonly [number, number] | null;
  /** 0, 1, 2 … ; null where unknown. */
  stream(segment: number): number | null;
}

/** `numbers`: streams as `readStreamNumbers` counts them. */
export function namesOf(
  state: AllocatorState,
  pairOf: (pool: number) => readonly [number, number] | null,
  numbers: ReadonlyMap<number, number>,
): StateNames {
  const { segments } = state;
  return {
    pool: (segment) => pairOf(segments.pool[segment]!),
    stream: (segment) => numbers.get(segments.stream[segment]!) ?? null,
  };
}

export function hex(address: number): string {
  return address.toString(16);
}

type Sum = { -readonly [Field in keyof ReserveShare]: number };

const emptySum = (): Sum => ({
  segments: 0,
  reserved_bytes: 0,
  active_bytes: 0,
  pending_bytes: 0,
  inactive_bytes: 0,
  largest_hole_bytes: 0,
});

/** What one segment holds. */
export interface SegmentSums {
  readonly active: Float64Array;
  readonly pending: Float64Array;
  readonly largestHole: Float64Array;
  readonly holes: Int32Array;
}

export function segmentSums(state: AllocatorState, holes: FreeHoles): SegmentSums {
  const { segments, blocks } = state;
  const sums = {
    active: new Float64Array(segments.count),
    pending: new Float64Array(segments.count),
    largestHole: new Float64Array(segments.count),
    holes: new Int32Array(segments.count),
  };
  for (let row = 0; row < blocks.count; row += 1) {
    const segment = blocks.segment[row]!;
    sums.active[segment]! += blocks.sizeBytes[row]!;
    if (blocks.state[row] === 1) sums.pending[segment]! += blocks.sizeBytes[row]!;
  }
  for (let i = 0; i < holes.count; i += 1) {
    const segment = holes.segment[i]!;
    sums.holes[segment]! += 1;
    sums.largestHole[segment] = Math.max(sums.largestHole[segment]!, holes.bytes[i]!);
  }
  return sums;
}

/** Shares of the reserve by `keyOf` a segment, in order of reserved bytes. */
export function sharesBy<Key>(
  state: AllocatorState,
  sums: SegmentSums,
  keyOf: (segment: number) => Key,
): (Sum & { readonly key: Key })[] {
  const groups = new Map<string, Sum & { readonly key: Key }>();
  for (let segment = 0; segment < state.segments.count; segment += 1) {
    const key = keyOf(segment);
    const text = JSON.stringify(key);
    let group = groups.get(text);
    if (group === undefined) {
      group = { key, ...emptySum() };
      groups.set(text, group);
    }
    const total = state.segments.totalBytes[segment]!;
    group.segments += 1;
    group.reserved_bytes += total;
    group.active_bytes += sums.active[segment]!;
    group.pending_bytes += sums.pending[segment]!;
    group.inactive_bytes += total - sums.active[segment]!;
    group.largest_hole_bytes = Math.max(group.largest_hole_bytes, sums.largestHole[segment]!);
  }
  return [...groups.values()].sort((a, b) => b.reserved_bytes - a.reserved_bytes);
}

export function poolShares(state: AllocatorState, sums: SegmentSums, names: StateNames): PoolAt[] {
  const { small, expandable } = state.segments;
  return sharesBy(state, sums, (segment) => ({
    pool: names.pool(segment),
    segment_type: small[segment] === 1 ? ('small' as const) : ('large' as const),
    expandable: expandable[segment] === 1,
  })).map(({ key, ...sum }) => ({ ...key, ...sum }));
}

export function streamShares(state: AllocatorState, sums: SegmentSums, names: StateNames): StreamAt[] {
  return sharesBy(state, sums, (segment) => {
    const pointer = state.segments.stream[segment]!;
    return { stream: names.stream(segment), pointer: Number.isNaN(pointer) ? null : String(pointer) };
  }).map(({ key, ...sum }) => ({ ...key, ...sum }));
}

export function fragmentation(state: AllocatorState, holes: FreeHoles): FragmentationAt {
  let reserved = 0;
  for (const bytes of state.segments.totalBytes) reserved += bytes;
  let inactive = 0;
  let largest = 0;
  let squares = 0;
  for (const bytes of holes.bytes) {
    inactive += bytes;
    squares += bytes * bytes;
    largest = Math.max(largest, bytes);
  }
  return {
    inactive_of_reserved: reserved === 0 ? null : inactive / reserved,
    largest_hole_of_inactive: inactive === 0 ? null : largest / inactive,
    squared_gap_index: reserved === 0 ? null : squares / (reserved * reserved),
  };
}

/** The `count` largest holes, the lowest address first among equals. */
export function largestHoles(state: AllocatorState, holes: FreeHoles, names: StateNames, count: number): HoleAt[] {
  const rows = Array.from({ length: holes.count }, (_, i) => i);
  rows.sort((a, b) => holes.bytes[b]! - holes.bytes[a]! || holes.address[a]! - holes.address[b]!);
  return rows.slice(0, count).map((i) => {
    const segment = holes.segment[i]!;
    return {
      address: hex(holes.address[i]!),
      bytes: holes.bytes[i]!,
      segment: hex(state.segments.address[segment]!),
      pool: names.pool(segment),
      segment_type: state.segments.small[segment] === 1 ? 'small' : 'large',
      stream: names.stream(segment),
    };
  });
}

/**
 * Bytes of each segment that a flush would give back: all of a wholly free cudaMalloc segment, whole units of a free
 * range of an expandable one. Private pools give nothing back while a graph or handle refers to them, which no snapshot
 * tells: they count as kept. The unit grid of a reservation is taken from the start of its mapped run; a run whose head
 * was unmapped may be off by part of a unit.
 */
export function releasableBytes(state: AllocatorState, holes: FreeHoles, settings: AllocatorSettings): Float64Array {
  const { segments } = state;
  const bytes = new Float64Array(segments.count);
  for (let i = 0; i < holes.count; i += 1) {
    const segment = holes.segment[i]!;
    if (segments.pool[segment] !== 0) continue;
    const start = segments.address[segment]!;
    const total = segments.totalBytes[segment]!;
    if (segments.expandable[segment] !== 1) {
      if (holes.bytes[i] === total) bytes[segment] = total;
      continue;
    }
    const unit = segments.small[segment] === 1 ? SMALL_SEGMENT_BYTES : settings.largeSegmentBytes;
    const from = Math.ceil((holes.address[i]! - start) / unit) * unit;
    const to = Math.floor((holes.address[i]! + holes.bytes[i]! - start) / unit) * unit;
    if (to > from) bytes[segment]! += to - from;
  }
  return bytes;
}
