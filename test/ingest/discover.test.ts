import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type DiscoverOptions, type Discovery, discover, NOT_FOLLOWED } from '../../src/ingest/discover/discover.js';
import { SKIP_RULES, skipRuleFor } from '../../src/ingest/discover/skip-rules.js';
import { scratchDirectory } from '../store/scratch.js';

let base: string;
const at = (path: string): string => join(base, path);

beforeEach(() => {
  base = realpathSync(scratchDirectory());
});

/** `path` is a file, `path/` a directory, `path>target` a symbolic link, `path=other` a hard link. */
function make(tree: string, content = 'x'): void {
  for (const entry of tree.split(' ')) {
    const [, path = '', kind, target = ''] = /^([^>=]*)(?:([>=])(.*))?$/.exec(entry)!;
    mkdirSync(path.endsWith('/') ? at(path) : dirname(at(path)), { recursive: true });
    if (kind === '>') symlinkSync(target.replace('BASE', base), at(path));
    else if (kind === '=') linkSync(at(target), at(path));
    else if (!path.endsWith('/')) writeFileSync(at(path), content);
  }
}

const walk = (paths: string, options: DiscoverOptions = {}): Promise<Discovery> =>
  discover(paths.split(' ').map(at), options);
const names = ({ candidates }: Discovery): string => candidates.map(({ displayPath }) => displayPath).join(' ');
/** `rule count` of what was passed over. */
const skips = ({ skipped }: Discovery): string => skipped.map(({ rule, count }) => `${rule} ${count}`).join(', ');

describe('what is found', () => {
  const SHARDS = Array.from({ length: 20 }, (_, i) => `run/ckpt/__${i}_0.distcp`).join(' ');

  it.each([
    [
      'in a fixed order',
      'run/b.log run/a/z.log run/a.log run/a/b/c.pickle',
      'run',
      'a.log a/b/c.pickle a/z.log b.log',
      '',
    ],
    ['in an empty directory', 'run/', 'run', '', ''],
    [
      'besides what is passed over by rule',
      `${SHARDS} run/.git/HEAD run/.cache run/node_modules/x/a.log run/train.log`,
      'run',
      'train.log',
      'checkpoint 20, hidden 2, installed-packages 1',
    ],
    [
      'through links: no loop, no file twice, and real names win',
      'run/job_7/train.log run/a_latest>job_7 run/job_7/up>.. run/loop>loop run/dangling>nowhere ' +
        'run/a.log>job_7/train.log run/job_7/zz.log=run/job_7/train.log',
      'run',
      'job_7/train.log',
      'broken-link 2, duplicate 3, outward-link 1',
    ],
    [
      'in two directories that link to each other',
      'run/a/x.log run/b/y.log run/a/b>../b run/b/a>../a',
      'run',
      'a/x.log b/y.log',
      'duplicate 2',
    ],
    ['in a hidden directory that is named', '.run/a.log', '.run', 'a.log', ''],
    [
      'whatever their names, if they are named',
      '.hidden model.pt core.123 a.duckdb',
      '.hidden model.pt core.123 a.duckdb',
      '.hidden model.pt core.123 a.duckdb',
      '',
    ],
  ])('%s', async (_, tree, paths, found, passed) => {
    make(tree);
    const discovered = await walk(paths);
    expect(names(discovered)).toBe(found);
    expect(skips(discovered).split(', ').sort().join(', ')).toBe(passed);
    expect(discovered.failed).toEqual([]);
    for (const { why } of discovered.skipped) expect(why).not.toBe('');
  });

  it('has its path, its argument, its size and its time', async () => {
    make('run/b.log run/a/b/c.pickle', 'four');
    const [first] = (await walk('run')).candidates;
    expect(first).toMatchObject({ path: at('run/a/b/c.pickle'), root: at('run'), isNamed: false, sizeBytes: 4 });
    expect(first?.mtimeMs).toBeCloseTo(statSync(at('run/a/b/c.pickle')).mtimeMs, 2);
  });

  it('is summed up with examples where it is passed over', async () => {
    make(SHARDS);
    const [shards] = (await walk('run')).skipped;
    expect(shards?.examples).toEqual(['0', '10', '11'].map((n) => `ckpt/__${n}_0.distcp`));
  });

  it('leaves out the store being written', async () => {
    make('run/train.log run/results.db');
    const discovered = await walk('run', { exclude: [at('run/results.db')] });
    expect([names(discovered), skips(discovered)]).toEqual(['train.log', 'excluded 1']);
  });

  it('is reported, not fatal, if a directory cannot be listed', async () => {
    make('run/train.log run/locked/a.log');
    chmodSync(at('run/locked'), 0);
    try {
      const discovered = await walk('run');
      const failed = discovered.failed.map((entry) => [entry.displayPath, entry.error.code]);
      // The superuser may list anything.
      const isRoot = process.getuid?.() === 0;
      expect(names(discovered)).toBe(isRoot ? 'locked/a.log train.log' : 'train.log');
      expect(failed).toEqual(isRoot ? [] : [['locked', 'MBF2007']]);
    } finally {
      chmodSync(at('run/locked'), 0o700);
    }
  });
});

