/** `history` as scripts see it: a real store of generated runs, a real repository, exit codes, JSON and text. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import { HISTORY_METRIC_NAMES, type HistoryResult } from '../../src/model/results/history.js';
import { repositoryAt } from '../git/repositories.js';
import { asker, expectFits } from '../support/ask.js';
import { samplePath } from '../support/stores.js';

const GIB = 1024 ** 3;

interface Story {
  /** Peak of the rank that holds most. */
  readonly gib: number;
  readonly ms?: number;
  readonly steps?: number;
  readonly end?: string;
}

const FINISHED = '[after training is done] datetime: 2025-11-18 09:20:00 ';
const OOM =
  '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 80.00 GiB of which 1.00 GiB is free. Process 4711 has 79.00 GiB memory in use. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.';
const BROKEN =
  '[rank0]:[W1118 09:20:01.000000000 TCPStore.cpp:115] [c10d] recvVector failed on SocketImpl(fd=3): Connection reset by peer';

const iteration = (i: number, ms: number): string =>
  ` [2025-11-18 09:12:${String(i).padStart(2, '0')}] iteration ${String(i).padStart(8)}/      10 | consumed samples: ${String(i * 32).padStart(12)} | elapsed time per iteration (ms): ${ms.toFixed(1)} | throughput per GPU (TFLOP/s/GPU): ${(40_000 / ms).toFixed(1)} | learning rate: 6.000000E-06 | global batch size:    32 | lm loss: ${(11 - i / 10).toFixed(6)}E+00 | loss scale: 1.0 | grad norm: 2.000 | number of skipped iterations:   0 | number of nan iterations:   0 |`;
const memory = (rank: number, gib: number): string =>
  `[Rank ${rank}] (after 2 iterations) memory (MB) | allocated: ${(gib * 600).toFixed(2)} | max allocated: ${(gib * 1024).toFixed(2)} | reserved: ${(gib * 1030).toFixed(2)} | max reserved: ${(gib * 1040).toFixed(2)}`;

/** A Megatron log of two ranks; the first step is slow, as in life. */
function log({ gib, ms = 100, steps = 10, end = FINISHED }: Story): string {
  const lines = ['using world size: 2, data-parallel size: 1, tensor-model-parallel size: 1'];
  for (let i = 1; i <= steps; i += 1) {
    lines.push(iteration(i, i === 1 ? 90 * ms : ms + (i % 3)));
    if (i === 2) lines.push(memory(0, 0.9 * gib), memory(1, gib));
  }
  return [...lines, end, ''].join('\n');
}

/**
 * By commit of the repository; commit 6 was not measured, 3 was measured twice, 5 and 9 failed. The 7th brought 4.7
 * GiB.
 */
const STORIES: readonly (readonly [name: string, commit: number, story: Story])[] = [
  ['r0', 0, { gib: 55.1 }],
  ['r1', 1, { gib: 55.11 }],
  ['r2', 2, { gib: 55.09, ms: 101 }],
  ['r3', 3, { gib: 55.1 }],
  ['r4', 4, { gib: 55.12, end: [FINISHED, BROKEN].join('\n') }],
  ['r5', 5, { gib: 41, steps: 3, end: OOM }],
  ['r7', 7, { gib: 59.8 }],
  ['r8', 8, { gib: 59.81, ms: 100.5 }],
  ['r9', 9, { gib: 58, end: OOM }],
  ['r10', 10, { gib: 59.8 }],
  ['r11', 11, { gib: 59.79 }],
  ['r3-again', 3, { gib: 55.14 }],
];

const { cli, cwd: root, options, ends, mbf, text, json, refuse, put } = asker();
const db = ['--db', 'store.duckdb'];
const checkout = join(root, 'checkout');
let shas: string[] = [];

beforeAll(() => {
  const repository = repositoryAt(checkout);
  shas = Array.from({ length: 13 }, (_, i) => repository.commit(`commit ${i}`, { n: `${i}` }));
  // Nights are not run in the order of commits.
  const order = [3, 0, 8, 1, 2, 4, 5, 10, 6, 9, 7, 11];
  for (const [k, i] of order.entries()) {
    const [name, commit, story] = STORIES[i]!;
    put(`runs/${name}/train.log`, log(story));
    const id = k % 2 === 0 ? shas[commit]! : shas[commit]!.slice(0, 8);
    const label = commit < 6 ? 'old' : 'new';
    mbf('ingest', `runs/${name}`, '--commit', id, '--label', label, ...db, '-q');
  }
});

const ask = (...args: string[]) => json<HistoryResult>('history', ...args, ...db);

