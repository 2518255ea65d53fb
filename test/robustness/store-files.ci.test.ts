/**
 * What a directory may hold in place of a store and its files, and what a store may be instead of ours: one error, and
 * the file of somebody else is left as it was. Links, temporary files of killed processes, a full disk.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { MbfError } from '../../src/model/errors.js';
import { openStore } from '../../src/store/open-store.js';
import { makeTemporaryDirectory, ownerTag, sweepTemporaryFiles } from '../../src/store/temporary-files.js';
import { type Child, sharedBuild, startChild } from '../store/scratch.js';
import { buildCli, cliOf } from '../support/cli.js';
import { snapshotPickle } from '../support/small-snapshot.js';
import { expectCliError, temporaryDirectory } from './harness.js';

const root = temporaryDirectory();
const env = { XDG_CACHE_HOME: join(root, 'cache'), HOME: root };
const cli = buildCli();
beforeAll(() => {
  writeFileSync(join(root, 'x.pickle'), snapshotPickle());
  cli.expect(0, ['ingest', 'x.pickle', '--db', 'made.duckdb'], { cwd: root, env });
});

function directoryWithStore(name: string): string {
  const cwd = join(root, name);
  mkdirSync(cwd);
  copyFileSync(join(root, 'made.duckdb'), join(cwd, 'a.duckdb'));
  return cwd;
}

describe('in place of the files of a store', () => {
  const things: readonly [string, (path: string) => void][] = [
    ['a pipe', (path) => spawnSync('mkfifo', [path])],
    ['a directory', (path) => mkdirSync(path)],
    ['a link', (path) => symlinkSync(join(root, 'x.pickle'), path)],
    ['a dangling link', (path) => symlinkSync('nowhere', path)],
  ];
  it.each(
    ['', '.wal', '.wal.checkpoint', '.wal.recovery'].flatMap((suffix) =>
      things.map(([what, make]) => [suffix, what, make] as const),
    ),
  )('a.duckdb%s as %s is one error', async (suffix, _, make) => {
    const cwd = directoryWithStore(`thing${suffix}-${readdirSync(root).length}`);
    const before = readFileSync(join(root, 'x.pickle'));
    rmSync(join(cwd, `a.duckdb${suffix}`), { force: true });
    make(join(cwd, `a.duckdb${suffix}`));
    for (const mode of ['read', 'write'] as const) {
      const error = await openStore(join(cwd, 'a.duckdb'), { mode }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MbfError);
      expect((error as MbfError).code).toMatch(/^MBF300[45]$/);
    }
    expect(readFileSync(join(root, 'x.pickle')).equals(before)).toBe(true);
  });

  it('a log that is none is reported, and stays', () => {
    const cwd = directoryWithStore('log');
    writeFileSync(join(cwd, 'a.duckdb.wal'), Buffer.alloc(500, 7));
    const answer = cli.expect(5, ['runs', 'sources', '--db', 'a.duckdb'], { cwd, env });
    expect(answer.stderr).toMatch(/MBF3002: .*a\.duckdb: its log a\.duckdb\.wal is not one of DuckDB/);
    expect(existsSync(join(cwd, 'a.duckdb.wal'))).toBe(true);
  });
});

const VERBS: readonly (readonly string[])[] = [
  ...[['ingest', join(root, 'x.pickle')], ['runs', 'sources'], ['diagnose'], ['sql', 'SELECT 1']],
];

async function onDuckDB(file: string, change: (connection: DuckDBConnection) => Promise<unknown>): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await change(connection);
  connection.closeSync();
  instance.closeSync();
}

/** Bytes of a store with those from `first` to `last` of every 4 KiB page replaced. */
function scribbled(pages: (at: number) => boolean, first: number, last: number): Buffer {
  const bytes = readFileSync(join(root, 'made.duckdb'));
  for (let at = 0; at < bytes.length; at += 4096) if (pages(at)) bytes.fill(0x5a, at + first, at + last);
  return bytes;
}

