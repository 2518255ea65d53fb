/** Keys of `torch.cuda.memory_stats` as metrics of memory rows. Upstream: torch/cuda/memory.py. */
import type { MemoryFinding } from '../../../../src/model/log-rows.js';

const METRICS: ReadonlyMap<string, string> = new Map([
  ...['allocated', 'active', 'requested', 'reserved', 'inactive_split'].flatMap((name): [string, string][] => [
    [`${name}_bytes.all.current`, name],
    [`${name}_bytes.all.peak`, `max_${name}`],
  ]),
  ['allocation.all.current', 'allocated_count'],
  ['num_alloc_retries', 'alloc_retries'],
  ['num_ooms', 'ooms'],
]);

/**
 * The model's metric for a key of `memory_stats`, or the key itself: the model lacks a metric for pools, totals and
 * counts.
 */
export function statMetric(key: string): string {
  return METRICS.get(key) ?? key;
}

/** A count of the allocator: blocks, segments, retries. */
export function countFinding(
  metric: string,
  value: number,
  more: Partial<Pick<MemoryFinding, 'device' | 'iteration' | 'moment'>> = {},
): MemoryFinding {
  return { row: 'memory', metric, bytes: null, value, unit: 'count', precisionBytes: 0, ...more };
}