describe('links', () => {
  it('to files and directories elsewhere are followed when asked, but not to one that contains the argument', async () => {
    make('scratch/logs/a.log scratch/one.log scratch/weights.pt run/ run/root>/');
    make('run/logs>BASE/scratch/logs run/one>BASE/scratch/one.log run/latest>BASE/scratch/weights.pt');
    const discovered = await walk('run', { followLinks: true });
    expect(discovered.candidates.map(({ path, displayPath }) => [displayPath, path])).toEqual([
      ['logs/a.log', at('scratch/logs/a.log')],
      ['one', at('scratch/one.log')],
    ]);
    expect(skips(discovered).split(', ').sort()).toEqual(['checkpoint 1', 'outward-link 1']);
    const cautious = await walk('run run/one');
    // An argument may be a link.
    expect(cautious.candidates.map(({ path }) => path)).toEqual([at('scratch/one.log')]);
    expect(skips(cautious).split(', ').sort()).toEqual(['checkpoint 1', 'not-followed 2', 'outward-link 1']);
    expect(cautious.skipped.find(({ rule }) => rule === NOT_FOLLOWED)?.examples).toEqual([
      `logs -> ${at('scratch/logs')}`,
      `one -> ${at('scratch/one.log')}`,
    ]);
  });

  it('given as the argument are resolved', async () => {
    make('data/s.pickle link.pickle>data/s.pickle');
    const [named] = (await walk('link.pickle')).candidates;
    expect(named).toMatchObject({ path: at('data/s.pickle'), displayPath: 'link.pickle', isNamed: true });
  });
});

describe('arguments', () => {
  it('stay separate runs, even if they overlap', async () => {
    make('run/a.log');
    expect((await walk('run run/a.log')).candidates.map(({ root, isNamed }) => [root, isNamed])).toEqual([
      [at('run'), false],
      [at('run/a.log'), true],
    ]);
  });

  it('that do not exist are a usage error', async () => {
    make('a.log');
    await expect(walk('absent')).rejects.toMatchObject({ code: 'MBF1003', kind: 'usage' });
    await expect(walk('a.log/below')).rejects.toMatchObject({ code: 'MBF1003' });
  });

  it.skipIf(process.platform === 'win32')(
    'a pipe is passed over in a walk and refused as an argument, never opened',
    async () => {
      make('run/a.log');
      execFileSync('mkfifo', [at('run/fifo.log')]);
      const discovered = await walk('run');
      expect([names(discovered), skips(discovered)]).toEqual(['a.log', 'special 1']);
      await expect(walk('run/fifo.log')).rejects.toMatchObject({ code: 'MBF1003' });
    },
  );
});

describe('skip rules', () => {
  const skipped: readonly (readonly [rule: string, names: string])[] = [
    ['store', 'mbforensics.duckdb mbforensics.duckdb.wal'],
    ['hidden', '.env'],
    ['checkpoint', '__0_1.distcp model_optim_rng.pt best.pth last.ckpt model-00001-of-00002.safetensors'],
    ['dataset', 'text_document.bin text_document.idx'],
    ['core-dump', 'core core.12345 core.python.1000.ab12.7.1772359323'],
    ['archive', 'logs.tar.gz'],
    ['media', 'loss.png'],
    ['program', 'pretrain_gpt.py libnccl.so.2'],
    ['documentation', 'README.md'],
  ];
  it('name what they are for', () => {
    for (const [rule, names] of skipped)
      for (const name of names.split(' ')) expect([name, skipRuleFor(name, 'file')?.id]).toEqual([name, rule]);
    const tested = new Set(skipped.map(([rule]) => rule));
    const untested = SKIP_RULES.filter((rule) => rule.on !== 'directory' && !tested.has(rule.id));
    expect(untested).toEqual([]);
  });

  it('spare whatever may be an input', () => {
    const spared = [
      'snapshot_0.pickle oom.pkl train.log train.log.gz stdout rank.3 slurm-1.out profile.sqlite a.nsys-rep snap.json',
      'page.html train.log.1 core_analysis.log core.log launch.sh config.yaml',
    ].flatMap((names) => names.split(' '));
    for (const name of spared) expect([name, skipRuleFor(name, 'file')?.id]).toEqual([name, undefined]);
    for (const name of ['checkpoints.pt', 'wandb', 'core', 'logs']) {
      expect([name, skipRuleFor(name, 'directory')?.id]).toEqual([name, undefined]);
    }
  });
});
