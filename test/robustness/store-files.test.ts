/** What a directory may hold in place of a store's files, a full disk, and temporary files of killed processes. */
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
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MbfError } from '../../src/model/errors.js';
import { openStore } from '../../src/store/open-store.js';
import { makeTemporaryDirectory, ownerTag, sweepTemporaryFiles } from '../../src/store/temporary-files.js';
import { repoRoot, sharedBuild } from '../store/scratch.js';
import { type Cli, warmCliOf } from '../support/cli.js';
import { runs } from '../support/level.js';
import { snapshotPickle } from '../support/small-snapshot.js';
import { temporaryDirectory } from './harness.js';

const root = temporaryDirectory();
const env = { XDG_CACHE_HOME: join(root, 'cache'), HOME: root };
let cli: Cli;
beforeAll(() => {
  cli = warmCliOf(join(sharedBuild(), 'src', 'cli', 'main.js'));
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
    const answer = cli.expect(5, ['sources', '--db', 'a.duckdb'], { cwd, env });
    expect(answer.stderr).toMatch(/MBF3002: .*a\.duckdb: its log a\.duckdb\.wal is not one of DuckDB/);
    expect(existsSync(join(cwd, 'a.duckdb.wal'))).toBe(true);
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

const mount = join(root, 'small');
mkdirSync(mount);
const canMount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', mount]).status === 0;
if (canMount) spawnSync('umount', [mount]);
else console.warn('SKIPPED: a full disk needs the right to mount a tmpfs');

describe.skipIf(!canMount)('a full disk', () => {
  const MOMENTS = Number(process.env['MBF_DISK_MOMENTS'] ?? runs(4, 100));
  const log = join(repoRoot, 'samples', 'leak');
  const from = { cwd: root, env };
  /** A store with a run, and what it holds. */
  let before: unknown;
  let full = 0;
  beforeAll(async () => {
    before = await contents(join(root, 'made.duckdb'));
    copyFileSync(join(root, 'made.duckdb'), join(root, 'grown.duckdb'));
    cli.expect(0, ['ingest', log, '--db', 'grown.duckdb', '-q'], from);
    full = lstatSync(join(root, 'grown.duckdb')).size;
  });
  afterAll(() => void spawnSync('umount', [mount]));

  /** The rows of the first run, of every table that names its source or run. */
  async function contents(file: string): Promise<unknown> {
    const store = await openStore(file, { mode: 'read' });
    try {
      const tables = await store.select(
        `SELECT table_name AS name, any_value(column_name) AS key FROM duckdb_columns()
         WHERE schema_name = 'main' AND column_name IN ('run_id', 'source_id', 'snapshot_id')
           AND table_name IN (SELECT table_name FROM duckdb_tables()) GROUP BY ALL ORDER BY ALL`,
      );
      const rows: unknown[] = await store.select('SELECT name FROM run ANTI JOIN source USING (run_id)');
      expect(rows, 'runs without sources').toEqual([]);
      for (const { name, key } of tables)
        rows.push(
          name,
          await store.select(`SELECT hash(COLUMNS(*))::VARCHAR FROM "${name}" WHERE ${key} = 1 ORDER BY ALL`),
        );
      return rows;
    } finally {
      await store.close();
    }
  }

  it.each(Array.from({ length: MOMENTS }, (_, i) => i))(
    'at moment %i is MBF3005, and keeps what was there',
    async (i) => {
      const made = lstatSync(join(root, 'made.duckdb')).size;
      const kib = Math.ceil((made + ((i + 0.5) / MOMENTS) * 1.5 * (full - made)) / 1024);
      expect(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', mount]).status).toBe(0);
      try {
        copyFileSync(join(root, 'made.duckdb'), join(mount, 'a.duckdb'));
        const answer = cli.run(['ingest', log, '--db', join(mount, 'a.duckdb'), '-q'], from);
        if (answer.status !== 0) {
          expect(answer.status, answer.stderr).toBe(5);
          expect(answer.stderr).toMatch(/error MBF3005: .*a\.duckdb/);
        }
        for (const name of readdirSync(mount)) copyFileSync(join(mount, name), join(root, name));
        expect(readdirSync(mount).filter((name) => !/^a\.duckdb(\.wal)?$/.test(name))).toEqual([]);
        expect(await contents(join(root, 'a.duckdb'))).toEqual(before);
      } finally {
        spawnSync('umount', [mount]);
        for (const name of readdirSync(root)) if (name.startsWith('a.duckdb')) rmSync(join(root, name));
      }
    },
  );

  it('of the cache does not prevent an answer', () => {
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=100k', 'tmpfs', mount]).status).toBe(0);
    try {
      const answer = cli.expect(0, ['snapshots', 'x.pickle'], { cwd: root, env: { ...env, XDG_CACHE_HOME: mount } });
      expect(answer.stderr).toContain('has no room for the store of these files');
    } finally {
      spawnSync('umount', [mount]);
    }
  });
});
