import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Discovery, discover, NOT_FOLLOWED } from '../../src/ingest/discover.js';
import { SKIP_RULES, skipRuleFor } from '../../src/ingest/skip-rules.js';
import { scratchDirectory } from '../store/scratch.js';

let base: string;
beforeEach(() => {
  base = realpathSync(scratchDirectory());
});

function put(path: string, content = 'x'): string {
  const full = join(base, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
  return full;
}

/** A link of this content. */
function link(path: string, to: string): void {
  const full = join(base, path);
  mkdirSync(dirname(full), { recursive: true });
  symlinkSync(to, full);
}

const walk = (...paths: string[]): Promise<Discovery> => discover(paths.map((path) => join(base, path)));
function names(discovered: Discovery): string[] {
  return discovered.candidates.map((candidate) => candidate.displayPath);
}

function skips(discovered: Discovery): Record<string, number> {
  return Object.fromEntries(discovered.skipped.map((group) => [group.rule, group.count]));
}

describe('a directory', () => {
  it('is walked in a fixed order, with paths relative to the argument', async () => {
    for (const path of ['run/b.log', 'run/a/z.log', 'run/a.log', 'run/a/b/c.pickle']) put(path, 'four');
    const discovered = await walk('run');
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
    expect(await walk('run')).toEqual({ candidates: [], skipped: [], failed: [] });
  });

  it('sums up what it passes over, per rule, with examples', async () => {
    for (let i = 0; i < 20; i += 1) put(`run/ckpt/__${i}_0.distcp`);
    put('run/.git/HEAD');
    put('run/.cache');
    put('run/node_modules/x/a.log');
    put('run/train.log');
    const discovered = await walk('run');
    expect(names(discovered)).toEqual(['train.log']);
    expect(skips(discovered)).toEqual({ checkpoint: 20, hidden: 2, 'installed-packages': 1 });
    const shards = discovered.skipped.find((group) => group.rule === 'checkpoint');
    expect(shards?.examples).toEqual(['0', '10', '11'].map((n) => `ckpt/__${n}_0.distcp`));
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
      const discovered = await walk('run');
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
    link('run/a_latest', 'job_7');
    link('run/job_7/up', '..');
    link('run/loop', 'loop');
    link('run/dangling', 'nowhere');
    link('run/a.log', 'job_7/train.log');
    linkSync(join(base, 'run/job_7/train.log'), join(base, 'run/job_7/zz.log'));
    const discovered = await walk('run');
    expect(names(discovered)).toEqual(['job_7/train.log']);
    expect(skips(discovered)).toEqual({ duplicate: 3, 'outward-link': 1, 'broken-link': 2 });
  });

  it('to files and directories elsewhere are followed when asked, but not to one that contains the argument', async () => {
    put('scratch/logs/a.log');
    put('scratch/one.log');
    put('scratch/weights.pt');
    mkdirSync(join(base, 'run'));
    link('run/logs', join(base, 'scratch/logs'));
    link('run/one', join(base, 'scratch/one.log'));
    link('run/latest', join(base, 'scratch/weights.pt'));
    link('run/root', '/');
    const discovered = await discover([join(base, 'run')], { followLinks: true });
    expect(discovered.candidates.map(({ path, displayPath }) => [displayPath, path])).toEqual([
      ['logs/a.log', join(base, 'scratch/logs/a.log')],
      ['one', join(base, 'scratch/one.log')],
    ]);
    expect(skips(discovered)).toEqual({ checkpoint: 1, 'outward-link': 1 });
    const cautious = await walk('run', 'run/one');
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
    link('run/a/b', '../b');
    link('run/b/a', '../a');
    expect(names(await walk('run'))).toEqual(['a/x.log', 'b/y.log']);
  });

  it('given as the argument are resolved', async () => {
    const file = put('data/s.pickle');
    link('link.pickle', file);
    const discovered = await walk('link.pickle');
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
    expect(names(await walk('.run'))).toEqual(['a.log']);
  });

  it('stay separate runs, even if they overlap', async () => {
    const file = put('run/a.log');
    const discovered = await walk('run', 'run/a.log');
    expect(discovered.candidates.map(({ root, isNamed }) => [root, isNamed])).toEqual([
      [join(base, 'run'), false],
      [file, true],
    ]);
  });

  it('that do not exist are a usage error', async () => {
    const file = put('a.log');
    await expect(walk('absent')).rejects.toMatchObject({ code: 'MBF1003', kind: 'usage' });
    await expect(discover([join(file, 'below')])).rejects.toMatchObject({ code: 'MBF1003' });
  });
});

describe.skipIf(process.platform === 'win32')('a pipe', () => {
  it('is passed over in a walk and refused as an argument, never opened', async () => {
    put('run/a.log');
    execFileSync('mkfifo', [join(base, 'run/fifo.log')]);
    const discovered = await walk('run');
    expect(names(discovered)).toEqual(['a.log']);
    expect(skips(discovered)).toEqual({ special: 1 });
    await expect(walk('run/fifo.log')).rejects.toMatchObject({ code: 'MBF1003' });
  });
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
