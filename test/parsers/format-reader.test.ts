/** How formats are run over a log: blocks per writer, cut lines, overlong lines, ranks and times of rows, launches. */
import { describe, expect, it } from 'vitest';
import type { Segment } from '../../parsers/log/assembly.js';
import { AttemptTracker } from '../../parsers/log/attempts.js';
import { FormatReader } from '../../parsers/log/format-reader.js';
import type { BlockFormat, LineFormat, LogFormat } from '../../parsers/log/formats/contract.js';
import { parseLogTime } from '../../parsers/log/log-time.js';
import { SRUN_LABEL } from '../../parsers/log/prefix-rules.js';
import { stripPrefix } from '../../parsers/log/strip-prefix.js';
import type { AttemptRow } from '../../src/model/log-rows.js';
import { type LogRow, placedRow } from '../support/launches/log-row.js';

const facts = { title: '', producer: 'test', versions: '', source: '', anchors: ['anchor'] };
const NUMBER: LineFormat = {
  ...facts,
  id: 'test.number',
  form: 'line',
  pattern: /value (?<value>\d{1,9}) unit/g,
  fields: { value: '' },
  read: ({ value }, emit) => emit({ row: 'value', name: 'value', value: Number(value), unit: null }),
  cutAtEnd: (text) => !text.endsWith(';'),
};
const PLAIN: LineFormat = { ...NUMBER, id: 'test.plain', cutAtEnd: () => false };
const BLOCK: BlockFormat = {
  ...facts,
  id: 'test.block',
  form: 'block',
  opens: /begin (?<name>\w+)/,
  fields: { name: '' },
  begin(match, emit) {
    const name = match.groups?.['name'] ?? '';
    let sum = 0;
    return {
      line(text) {
        if (text === 'end') return 'last';
        if (text === 'other') return 'foreign';
        if (!/^\d+$/.test(text)) return 'over';
        sum += Number(text);
        return 'taken';
      },
      end: () => emit({ row: 'value', name, value: sum, unit: null }),
    };
  },
  mostForeign: 2,
  mostLines: 6,
};

/** Formats whose anchors a line has, by the letter that it begins with. */
const ANCHORED: Readonly<Record<string, readonly LogFormat[]>> = { N: [NUMBER], P: [PLAIN], B: [BLOCK], ' ': [] };

/** Lines behind their letter; `continues`: whether the next part is of the same line. */
function read(lines: readonly string[], continues = false) {
  const rows: LogRow[] = [];
  const attempts: AttemptRow[] = [];
  const tracker = new AttemptTracker((row) => attempts.push(row));
  const reader = new FormatReader(
    { row: (finding, place) => rows.push(placedRow(finding, place)), failure: () => {} },
    tracker,
  );
  let offset = 0;
  let line = 1;
  for (const [at, letterAndText] of lines.entries()) {
    const text = letterAndText.slice(1);
    const goesOn = continues && at < lines.length - 1;
    const prefix = stripPrefix(text, SRUN_LABEL);
    const nextOffset = offset + text.length + (goesOn ? 0 : 1);
    const place = { line, offset, nextOffset, mask: 0, deviceAssert: false, continues: goesOn };
    const segment: Segment = { text: text.slice(prefix.end), prefix, ...place };
    reader.feed(segment, ANCHORED[letterAndText[0]!]!);
    offset = nextOffset;
    if (!goesOn) line += 1;
  }
  reader.end();
  return { rows, attempts, reader };
}
const figures = (rows: readonly LogRow[]) => rows.map((row) => (row.row === 'value' ? [row.name, row.value] : row.row));

describe('lines', () => {
  it('gives every record of a line, with line, rank, host and time of its prefix', () => {
    const { rows } = read([' x', 'P3: 2026-01-02 03:04:05,250 - value 7 unit value 8 unit']);
    expect(rows).toMatchObject([
      { value: 7, line: 2, offset: 2, rank: 3, rankOrigin: 'prefix:srun', format: 'test.plain', attempt: 1 },
      { value: 8, line: 2 },
    ]);
    expect(rows[0]!.timeUs).toBe(Date.UTC(2026, 0, 2, 3, 4, 5, 250) * 1000);
  });

  it('joins a record that was cut at the end of a line, without a separator', () => {
    const { rows } = read(['Nvalue 12', ' 34 unit;']);
    expect(figures(rows)).toEqual([['value', 1234]]);
  });

  it('does not join text of another writer, a logger or another record', () => {
    for (const next of ['5: 34 unit;', '2026-01-02 03:04:05 - 34 unit;', '']) {
      expect(figures(read(['Nvalue 12', ` ${next}`]).rows)).toEqual([]);
    }
    const { rows } = read(['Nvalue 12', 'Nvalue 5 unit;']);
    expect(figures(rows)).toEqual([['value', 5]]);
  });

  it('reads a record that begins in one part of an overlong line and ends in the next, once', () => {
    const record = 'value 123 unit ';
    const all = record.repeat(2000);
    for (const size of [1000, 1001, 1007, 4099]) {
      const parts = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
      const { rows } = read(
        parts.map((part) => `P${part}`),
        true,
      );
      expect(rows.length).toBe(2000);
      expect(new Set(rows.map((row) => row.row === 'value' && row.value))).toEqual(new Set([123]));
    }
  });
});

