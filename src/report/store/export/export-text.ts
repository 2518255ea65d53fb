/** One line about a written file. */

import type { ExportResult } from '../../../model/results/export.js';
import { formatBytes } from '../../../model/units.js';
import { printable, wrap } from '../../plain-text.js';
import { counted } from '../../text-pieces.js';

export function exportText(result: ExportResult): string {
  const parts = [
    result.format,
    ...(result.handle === null ? [] : [printable(result.handle)]),
    ...(result.moment === null ? [] : [`at ${result.moment}`]),
    ...(result.tables.length === 0 ? [] : [counted(result.tables.length, 'table')]),
    ...(result.rows === null ? [] : [rowsText(result.rows, result.format)]),
    ...(result.stacks === null ? [] : [counted(result.stacks, 'stack')]),
    ...(result.sum_bytes === null ? [] : [`${formatBytes(result.sum_bytes)} in them`]),
  ];
  const head = `${printable(result.file)}: ${formatBytes(result.bytes)}`;
  return `${[head, ...wrap(parts.join(' · '), 100, '  ')].join('\n')}\n`;
}

function rowsText(rows: number, format: ExportResult['format']): string {
  return format === 'snapshot-json' ? counted(rows, 'trace entry', 'trace entries') : counted(rows, 'row');
}
