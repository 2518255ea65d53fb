/** `show` as a user has it: handles that diagnose printed, files that changed since, errors. */
import { appendFileSync, cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DiagnoseResult, ShowResult, SqlResult } from '../../src/model/results/common.js';
import { formatBytes } from '../../src/model/units.js';
import { titleOf } from '../../src/report/document/values.js';
import { asker } from '../support/ask.js';
import { samplePath } from '../support/stores.js';

const SAMPLE = samplePath('capacity');
const LOG = 'log-foundation-foundation.qwen25-32b-longctx-tp1pp8-87191_7586959_0.out';

const { cli, cwd, options, text, json, refuse } = asker();
const run = join(cwd, 'runs', 'capacity');
const db = ['--db', 'store.duckdb'];
let result: DiagnoseResult;

beforeAll(() => {
  cpSync(SAMPLE, run, { recursive: true });
  text('ingest', run, ...db);
  result = json<DiagnoseResult>('diagnose', ...db);
});

const show = (...args: readonly string[]) => json<ShowResult>('show', ...args, ...db);

describe('show', () => {
  it('lists the handles that diagnose has, with their sources', () => {
    const { evidence } = result.verdicts[0]!;
    expect(show().handles).toEqual(evidence);
    const screen = text('show', ...db);
    for (const { id, source } of evidence) {
      expect(screen).toContain(`\n${id} `);
      expect(screen.replaceAll(/\s+/g, ' ')).toContain(source);
    }
  });

  it('prints the same in both forms: every row and the statement', () => {
    for (const { id } of result.verdicts[0]!.evidence) {
      const shown = show(id, '--limit', '2');
      const screen = text('show', id, ...db, '--limit', '2');
      expect(shown.evidence?.id).toBe(id);
      expect(screen).toContain(shown.query!.title);
      for (const line of shown.query!.sql.split('\n')) expect(screen).toContain(line.trim());
      for (const { name } of shown.columns) expect(screen).toContain(titleOf(name));
      expect(shown.rows.length).toBeLessThanOrEqual(2);
      expect(screen.includes(`${shown.rows_left_out} more`)).toBe(shown.rows_left_out > 0);
      if (shown.rows_left_out > 0) expect(show(id, '--limit', '0').rows).toHaveLength(2 + shown.rows_left_out);
    }
  });

  it('runs a statement that sql runs too, with its parameters put in', () => {
    const { query, rows, columns } = show('E1');
    let statement = query!.sql;
    for (const [name, value] of Object.entries(query!.params)) statement = statement.replaceAll(`$${name}`, `${value}`);
    const answer = json<SqlResult>('sql', statement, ...db);
    expect(answer.columns.map(({ name }) => name)).toEqual(columns.map(({ name }) => name));
    expect(answer.rows).toEqual(rows);
  });

  it('takes the commands that diagnose prints, pasted', () => {
    const [, line] = /^NEXT +(.*(?:\n {9}.*)*)/m.exec(text('diagnose', ...db))!;
    const commands = line!.split(/ · |\n/).map((part) => part.trim());
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      expect(command).toMatch(/^mbforensics /);
      text(...command.split(' ').slice(1));
    }
  });

  it('accounting has the account of diagnose, every number with its source', () => {
    const [verdict] = result.verdicts;
    const { accounting } = show('accounting');
    expect(accounting).toEqual({
      total: verdict!.accounting_total,
      parts: verdict!.accounting,
      from: 'joined',
      peak: verdict!.accounting_peak,
    });
    const { stdout } = cli.expect(0, ['show', 'accounting', ...db], { ...options, env: { COLUMNS: '160' } });
    // Cells are wrapped.
    const words = stdout.replaceAll(/\s+/g, ' ');
    for (const { bytes, source } of verdict!.accounting) {
      expect(words).toContain(` ${formatBytes(bytes)} `);
      expect(words).toContain(source);
    }
  });

  it('quotes the log if it is still the file that was read, and otherwise gives the reason', () => {
    const message = result.verdicts[0]!.evidence.find(({ about }) => about === 'message')!;
    const quoted = show(message.id).text!;
    expect(quoted.status).toBe('same');
    expect(quoted.lines.some((line) => line.includes('Tried to allocate 594.00 MiB'))).toBe(true);
    const log = join(run, LOG);
    const aside = join(cwd, 'aside');
    cpSync(log, aside);
    try {
      appendFileSync(log, 'one more line\n');
      expect(show(message.id).text).toMatchObject({ status: 'changed', lines: [] });
      expect(text('show', message.id, ...db)).toContain('has changed since it was read');
      rmSync(log);
      expect(show(message.id).text).toMatchObject({ status: 'gone', lines: [] });
    } finally {
      renameSync(aside, log);
    }
    expect(show(message.id).text).toEqual(quoted);
  });

  it('lists the existing ones if a handle or verdict does not exist', () => {
    const last = result.verdicts[0]!.evidence.at(-1)!.id;
    expect(refuse(2, 'show', 'E99', ...db)).toMatch(new RegExp(`MBF1002.*E99.*E1 to ${last}`));
    expect(refuse(2, 'show', 'E1', '--verdict', '7', ...db)).toMatch(/MBF1002.*verdict 7/);
    expect(refuse(2, 'show', 'X1', 'capacity', ...db)).toMatch(/MBF1001.*X1/);
    expect(refuse(2, 'show', 'E1', '--limit', 'all', ...db)).toMatch(/MBF1001/);
    // A handle in lower case is meant all the same.
    expect(show('e1').evidence?.id).toBe('E1');
  });
});
