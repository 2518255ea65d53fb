import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode } from '../contract.js';
import { memoryFigure } from '../units.js';
import { countFinding, statMetric } from './stat-metric.js';

const COLUMNS = ['current', 'peak', 'allocated', 'freed'];

/** torch ≤ 1.13 wrote KB and meant 1024 as well. */
const UNITS: ReadonlyMap<string, number> = new Map(
  ['B', 'K', 'M', 'G', 'T', 'P'].flatMap((letter, power): [string, number][] =>
    letter === 'B'
      ? [['B', 1]]
      : [
          [`${letter}iB`, 1024 ** power],
          [`${letter}B`, 1024 ** power],
        ],
  ),
);
const CELL = /^(\d{1,16})(?: {1,2}([KMGTP]i?B|B|[KM]))?$/;
const COUNTERS = /CUDA OOMs: {1,4}(\d{1,12}) {0,40}\|[^|]{0,24}cudaMalloc retries: {1,4}(\d{1,12})/;

/** torch divides by flooring (`sz //= 1024`), so the true figure is up to one whole unit above the printed one. */
function cellFinding(key: string, cell: string, device: number): MemoryFinding | null {
  const match = CELL.exec(cell);
  if (match === null) return null;
  const [, digits = '', unit] = match;
  const unitBytes = unit === undefined ? undefined : UNITS.get(unit);
  if (unitBytes !== undefined && unit !== undefined)
    return memoryFigure(statMetric(key), digits, unit, unitBytes, { device }, 1);
  const thousands = unit === 'M' ? 1e6 : unit === 'K' ? 1e3 : 1;
  return countFinding(statMetric(key), Number(digits) * thousands, { device });
}

export const TORCH_MEMORY_SUMMARY: BlockCode = {
  id: 'torch.memory-summary',
  begin(match, emit, { keys, pools }) {
    const device = Number(match.groups?.['device']);
    let prefix: string | undefined;
    let rulers = 0;
    return {
      line(text) {
        const line = text.trim();
        if (!line.startsWith('|')) return 'foreign';
        if (line.includes(' memory summary, device ID ')) return 'over';
        if (line.startsWith('|===')) {
          rulers += 1;
          // One rules off the counters, the next one ends the table.
          return rulers === 2 ? 'last' : 'taken';
        }
        const counters = COUNTERS.exec(line);
        if (counters !== null) {
          emit(countFinding('ooms', Number(counters[1]), { device }));
          emit(countFinding('alloc_retries', Number(counters[2]), { device }));
          return 'taken';
        }
        const [label = '', ...cells] = line
          .slice(1, line.endsWith('|') ? -1 : undefined)
          .split('|', 8)
          .map((cell) => cell.trim());
        const pool = pools!.get(label);
        if (pool === undefined) prefix = keys!.get(label);
        if (prefix === undefined) return 'taken';
        const key = prefix.startsWith('oversize') ? prefix : `${prefix}.${pool ?? 'all'}`;
        COLUMNS.forEach((column, index) => {
          const finding = cellFinding(`${key}.${column}`, cells[index] ?? '', device);
          if (finding !== null) emit(finding);
        });
        return 'taken';
      },
    };
  },
};