describe('blocks', () => {
  it('follows each writer in its own block', () => {
    const { rows, reader } = read(['B0: begin a', 'B1: begin b', ' 0: 1', ' 1: 10', ' 1: end', ' 0: 2', ' 0: end']);
    expect(figures(rows)).toEqual([
      ['b', 10],
      ['a', 3],
    ]);
    expect(rows.map(({ rank }) => rank)).toEqual([1, 0]);
    expect(reader.open).toBe(false);
  });

  it('ends a block at a line that is not its own, which other formats still read', () => {
    const { rows } = read(['Bbegin a', ' 5', 'Pvalue 9 unit']);
    expect(figures(rows)).toEqual([
      ['a', 5],
      ['value', 9],
    ]);
  });

  it('gives up after too many foreign lines, and after too many lines', () => {
    const foreign = ['Bbegin a', ...Array(3).fill(' other'), ' 5'];
    expect(figures(read(foreign).rows)).toEqual([['a', 0]]);
    const long = ['Bbegin a', ...Array(9).fill(' 1')];
    expect(figures(read(long).rows)).toEqual([['a', 5]]);
  });

  it('ends with the log', () => {
    expect(figures(read(['Bbegin a', ' 5']).rows)).toEqual([['a', 5]]);
  });

  it('closes a block whose writer has gone silent', () => {
    const lines: string[] = ['B7: begin a', ...Array(4096).fill(' 1: x')];
    const { rows } = read(lines);
    // The row gets the place of its writer's last line.
    expect(rows).toMatchObject([{ name: 'a', line: 1, rank: 7 }]);
  });
});

describe('attempts', () => {
  const iterations = (...numbers: number[]): AttemptRow[] => {
    const rows: AttemptRow[] = [];
    const tracker = new AttemptTracker((row) => rows.push(row));
    for (const [index, iteration] of numbers.entries()) tracker.iteration('', iteration, index + 1, null);
    tracker.settle();
    return rows;
  };

  it('begin where the iteration counter goes back, but not for another rank one behind', () => {
    expect(iterations(1, 2, 3, 4)).toEqual([]);
    expect(iterations(5, 6, 5, 6, 7)).toEqual([]);
    expect(iterations(1, 2, 1, 2).map(({ attempt, line }) => [attempt, line])).toEqual([
      [1, 1],
      [2, 3],
    ]);
    // Ranks that share a key print every iteration more than once; one of them lags a logging interval behind.
    expect(iterations(10, 10, 20, 10, 20, 20, 30, 20)).toEqual([]);
    expect(iterations(1, 1, 2, 1, 2, 3)).toEqual([]);
    expect(iterations(10, 20, 10, 20)).toHaveLength(2);
    expect(iterations(10, 10, 20, 20, 30, 10)).toHaveLength(2);
    expect(iterations(90, 100, 91).map(({ origin }) => origin)).toEqual(['first line', 'iteration 91 after 100']);
  });

  it('begin with a banner only after training', () => {
    const rows: AttemptRow[] = [];
    const tracker = new AttemptTracker((row) => rows.push(row));
    tracker.launch('0', 'banner', 1, null);
    tracker.launch('0', 'banner', 2, null);
    tracker.iteration('0', 10, 5, null);
    tracker.launch('0', 'banner', 9, null);
    tracker.launch('0', 'banner', 10, null);
    tracker.iteration('0', 11, 12, null);
    expect(rows.map(({ attempt, line }) => [attempt, line])).toEqual([
      [1, 1],
      [2, 9],
    ]);
    expect([1, 8, 9, 12].map((line) => tracker.at(line))).toEqual([1, 1, 2, 2]);
  });
});

describe('an attempt that failed before it trained', () => {
  it('ends where the same writer prints the same banner again', () => {
    const rows: AttemptRow[] = [];
    const tracker = new AttemptTracker((row) => rows.push(row));
    tracker.launch('0', 'banner', 1, null);
    tracker.launch('1', 'banner', 2, null);
    tracker.launch('0', 'other', 3, null);
    tracker.trouble(1);
    tracker.launch('2', 'banner', 5, null);
    tracker.launch('0', 'banner', 9, null);
    tracker.launch('1', 'banner', 10, null);
    expect(rows.map(({ attempt, line }) => [attempt, line])).toEqual([
      [1, 1],
      [2, 9],
    ]);
  });
});

describe('printed times', () => {
  it.each([
    ['2026-01-02 03:04:05', Date.UTC(2026, 0, 2, 3, 4, 5) * 1000],
    ['2026-01-02 03:04:05.000001', Date.UTC(2026, 0, 2, 3, 4, 5) * 1000 + 1],
    ['2026-01-02T03:04:05,5', Date.UTC(2026, 0, 2, 3, 4, 5) * 1000 + 500_000],
    ['2026-01-02T03:04:05.123456789Z', Date.UTC(2026, 0, 2, 3, 4, 5) * 1000 + 123_456],
    ['Tue Nov 18 09:12:04 2025', Date.UTC(2025, 10, 18, 9, 12, 4) * 1000],
  ])('%s', (text, expected) => {
    expect(parseLogTime(text)).toBe(expected);
  });

  it.each(['09:12:04', '1118 09:12:04.123', 'Nov 18 09:12:04', '12345.678901', '2026-99-02 03:04:05', ''])(
    '%s lacks a date, year or time',
    (text) => {
      expect(parseLogTime(text)).toBeNull();
    },
  );
});
