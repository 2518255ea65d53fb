/** Inputs that are not files of a run: the state of a bisection in a repository, a store, a folder of tables. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { type Random, wholeBetween } from '../../samples/generate/simulate/random.js';
import { packageRoot } from '../../src/store/load-queries.js';
import { smallExport, writeParquetFolder } from '../support/nsys-export.js';
import { pickOf } from './mutate-bytes.js';
import { checkCall, type Finding } from './oracle.js';
import type { ProgramHost } from './program-host.js';
import type { Seed } from './seeds.js';
import { CANARY, wordsOf } from './words.js';

// ---- a repository in which a bisection goes on -------------------------------------------------------------------

const SESSION = 'mbforensics/bisect/0123456789ab';
const STORE = 'mbforensics/bisect/bisect.duckdb';

const GIT_ENV = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };

async function makeRepository(host: ProgramHost, directory: string): Promise<string> {
  const root = join(directory, 'repository');
  if (existsSync(join(root, '.git', STORE))) return root;
  const store = await makeStore(host, directory);
  mkdirSync(root, { recursive: true });
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=F', '-c', 'user.email=f@example.org', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...GIT_ENV, PATH: process.env['PATH'], HOME: directory },
    }).trim();
  git('init', '-q', '-b', 'main');
  const commits = Array.from({ length: 5 }, (_, i) => {
    writeFileSync(join(root, 'train.py'), `step = ${i}\n`);
    git('add', '-A');
    git('commit', '-q', '-m', `step ${i}`);
    return git('rev-parse', 'HEAD');
  });
  git('bisect', 'start', commits[4]!, commits[0]!);
  const session = join(root, '.git', SESSION);
  const judged = git('rev-parse', 'HEAD');
  mkdirSync(join(session, judged), { recursive: true });
  const time = '2026-01-01T00:00:00.000Z';
  const write = (file: string, record: object): void => writeFileSync(join(session, file), JSON.stringify(record));
  write('session.json', {
    ...{ schema: 'mbforensics/bisect-session@1', criterion: 'memory', golden: 'golden.json', like: null },
    ...{ tolerance: null, command: ['python', 'train.py'], started_at: time },
  });
  write(join(judged, 'judgement.json'), {
    ...{ schema: 'mbforensics/bisect-judgement@1', sha: judged, subject: 'step 2', judgement: 'bad', reason: 'memory' },
    ...{ evidence: [], checks: [], settings: [], is_comparable: true, runs: ['leak'], judged_at: time },
  });
  writeFileSync(join(session, 'BISECT_LOG'), readFileSync(join(root, '.git', 'BISECT_LOG')));
  // Last: with it the repository is complete.
  writeFileSync(join(root, '.git', STORE), store);
  return root;
}

const GIT_FILES = ['BISECT_LOG', 'BISECT_TERMS', 'BISECT_START', 'BISECT_NAMES', 'HEAD', 'config', 'packed-refs'];

export async function repositorySeeds(host: ProgramHost, directory: string): Promise<Seed[]> {
  const git = join(await makeRepository(host, directory), '.git');
  const judged = readdirSync(join(git, SESSION)).find((name) => name.length === 40)!;
  const names = [...GIT_FILES, `${SESSION}/session.json`, `${SESSION}/BISECT_LOG`, `${SESSION}/COMMIT/judgement.json`];
  const hostile = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch ${CANARY}\n\tpager = touch ${CANARY}\n[alias]\n\tlog = !touch ${CANARY}\n[diff "x"]\n\ttextconv = touch ${CANARY}\n`;
  return [
    ...names
      .map((name) => ({ name, path: join(git, name.replace('COMMIT', judged)) }))
      .filter(({ path }) => existsSync(path))
      .map(({ name, path }) => ({ name, bytes: readFileSync(path) })),
    { name: 'config', bytes: Buffer.from(hostile) },
  ];
}

/** One file of the repository is replaced while the questions are asked. */
export async function checkRepository(
  host: ProgramHost,
  { name, bytes }: Seed,
  directory: string,
): Promise<Finding | undefined> {
  const root = await makeRepository(host, directory);
  const git = join(root, '.git');
  const judged = readdirSync(join(git, SESSION)).find((entry) => entry.length === 40)!;
  const path = join(git, name.replace('COMMIT', judged));
  const before = existsSync(path) ? readFileSync(path) : undefined;
  writeFileSync(path, bytes);
  try {
    for (const args of [
      ...[
        ['bisect', 'report'],
        ['bisect', 'report', '--json=full'],
        ['history', '--repo', root],
      ],
    ]) {
      const finding = await checkCall(host, args, root);
      if (finding !== undefined) return finding;
    }
    return undefined;
  } finally {
    if (before === undefined) rmSync(path, { force: true });
    else writeFileSync(path, before);
  }
}

