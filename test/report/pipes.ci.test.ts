/** What a pipe carries is whole: programs read it. A terminal, or $COLUMNS, limits the width of tables. */
import { describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import { asker } from '../support/ask.js';
import { hasPython, skipLoudly } from '../support/corpus.js';
import { python } from '../support/python-truth.js';
import { sampleStore } from '../support/stores.js';

const { cli, options, text, json } = asker({ env: { COLUMNS: undefined } });
const db = ['--db', sampleStore('llama3-70b-fragmentation')];
const NAME = `sub_component_${'of_a_long_name_'.repeat(10)}`;
const CELL = 'x'.repeat(300);
const LONG = ['sql', `SELECT '${CELL}' AS ${NAME}, 1 AS n, '${CELL}' AS other`, ...db];
const within = (columns: string, ...args: string[]): string =>
  cli.expect(0, args, { ...options, env: { ...options.env, COLUMNS: columns } }).stdout;
const widest = (shown: string): number => Math.max(...shown.split('\n').map((line) => line.length));

describe('a table', () => {
  it('has whole cells and whole names of columns in a pipe', () => {
    const [head, row] = text(...LONG).split('\n');
    expect(head!.split(/ {2,}/)).toEqual([NAME, 'n', 'other']);
    expect(row!.split(/ {2,}/)).toEqual([CELL, '1', CELL]);
  });

  it('of call sites too, with their callers', () => {
    const args = ['peak', '--depth', '4', '--limit', '0', ...db];
    const { groups } = json<PeakResult>(...args).snapshots[0]!.devices[0]!;
    const shown = text(...args);
    const keys = groups.flatMap(({ key }) => key.split(' \u2190 '));
    expect(keys.filter((key) => !shown.includes(key))).toEqual([]);
    // Where the columns are fewer, names are wrapped.
    const narrow = within('80', ...args).replaceAll(/\s+/g, '');
    expect(keys.filter((key) => !narrow.includes(key.replaceAll(/\s+/g, '')))).toEqual([]);
  });

  it('fits the columns that the user names', () => {
    for (const columns of ['60', '100', '160']) {
      const shown = within(columns, ...LONG);
      expect(widest(shown)).toBeLessThanOrEqual(Number(columns));
      // Wrapped, not cut.
      expect(shown.replaceAll(/[^x]/g, '')).toHaveLength(2 * CELL.length);
    }
  });

  if (!hasPython) skipLoudly('tables on a terminal', 'python3');
  else
    it('fits a terminal', () => {
      const program = 'import os, pty, sys\npty.spawn(sys.argv[1:], lambda fd: os.read(fd, 65536), lambda fd: b"")';
      const shown = python(program, [process.execPath, cli.script, ...LONG]);
      expect(shown.replaceAll(/[^x]/g, '')).toHaveLength(2 * CELL.length);
      expect(widest(shown.replaceAll('\r', ''))).toBeLessThanOrEqual(100);
    });
});

it('sentences are wrapped in a pipe as well', () => {
  const prose = text('explain', 'MBF2501');
  expect(widest(prose)).toBeLessThanOrEqual(100);
});

it('`sql --list NAME` describes that object alone', () => {
  const all = text('sql', '--list', ...db);
  const described = text('sql', '--list', 'peak_component', ...db);
  expect(described.split('\n')[0]).toBe('peak_component · table');
  expect(described).not.toContain('\n\n');
  expect(all).toContain(described.trimEnd());
  expect(all.length).toBeGreaterThan(20 * described.length);
  expect(cli.run(['sql', '--list', 'verdcit', ...db], options)).toMatchObject({ status: 2, stdout: '' });
});
