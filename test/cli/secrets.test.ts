/** No secret of a file is in the store, or in any answer. The long form is secrets.full.test.ts. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildCli, type Cli } from '../support/cli.js';
import { KINDS, SecretSearch, writePlantedRun } from '../support/planted-secrets.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const root = temporaryDirectory();
const run = join(root, 'run');
const db = join(root, 'store', 's.duckdb');
mkdirSync(join(root, 'store'));
const planted = writePlantedRun(run, 1);
const search = new SecretSearch(planted.secrets);
let cli: Cli;

beforeAll(() => {
  cli = buildCli();
});

it('the files have secrets of all kinds, and the search sees them', () => {
  expect(KINDS.length).toBeGreaterThan(39);
  expect(new Set(planted.secrets).size).toBeGreaterThan(1000);
  for (const file of planted.files) expect(search.in(readFileSync(file)), file).not.toEqual([]);
});

it('ingest stores none', () => {
  const answer = cli.run(['ingest', run, '--db', db, '--nsys-all', '--json']);
  const { sources } = answer.json<{ sources: { path: string; status: string; error: { code: string } | null }[] }>();
  expect(sources.filter(({ status }) => status !== 'ingested').map(({ path, error }) => [path, error?.code])).toEqual(
    [],
  );
  expect(search.in(answer.stdout + answer.stderr)).toEqual([]);
  for (const name of readdirSync(join(root, 'store')))
    expect(search.in(readFileSync(join(root, 'store', name))), name).toEqual([]);
});

it('no table has one', () => {
  const tables = cli
    .expect(0, [
      'sql',
      'SELECT table_schema, table_name FROM information_schema.tables',
      '--db',
      db,
      '--format',
      'jsonl',
    ])
    .stdout.trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { table_schema: string; table_name: string });
  expect(tables.length).toBeGreaterThan(50);
  // One statement instead of a hundred processes.
  const texts = tables.map(({ table_schema, table_name }) => {
    const name = `"${table_schema}"."${table_name}"`;
    return `SELECT '${table_name}' AS of, to_json(t) AS row FROM ${name} AS t`;
  });
  const isTable = texts.filter((text) => !/information_schema|pg_catalog/.test(text));
  const { stdout } = cli.expect(0, ['sql', isTable.join('\nUNION ALL\n'), '--db', db, '--format', 'jsonl']);
  expect(stdout.length).toBeGreaterThan(100_000);
  expect(search.in(stdout)).toEqual([]);
  expect(stdout).toMatch(/<secret: \d+ characters>/);
});

it.each([
  ['diagnose'],
  ['config'],
  ['env'],
  ['log'],
  ['show', 'E1'],
  ['show', 'E3'],
  ['config', '--json'],
  ['explain', 'text', join(run, 'train.log')],
])('%s %s has none', (...args) => {
  const inputs = args[0] === 'explain' ? args : [...args, '--db', db];
  const { stdout, stderr } = cli.run(inputs);
  expect(stdout.length).toBeGreaterThan(50);
  expect(search.in(stdout + stderr)).toEqual([]);
});

it('lines are as many as before where they are quoted', () => {
  const { stdout } = cli.run(['show', 'E1', '--db', db, '--json']);
  writeFileSync(join(root, 'show.json'), stdout);
  expect(search.in(stdout)).toEqual([]);
});