// ---- a store ----------------------------------------------------------------------------------------------------

async function makeStore(host: ProgramHost, directory: string): Promise<Buffer> {
  const file = join(directory, 'whole.duckdb');
  if (!existsSync(file)) {
    const answer = await host.run(['ingest', join(packageRoot(), 'samples', 'leak'), '--db', file], directory);
    if ('fault' in answer || answer.status > 1) throw new Error(`no store for the campaign: ${JSON.stringify(answer)}`);
  }
  return readFileSync(file);
}

export async function storeSeeds(host: ProgramHost, directory: string): Promise<Seed[]> {
  return [{ name: 'store.duckdb', bytes: await makeStore(host, directory) }];
}

const [TABLES, COLUMNS] = [wordsOf('tables'), wordsOf('columns')];
const TYPES = ['VARCHAR', 'BLOB', 'DOUBLE', 'VARCHAR[]'];

/** Statements that change a good store: tables dropped, renamed or replaced by views, types and cells changed. */
export function randomTampering(random: Random): string {
  return Array.from({ length: wholeBetween(random, 1, 3) }, () => {
    const table = pickOf(random, TABLES);
    const column = pickOf(random, COLUMNS);
    const view = pickOf(random, wordsOf('views'));
    return pickOf(random, [
      `DROP TABLE ${table} CASCADE`,
      `ALTER TABLE ${table} RENAME TO ${table}_gone; CREATE VIEW ${table} AS ${view}`,
      `ALTER TABLE ${table} ALTER ${column} TYPE ${pickOf(random, TYPES)}`,
      `UPDATE ${table} SET ${column} = ${pickOf(random, wordsOf('values'))}`,
      `ALTER TABLE ${table} DROP ${column}`,
      `DELETE FROM ${table}`,
      `ALTER TABLE ${table} RENAME ${column} TO "${pickOf(random, ['x', '\u001b[31m', 'a""b', '\u202e'])}"`,
      `INSERT INTO ${table} SELECT * FROM ${table}`,
    ]);
  }).join(';\n');
}

/** A store of these bytes, or the good store after the statements of a `.sql`. */
export async function checkStore(
  host: ProgramHost,
  { name, bytes }: Seed,
  directory: string,
  questions: readonly (readonly string[])[],
): Promise<Finding | undefined> {
  const file = join(directory, 'changed.duckdb');
  if (name.endsWith('.sql')) {
    writeFileSync(file, await makeStore(host, directory));
    await runStatements(file, bytes.toString('utf8').split(';'));
  } else writeFileSync(file, bytes);
  try {
    for (const question of questions) {
      const finding = await checkCall(host, [...question, '--db', file], directory);
      if (finding !== undefined) return finding;
    }
    return undefined;
  } finally {
    for (const suffix of ['', '.wal']) rmSync(`${file}${suffix}`, { force: true });
  }
}

async function runStatements(file: string, statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file, { threads: '1' });
  const connection = await instance.connect();
  try {
    // Views keep tables from being changed.
    const views = await connection.runAndReadAll('SELECT view_name FROM duckdb_views() WHERE NOT internal');
    for (const [view] of views.getRowsJson())
      await connection.run(`DROP VIEW IF EXISTS "${view}" CASCADE`).catch(() => undefined);
    for (const statement of statements) {
      // Not every table has every column.
      if (statement.trim() !== '') await connection.run(statement).catch(() => undefined);
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

// ---- a folder of Parquet files ----------------------------------------------------------------------------------

export async function parquetSeeds(directory: string): Promise<Seed[]> {
  const folder = join(directory, 'report_pqtdir');
  if (!existsSync(folder)) await writeParquetFolder(folder, smallExport());
  return readdirSync(folder).map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));
}

/** Replaces one file of the folder; returns the folder, and what puts the file back. */
export function placeTable({ name, bytes }: Seed, directory: string): { folder: string; restore: () => void } {
  const folder = join(directory, 'report_pqtdir');
  const path = join(folder, name);
  const before = existsSync(path) ? readFileSync(path) : undefined;
  writeFileSync(path, bytes);
  return {
    folder,
    restore: () => (before === undefined ? rmSync(path, { force: true }) : writeFileSync(path, before)),
  };
}
