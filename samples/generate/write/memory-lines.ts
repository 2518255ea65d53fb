/**
 * `memory_stats` as the frameworks print it after an iteration. Upstream: `report_memory` of Megatron-LM and Megatron
 * Bridge.
 */
import type { AllocatorStatistics, Gauge } from '../../../src/allocator/caching/statistics.js';
import { MIB } from '../../../src/model/units.js';
import { fixed, pythonFloat } from './python-text.js';

/** Decimal gigabytes with five significant digits. */
export function gigabytes(bytes: number): string {
  return pythonFloat(Number((bytes / 1e9).toPrecision(5)));
}

/** The line of Megatron Bridge from 0.2 on. */
export function bridgeMemoryLine(rank: number, iteration: number, memory: AllocatorStatistics): string {
  const gauges: readonly (readonly [string, Gauge])[] = [
    ['allocated', memory.allocatedBytes],
    ['active', memory.activeBytes],
    ['inactive', memory.inactiveSplitBytes],
    ['reserved', memory.reservedBytes],
  ];
  const fields = [
    ...gauges.map(([name, gauge]) => `mem-${name}-gigabytes: ${gigabytes(gauge.current)}`),
    ...gauges.map(([name, gauge]) => `mem-max-${name}-gigabytes: ${gigabytes(gauge.peak)}`),
    // The product's own spelling.
    `mem-alloc-retires: ${memory.numAllocRetries}`,
    `mem-allocated-count: ${memory.allocation.current}`,
  ];
  return `[Rank ${rank}] (after ${iteration} iterations) memory (GB) | ${fields.join(' | ')}`;
}

/** The line of Megatron-LM, whose MB are MiB: all digits before 2026-01-21, two decimals since. */
export function megatronLmMemoryLine(
  rank: number,
  iteration: number,
  memory: AllocatorStatistics,
  rounded: boolean,
): string {
  const { allocatedBytes, reservedBytes } = memory;
  const figures: readonly (readonly [string, number])[] = [
    ['allocated', allocatedBytes.current],
    ['max allocated', allocatedBytes.peak],
    ['reserved', reservedBytes.current],
    ['max reserved', reservedBytes.peak],
  ];
  const fields = figures.map(([name, bytes]) => {
    const mebibytes = bytes / MIB;
    return `${name}: ${rounded ? fixed(mebibytes, 2) : pythonFloat(mebibytes)}`;
  });
  return `[Rank ${rank}] (after ${iteration} iterations) memory (MB) | ${fields.join(' | ')}`;
}
