/** Ingests a run with planted secrets, and looks for them in the store and in answers. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildCli, type Cli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { KINDS, type Kind, SecretSearch, writePlantedRun } from './planted-secrets.js';

export interface PlantedTest {
  readonly seed: number;
  readonly kinds: readonly Kind[];
  /** Arguments; `RUN` is the run's directory, `OUT` one for what is written. */
  readonly verbs: readonly (readonly string[])[];
}

function filesBelow(path: string): string[] {
  return statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => filesBelow(join(path, name))) : [path];
}

export function testPlantedRun({ seed, kinds, verbs }: PlantedTest): void {
  const root = temporaryDirectory();
  const run = join(root, 'run');
  const storeFolder = join(root, 'store');
  const out = join(root, 'out');
  const db = join(storeFolder, 's.duckdb');
  mkdirSync(storeFolder);
  const planted = writePlantedRun(run, seed, kinds);
  const search = new SecretSearch(planted.secrets);
  let cli: Cli;

  beforeAll(() => {
    cli = buildCli();
    mkdirSync(out);
  });

  it('the files have secrets, and the search sees them', () => {
    expect(KINDS.length).toBeGreaterThan(39);
    expect(planted.secrets.length).toBeGreaterThan(200);
    expect(new Set(planted.secrets).size).toBe(planted.secrets.length);
    for (const file of planted.files) expect(search.in(readFileSync(file)), file).not.toEqual([]);
  });

  it('ingest stores none', () => {
    const answer = cli.run(['ingest', run, '--db', db, '--nsys-all', '--json=full']);
    const { sources } = answer.json<{ sources: { path: string; status: string; error: { code: string } | null }[] }>();
    expect(sources.filter(({ status }) => status !== 'ingested').map(({ path, error }) => [path, error?.code])).toEqual(
      [],
    );
    expect(search.in(answer.stdout + answer.stderr)).toEqual([]);
    for (const file of filesBelow(storeFolder)) expect(search.in(readFileSync(file)), file).toEqual([]);
  });

  it('no table has one', () => {
    const tables = cli
      .expect(0, ['sql', 'SELECT schema_name, table_name FROM duckdb_tables()', '--db', db, '--format', 'jsonl'])
      .stdout.trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { schema_name: string; table_name: string });
    expect(tables.length).toBeGreaterThan(50);
    // One statement instead of a hundred processes.
    const statement = tables
      .map(({ schema_name, table_name }) => `SELECT to_json(t) AS row FROM "${schema_name}"."${table_name}" AS t`)
      .join('\nUNION ALL\n');
    const { stdout } = cli.expect(0, ['sql', statement, '--db', db, '--format', 'jsonl']);
    expect(search.in(stdout)).toEqual([]);
    expect(stdout).toMatch(/<secret: \d+ characters>/);
  });

  it('an error that quotes the file has none', () => {
    const broken = join(root, 'config.yaml');
    writeFileSync(broken, 'o\n#\npassword=Xk39dLq02mVz\n  - moe_act\n  offload_modules:\nseq_length:\n');
    for (const args of [['lint'], ['ingest', '--db', join(root, 'broken.duckdb')]]) {
      const { stdout, stderr } = cli.run([args[0]!, broken, ...args.slice(1)]);
      expect(stdout + stderr).toContain('password=<secret: 12 characters>');
      expect(stdout + stderr).not.toContain('Xk39dLq02mVz');
    }
  });

  it.each(verbs.map((args) => [args.join(' '), args] as const))('%s has none', (_, args) => {
    const words = args.map((arg) => arg.replace('RUN', run).replace('OUT', out));
    const { stdout, stderr } = cli.run(args.includes('RUN') || args[0] === 'explain' ? words : [...words, '--db', db]);
    expect((stdout + stderr).length).toBeGreaterThan(20);
    expect(stderr).not.toContain('MBF1001');
    expect(search.in(stdout + stderr)).toEqual([]);
    for (const file of filesBelow(out)) expect(search.in(readFileSync(file)), file).toEqual([]);
  });
}
