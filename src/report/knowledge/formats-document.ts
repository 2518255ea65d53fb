/** The formats that can be read, and which of them read a given log. */
import type { FormatsExplainResult, FormatsResult } from '../../model/results/format.js';
import {
  as,
  code,
  column,
  count,
  counts,
  type Document,
  document,
  note,
  paragraph,
  section,
  share,
  t,
  table,
} from '../document/document.js';
import { excerpt } from '../document/values.js';

export function formatsDocument({ schema, files, scalars, formats }: FormatsResult): Document {
  const messages = formats.filter(({ form }) => form === 'message');
  const lines = formats.filter(({ form }) => form !== 'message');
  const columns = ['id', 'title', 'versions'] as const;
  const examples = ({ names: all }: (typeof scalars)[number]): string[] =>
    all.filter(({ is_pattern: isPattern }) => !isPattern).map(({ name }) => name);
  return document(
    schema,
    '',
    section('Files', {}, table(files, ['id', 'title'], { key: 'files' })),
    section(
      'Scalars of TensorBoard, W&B and exports',
      {},
      table(
        scalars,
        [
          'producer',
          counts('names', (one) => one.names.length),
          column('examples', (one) => examples(one).slice(0, 2).join(', ')),
        ],
        { key: 'scalars', notes: ['--json=full lists all names'] },
      ),
    ),
    section('Lines and blocks of text logs', {}, table(lines, columns, { key: 'formats' })),
    section('Failure messages', {}, table(messages, columns, { key: 'messages' })),
    paragraph(
      t`${formats.length} formats of text logs; ${code('mbforensics explain formats FILE')} lists which of them read a file`,
    ),
  );
}

/** Characters of an unread line. */
const LONGEST_LINE = 300;

export function formatsOfFileDocument({
  schema,
  file,
  lines,
  matched_lines: matched,
  formats,
  messages,
  unmatched,
  unmatched_others: { shapes, lines: others },
}: FormatsExplainResult): Document {
  const times = counts('count', (one: { readonly count: number }) => one.count, { title: 'times' });
  const id = (title: string) => column('id', (one: { readonly id: string }) => one.id, { title });
  return document(
    schema,
    t`${as('file', code(file))}: ${as('lines', count(lines))} lines, ${as('matched_lines', count(matched))} of them read (${share(lines === 0 ? 0 : matched / lines)})`,
    table(
      formats,
      [id('format'), 'title', counts('count', (one) => one.count, { title: 'records' }), 'rows', 'first_line'],
      {
        key: 'formats',
      },
    ),
    table(messages, [id('failure message'), times, 'first_line'], { key: 'messages' }),
    section(
      'Lines with a memory, time or failure figure that no format reads',
      {},
      table(unmatched, [times, 'line', 'topic', column('text', (group) => excerpt(group.text, LONGEST_LINE))], {
        key: 'unmatched',
        notes: [shapes + others > 0 && t`${others} more lines of ${shapes} other shapes (--limit 0 lists all)`],
      }),
    ) ?? note('every line with a memory, time or failure figure was read'),
  );
}
