/** `lake add`: the same files however often a block is added, several writers, and errors that name the remedy. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockOf } from '../../src/lake/run-lock.js';
import { ownerTag } from '../../src/store/temporary-files.js';
import { buildCli, environment } from '../support/cli.js';
import { runs } from '../support/level.js';
import { skipLoudly } from '../support/levels/skip-loudly.js';
import { samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { ask, doubled, filesOf, partsOf, smallRun, start } from './lakes.js';

const cli = buildCli();
const root = temporaryDirectory();
let made = 0;
const fresh = (): string => {
  made += 1;
  return join(root, `lake-${made}`);
};
const run = smallRun(join(root, 'night-shift'), 20);
/** The same run when its files were longer. */
const later = smallRun(join(root, 'later', 'night-shift'), 20, 4);
const add = (path: string, to: string, ...more: string[]): string[] => [
  'lake',
  'add',
  path,
  '--to',
  to,
  '--id',
  'a',
  ...more,
];

/** A lake with the run in three blocks, undisturbed. */
const inThree = fresh();
for (const block of ['0/3', '1/3', '2/3']) cli.expect(0, add(run, inThree, '--events', '--block', block));

describe('the same input', () => {
  it('makes the same files, whatever the time, the zone and the memory', () => {
    const [first, second] = [fresh(), fresh()];
    cli.expect(0, add(run, first, '--events'));
    for (const name of readdirSync(run)) utimesSync(join(run, name), 1_000_000_000, 1_000_000_000);
    cli.expect(0, add(run, second, '--events', '--memory-limit', '512MiB'), {
      env: { TZ: 'Asia/Tokyo', LC_ALL: 'de_DE.UTF-8' },
    });
    expect(filesOf(second)).toEqual(filesOf(first));
  });

  it('in three blocks gives the rows of one', () => {
    const alone = fresh();
    cli.expect(0, add(run, alone, '--events'));
    for (const statement of [
      'SELECT * EXCLUDE (rank_block, task) FROM lake.rank_summary ORDER BY ALL',
      'SELECT * EXCLUDE (rank_block, task, place) FROM lake.snapshot ORDER BY ALL',
      'SELECT * EXCLUDE (rank_block, task) FROM lake.event ORDER BY ALL',
      'SELECT count(*), sum(ranks) FROM (SELECT DISTINCT rank, 1 AS ranks FROM lake.rank_summary)',
    ])
      expect(ask(inThree, statement), statement).toEqual(ask(alone, statement));
  });

  it('again changes nothing, and events stay without --events', () => {
    const before = filesOf(inThree);
    cli.expect(0, add(run, inThree, '--block', '1/3'));
    expect(filesOf(inThree)).toEqual(before);
  });

  it('in another state replaces the block, with its events', () => {
    const lake = fresh();
    cli.expect(0, add(run, lake, '--events'));
    cli.expect(0, add(later, lake));
    const expected = fresh();
    cli.expect(0, add(later, expected));
    expect(partsOf(lake)).toEqual(partsOf(expected));
  });
});

describe('another number of blocks', () => {
  it('is refused, and nothing changes; --replace in every task removes the others', () => {
    const lake = fresh();
    cpSync(inThree, lake, { recursive: true });
    const before = filesOf(lake);
    const refused = cli.expect(2, add(run, lake, '--events', '--block', '0/2'));
    expect(refused.stderr).toMatch(/MBF1015.*was added in 3 blocks, and this is one of 2 blocks\n.*--replace/s);
    expect(filesOf(lake)).toEqual(before);
    for (const block of ['1/2', '0/2']) cli.expect(0, add(run, lake, '--events', '--replace', '--block', block));
    const expected = fresh();
    for (const block of ['0/2', '1/2']) cli.expect(0, add(run, expected, '--events', '--block', block));
    expect(filesOf(lake)).toEqual(filesOf(expected));
  });

  it('is refused where the other blocks are not whole', () => {
    const lake = fresh();
    cli.expect(0, add(run, lake, '--block', '2/3'));
    for (const name of partsOf(lake)) if (name.startsWith('run_summary')) rmSync(join(lake, name));
    expect(cli.expect(2, add(run, lake, '--block', '0/2')).stderr).toContain('MBF1015');
  });
});

describe('the block', () => {
  it('is that of the task; local files are all of the task', () => {
    const lake = fresh();
    const env = { SLURM_ARRAY_TASK_ID: '12', SLURM_ARRAY_TASK_MIN: '10', SLURM_ARRAY_TASK_COUNT: '4' };
    expect(cli.expect(0, add(run, lake, '--json=full'), { env }).json()).toMatchObject({
      block: 2,
      blocks: 4,
      ranks: 4,
    });
    const local = { block: 2, blocks: 4, is_local: true, ranks: 20 };
    expect(cli.expect(0, add(run, fresh(), '--json=full', '--block', 'local'), { env }).json()).toMatchObject(local);
    expect(cli.expect(0, add(run, fresh(), '--json=full', '--block', '2/4,local')).json()).toMatchObject(local);
    expect(cli.expect(2, add(run, lake, '--block', '4/4')).stderr).toContain('expected K/N');
  });
});

