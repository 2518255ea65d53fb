/** Allocations as rows; one alone with its stack. */

import type { AllocationRow, AllocationsResult } from '../../model/results/allocation.js';
import * as d from '../document/document.js';
import { formatValue } from '../document/values.js';
import { csvLine } from '../store/sql-text.js';
import { afterEntry } from '../text-pieces.js';
import { factsOf, textMaker } from '../words/fill-pieces.js';
import { deviceTitle } from './device-title.js';

const textOf = textMaker('moment', 'allocations');

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
      d.paragraph(textOf('sum', result, { after: afterEntry(seq) })),
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

/** The entry of the completed free; a request that still waits is marked. Rows are many: no template. */
function freeCell({ free_completed_seq: completed, free_requested_seq: requested }: AllocationRow): d.Cell {
  if (completed !== null) return d.count(completed);
  return requested === null ? null : d.t`${d.count(requested)} pending`;
}

const detailSection = (row: AllocationRow): d.MaybePart =>
  d.section(
    textOf('stack', row),
    {},
    d.facts(factsOf('moment', 'allocation', row)),
    d.quote(row.frames, { key: 'frames' }) ?? d.paragraph('no stack recorded'),
  );

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
