/** `show` as a user has it: handles that diagnose printed, files that changed since, errors. */
import { appendFileSync, cpSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DiagnoseResult, ShowResult } from '../../src/model/results/common.js';
import { repoRoot } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SAMPLE = join(repoRoot, 'samples', 'capacity');
const LOG = 'log-foundation-foundation.qwen25-32b-longctx-tp1pp8-87191_7586959_0.out';

const cli = buildCli();
const root = temporaryDirectory();
const run = join(root, 'runs', 'capacity');
const db = join(root, 'store.duckdb');
let result: DiagnoseResult;

beforeAll(() => {
  mkdirSync(join(root, 'runs'));
  cpSync(SAMPLE, run, { recursive: true });
  cli.expect(0, ['ingest', run, '--db', db]);
  result = cli.expect(0, ['diagnose', '--db', db, '--json']).json<DiagnoseResult>();
});

const show = (...args: readonly string[]): ShowResult =>
  cli.expect(0, ['show', ...args, '--db', db, '--json']).json<ShowResult>();

describe('show', () => {
  it('lists the handles that diagnose has, with their sources', () => {
    const { evidence } = result.verdicts[0]!;
    expect(show().handles).toEqual(evidence);
    const text = cli.expect(0, ['show', '--db', db]).stdout;
    for (const { id, source } of evidence) {
      expect(text).toContain(`  ${id} `);
      expect(text.replaceAll(/\s+/g, ' ')).toContain(source);
    }
  });

  it('prints the same in both forms: every row and the statement', () => {
    for (const { id } of result.verdicts[0]!.evidence) {
      const json = show(id, '--limit', '2');
      const text = cli.expect(0, ['show', id, '--db', db, '--limit', '2']).stdout;
      expect(json.evidence?.id).toBe(id);
      expect(text).toContain(json.query!.title);
      for (const line of json.query!.sql.split('\n')) expect(text).toContain(line.trim());
      for (const { name } of json.columns) expect(text).toContain(name);
      expect(json.rows.length).toBeLessThanOrEqual(2);
      expect(text.includes(`${json.rows_left_out} more`)).toBe(json.rows_left_out > 0);
      if (json.rows_left_out > 0) expect(show(id, '--limit', '0').rows).toHaveLength(2 + json.rows_left_out);
    }
  });

  it('runs a statement that sql runs too, with its parameters put in', () => {
    const { query, rows, columns } = show('E1');
    let statement = query!.sql;
    for (const [name, value] of Object.entries(query!.params)) statement = statement.replaceAll(`$${name}`, `${value}`);
    const answer = cli.expect(0, ['sql', statement, '--db', db, '--json']).json<{
      columns: { name: string }[];
      rows: unknown[][];
    }>();
    expect(answer.columns.map(({ name }) => name)).toEqual(columns.map(({ name }) => name));
    expect(answer.rows).toEqual(rows);
  });

  it('takes the commands that diagnose prints, pasted', () => {
    const text = cli.expect(0, ['diagnose', '--db', db]).stdout;
    const [, line] = /^NEXT +(.*(?:\n {9}.*)*)/m.exec(text)!;
    const commands = line!.split(/ · |\n/).map((part) => part.trim());
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      expect(command).toMatch(/^mbforensics /);
      cli.expect(0, command.split(' ').slice(1), { cwd: root });
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
    const text = cli.expect(0, ['show', 'accounting', '--db', db], { env: { COLUMNS: '160' } }).stdout;
    for (const { bytes, source } of verdict!.accounting) {
      expect(text).toContain(bytes.toLocaleString('en-US'));
      expect(text).toContain(source);
    }
  });

  it('quotes the log if it is still the file that was read, and otherwise gives the reason', () => {
    const message = result.verdicts[0]!.evidence.find(({ about }) => about === 'message')!;
    const quoted = show(message.id).text!;
    expect(quoted.status).toBe('same');
    expect(quoted.lines.some((line) => line.includes('Tried to allocate 594.00 MiB'))).toBe(true);
    const log = join(run, LOG);
    const aside = join(root, 'aside');
    cpSync(log, aside);
    try {
      appendFileSync(log, 'one more line\n');
      expect(show(message.id).text).toMatchObject({ status: 'changed', lines: [] });
      expect(cli.expect(0, ['show', message.id, '--db', db]).stdout).toContain('has changed since it was read');
      rmSync(log);
      expect(show(message.id).text).toMatchObject({ status: 'gone', lines: [] });
    } finally {
      renameSync(aside, log);
    }
    expect(show(message.id).text).toEqual(quoted);
  });

  it('lists the existing ones if a handle or verdict does not exist', () => {
    const last = result.verdicts[0]!.evidence.at(-1)!.id;
    expect(cli.expect(2, ['show', 'E99', '--db', db]).stderr).toMatch(new RegExp(`MBF1002.*E99.*E1 to ${last}`));
    expect(cli.expect(2, ['show', 'E1', '--verdict', '7', '--db', db]).stderr).toMatch(/MBF1002.*verdict 7/);
    expect(cli.expect(2, ['show', 'X1', 'capacity', '--db', db]).stderr).toMatch(/MBF1001.*X1/);
    expect(cli.expect(2, ['show', 'E1', '--limit', 'all', '--db', db]).stderr).toMatch(/MBF1001/);
    // A handle in lower case is meant all the same.
    expect(show('e1').evidence?.id).toBe('E1');
  });
});
