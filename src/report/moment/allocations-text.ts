/** Allocations as rows; one alone with its stack. */

import { pushAll } from '../../model/lists.js';
import type { AllocationRow, AllocationsResult } from '../../model/results/allocation.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { csvLine } from '../store/sql-text.js';
import { fitLabels, keepEnd, left, printable, right, tableOf } from '../table.js';
import { afterEntry, counted, rankName } from '../text-pieces.js';

export function allocationsText(result: AllocationsResult): string {
  const rank = rankName(result.rank);
  const when = result.moment === null ? 'of the whole trace' : `live ${afterEntry(result.seq)} (${result.moment})`;
  const lines = [
    `${printable(result.path)} · ${rank} · device ${result.device}`,
    `  ${counted(result.count, 'allocation')} ${when}: ${formatBytes(result.actual_bytes)} in blocks, ${formatBytes(result.requested_bytes)} requested${result.basis === 'approximate' ? ' (approximate: the trace contradicts itself)' : ''}`,
  ];
  const names = fitLabels(
    result.allocations.map((row) => printable(row.site)),
    60,
  );
  if (result.allocations.length > 0)
    lines.push(
      '',
      tableOf(result.allocations, [
        left('label', (row) => row.label),
        right('block', (row) => (row.actual_bytes === null ? null : formatBytes(row.actual_bytes))),
        right('requested', (row) => (row.requested_bytes === null ? null : formatBytes(row.requested_bytes))),
        right('alloc', (row) => (row.alloc_seq === null ? 'before' : formatCount(row.alloc_seq))),
        right('free', freeText),
        right('lived', (row) => (row.lifetime_us === null ? null : duration(row.lifetime_us))),
        right('stream', (row) => row.stream),
        left('call site', (_, i) => names[i]!),
      ]),
    );
  if (result.allocations.length < result.count)
    lines.push(`  ${formatCount(result.count - result.allocations.length)} more (--limit 0 shows all)`);
  const [only] = result.allocations;
  if (only !== undefined && result.allocations.length === 1) pushAll(lines, ['', ...detailLines(only)]);
  return `${lines.join('\n')}\n`;
}

/** The entry of the completed free; a request that still waits is marked. */
function freeText(row: AllocationRow): string | null {
  if (row.free_completed_seq !== null) return formatCount(row.free_completed_seq);
  return row.free_requested_seq === null ? null : `${formatCount(row.free_requested_seq)} pending`;
}

function detailLines(row: AllocationRow): string[] {
  const lines: string[] = [];
  if (row.stage !== null) lines.push(`  in         ${printable(row.stage)}`);
  if (row.compile_context !== null) lines.push(`  compiled   ${printable(row.compile_context)}`);
  if (row.user_metadata !== null) lines.push(`  metadata   ${printable(row.user_metadata)}`);
  if ((row.uncertain_bytes ?? 0) > 0) lines.push(`  size       up to ${formatBytes(row.uncertain_bytes!)} larger`);
  if (row.frames.length === 0) lines.push('  no stack recorded');
  else {
    lines.push(
      row.stack_origin === 'free_event' ? '  stack of its free (it was allocated before the recording)' : '  stack',
    );
    for (const frame of row.frames) lines.push(`      ${keepEnd(printable(frame), 92)}`);
  }
  return lines;
}

/** `137 µs`, `4.21 ms`, `3.90 s`. */
function duration(us: number): string {
  if (us < 1_000) return `${us} µs`;
  return us < 1_000_000 ? `${(us / 1_000).toFixed(2)} ms` : `${(us / 1_000_000).toFixed(2)} s`;
}

const COLUMNS = [
  'label',
  'origin',
  'alloc_seq',
  'free_requested_seq',
  'free_completed_seq',
  'requested_bytes',
  'actual_bytes',
  'uncertain_bytes',
  'alloc_us',
  'free_us',
  'lifetime_us',
  'stream',
  'stage',
  'compile_context',
  'user_metadata',
  'site',
] as const;

export function allocationsCsv(result: AllocationsResult): string {
  return [csvLine(COLUMNS), ...result.allocations.map((row) => csvLine(COLUMNS.map((column) => row[column])))].join('');
}
