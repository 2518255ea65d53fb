import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { type MemoryHead, memoryFigures, memoryHead, memoryLineIsCut, memoryLinePattern } from '../memory-line.js';
import { GB } from '../units.js';

/**
 * Printed keys of `torch.cuda.memory_stats`. `retires` is upstream's spelling. A user may print other keys
 * (`logger.memory_keys`); `bytes` in their names becomes `gigabytes`.
 */
const METRICS: ReadonlyMap<string, string> = new Map([
  ['mem-allocated-gigabytes', 'allocated'],
  ['mem-active-gigabytes', 'active'],
  ['mem-inactive-gigabytes', 'inactive_split'],
  ['mem-inactive-split-gigabytes', 'inactive_split'],
  ['mem-reserved-gigabytes', 'reserved'],
  ['mem-requested-gigabytes', 'requested'],
  ['mem-max-allocated-gigabytes', 'max_allocated'],
  ['mem-max-active-gigabytes', 'max_active'],
  ['mem-max-inactive-gigabytes', 'max_inactive_split'],
  ['mem-max-inactive-split-gigabytes', 'max_inactive_split'],
  ['mem-max-reserved-gigabytes', 'max_reserved'],
  ['mem-max-requested-gigabytes', 'max_requested'],
  ['mem-alloc-retires', 'alloc_retries'],
  ['mem-alloc-retries', 'alloc_retries'],
  ['mem-ooms', 'ooms'],
  ['mem-allocated-count', 'allocated_count'],
]);

/** Half of the fifth significant digit in bytes, of figures from 10^-9 GB (one byte) on. */
const PRECISION_BYTES = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent / 20_000);

/** Five significant digits are printed, trailing zeros dropped: 43.4 means 43.3995 to 43.4005. Zero is zero. */
function precisionOf(gigabytes: number): number {
  return gigabytes === 0 ? 0 : (PRECISION_BYTES[Math.floor(Math.log10(Math.abs(gigabytes))) + 9] ?? 0);
}

function finding(key: string, text: string, head: MemoryHead): MemoryFinding {
  const metric = METRICS.get(key) ?? key;
  const value = Number(text);
  const isBytes = key.endsWith('gigabytes');
  return {
    row: 'memory',
    metric,
    bytes: isBytes ? Math.round(value * GB) : null,
    value,
    unit: isBytes ? 'GB' : 'count',
    precisionBytes: isBytes ? precisionOf(value) : 0,
    iteration: head.iteration,
    moment: head.moment,
    rank: head.rank,
  };
}

export const BRIDGE_MEMORY_LINES: readonly LineCode[] = [
  {
    id: 'megatron-bridge.memory',
    pattern: memoryLinePattern('GB'),
    read(groups, emit) {
      const head = memoryHead(groups['rank'], groups['name'] ?? groups['bare'] ?? '');
      for (const { key, text } of memoryFigures(groups['rest'] ?? '')) emit(finding(key, text, head));
    },
    cutAtEnd: (text) => memoryLineIsCut(text, 'memory (GB) |'),
  },
];
