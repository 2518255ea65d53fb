import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { type MemoryHead, memoryFigures, memoryHead, memoryLineIsCut } from '../memory-line.js';
import { bytesOf, GB } from '../units.js';

/** Half of the fifth significant digit in bytes, of figures from 10^-9 GB (one byte) on. */
const PRECISION_BYTES = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent / 20_000);

/** Five significant digits are printed, trailing zeros dropped: 43.4 means 43.3995 to 43.4005. Zero is zero. */
function precisionOf(gigabytes: number): number {
  return gigabytes === 0 ? 0 : (PRECISION_BYTES[Math.floor(Math.log10(Math.abs(gigabytes))) + 9] ?? 0);
}

function finding(key: string, metric: string, text: string, head: MemoryHead): MemoryFinding {
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
    read(groups, emit, { metrics }) {
      const head = memoryHead(groups['rank'], groups['name'] ?? groups['bare'] ?? '');
      for (const { key, text } of memoryFigures(groups['rest'] ?? ''))
        emit(finding(key, metrics!.get(key) ?? key, text, head));
    },
    byShape: [bytesOf(GB), precisionOf],
    cutAtEnd: (text) => memoryLineIsCut(text, 'memory (GB) |'),
  },
];
