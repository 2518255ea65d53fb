/** `formats` and `formats explain` as text. */

import { groupBy } from '../../model/group-by.js';
import type { FormatsExplainResult, FormatsResult } from '../../model/results/format.js';
import { formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { keepEnd, left, printable, right, tableOf } from '../table.js';

export function formatsText({ files, scalars, formats }: FormatsResult): string {
  const kinds = tableOf(files, [left('file', ({ id }) => id), left('what', ({ title }) => title)]);
  const names = tableOf(scalars, [
    left('producer', ({ producer }) => producer),
    right('names', ({ names: own }) => formatCount(own.length)),
    left('such as', ({ names: own }) =>
      own
        .filter(({ is_pattern: isPattern }) => !isPattern)
        .slice(0, 2)
        .map(({ name }) => name)
        .join(', '),
    ),
  ]);
  const groups = groupBy(formats, ({ form, producer }) => (form === 'message' ? 'Failure messages' : producer));
  const parts = [...groups].map(([producer, members]) => {
    const rows = tableOf(members, [
      left('format', ({ id }) => id),
      left('what', ({ title }) => title),
      left('versions', ({ versions }) => keepEnd(versions, 36)),
    ]);
    return `${producer}\n${rows}\n`;
  });
  return `Files\n${kinds}\n\nScalars of TensorBoard, W&B and exports (--json has all)\n${names}\n\n${parts.join('\n')}\n${formats.length} formats of text logs; \`mbforensics explain formats FILE\` lists which of them read a file.\n`;
}

export function explainText(result: FormatsExplainResult): string {
  const { lines, matched_lines: matched, file } = result;
  const share = lines === 0 ? '0' : ((matched / lines) * 100).toFixed(1);
  const out = [
    `${printable(file)}: ${formatCount(lines)} lines, ${formatCount(matched)} of them read (${share} %)`,
    '',
  ];
  if (result.formats.length > 0) {
    out.push(
      tableOf(
        result.formats,
        [
          left('format', (one) => one.id),
          left('what', (one) => one.title),
          right('records', (one) => formatCount(one.count)),
          right('rows', (one) => formatCount(one.rows)),
          right('first line', (one) => formatCount(one.first_line)),
        ],
        '',
      ),
      '',
    );
  }
  if (result.messages.length > 0) {
    out.push(
      tableOf(
        result.messages,
        [
          left('failure message', (one) => one.id),
          right('times', (one) => formatCount(one.count)),
          right('first line', (one) => formatCount(one.first_line)),
        ],
        '',
      ),
      '',
    );
  }
  if (result.unmatched.length === 0) out.push('No other line carries a figure of interest.');
  else {
    out.push('Lines with a figure of interest that no format read:');
    out.push(
      tableOf(
        result.unmatched,
        [
          right('times', (group) => formatCount(group.count)),
          right('line', (group) => formatCount(group.line)),
          left('about', (group) => group.topic),
          left('text', (group) =>
            group.text.length > screen.width - 34 ? `${group.text.slice(0, screen.width - 35)}…` : group.text,
          ),
        ],
        '',
      ),
    );
    const { shapes, lines: others } = result.unmatched_others;
    if (shapes + others > 0)
      out.push(`and ${formatCount(others)} lines of ${formatCount(shapes)} further shapes; --limit 0 lists all`);
  }
  return `${out.join('\n')}\n`;
}
