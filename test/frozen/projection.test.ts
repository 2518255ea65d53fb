import { describe, expect, it } from 'vitest';
import { type Answer, differences, normalise, project } from './projection.js';

const surroundings = {
  folder: '/scratch/0001-0',
  checkouts: ['/a/base', '/a/new'],
  from: new Date('2026-05-01T10:00:00Z'),
  to: new Date('2026-05-01T10:01:00Z'),
};
const answer = (stdout: string, more: Partial<Answer> = {}): Answer => ({
  status: 0,
  stdout,
  stderr: '',
  files: {},
  ...more,
});
const compared = (base: Answer, head: Answer) => differences(project(base, surroundings), project(head, surroundings));

describe('projection', () => {
  it('replaces the store folder, the program and times of the comparison, and nothing else', () => {
    const text =
      'at 2026-05-01T10:00:30.123Z and 2026-05-01T09:00:00Z in /scratch/0001-0/store.duckdb by /a/new/dist/x.js';
    expect(normalise(text, surroundings)).toBe(
      'at <now> and 2026-05-01T09:00:00Z in <store folder>/store.duckdb by <program>/x.js',
    );
  });

  it('reads JSON as JSON and other text as lines', () => {
    expect(project(answer('{"a": [1, "b"]}'), surroundings)).toMatchObject({ exit: 0, stdout: { a: [1, 'b'] } });
    expect(project(answer('[x] one\ntwo\n'), surroundings)).toMatchObject({ stdout: ['[x] one', 'two', ''] });
  });

  it('leaves out stack frames of errors', () => {
    const failed = answer('', { status: 70, stderr: 'Error: x\n    at run (file:///a/new/dist/x.js:3:1)\n' });
    expect(project(failed, surroundings)).toEqual({ exit: 70, stdout: [], stderr: ['Error: x', ''] });
  });

  it('finds a changed byte in a long text and in a binary file', () => {
    const long = Array.from({ length: 6000 }, (_, i) => `line ${i}`).join('\n');
    expect(compared(answer(long), answer(long))).toEqual([]);
    const [found, ...others] = compared(answer(long), answer(long.replace('line 700\n', 'line x\n')));
    expect([found?.path, others]).toEqual(['stdout.lines 501-1000', []]);
    const [base, head] = [0, 1].map((byte) => answer('', { files: { 'x.pb': Buffer.from([0, byte]) } }));
    expect(compared(base!, head!).map(({ path }) => path)).toEqual(['files.x.pb']);
  });
});

it('compares the rows of CSV files in any order', () => {
  const [base, head, other] = ['a,b\n1,2\n3,4\n', 'a,b\n3,4\n1,2\n', 'a,b\n3,4\n1,5\n'].map((rows) =>
    answer('', { files: { 'x.csv': Buffer.from(rows) } }),
  );
  expect(compared(base!, head!)).toEqual([]);
  expect(compared(base!, other!)).toHaveLength(1);
});

describe('differences', () => {
  it('names the path of a changed, missing or added value', () => {
    expect(differences({ a: { b: [1, 2] }, c: null }, { a: { b: [1, 3, 4] } })).toEqual([
      { path: 'a.b.1', base: 2, head: 3 },
      { path: 'a.b.2', base: undefined, head: 4 },
      { path: 'c', base: null, head: undefined },
    ]);
  });

  it('reports another type, exit code and sentence', () => {
    expect(differences([], {})).toHaveLength(1);
    expect(compared(answer('{"verdict": "leak"}'), answer('{"verdict": "capacity"}', { status: 1 }))).toEqual([
      { path: 'exit', base: 0, head: 1 },
      { path: 'stdout.verdict', base: 'leak', head: 'capacity' },
    ]);
  });
});
