/** A state of the allocator divided into shares that add up exactly to its reserve; used by every account. */

import { isSmall } from '../../../allocator/rounding.js';
import { type AllocatorSettings, SMALL_SEGMENT_BYTES } from '../../../allocator/settings.js';
import { type AllocatorState, freeHoles } from '../../../allocator/walk/allocator-state.js';

/**
 * Why a free block of the default pool could not be used. Against a failed request:
 * - `too_small`: in its pool, size class and stream, but too small;
 * - `page_pinned`: the part of such a block in pages of an expandable segment that live blocks share;
 * - `kept_for_larger`: held back by `max_split_size_mb`;
 * - `large_enough`: none of these (memory freed only in the allocator's last wait is not searched again);
 * - `other_stream`, `other_size_class`: not searched by torch.
 * Without a request: `small_pool`; `releasable` to the driver by a flush; `page_pinned`; `between_live_blocks` of a
 * segment that therefore stays.
 */
export const HOLE_KINDS = [
  'too_small',
  'page_pinned',
  'kept_for_larger',
  'large_enough',
  'other_stream',
  'other_size_class',
  'between_live_blocks',
  'releasable',
  'small_pool',
] as const;
export type HoleKind = (typeof HOLE_KINDS)[number];

export interface HoleShare {
  readonly bytes: number;
  /** Of one free block; for `page_pinned` the whole free range, shared pages included. */
  readonly largestBytes: number;
  readonly count: number;
}

/** Actual bytes throughout. All shares together are `reservedBytes`. */
export interface StateShares {
  readonly reservedBytes: number;
  /** Live blocks of the default pool. */
  readonly allocated: {
    readonly requestedBytes: number;
    /** Actual − requested. */
    readonly roundingBytes: number;
    /** Blocks without a recorded request size. */
    readonly unknownBytes: number;
  };
  /** Freed by the program, waiting for another stream; default pool. */
  readonly pendingBytes: number;
  /** Live blocks and pending frees of private pools (CUDA graphs, MemPool), and their free blocks. */
  readonly privatePools: { readonly liveBytes: number; readonly freeBytes: number };
  readonly holes: Readonly<Record<HoleKind, HoleShare>>;
}

export interface RequestThen {
  /** Rounded. */
  readonly bytes: number;
  /** Null where the trace does not show it. */
  readonly stream: number | null;
}

/** `request`: the one that failed in this state; null for any other moment. */
export function shareState(
  state: AllocatorState,
  settings: AllocatorSettings,
  request: RequestThen | null,
): StateShares {
  const { segments, blocks } = state;
  let reservedBytes = 0;
  for (const bytes of segments.totalBytes) reservedBytes += bytes;
  const allocated = { requestedBytes: 0, roundingBytes: 0, unknownBytes: 0 };
  const privatePools = { liveBytes: 0, freeBytes: 0 };
  let pendingBytes = 0;
  for (let row = 0; row < blocks.count; row += 1) {
    const size = blocks.sizeBytes[row]!;
    const requested = blocks.requestedBytes[row]!;
    if (segments.pool[blocks.segment[row]!] !== 0) privatePools.liveBytes += size;
    else if (blocks.state[row] === 1) pendingBytes += size;
    else if (requested < 0 || requested > size) allocated.unknownBytes += size;
    else {
      allocated.requestedBytes += requested;
      allocated.roundingBytes += size - requested;
    }
  }
  const holes = Object.fromEntries(
    HOLE_KINDS.map((kind) => [kind, { bytes: 0, largestBytes: 0, count: 0 }]),
  ) as unknown as Record<HoleKind, { bytes: number; largestBytes: number; count: number }>;
  const add = (kind: HoleKind, bytes: number, largestBytes: number): void => {
    if (bytes === 0) return;
    const share = holes[kind];
    share.bytes += bytes;
    share.count += 1;
    share.largestBytes = Math.max(share.largestBytes, largestBytes);
  };
  const free = freeHoles(state);
  for (let i = 0; i < free.count; i += 1) {
    const segment = free.segment[i]!;
    const bytes = free.bytes[i]!;
    if (segments.pool[segment] !== 0) {
      privatePools.freeBytes += bytes;
      continue;
    }
    const elsewhere = request === null ? null : kindElsewhere(state, segment, bytes, settings, request);
    if (elsewhere !== null) {
      add(elsewhere, bytes, bytes);
      continue;
    }
    if (request === null && segments.small[segment] === 1) {
      add('small_pool', bytes, bytes);
      continue;
    }
    const wholeBytes = wholeUnits(state, segment, free.address[i]!, bytes, settings);
    if (segments.expandable[segment] === 1) {
      add('page_pinned', bytes - wholeBytes, bytes);
      add(request === null ? 'releasable' : 'too_small', wholeBytes, bytes);
    } else if (request === null) add(wholeBytes > 0 ? 'releasable' : 'between_live_blocks', bytes, bytes);
    else add('too_small', bytes, bytes);
  }
  return { reservedBytes, allocated, pendingBytes, privatePools, holes };
}

/** Null: in the request's own pool, size class and stream, but smaller than it. Rules of torch's `get_free_block`. */
function kindElsewhere(
  { segments }: AllocatorState,
  segment: number,
  bytes: number,
  settings: AllocatorSettings,
  request: RequestThen,
): HoleKind | null {
  if ((segments.small[segment] === 1) !== isSmall(request.bytes)) return 'other_size_class';
  const stream = segments.stream[segment]!;
  if (request.stream !== null && !Number.isNaN(stream) && stream !== request.stream) return 'other_stream';
  if (bytes < request.bytes) return null;
  const { maxSplitBytes, maxNonSplitRoundingBytes } = settings;
  const isKept =
    request.bytes < maxSplitBytes ? bytes >= maxSplitBytes : bytes >= request.bytes + maxNonSplitRoundingBytes;
  return isKept ? 'kept_for_larger' : 'large_enough';
}

/** What of a free block a flush can give back: a wholly free cudaMalloc segment, whole units of an expandable one. */
function wholeUnits(
  { segments }: AllocatorState,
  segment: number,
  address: number,
  bytes: number,
  settings: AllocatorSettings,
): number {
  if (segments.expandable[segment] !== 1) return bytes === segments.totalBytes[segment] ? bytes : 0;
  const unit = segments.small[segment] === 1 ? SMALL_SEGMENT_BYTES : settings.largeSegmentBytes;
  const from = address - segments.address[segment]!;
  return Math.max(0, Math.floor((from + bytes) / unit) * unit - Math.ceil(from / unit) * unit);
}