describe('history', () => {
  it('has help with examples, and needs a store and metrics it knows', () => {
    const stdout = text('history', '--help');
    expect(stdout.split('\nExamples:\n')[1]!.trim().split('\n').length).toBeGreaterThanOrEqual(3);
    for (const metric of HISTORY_METRIC_NAMES) expect(stdout).toContain(metric);
    for (const args of [
      ['--metric', 'speed'],
      ['--by', 'night'],
      ['--min-change', '2'],
      ['--min-change', 'much'],
      ['--limit', 'all'],
    ])
      expect(refuse(2, 'history', ...args, ...db), args.join(' ')).toContain('MBF1001');
    expect(refuse(2, 'history', '--from', 'nowhere', ...db)).toContain('MBF1002');
    expect(refuse(2, 'history', '--repo', root, ...db)).toContain('MBF1008');
  });

  it.each(HISTORY_METRIC_NAMES)('of %s is a screen of text', (metric) => {
    const { stdout, stderr } = mbf('history', '--metric', metric, '--repo', checkout, ...db);
    expect(stderr).toBe('');
    expectFits(stdout);
  });

  it('finds the commit in the order of the repository', () => {
    const result = ask('--repo', checkout);
    expect(result).toMatchObject({
      schema: 'mbforensics/history@1',
      metric: 'peak_allocated_bytes',
      unit: 'bytes',
      by: 'commit',
      order: 'repository',
    });
    expect(result.points.map(({ commit }) => shas.indexOf(commit!))).toEqual([0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]);
    expect(result.points[3]).toMatchObject({ names: ['r3', 'r3-again'], runs: 2, label: 'old', ending: 'ok' });
    expect(result.points[3]!.low / GIB).toBeCloseTo(55.1, 4);
    expect(result.points[3]!.high / GIB).toBeCloseTo(55.14, 4);
    expect(result.points[3]!.value / GIB).toBeCloseTo(55.12, 4);
    // A connection that breaks after the end is not a failure; the peak of a failed run is at least the printed one.
    expect(result.points[4]).toMatchObject({ ending: 'ok', is_lower_bound: false });
    expect(result.points[5]).toMatchObject({ value: 41 * GIB, ending: 'oom', is_lower_bound: true });
    expect(result.change_points.length).toBe(1);
    const [change] = result.change_points;
    expect(change).toMatchObject({ index: 6, commit: shas[7], run: 'r7', previous_commit: shas[4], is_worse: true });
    // Commit 5 failed too early to judge, commit 6 lacks a run.
    expect(change!.between).toBe(2);
    expect(change!.before / GIB).toBeCloseTo(55.1, 1);
    expect(change!.after / GIB).toBeCloseTo(59.8, 1);
    expect(change!.relative).toBeCloseTo(0.085, 3);
    expect(change!.z).toBeGreaterThan(20);
    expect(result.left_out).toEqual([]);
  });

  it('draws it', () => {
    const stdout = text('history', '--repo', checkout, ...db, '--limit', '4');
    expect(stdout).toMatch(/^peak allocated memory by commit · 11 commits, 12 runs · 2 died \(2 out of memory\)/);
    expect(stdout).toMatch(
      new RegExp(
        `\\n${shas[7]!.slice(0, 7)} +r7 +55\\.1\\d GiB +59\\.\\d\\d GiB +\\+4\\.\\d\\d GiB +\\+8\\.\\d % +over 99 σ +worse\\n +after 2 commits not measured\\n`,
      ),
    );
    expect(stdout).toMatch(/^ {3}GiB\n/m);
    expect(stdout).toContain('█');
    expect(stdout).toContain('▒');
    expect(stdout).toMatch(/^change +▲$/m);
    expect(stdout).toMatch(/^ {2}died +× +×$/m);
    expect(stdout).toContain('7 earlier points not listed; --limit 0 lists all');
    expect(stdout).toMatch(/≥ 58\.00 GiB .*out of memory/);
    const ascii = { ...options, env: { LC_ALL: 'C' } };
    const all = cli.expect(0, ['history', ...db, '--limit', '0'], ascii).stdout;
    expect(all).toMatch(/^[\n\u0020-\u007e]*$/);
    expect(all).not.toContain('not listed');
  });

  it('without a repository keeps the order of ingestion, with a note', () => {
    const result = ask();
    expect(result).toMatchObject({ by: 'commit', order: 'ingestion' });
    // Of two spellings the longer one counts.
    expect(result.points[0]).toMatchObject({ run: 'r3-again', commit: shas[3], runs: 2 });
    expect(result.points.length).toBe(11);
    expect(result.notes.join()).toContain('--repo');
    expect(ask('--by', 'run').points.length).toBe(12);
  });

  it('exits 1 if the last change is for the worse', () => {
    const gate = ['history', '--repo', checkout, ...db];
    ends(1, ...gate, '--exit-code');
    for (const more of [
      ['--metric', 'step_ms'],
      ['--min-change', '20%'],
      ['--from', 'HEAD~6'],
    ])
      mbf(...gate, '--exit-code', ...more);
    mbf(...gate);
  });

  it('takes a part of the runs', () => {
    const labelled = ask('--label', 'new', '--repo', checkout).points.map(({ run }) => run);
    expect(labelled.join(' ')).toBe('r7 r8 r9 r10 r11');
    const part = ask('--repo', checkout, '--from', shas[6]!.slice(0, 7), '--to', shas[9]!);
    expect(part.points.map(({ run }) => run)).toEqual(['r7', 'r8', 'r9']);
    expect(ask('--by', 'run', '--from', 'r8', '--to', 'r8').points.length).toBe(1);
  });

  it('leaves out only the pace of a run that failed at once', () => {
    const steps = ask('--metric', 'step_ms', '--repo', checkout);
    expect(steps.left_out).toMatchObject([{ run: 'r5', reason: expect.stringMatching(/2 steps/) }]);
    expect(steps.points.find(({ run }) => run === 'r9')).toMatchObject({ ending: 'oom', is_lower_bound: false });
    // Without the first line: 102, 100, 101, … of ms 100.
    expect(steps.points[0]!.value).toBe(101);
    expect(steps.change_points).toEqual([]);
    expect(ask('--metric', 'ooms', '--repo', checkout).points.map(({ value }) => value)).toEqual([
      0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0,
    ]);
    const loss = ask('--metric', 'loss', '--repo', checkout);
    expect(loss.points[0]!.value).toBe(10);
    expect(loss.left_out.map(({ run }) => run).sort()).toEqual(['r5', 'r9']);
    expect(ask('--metric', 'alloc_retries').left_out.length).toBe(12);
  });
});

