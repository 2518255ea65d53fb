/** The formats that can be read, and which of them read a given log. */
import type { FormatsExplainResult, FormatsResult } from '../../model/results/format.js';
import * as d from '../document/document.js';
import { excerpt } from '../document/values.js';

export function formatsDocument({ schema, files, scalars, formats }: FormatsResult): d.Document {
  const messages = formats.filter(({ form }) => form === 'message');
  const lines = formats.filter(({ form }) => form !== 'message');
  const columns = ['id', 'title', 'versions'] as const;
  const examples = ({ names: all }: (typeof scalars)[number]): string[] =>
    all.filter(({ is_pattern: isPattern }) => !isPattern).map(({ name }) => name);
  return d.document(
    schema,
    '',
    d.section('Files', {}, d.table(files, ['id', 'title'], { key: 'files' })),
    d.section(
      'Scalars of TensorBoard, W&B and exports',
      {},
      d.table(
        scalars,
        [
          'producer',
          d.counts('names', (one) => one.names.length),
          d.column('examples', (one) => examples(one).slice(0, 2).join(', ')),
        ],
        { key: 'scalars', notes: ['--json=full lists all names'] },
      ),
    ),
    d.section('Lines and blocks of text logs', {}, d.table(lines, columns, { key: 'formats' })),
    d.section('Failure messages', {}, d.table(messages, columns, { key: 'messages' })),
    d.paragraph(
      d.t`${formats.length} formats of text logs; ${d.code('mbforensics explain formats FILE')} lists which of them read a file`,
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
}: FormatsExplainResult): d.Document {
  const times = d.counts('count', (one: { readonly count: number }) => one.count, { title: 'times' });
  const id = (title: string) => d.column('id', (one: { readonly id: string }) => one.id, { title });
  return d.document(
    schema,
    d.t`${d.as('file', d.code(file))}: ${d.as('lines', d.count(lines))} lines, ${d.as('matched_lines', d.count(matched))} of them read (${d.share(lines === 0 ? 0 : matched / lines)})`,
    d.table(
      formats,
      [id('format'), 'title', d.counts('count', (one) => one.count, { title: 'records' }), 'rows', 'first_line'],
      {
        key: 'formats',
      },
    ),
    d.table(messages, [id('failure message'), times, 'first_line'], { key: 'messages' }),
    d.section(
      'Lines with a memory, time or failure figure that no format reads',
      {},
      d.table(unmatched, [times, 'line', 'topic', d.column('text', (group) => excerpt(group.text, LONGEST_LINE))], {
        key: 'unmatched',
        notes: [shapes + others > 0 && d.t`${others} more lines of ${shapes} other shapes (--limit 0 lists all)`],
      }),
    ) ?? d.note('every line with a memory, time or failure figure was read'),
  );
}
