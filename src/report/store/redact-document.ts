/** What `redact` wrote, and what still looks like a name. */
import { sumOf } from '../../model/lists.js';
import type { RedactResult } from '../../model/results/redact.js';
import {
  as,
  code,
  counted,
  type Document,
  document,
  items,
  paragraph,
  section,
  t,
  table,
} from '../document/document.js';

/** Rows of `suspicious` on a screen. */
const MOST_SHOWN = 20;

export function redactDocument({
  schema,
  directory,
  names_file: namesFile,
  report,
  differences,
}: RedactResult): Document {
  const { suspicious, kinds, files, left_out: leftOut } = report;
  const more = suspicious.length - MOST_SHOWN;
  const check = [
    paragraph(
      suspicious.length === 0
        ? 'nothing looks like a name or a key'
        : t`${counted(suspicious.length, 'text')} may be a name or a key:`,
    ),
    table(suspicious.slice(0, MOST_SHOWN), ['kind', 'text'], {
      key: 'suspicious',
      notes: [more > 0 && t`${more} more (--json=full lists all)`],
    }),
  ];
  if (namesFile === null) return document(schema, t`Check of ${as('directory', code(directory))}`, ...check);
  const replaced = sumOf(kinds.map((kind) => kind.replaced));
  return document(
    schema,
    t`Written: ${as('directory', code(directory))}`,
    paragraph(
      t`${counted(files.length, 'file', 'files', 'files')}, ${counted(replaced, 'place', 'places', 'replaced')} replaced`,
    ),
    table(
      kinds.filter((kind) => kind.replaced > 0),
      ['kind', 'names', 'replaced'],
      { key: 'kinds' },
    ),
    section('Left out', {}, table(leftOut, ['file', 'why'], { key: 'left_out' })),
    section(
      'Diagnosis',
      { fields: { diagnosis: report.diagnosis } },
      paragraph(
        report.diagnosis === 'equal'
          ? 'same as for the original, except for names'
          : 'differs from the diagnosis of the original:',
      ),
      items(differences.map(code), { key: 'differences' }),
    ),
    section(
      'Names',
      {},
      paragraph(t`${as('names_file', code(namesFile))} has the key and the original names; do not share it`),
    ),
    section('Check', {}, ...check),
  );
}