describe('history of odd stores', () => {
  it('knows the last launch of a run, and lines that occur in two files', () => {
    const failed = log({ gib: 70, steps: 6, end: OOM });
    // A restart begins where the counter goes back.
    put('odd/restarted/train.log', `${failed}${log({ gib: 60, ms: 200 })}`);
    for (const name of ['node-0', 'all']) put(`odd/copied/${name}.log`, failed);
    put('odd/silent/train.log', 'using world size: 2, data-parallel size: 1, tensor-model-parallel size: 1\n');
    mbf('ingest', 'odd', '--each', '--db', 'odd.duckdb', '-q');
    const of = (metric: string) => json<HistoryResult>('history', '--metric', metric, '--db', 'odd.duckdb');
    const peaks = of('peak_allocated_bytes');
    expect(peaks.by).toBe('run');
    expect(peaks.points).toMatchObject([
      { run: 'copied', value: 70 * GIB, ending: 'oom', is_lower_bound: true },
      { run: 'restarted', value: 60 * GIB, ending: 'ok', is_lower_bound: false },
    ]);
    expect(peaks.left_out).toMatchObject([{ run: 'silent' }]);
    expect(of('ooms').points.map(({ run, value }) => [run, value])).toEqual([
      ['copied', 1],
      ['restarted', 1],
      ['silent', 0],
    ]);
    // Of six lines once each, the first left out: 102, 100, 101, 102, 100.
    expect(of('step_ms').points.map(({ value }) => value)).toEqual([101, 201]);
  });

  it('reads peaks off snapshots, exact from the first question on', () => {
    const sample = samplePath('leak/snapshot_oom_rank-0.pickle.gz');
    const { points } = json<HistoryResult>('history', sample, '--metric', 'peak_active_bytes');
    const peak = json<PeakResult>('peak', sample);
    expect(points).toMatchObject([
      { value: peak.snapshots[0]!.devices[0]!.active_bytes, approximate: false, is_lower_bound: true, ending: 'oom' },
    ]);
    const reserved = json<HistoryResult>('history', sample, '--metric', 'peak_reserved_bytes');
    expect(reserved.points[0]!.value).toBeGreaterThanOrEqual(points[0]!.value);
  });

  it('without points prints a note', () => {
    expect(text('history', '--label', 'nobody', '--exit-code', ...db)).toBe(
      'peak allocated memory by commit · 0 commits, 0 runs\n',
    );
  });

  it('needs git for --repo only', () => {
    const without = { ...options, env: { PATH: join(root, 'no-programs') } };
    cli.expect(0, ['history', ...db], without);
    const answer = cli.expect(2, ['history', ...db, '--repo', checkout], without);
    expect(answer.stderr).toMatch(/MBF1008.*git/);
  });
});
