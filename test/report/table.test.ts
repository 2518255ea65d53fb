import { expect, it } from 'vitest';
import { table } from '../../src/report/table.js';

it('columns are aligned by the width of a terminal', () => {
  const columns = [{ title: 'path' }, { title: 'bytes', align: 'right' as const }, { title: 'last' }];
  const rows = [
    ['模型/层', 1024, null],
    ['e\u0301\u001b[2J', 7, ''],
  ];
  expect(table(columns, rows, '  ').split('\n')).toEqual([
    '  path      bytes  last',
    '  模型/层    1024  –',
    '  e\u0301\\x1b[2J      7',
  ]);
});

it('a title cannot leave its line', () => {
  expect(table([{ title: 'a\n\u001b[31mb' }], [])).toBe('a \\x1b[31mb');
});

it('every row is compared with the widths only, not with other rows', () => {
  // cli-table3 took two minutes for 19,000 rows of seven columns.
  const rows = Array.from({ length: 50_000 }, (_, i) => [i, `rank ${i}`, null]);
  const lines = table([{ title: 'n', align: 'right' }, { title: 'name' }, { title: 'x' }], rows).split('\n');
  expect(lines).toHaveLength(50_001);
  expect(lines.at(-1)).toBe('49999  rank 49999  –');
});
