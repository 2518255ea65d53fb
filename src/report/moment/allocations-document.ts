/** Allocations as rows; one alone with its stack. */
import type { AllocationRow, AllocationsResult } from '../../model/results/allocation.js';
import {
  as,
  bytes,
  type Cell,
  code,
  column,
  count,
  counted,
  counts,
  type Document,
  document,
  fact,
  facts,
  fieldsOf,
  type MaybePart,
  names,
  paragraph,
  quote,
  section,
  t,
  table,
} from '../document/document.js';
import { formatValue } from '../document/values.js';
import { csvLine } from '../store/sql-text.js';
import { afterEntry } from '../text-pieces.js';
import { deviceTitle } from './device-title.js';

export function allocationsDocument(result: AllocationsResult): Document {
  const { schema, snapshot, rank, device, moment, seq, allocations } = result;
  const [only] = allocations;
  const more = result.count - allocations.length;
  // Rounded up to 512 bytes, most sizes print alike.
  const hasRounding = allocations.some(
    (row) => formatValue(row.actual_bytes, 'bytes') !== formatValue(row.requested_bytes, 'bytes'),
  );
  return {
    ...document(
      schema,
      deviceTitle(result),
      paragraph(
        t`${counted(result.count, 'allocation', 'allocations', 'count')} ${moment === null ? 'of the whole trace' : `live ${afterEntry(seq)} (${moment})`}: ${as('actual_bytes', bytes(result.actual_bytes))} in blocks, ${as('requested_bytes', bytes(result.requested_bytes))} requested${result.basis === 'approximate' ? ' (approximate: the trace contradicts itself)' : ''}`,
      ),
      table(
        allocations,
        [
          names('label', ({ label }) => label),
          ...fieldsOf(allocations, ['actual_bytes', 'block']),
          hasRounding && column('requested_bytes', (row) => row.requested_bytes),
          counts('alloc_seq', (row) => row.alloc_seq ?? 'before', { title: 'alloc' }),
          column('free_seq', freeCell, { title: 'free', align: 'right' }),
          ...fieldsOf(allocations, ['lifetime_us', 'lived']),
          allocations.some(({ stream }) => stream !== 0) && counts('stream', (row) => row.stream),
          names('site', ({ site }) => site, { title: 'call site' }),
        ],
        { key: 'allocations', notes: [more > 0 && t`${count(more)} more (--limit 0 shows all)`] },
      ),
      only !== undefined && allocations.length === 1 && detailSection(only),
    ),
    fields: { snapshot, rank, device, moment, seq, basis: result.basis },
  };
}

/** The entry of the completed free; a request that still waits is marked. */
function freeCell({ free_completed_seq: completed, free_requested_seq: requested }: AllocationRow): Cell {
  if (completed !== null) return count(completed);
  return requested === null ? null : t`${count(requested)} pending`;
}

function detailSection(row: AllocationRow): MaybePart {
  const { stage, compile_context: compiled, user_metadata: metadata, uncertain_bytes: uncertain, frames } = row;
  return section(
    row.stack_origin === 'free_event' ? 'Stack of its free (it was allocated before the recording)' : 'Stack',
    {},
    facts([
      stage !== null && fact('stage', code(stage), { title: 'in' }),
      compiled !== null && fact('compile_context', code(compiled), { title: 'compiled' }),
      metadata !== null && fact('user_metadata', metadata, { title: 'metadata' }),
      (uncertain ?? 0) > 0 && fact('uncertain', t`up to ${bytes(uncertain)} larger`, { title: 'size' }),
    ]),
    quote(frames, { key: 'frames' }) ?? paragraph('no stack recorded'),
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