describe('writers at the same time', () => {
  it.each(Array.from({ length: runs(1, 6) }, (_, i) => i))(
    'of one block leave the files of one of them (%d)',
    async () => {
      const lake = fresh();
      const both = [run, later].map((path) => start(add(path, lake)));
      for (const { ended } of both) expect(await ended).toMatchObject({ status: 0, stderr: '' });
      const expected = [run, later].map((path) => {
        const alone = fresh();
        cli.expect(0, add(path, alone));
        return filesOf(alone);
      });
      expect(doubled(lake)).toEqual([]);
      expect(expected).toContainEqual(filesOf(lake));
    },
    60_000,
  );

  it('with --replace and another number of blocks lose no row', async () => {
    const lake = fresh();
    cpSync(inThree, lake, { recursive: true });
    const tasks = ['0/4', '1/4', '2/4', '3/4'].map((block) => start(add(run, lake, '--replace', '--block', block)));
    for (const { ended } of tasks) expect(await ended).toMatchObject({ status: 0, stderr: '' });
    const expected = fresh();
    for (const block of ['0/4', '1/4', '2/4', '3/4']) cli.expect(0, add(run, expected, '--block', block));
    expect(filesOf(lake)).toEqual(filesOf(expected));
  }, 60_000);

  it('do not wait for one that has ended, and what it left goes', async () => {
    const lake = fresh();
    cli.expect(0, add(run, lake));
    const before = filesOf(lake);
    const [name] = readdirSync(join(lake, 'run_summary'));
    // The number of a process that cannot run, of this host.
    const tag = ownerTag().replace(/-\d+-\w+$/, '-4194305-1');
    symlinkSync(tag, lockOf(lake, name!.slice('run='.length)));
    mkdirSync(join(lake, `.mbforensics-${tag}-abcdef`));
    writeFileSync(join(lake, `.mbforensics-${tag}-abcdef`, 'verdict.parquet'), 'half');
    cli.expect(1, ['lake', 'check', lake]);
    // A process sweeps a directory once.
    expect(await start(add(run, lake)).ended).toMatchObject({ status: 0 });
    expect(filesOf(lake)).toEqual(before);
    cli.expect(0, ['lake', 'check', lake]);
  });
});

describe('names and places', () => {
  it.each([
    '../../etc',
    'run=1',
    'a/b\\c',
    'Ünïcode 夜勤',
    '-rf',
    '.',
    ' ',
    'x'.repeat(300),
    "it's; DROP",
    '%2e%2e',
    'CON',
  ])('a run called %j has a safe folder of its own', (name) => {
    const lake = fresh();
    const { run: key } = cli.expect(0, add(run, lake, '--json=full', `--run=${name}`)).json<{ run: string }>();
    expect(key).toMatch(/^[a-z0-9][a-z0-9._-]{0,63}$/);
    expect(readdirSync(join(lake, 'run_summary'))).toEqual([`run=${key}`]);
    expect(ask(lake, 'SELECT count(DISTINCT name) FROM lake.run_summary')).toEqual(['1']);
  });

  it('a lake may be on another file system than temporary files', () => {
    const memory = '/dev/shm';
    if (!existsSync(memory) || statSync(memory).dev === statSync(tmpdir()).dev)
      return skipLoudly('a lake on another file system', 'a file system at /dev/shm');
    const lake = join(memory, `mbf-lake-${process.pid}`);
    cpSync(inThree, lake, { recursive: true });
    try {
      cli.expect(0, add(run, lake, '--events', '--block', '0/3'));
      expect(filesOf(lake)).toEqual(filesOf(inThree));
    } finally {
      rmSync(lake, { recursive: true });
    }
  });
});

describe('errors', () => {
  it('name what is there instead of an unknown run', () => {
    const db = join(root, 'some.duckdb');
    cli.expect(0, ['ingest', run, '--db', db]);
    const { stderr } = cli.expect(2, add('nigth-shift', fresh(), '--db', db), { cwd: tmpdir() });
    expect(stderr).toMatch(/nigth-shift[\s\S]*night-shift/);
  });

  it.each([
    ['a file', () => `${run}/train.log`, 5],
    ['a directory with other files', () => run, 5],
    ['a place that cannot be written', () => '/sys/kernel/lake', 5],
    ['a place below which no directory can be made', () => '/proc/none/lake', 5],
  ])('one where the lake is %s', (_, place, status) => {
    const { stderr } = cli.expect(status, add(run, place()));
    expect(stderr).toMatch(/^mbforensics: error MBF300[69]: [^\n]+\n {2}[^\n]+\n$/);
  });

  it('one where the disk is full, and nothing is left', () => {
    const lake = fresh();
    cli.expect(0, add(run, lake));
    const before = filesOf(lake);
    const db = join(root, 'full.duckdb');
    cli.expect(0, ['ingest', later, '--db', db]);
    const limited = spawnSync(
      'sh',
      [
        '-c',
        `trap '' XFSZ; ulimit -f 2; exec "$@"`,
        'sh',
        process.execPath,
        cli.script,
        ...add('night-shift', lake, '--db', db),
      ],
      { encoding: 'utf8', env: environment() },
    );
    expect(limited.stderr).toMatch(/^mbforensics: error MBF3006: [^\n]+\n {2}[^\n]+\n$/);
    expect(limited.stderr).not.toContain('.mbforensics-');
    expect(limited.status).toBe(5);
    expect(filesOf(lake)).toEqual(before);
  });
});

it('a file that cannot be read is named, and the exit code is 4', () => {
  const [snapshot = ''] = readdirSync(samplePath('capacity')).filter((name) => name.endsWith('.pickle.gz'));
  const file = join(root, 'cut.pickle.gz');
  writeFileSync(file, readFileSync(join(samplePath('capacity'), snapshot)).subarray(0, 5000));
  const { stderr } = cli.expect(4, ['lake', 'add', file, '--to', fresh(), '-q']);
  expect(stderr).toMatch(/MBF\d{4} cut\.pickle\.gz: /);
});
