/** `formats` and `formats explain` as text. */
import type { ExplainResult, FormatsResult } from '../../model/results/format.js';
import { formatCount } from '../../model/units.js';
import { keepEnd, printable, table } from '../table.js';

const WIDTH = 100;

export function formatsText({ files, scalars, formats }: FormatsResult): string {
  const kinds = table(
    [{ title: 'file' }, { title: 'what' }],
    files.map(({ id, title }) => [id, title]),
    '  ',
  );
  const names = table(
    [{ title: 'producer' }, { title: 'names', align: 'right' }, { title: 'such as' }],
    scalars.map(({ producer, names: own }) => [
      producer,
      formatCount(own.length),
      own
        .filter(({ is_pattern: isPattern }) => !isPattern)
        .slice(0, 2)
        .map(({ name }) => name)
        .join(', '),
    ]),
    '  ',
  );
  const groups = new Map<string, FormatsResult['formats'][number][]>();
  for (const format of formats) {
    const key = format.form === 'message' ? 'Failure messages' : format.producer;
    groups.set(key, [...(groups.get(key) ?? []), format]);
  }
  const parts = [...groups].map(([producer, members]) => {
    const rows = members.map(({ id, title, versions }) => [id, title, keepEnd(versions, 36)]);
    return `${producer}\n${table([{ title: 'format' }, { title: 'what' }, { title: 'versions' }], rows, '  ')}\n`;
  });
  return `Files\n${kinds}\n\nScalars of TensorBoard, W&B and exports (--json has all)\n${names}\n\n${parts.join('\n')}\n${formats.length} formats of text logs; \`mbforensics formats explain FILE\` says which of them read a file.\n`;
}

export function explainText(result: ExplainResult): string {
  const { lines, matched_lines: matched, file } = result;
  const share = lines === 0 ? '0' : ((matched / lines) * 100).toFixed(1);
  const out = [
    `${printable(file)}: ${formatCount(lines)} lines, ${formatCount(matched)} of them read (${share} %)`,
    '',
  ];
  if (result.formats.length > 0) {
    out.push(
      table(
        [
          { title: 'format' },
          { title: 'what' },
          { title: 'records', align: 'right' },
          { title: 'rows', align: 'right' },
          { title: 'first line', align: 'right' },
        ],
        result.formats.map((one) => [
          one.id,
          one.title,
          formatCount(one.count),
          formatCount(one.rows),
          formatCount(one.first_line),
        ]),
      ),
      '',
    );
  }
  if (result.messages.length > 0) {
    out.push(
      table(
        [{ title: 'failure message' }, { title: 'times', align: 'right' }, { title: 'first line', align: 'right' }],
        result.messages.map((one) => [one.id, formatCount(one.count), formatCount(one.first_line)]),
      ),
      '',
    );
  }
  if (result.unmatched.length === 0) out.push('No other line carries a figure of interest.');
  else {
    out.push('Lines with a figure of interest that no format read:');
    out.push(
      table(
        [{ title: 'times', align: 'right' }, { title: 'line', align: 'right' }, { title: 'about' }, { title: 'text' }],
        result.unmatched.map((group) => [
          formatCount(group.count),
          formatCount(group.line),
          group.topic,
          group.text.length > WIDTH - 34 ? `${group.text.slice(0, WIDTH - 35)}…` : group.text,
        ]),
      ),
    );
    const { shapes, lines: others } = result.unmatched_others;
    if (shapes + others > 0)
      out.push(`and ${formatCount(others)} lines of ${formatCount(shapes)} further shapes; --limit 0 lists all`);
  }
  return `${out.join('\n')}\n`;
}
