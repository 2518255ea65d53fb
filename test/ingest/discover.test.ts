import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Discovery, discover, NOT_FOLLOWED } from '../../src/ingest/discover.js';
import { SKIP_RULES, skipRuleFor } from '../../src/ingest/skip-rules.js';

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'mbf-discover-')));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, content = 'x'): string {
  const full = join(base, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
  return full;
}

function names(discovered: Discovery): string[] {
  return discovered.candidates.map((candidate) => candidate.displayPath);
}

function skips(discovered: Discovery): Record<string, number> {
  return Object.fromEntries(discovered.skipped.map((group) => [group.rule, group.count]));
}

describe('a directory', () => {
  it('is walked in a fixed order, with paths relative to the argument', async () => {
    for (const path of ['run/b.log', 'run/a/z.log', 'run/a.log', 'run/a/b/c.pickle']) put(path, 'four');
    const discovered = await discover([join(base, 'run')]);
    expect(names(discovered)).toEqual(['a.log', 'a/b/c.pickle', 'a/z.log', 'b.log']);
    expect(discovered.candidates[1]).toMatchObject({
      path: join(base, 'run/a/b/c.pickle'),
      root: join(base, 'run'),
      isNamed: false,
      sizeBytes: 4,
    });
    expect(discovered.candidates[1]?.mtimeMs).toBeCloseTo(statSync(join(base, 'run/a/b/c.pickle')).mtimeMs, 2);
    expect(discovered.skipped).toEqual([]);
    expect(discovered.failed).toEqual([]);
  });

  it('may hold nothing', async () => {
    mkdirSync(join(base, 'run'));
    expect(await discover([join(base, 'run')])).toEqual({ candidates: [], skipped: [], failed: [] });
  });

  it('sums up what it passes over, per rule, with examples', async () => {
    for (let i = 0; i < 20; i += 1) put(`run/ckpt/__${i}_0.distcp`);
    put('run/.git/HEAD');
    put('run/.cache');
    put('run/node_modules/x/a.log');
    put('run/train.log');
    const discovered = await discover([join(base, 'run')]);
    expect(names(discovered)).toEqual(['train.log']);
    expect(skips(discovered)).toEqual({ checkpoint: 20, hidden: 2, 'installed-packages': 1 });
    const shards = discovered.skipped.find((group) => group.rule === 'checkpoint');
    expect(shards?.examples).toEqual(['ckpt/__0_0.distcp', 'ckpt/__10_0.distcp', 'ckpt/__11_0.distcp']);
    expect(shards?.why).not.toBe('');
  });

  it('leaves out the store being written', async () => {
    put('run/train.log');
    const store = put('run/results.db');
    const discovered = await discover([join(base, 'run')], { exclude: [store] });
    expect(names(discovered)).toEqual(['train.log']);
    expect(skips(discovered)).toEqual({ excluded: 1 });
  });

  it('is reported, not fatal, if it cannot be listed', async () => {
    put('run/train.log');
    put('run/locked/a.log');
    chmodSync(join(base, 'run/locked'), 0);
    try {
      const discovered = await discover([join(base, 'run')]);
      // The superuser may list anything.
      const isRoot = process.getuid?.() === 0;
      expect(names(discovered)).toEqual(isRoot ? ['locked/a.log', 'train.log'] : ['train.log']);
      expect(discovered.failed.map((entry) => [entry.displayPath, entry.error.code])).toEqual(
        isRoot ? [] : [['locked', 'MBF2007']],
      );
    } finally {
      chmodSync(join(base, 'run/locked'), 0o700);
    }
  });
});

describe('links', () => {
  it('neither loop nor return a file twice, and real names win', async () => {
    put('run/job_7/train.log');
    symlinkSync('job_7', join(base, 'run/a_latest'));
    symlinkSync('..', join(base, 'run/job_7/up'));
    symlinkSync('loop', join(base, 'run/loop'));
    symlinkSync('nowhere', join(base, 'run/dangling'));
    symlinkSync('job_7/train.log', join(base, 'run/a.log'));
    linkSync(join(base, 'run/job_7/train.log'), join(base, 'run/job_7/zz.log'));
    const discovered = await discover([join(base, 'run')]);
    expect(names(discovered)).toEqual(['job_7/train.log']);
    expect(skips(discovered)).toEqual({ duplicate: 3, 'outward-link': 1, 'broken-link': 2 });
  });

  it('to files and directories elsewhere are followed when asked, but not to one that contains the argument', async () => {
    put('scratch/logs/a.log');
    put('scratch/one.log');
    put('scratch/weights.pt');
    mkdirSync(join(base, 'run'));
    symlinkSync(join(base, 'scratch/logs'), join(base, 'run/logs'));
    symlinkSync(join(base, 'scratch/one.log'), join(base, 'run/one'));
    symlinkSync(join(base, 'scratch/weights.pt'), join(base, 'run/latest'));
    symlinkSync('/', join(base, 'run/root'));
    const discovered = await discover([join(base, 'run')], { followLinks: true });
    expect(discovered.candidates.map(({ path, displayPath }) => [displayPath, path])).toEqual([
      ['logs/a.log', join(base, 'scratch/logs/a.log')],
      ['one', join(base, 'scratch/one.log')],
    ]);
    expect(skips(discovered)).toEqual({ checkpoint: 1, 'outward-link': 1 });
    const cautious = await discover([join(base, 'run'), join(base, 'run/one')]);
    // An argument may be a link.
    expect(cautious.candidates.map(({ path }) => path)).toEqual([join(base, 'scratch/one.log')]);
    expect(skips(cautious)).toEqual({ checkpoint: 1, 'outward-link': 1, 'not-followed': 2 });
    expect(cautious.skipped.find(({ rule }) => rule === NOT_FOLLOWED)?.examples).toEqual([
      `logs -> ${join(base, 'scratch/logs')}`,
      `one -> ${join(base, 'scratch/one.log')}`,
    ]);
  });

  it('two directories that link to each other end', async () => {
    put('run/a/x.log');
    put('run/b/y.log');
    symlinkSync('../b', join(base, 'run/a/b'));
    symlinkSync('../a', join(base, 'run/b/a'));
    expect(names(await discover([join(base, 'run')]))).toEqual(['a/x.log', 'b/y.log']);
  });

  it('given as the argument are resolved', async () => {
    const file = put('data/s.pickle');
    symlinkSync(file, join(base, 'link.pickle'));
    const discovered = await discover([join(base, 'link.pickle')]);
    expect(discovered.candidates[0]).toMatchObject({ path: file, displayPath: 'link.pickle', isNamed: true });
  });
});

describe('arguments', () => {
  it('that are files are never judged by name', async () => {
    const paths = ['.hidden', 'model.pt', 'core.123', 'a.duckdb'].map((path) => put(path));
    const discovered = await discover(paths);
    expect(discovered.candidates.map((candidate) => candidate.path)).toEqual(paths);
    expect(discovered.candidates.every((candidate) => candidate.isNamed)).toBe(true);
  });

  it('that are hidden directories are walked', async () => {
    put('.run/a.log');
    expect(names(await discover([join(base, '.run')]))).toEqual(['a.log']);
  });

  it('stay separate runs, even if they overlap', async () => {
    const file = put('run/a.log');
    const discovered = await discover([join(base, 'run'), file]);
    expect(discovered.candidates.map(({ root, isNamed }) => [root, isNamed])).toEqual([
      [join(base, 'run'), false],
      [file, true],
    ]);
  });

  it('that do not exist are a usage error', async () => {
    const file = put('a.log');
    await expect(discover([join(base, 'absent')])).rejects.toMatchObject({ code: 'MBF1003', kind: 'usage' });
    await expect(discover([join(file, 'below')])).rejects.toMatchObject({ code: 'MBF1003' });
  });
});

describe.skipIf(process.platform === 'win32')('a pipe', () => {
  it('is passed over in a walk and refused as an argument, never opened', async () => {
    put('run/a.log');
    execFileSync('mkfifo', [join(base, 'run/fifo.log')]);
    const discovered = await discover([join(base, 'run')]);
    expect(names(discovered)).toEqual(['a.log']);
    expect(skips(discovered)).toEqual({ special: 1 });
    await expect(discover([join(base, 'run/fifo.log')])).rejects.toMatchObject({ code: 'MBF1003' });
  });
});

describe('skip rules', () => {
  const skipped: readonly (readonly [string, string])[] = [
    ['mbforensics.duckdb', 'store'],
    ['mbforensics.duckdb.wal', 'store'],
    ['.env', 'hidden'],
    ['__0_1.distcp', 'checkpoint'],
    ['model_optim_rng.pt', 'checkpoint'],
    ['best.pth', 'checkpoint'],
    ['last.ckpt', 'checkpoint'],
    ['model-00001-of-00002.safetensors', 'checkpoint'],
    ['text_document.bin', 'dataset'],
    ['text_document.idx', 'dataset'],
    ['core', 'core-dump'],
    ['core.12345', 'core-dump'],
    ['core.python.1000.ab12.7.1772359323', 'core-dump'],
    ['logs.tar.gz', 'archive'],
    ['loss.png', 'media'],
    ['pretrain_gpt.py', 'program'],
    ['libnccl.so.2', 'program'],
    ['README.md', 'documentation'],
  ];
  it('name what they are for', () => {
    for (const [name, rule] of skipped) expect([name, skipRuleFor(name, 'file')?.id]).toEqual([name, rule]);
    const tested = new Set(skipped.map(([, rule]) => rule));
    const untested = SKIP_RULES.filter((rule) => rule.on !== 'directory' && !tested.has(rule.id));
    expect(untested).toEqual([]);
  });

  it('spare whatever may be an input', () => {
    const spared = [
      'snapshot_0.pickle',
      'oom.pkl',
      'train.log',
      'train.log.gz',
      'stdout',
      'rank.3',
      'slurm-1.out',
      'profile.sqlite',
      'a.nsys-rep',
      'snap.json',
      'page.html',
      'train.log.1',
      'core_analysis.log',
      'core.log',
      'launch.sh',
      'config.yaml',
    ];
    for (const name of spared) expect([name, skipRuleFor(name, 'file')?.id]).toEqual([name, undefined]);
    for (const name of ['checkpoints.pt', 'wandb', 'core', 'logs']) {
      expect([name, skipRuleFor(name, 'directory')?.id]).toEqual([name, undefined]);
    }
  });
});
