/**
 * What can be wrong with the store, through the real process: exit 5, the right code, and a stranger's file is left as
 * it was.
 */
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/store/migrate.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import { sharedBuild, startChild } from '../store/scratch.js';
import { NIGHTLY } from '../support/level.js';
import { snapshotPickle } from '../support/small-snapshot.js';
import { expectCliError, runCli, temporaryDirectory } from './harness.js';

const root = temporaryDirectory();
let build = '';
let made: Buffer;
beforeAll(async () => {
  build = sharedBuild();
  writeFileSync(join(root, 'x.pickle'), snapshotPickle());
  const result = await runCli(build, ['ingest', 'x.pickle', '--db', 'made.duckdb'], root);
  expect(result.code, result.stderr).toBe(0);
  made = readFileSync(join(root, 'made.duckdb'));
});

const VERBS: readonly (readonly string[])[] = [
  ['ingest', '../x.pickle'],
  ['sources'],
  ['diagnose'],
  ['sql', 'SELECT 1'],
];

function fresh(name: string): string {
  const cwd = join(root, name);
  mkdirSync(cwd);
  return cwd;
}

/** Every verb reports the same, and the file is unchanged afterwards. */
async function expectRefused(cwd: string, code: string, fact: string | RegExp): Promise<void> {
  const db = join(cwd, 'a.duckdb');
  const before = readFileSync(db);
  for (const verb of VERBS) {
    const result = await runCli(build, [...verb, '--db', 'a.duckdb'], cwd);
    expectCliError(result, 5, code, fact);
    expect(result.stderr).toContain('a.duckdb');
  }
  expect(readFileSync(db).equals(before)).toBe(true);
}

async function onDuckDB(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

describe('a store that cannot be used', () => {
  it('locked by another process: MBF3001 while it lasts', async () => {
    const cwd = fresh('locked');
    const db = join(cwd, 'a.duckdb');
    writeFileSync(db, made);
    const holder = startChild('lock-child.mjs', [build, db, 'write']);
    let waiting: Promise<{ readonly code: number | null; readonly stderr: string }>;
    try {
      expect(await holder.nextLine()).toBe('open');
      const wrong = await runCli(build, ['sources', '--db', 'a.duckdb', '--wait', 'long'], cwd);
      expectCliError(wrong, 2, 'MBF1001', /--wait/);
      waiting = runCli(build, ['sources', '--db', 'a.duckdb', '--wait', '600'], cwd);
      // One that writes and one that reads: each waits for the lock.
      for (const verb of NIGHTLY ? VERBS : VERBS.slice(0, 2))
        expectCliError(await runCli(build, [...verb, '--db', 'a.duckdb'], cwd), 5, 'MBF3001', /a\.duckdb: .*PID \d+/);
    } finally {
      holder.writeLine('enough');
      await holder.ended;
    }
    for (const result of [await waiting, await runCli(build, ['sources', '--db', 'a.duckdb'], cwd)])
      expect(result.code, result.stderr).toBe(0);
  });

  it('of an older version: a verb that reads reports once that it is brought up to date', async () => {
    const cwd = fresh('older');
    const db = join(cwd, 'a.duckdb');
    const instance = await DuckDBInstance.create(db);
    const connection = await instance.connect();
    await migrate(connection, 0, MIGRATIONS.slice(0, -1));
    connection.closeSync();
    instance.closeSync();
    const notice = /a\.duckdb: migrated from schema version \d+ to \d+/;
    expect((await runCli(build, ['runs', '--db', 'a.duckdb'], cwd)).stderr).toMatch(notice);
    expect((await runCli(build, ['runs', '--db', 'a.duckdb'], cwd)).stderr).not.toMatch(notice);
  });

  it('a text file: MBF3004', async () => {
    const cwd = fresh('text');
    writeFileSync(join(cwd, 'a.duckdb'), 'just some notes of mine\n'.repeat(100));
    await expectRefused(cwd, 'MBF3004', 'not a DuckDB database');
  });

  it('a foreign database: MBF3004', async () => {
    const cwd = fresh('foreign');
    await onDuckDB(join(cwd, 'a.duckdb'), 'CREATE TABLE precious AS SELECT 1 AS thing');
    await expectRefused(cwd, 'MBF3004', 'did not make');
  });

  it('a newer schema: MBF3003', async () => {
    const cwd = fresh('newer');
    writeFileSync(join(cwd, 'a.duckdb'), made);
    await onDuckDB(
      join(cwd, 'a.duckdb'),
      "INSERT INTO mbforensics_schema VALUES (999, 'of the future', now()::TIMESTAMP)",
    );
    await expectRefused(cwd, 'MBF3003', '999');
  });

  it('a damaged header: MBF3002', async () => {
    const cwd = fresh('damaged');
    const bytes = Buffer.from(made);
    for (const header of [4096, 8192]) bytes.fill(0x5a, header + 8, header + 64);
    writeFileSync(join(cwd, 'a.duckdb'), bytes);
    await expectRefused(cwd, 'MBF3002', /./);
  });

  it('cut short: MBF3002', async () => {
    const cwd = fresh('cut');
    writeFileSync(join(cwd, 'a.duckdb'), made);
    truncateSync(join(cwd, 'a.duckdb'), 12_288 + 1000);
    await expectRefused(cwd, 'MBF3002', /./);
  });

  it('damaged within: MBF3002, never our bug', async () => {
    const cwd = fresh('within');
    const bytes = Buffer.from(made);
    for (let at = 12_288; at < bytes.length; at += 4096) bytes.fill(0xa5, at + 16, at + 256);
    writeFileSync(join(cwd, 'a.duckdb'), bytes);
    await expectRefused(cwd, 'MBF3002', /./);
  });

  it('a directory: MBF3005', async () => {
    const cwd = fresh('directory');
    mkdirSync(join(cwd, 'a.duckdb'));
    for (const verb of VERBS)
      expectCliError(await runCli(build, [...verb, '--db', 'a.duckdb'], cwd), 5, 'MBF3005', 'is a directory');
  });

  it('a directory that is not there: MBF3005 for ingest, MBF1004 for the rest', async () => {
    const cwd = fresh('nowhere');
    const [ingest, ...others] = VERBS;
    expectCliError(await runCli(build, [...ingest!, '--db', 'no/a.duckdb'], cwd), 5, 'MBF3005', /./);
    for (const verb of others)
      expectCliError(await runCli(build, [...verb, '--db', 'no/a.duckdb'], cwd), 2, 'MBF1004', 'no store');
  });
});
