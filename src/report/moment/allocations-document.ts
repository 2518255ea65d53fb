/** Allocations as rows; one alone with its stack. */
import type { AllocationRow, AllocationsResult } from '../../model/results/allocation.js';
import * as d from '../document/document.js';
import { formatValue } from '../document/values.js';
import { csvLine } from '../store/sql-text.js';
import { afterEntry } from '../text-pieces.js';
import { deviceTitle } from './device-title.js';

export function allocationsDocument(result: AllocationsResult): d.Document {
  const { schema, snapshot, rank, device, moment, seq, allocations } = result;
  const [only] = allocations;
  const more = result.count - allocations.length;
  // Rounded up to 512 bytes, most sizes print alike.
  const hasRounding = allocations.some(
    (row) => formatValue(row.actual_bytes, 'bytes') !== formatValue(row.requested_bytes, 'bytes'),
  );
  return {
    ...d.document(
      schema,
      deviceTitle(result),
      d.paragraph(
        d.t`${d.counted(result.count, 'allocation', 'allocations', 'count')} ${moment === null ? 'of the whole trace' : `live ${afterEntry(seq)} (${moment})`}: ${d.as('actual_bytes', d.bytes(result.actual_bytes))} in blocks, ${d.as('requested_bytes', d.bytes(result.requested_bytes))} requested${result.basis === 'approximate' ? ' (approximate: the trace contradicts itself)' : ''}`,
      ),
      d.table(
        allocations,
        [
          d.names('label', ({ label }) => label),
          ...d.fieldsOf(allocations, ['actual_bytes', 'block']),
          hasRounding && d.column('requested_bytes', (row) => row.requested_bytes),
          d.counts('alloc_seq', (row) => row.alloc_seq ?? 'before', { title: 'alloc' }),
          d.column('free_seq', freeCell, { title: 'free', align: 'right' }),
          ...d.fieldsOf(allocations, ['lifetime_us', 'lived']),
          allocations.some(({ stream }) => stream !== 0) && d.counts('stream', (row) => row.stream),
          d.names('site', ({ site }) => site, { title: 'call site' }),
        ],
        { key: 'allocations', notes: [more > 0 && d.t`${d.count(more)} more (--limit 0 shows all)`] },
      ),
      only !== undefined && allocations.length === 1 && detailSection(only),
    ),
    fields: { snapshot, rank, device, moment, seq, basis: result.basis },
  };
}

/** The entry of the completed free; a request that still waits is marked. */
function freeCell({ free_completed_seq: completed, free_requested_seq: requested }: AllocationRow): d.Cell {
  if (completed !== null) return d.count(completed);
  return requested === null ? null : d.t`${d.count(requested)} pending`;
}

function detailSection(row: AllocationRow): d.MaybePart {
  const { stage, compile_context: compiled, user_metadata: metadata, uncertain_bytes: uncertain, frames } = row;
  return d.section(
    row.stack_origin === 'free_event' ? 'Stack of its free (it was allocated before the recording)' : 'Stack',
    {},
    d.facts([
      stage !== null && d.fact('stage', d.code(stage), { title: 'in' }),
      compiled !== null && d.fact('compile_context', d.code(compiled), { title: 'compiled' }),
      metadata !== null && d.fact('user_metadata', metadata, { title: 'metadata' }),
      (uncertain ?? 0) > 0 && d.fact('uncertain', d.t`up to ${d.bytes(uncertain)} larger`, { title: 'size' }),
    ]),
    d.quote(frames, { key: 'frames' }) ?? d.paragraph('no stack recorded'),
  );
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

export const allocationsCsv = (result: AllocationsResult): string =>
  [csvLine(COLUMNS), ...result.allocations.map((row) => csvLine(COLUMNS.map((column) => row[column])))].join('');
