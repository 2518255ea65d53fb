/**
 * From requested bytes to block and segment bytes. Upstream: `round_size` and `get_allocation_size` in
 * `CUDACachingAllocator.cpp`.
 */
import { MIB } from '../model/units.js';
import {
  type AllocatorSettings,
  LARGE_ROUND_BYTES,
  MIN_BLOCK_BYTES,
  MIN_LARGE_ALLOC_BYTES,
  NO_DIVISIONS,
  ROUNDUP_INTERVALS,
  SMALL_BYTES,
  SMALL_SEGMENT_BYTES,
} from './settings.js';

/** `bytes` rounded up to a multiple of `unit`; exact below 2^53. */
export function roundUp(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit;
}

/** Interval of `roundup_power2_divisions` that a request of `requestedBytes` (≥ 1) is in. */
export function divisionInterval(requestedBytes: number): number {
  return Math.min(ROUNDUP_INTERVALS - 1, Math.max(0, Math.floor(Math.log2(requestedBytes / MIB))));
}

/**
 * The block size a request of `requestedBytes` (≥ 1) asks for, after `roundup_power2_divisions`: a multiple of 512,
 * except with `keepsSizeAtOne`.
 */
export function roundSize(requestedBytes: number, settings: AllocatorSettings): number {
  if (requestedBytes < MIN_BLOCK_BYTES) return MIN_BLOCK_BYTES;
  // The logarithm is the most expensive part, and divisions are rarely set.
  if (settings.roundupPower2Divisions === NO_DIVISIONS) return roundUp(requestedBytes, MIN_BLOCK_BYTES);
  const divisions = settings.roundupPower2Divisions[divisionInterval(requestedBytes)]!;
  if (divisions === 1 && settings.keepsSizeAtOne === true) return requestedBytes;
  if (divisions > 1 && requestedBytes > MIN_BLOCK_BYTES * divisions) {
    let power = MIN_BLOCK_BYTES;
    while (power * 2 <= requestedBytes) power *= 2;
    return power === requestedBytes ? power : roundUp(requestedBytes, power / divisions);
  }
  return roundUp(requestedBytes, MIN_BLOCK_BYTES);
}

/** Whether a rounded size belongs to the small pool. */
export function isSmall(roundedBytes: number): boolean {
  return roundedBytes <= SMALL_BYTES;
}

/** Bytes cudaMalloc is asked for, and the size an OOM message prints, for a rounded size. */
export function allocationSize(roundedBytes: number, settings: AllocatorSettings): number {
  if (roundedBytes <= SMALL_BYTES) return SMALL_SEGMENT_BYTES;
  if (roundedBytes < MIN_LARGE_ALLOC_BYTES) return settings.largeSegmentBytes;
  return roundUp(roundedBytes, LARGE_ROUND_BYTES);
}

/**
 * A request as every allocator without `roundup_power2_divisions` rounds it.
 */
export function roundTo512(requestedBytes: number): number {
  return Math.max(MIN_BLOCK_BYTES, Math.ceil(requestedBytes / MIN_BLOCK_BYTES) * MIN_BLOCK_BYTES);
}
