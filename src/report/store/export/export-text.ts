/** One line about a written file. */
import type { ExportResult } from '../../../model/results/export.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import { printable, wrap } from '../../table.js';

export function exportText(result: ExportResult): string {
  const counted = (count: number | null, one: string, many: string): string[] =>
    count === null ? [] : [`${formatCount(count)} ${count === 1 ? one : many}`];
  const parts = [
    result.format,
    ...(result.handle === null ? [] : [printable(result.handle)]),
    ...(result.moment === null ? [] : [`at ${result.moment}`]),
    ...(result.tables.length === 0 ? [] : counted(result.tables.length, 'table', 'tables')),
    ...counted(result.rows, rowWord(result, false), rowWord(result, true)),
    ...counted(result.stacks, 'stack', 'stacks'),
    ...(result.sum_bytes === null ? [] : [`${formatBytes(result.sum_bytes)} in them`]),
  ];
  const head = `${printable(result.file)}: ${formatBytes(result.bytes)}`;
  return `${[head, ...wrap(parts.join(' · '), 100, '  ')].join('\n')}\n`;
}

function rowWord(result: ExportResult, several: boolean): string {
  if (result.format === 'snapshot-json') return several ? 'trace entries' : 'trace entry';
  return several ? 'rows' : 'row';
}
