/**
 * The account of an allocator's state, computed from its columns without a store: what `account_at`, `oom_account`,
 * `oom_free` and `totals_at` are held to.
 */

import { isSmall, roundSize, roundUp } from '../../../src/allocator/rounding.js';
import { type AllocatorSettings, MIN_BLOCK_BYTES, SMALL_SEGMENT_BYTES } from '../../../src/allocator/settings.js';
import type { AllocatorState } from '../../../src/allocator/walk/allocator-state.js';
import { freeHoles } from './free-holes.js';

export interface RequestThen {
  /** Rounded. */
  readonly bytes: number;
  /** Null where the trace does not show it. */
  readonly stream: number | null;
}

/** Bytes by part, those of 0 bytes left out. `request`: the one that failed then; null for any other moment. */
export function partsOf(
  state: AllocatorState,
  settings: AllocatorSettings,
  request: RequestThen | null,
): Map<string, number> {
  const { segments, blocks } = state;
  const parts = new Map<string, number>();
  const add = (part: string, bytes: number): void => {
    if (bytes !== 0) parts.set(part, (parts.get(part) ?? 0) + bytes);
  };
  for (let row = 0; row < blocks.count; row += 1) {
    const size = blocks.sizeBytes[row]!;
    const requested = blocks.requestedBytes[row]!;
    if (segments.pool[blocks.segment[row]!] !== 0) add('private_pools_live', size);
    else if (blocks.state[row] === 1) add('pending_free', size);
    else if (requested < 0 || requested > size) add('request_not_recorded', size);
    else {
      add('requested', requested);
      add('rounding', size - requested);
    }
  }
  const free = freeHoles(state);
  for (let i = 0; i < free.count; i += 1) {
    const segment = free.segment[i]!;
    const bytes = free.bytes[i]!;
    if (segments.pool[segment] !== 0) {
      add('private_pools_free', bytes);
      continue;
    }
    const elsewhere = request === null ? null : kindElsewhere(state, segment, bytes, settings, request);
    if (elsewhere !== null) {
      add(`cached_${elsewhere}`, bytes);
      continue;
    }
    if (request === null && segments.small[segment] === 1) {
      add('cached_small_pool', bytes);
      continue;
    }
    const wholeBytes = wholeUnits(state, segment, free.address[i]!, bytes, settings);
    if (segments.expandable[segment] === 1) {
      add('cached_page_pinned', bytes - wholeBytes);
      add(request === null ? 'cached_releasable' : 'cached_too_small', wholeBytes);
    } else if (request === null) add(wholeBytes > 0 ? 'cached_releasable' : 'cached_between_live_blocks', bytes);
    else add('cached_too_small', bytes);
  }
  return parts;
}

/** Null: in the request's own pool, size class and stream, but smaller than it. Rules of torch's `get_free_block`. */
function kindElsewhere(
  { segments }: AllocatorState,
  segment: number,
  bytes: number,
  settings: AllocatorSettings,
  request: RequestThen,
): string | null {
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

export interface FreeOf {
  bytes: number;
  largest: number;
  count: number;
  readonly pinned: Set<number>;
  pinning: number;
}

/** Free blocks by whether torch searches them for a request: only one pool, size class and stream are. */
export function freeByClass(state: AllocatorState, request: RequestThen): Map<string, FreeOf> {
  const { segments, blocks } = state;
  const holes = freeHoles(state);
  const classes = new Map<string, FreeOf>();
  for (let i = 0; i < holes.count; i += 1) {
    const segment = holes.segment[i]!;
    const stream = segments.stream[segment]!;
    const isSameStream = request.stream === null || Number.isNaN(stream) || stream === request.stream;
    const name =
      segments.pool[segment] !== 0
        ? 'private_pool'
        : (segments.small[segment] === 1) !== isSmall(request.bytes)
          ? 'other_size_class'
          : isSameStream
            ? 'searched'
            : 'other_stream';
    const known = classes.get(name) ?? { bytes: 0, largest: 0, count: 0, pinned: new Set<number>(), pinning: 0 };
    classes.set(name, known);
    known.bytes += holes.bytes[i]!;
    known.count += 1;
    known.largest = Math.max(known.largest, holes.bytes[i]!);
    if (known.pinned.has(segment) || segments.firstBlock[segment] === segments.firstBlock[segment + 1]) continue;
    known.pinned.add(segment);
    for (let row = segments.firstBlock[segment]!; row < segments.firstBlock[segment + 1]!; row += 1)
      known.pinning += blocks.sizeBytes[row]!;
  }
  return classes;
}

/** What blocks have beyond their rounded requests, in blocks of at least `max_split_size`. */
export function oversizeSlack({ blocks }: AllocatorState, settings: AllocatorSettings): number {
  let slack = 0;
  for (let row = 0; row < blocks.count; row += 1) {
    const size = blocks.sizeBytes[row]!;
    const requested = blocks.requestedBytes[row]!;
    if (size >= settings.maxSplitBytes && requested > 0) slack += Math.max(0, size - roundSize(requested, settings));
  }
  return slack;
}

/** Beyond the usual rounding to 512 bytes; null where no `roundup_power2_divisions` are set. */
export function powerRounding({ blocks }: AllocatorState, settings: AllocatorSettings): number | null {
  if (settings.roundupPower2Divisions.every((divisions) => divisions <= 1)) return null;
  let bytes = 0;
  for (let row = 0; row < blocks.count; row += 1) {
    const requested = blocks.requestedBytes[row]!;
    if (requested > 0) bytes += Math.max(0, roundSize(requested, settings) - roundUp(requested, MIN_BLOCK_BYTES));
  }
  return bytes;
}
