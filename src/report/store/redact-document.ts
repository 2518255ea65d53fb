/** What `redact` wrote, and what still looks like a name. */
import { sumOf } from '../../model/lists.js';
import type { RedactResult } from '../../model/results/redact.js';
import * as d from '../document/document.js';

/** Rows of `suspicious` on a screen. */
const MOST_SHOWN = 20;

export function redactDocument({
  schema,
  directory,
  names_file: namesFile,
  report,
  differences,
}: RedactResult): d.Document {
  const { suspicious, kinds, files, left_out: leftOut } = report;
  const more = suspicious.length - MOST_SHOWN;
  const check = [
    d.paragraph(
      suspicious.length === 0
        ? 'nothing looks like a name or a key'
        : d.t`${d.counted(suspicious.length, 'text')} may be a name or a key:`,
    ),
    d.table(suspicious.slice(0, MOST_SHOWN), ['kind', 'text'], {
      key: 'suspicious',
      notes: [more > 0 && d.t`${more} more (--json=full lists all)`],
    }),
  ];
  if (namesFile === null) return d.document(schema, d.t`Check of ${d.as('directory', d.code(directory))}`, ...check);
  const replaced = sumOf(kinds.map((kind) => kind.replaced));
  return d.document(
    schema,
    d.t`Written: ${d.as('directory', d.code(directory))}`,
    d.paragraph(
      d.t`${d.counted(files.length, 'file', 'files', 'files')}, ${d.counted(replaced, 'place', 'places', 'replaced')} replaced`,
    ),
    d.table(
      kinds.filter((kind) => kind.replaced > 0),
      ['kind', 'names', 'replaced'],
      { key: 'kinds' },
    ),
    d.section('Left out', {}, d.table(leftOut, ['file', 'why'], { key: 'left_out' })),
    d.section(
      'Diagnosis',
      { fields: { diagnosis: report.diagnosis } },
      d.paragraph(
        report.diagnosis === 'equal'
          ? 'same as for the original, except for names'
          : 'differs from the diagnosis of the original:',
      ),
      d.items(differences.map(d.code), { key: 'differences' }),
    ),
    d.section(
      'Names',
      {},
      d.paragraph(d.t`${d.as('names_file', d.code(namesFile))} has the key and the original names; do not share it`),
    ),
    d.section('Check', {}, ...check),
  );
}