describe('a store that cannot be used', () => {
  it.each<[string, string, string | RegExp, (db: string) => unknown]>([
    ['a text file', 'MBF3004', 'not a DuckDB database', (db) => writeFileSync(db, 'notes of mine\n'.repeat(100))],
    [
      ...(['a foreign database', 'MBF3004', 'did not make'] as const),
      (db) => [rmSync(db), onDuckDB(db, (connection) => connection.run('CREATE TABLE precious AS SELECT 1 AS x'))][1],
    ],
    [
      ...(['a newer schema', 'MBF3003', 'its schema is version 999'] as const),
      (db) => onDuckDB(db, (connection) => connection.run('INSERT INTO mbforensics_schema VALUES (999)')),
    ],
    [
      ...(['an older schema', 'MBF3003', 'its schema is version 17'] as const),
      (db) => onDuckDB(db, (connection) => connection.run('UPDATE mbforensics_schema SET version = 17')),
    ],
    [
      'a damaged header',
      'MBF3002',
      /./,
      (db) =>
        writeFileSync(
          db,
          scribbled((at) => at === 4096 || at === 8192, 8, 64),
        ),
    ],
    ['cut short', 'MBF3002', /./, (db) => truncateSync(db, 12_288 + 1000)],
    [
      'damaged within',
      'MBF3002',
      /./,
      (db) =>
        writeFileSync(
          db,
          scribbled((at) => at >= 12_288, 16, 256),
        ),
    ],
    ['a directory', 'MBF3005', 'is a directory', (db) => [rmSync(db), mkdirSync(db)]],
  ])('%s: exit 5, %s, and it is left as it was', async (what, code, fact, change) => {
    const cwd = directoryWithStore(what);
    const db = join(cwd, 'a.duckdb');
    await change(db);
    // As text: matchers compare bytes one by one.
    const content = (): string => (lstatSync(db).isFile() ? readFileSync(db, 'latin1') : 'a directory');
    const before = content();
    for (const verb of VERBS) {
      const answer = cli.run([...verb, '--db', 'a.duckdb'], { cwd, env });
      expectCliError(answer, 5, code, fact);
      expect(answer.stderr).toContain('a.duckdb');
    }
    expect(content() === before).toBe(true);
  });

  it('a directory that is not there: MBF3005 for ingest, MBF1004 for the rest', () => {
    for (const [i, verb] of VERBS.entries()) {
      const answer = cli.run([...verb, '--db', 'no/a.duckdb'], { cwd: root, env });
      if (i === 0) expectCliError(answer, 5, 'MBF3005', /./);
      else expectCliError(answer, 2, 'MBF1004', 'no store');
    }
  });

  it('locked by another process: MBF3001 while it lasts', async () => {
    const cwd = directoryWithStore('locked');
    const ask = (...verb: string[]) => cliOf(cli.script).run([...verb, '--db', 'a.duckdb'], { cwd, env });
    const holder = startChild('lock-child.mjs', [sharedBuild(), join(cwd, 'a.duckdb'), 'write']);
    let waiting: Child;
    try {
      expect(await holder.nextLine()).toBe('open');
      expectCliError(ask('runs', 'sources', '--wait', 'long'), 2, 'MBF1001', /--wait/);
      waiting = startChild(cli.script, ['runs', 'sources', '--db', join(cwd, 'a.duckdb'), '--wait', '600']);
      for (const verb of VERBS) expectCliError(ask(...verb), 5, 'MBF3001', /a\.duckdb: .*PID \d+/);
    } finally {
      holder.writeLine('enough');
      await holder.ended;
    }
    expect([await waiting.ended, ask('runs', 'sources').status]).toEqual([0, 0]);
  });
});

describe('links out of a run directory', () => {
  it('are reported, and followed with --follow-links', () => {
    const cwd = join(root, 'links');
    mkdirSync(join(cwd, 'run'), { recursive: true });
    writeFileSync(join(cwd, 'run', 'train.log'), 'torch.OutOfMemoryError: CUDA out of memory.\n');
    symlinkSync(join(root, 'x.pickle'), join(cwd, 'run', 'y.pickle'));
    const line = `not followed: y.pickle -> ${join(root, 'x.pickle')} (--follow-links)`;
    const answer = cli.expect(0, ['ingest', 'run', '--db', 'a.duckdb'], { cwd, env });
    expect(answer.stdout).toContain(line);
    expect(answer.stdout).toMatch(/1 ingested, 1 skipped|1 skipped, 1 ingested/);
    expect(cli.expect(0, ['diagnose', 'run'], { cwd, env }).stderr).toContain('not followed: y.pickle -> ');
    const followed = cli.expect(0, ['ingest', 'run', '--db', 'b.duckdb', '--follow-links'], { cwd, env });
    expect(followed.stdout).toMatch(/2 ingested/);
    rmSync(join(cwd, 'run', 'train.log'));
    expect(cli.expect(4, ['ingest', 'run', '--db', 'c.duckdb'], { cwd, env }).stderr).toContain(line);
  });
});

describe('temporary files', () => {
  it('of ended processes are swept, and no others', async () => {
    const directory = join(root, 'temporary');
    mkdirSync(directory);
    const [host, pid, start] = ownerTag().split('-');
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((done) => child.on('close', done));
    const over = `${host}-${child.pid}-${start}`;
    const kept = [
      `mbforensics-${ownerTag()}-aaaaaa`,
      `mbforensics-00000000-${child.pid}-${start}-aaaaaa`,
      'mbforensics-aaaaaa',
      `a.duckdb.${ownerTag()}.new`,
      'a.duckdb.tmp',
    ];
    // The number of a process that runs, and began at another time.
    const gone = [`mbforensics-${over}-aaaaaa`, `.mbforensics-${over}-bbbbbb`, `mbforensics-${host}-${pid}-1-cccccc`];
    for (const name of [...kept, ...gone]) mkdirSync(join(directory, name));
    for (const name of [`a.duckdb.${over}.new`, `a.duckdb.${over}.new.wal`, `a.duckdb.${over}.tmp`]) {
      writeFileSync(join(directory, name), 'x');
      gone.push(name);
    }
    const link = `mbforensics-${over}-dddddd`;
    mkdirSync(join(root, 'precious'));
    writeFileSync(join(root, 'precious', 'file'), 'x');
    symlinkSync(join(root, 'precious'), join(directory, link));
    sweepTemporaryFiles(directory);
    expect(readdirSync(directory).sort()).toEqual([...kept, link].sort());
    expect(existsSync(join(root, 'precious', 'file'))).toBe(true);
    expect(lstatSync(makeTemporaryDirectory(directory)).isDirectory()).toBe(true);
  });
});

it('needs root: a full disk below the cache does not prevent an answer', ({ skip }) => {
  const mount = join(root, 'small');
  mkdirSync(mount);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=100k', 'tmpfs', mount]).status !== 0) return skip();
  try {
    const answer = cli.expect(0, ['snapshot', 'series', 'x.pickle'], {
      cwd: root,
      env: { ...env, XDG_CACHE_HOME: mount },
    });
    expect(answer.stderr).toContain('has no room for the store of these files');
  } finally {
    spawnSync('umount', [mount]);
  }
});
