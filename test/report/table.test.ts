import { afterEach, expect, it } from 'vitest';
import { type Cell, column, type TableColumn, table } from '../../src/report/document/document.js';
import { tableLines } from '../../src/report/render/table.js';
import { screen } from '../../src/report/screen.js';

afterEach(() => {
  screen.isLossless = false;
});

const linesOf = (titles: Record<string, TableColumn['align']>, rows: readonly (readonly Cell[])[], width = 100) => {
  const columns = Object.entries(titles).map(([title, align], i) =>
    column(`c${i}`, (row: readonly Cell[]) => row[i]!, { title, align }),
  );
  return tableLines(table(rows, columns)!, width);
};

it('columns are aligned by the width of a terminal', () => {
  const rows = [
    ['模型/层', 1024, null],
    ['e\u0301\u001b[2J', 7, ''],
  ];
  expect(linesOf({ path: 'left', bytes: 'right', last: 'left' }, rows)).toEqual([
    'path      bytes  last',
    '模型/层   1,024  —',
    'e\u0301\\x1b[2J      7',
  ]);
});

it('a title cannot leave its line', () => {
  expect(linesOf({ 'a\n\u001b[31mb': 'left' }, [['x']])[0]).toBe('a \\x1b[31mb');
});

it('names are wrapped at their separators, never cut, and figures stay whole', () => {
  const name = 'reduce_scatter core/distributed/reduce_scatter_with_fp32_accumulation.py:32';
  for (const width of [30, 40, 60, 80, 200]) {
    const lines = linesOf({ size: 'right', 'call site': 'left' }, [['12.34 GiB', name]], width);
    const shown = lines.map((line) => line.trim()).join('');
    expect(shown.replaceAll(' ', ''), `${width}`).toContain(name.replaceAll(' ', ''));
    expect(shown).toContain('12.34 GiB');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
  }
});

it('rows become records where even wrapped columns are too wide', () => {
  const titles = { name: 'left', a: 'right', b: 'right', c: 'right' } as const;
  const lines = linesOf(titles, [['site', '12.34 GiB', '56.78 GiB', '90.12 GiB']], 30);
  expect(lines).toEqual(['site', '  a 12.34 GiB · b 56.78 GiB ·', '  c 90.12 GiB']);
});

it('is whole in a pipe', () => {
  screen.isLossless = true;
  const cell = 'x'.repeat(500);
  expect(linesOf({ a: 'left', b: 'left' }, [[cell, cell]], 60)[1]).toBe(`${cell}  ${cell}`);
});

it('every row is compared with the widths only, not with other rows', () => {
  const rows = Array.from({ length: 50_000 }, (_, i) => [i, `rank ${i}`, null]);
  const lines = linesOf({ n: 'right', name: 'left', x: 'left' }, rows);
  expect(lines).toHaveLength(50_001);
  expect(lines.at(-1)).toBe('49,999  rank 49999  —');
});
