/** `mbforensics diff` as a user runs it: on paths, handles, runs and commits, over one store and over several. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fit } from '../../samples/generate/causes/fit.js';
import { healthyFit } from '../../samples/generate/causes/healthy.js';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import { at } from '../../samples/generate/simulate/call-sites/sources.js';
import { createRandom, deriveSeed } from '../../samples/generate/simulate/random.js';
import { simulateAttempt, UnfitPlan } from '../../samples/generate/simulate/simulate-attempt.js';
import { PyText, type PyValue } from '../../samples/generate/write/pickle-writer.js';
import { runDirectory } from '../../samples/generate/write/run-directory.js';
import { snapshotPickle } from '../../samples/generate/write/snapshot-pickle.js';
import { listCandidates, wholeSteps } from '../../src/findings/diff/side.js';
import type { DiffSite } from '../../src/model/diff-parts.js';
import type { SnapshotDiff } from '../../src/model/results/diff.js';
import { MIB } from '../../src/model/units.js';
import { openStore } from '../../src/store/open-store.js';
import { goldenFile } from '../screens/golden-file.js';
import { asker } from '../support/ask.js';
import { type SmallBlock, smallSnapshot } from '../support/small-snapshot.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const block = (mib: number, ...stack: string[]): SmallBlock => ({ size: mib * MIB, stack });

describe('diff', () => {
  const { cli, cwd, options, mbf, refuse, text: screenOf, json: answer, put } = asker();
  const text = (...args: string[]) => screenOf('diff', ...args);
  const json = (...args: string[]) => answer<SnapshotDiff>('diff', ...args);

  const before = [
    [block(64, 'gemm.py:10', 'mlp.py:50', 'train.py:3'), block(32, 'gemm.py:10', 'attention.py:20', 'train.py:3')],
    [block(16, 'embedding.py:7', 'train.py:2'), block(8, 'old_cache.py:4', 'train.py:9')],
    [block(24, 'norm.py:5', 'train.py:3'), { size: 40 * MIB, state: 'inactive' } as const],
  ];
  const after = [
    [block(64, 'gemm.py:10', 'mlp.py:50', 'train.py:3'), block(64, 'gemm.py:10', 'mlp.py:50', 'train.py:3')],
    [block(32, 'gemm.py:10', 'attention.py:20', 'train.py:3'), block(16, 'embedding.py:9', 'train.py:2')],
    [block(24, 'norm.py:5', 'train.py:3'), block(20, 'new_cache.py:4', 'train.py:9')],
  ];

  beforeAll(() => {
    put('one/snapshot_0.pickle', smallSnapshot({ segments: before }));
    put('two/snapshot_0.pickle', smallSnapshot({ segments: after }));
    put('one/snapshot_3.pickle', smallSnapshot({ segments: before.slice(0, 1) }));
    put('two/snapshot_3.pickle', smallSnapshot({ segments: after.slice(0, 2) }));
    put('two/snapshot_7.pickle', smallSnapshot({ segments: after.slice(0, 1) }));
    mbf('ingest', 'one', '--db', 'runs.duckdb', '--commit', '1f3c9aa77');
    mbf('ingest', 'two', '--db', 'runs.duckdb', '--commit', '77d0e1b12');
  });

  it('answers with sites that add up to the total', () => {
    const result = json('one/snapshot_0.pickle', 'two/snapshot_0.pickle');
    expect(result).toMatchObject({
      schema: 'mbforensics/diff@1',
      total_delta_bytes: 76 * MIB,
      remainder_bytes: 0,
      reserved: {
        delta_bytes: 36 * MIB,
        allocated_delta_bytes: 76 * MIB,
        pending_delta_bytes: 0,
        inactive_delta_bytes: -40 * MIB,
      },
      a_info: { active_bytes: 144 * MIB, reserved_bytes: 184 * MIB, blocks: 5, segments: 3, has_trace: false, ooms: 0 },
      b_info: { active_bytes: 220 * MIB, reserved_bytes: 220 * MIB, blocks: 6 },
      settings: [],
      gate: null,
    });
    const short = ({ site, match, delta_bytes, delta_count }: DiffSite): unknown[] => [
      site,
      match,
      delta_bytes / MIB,
      delta_count,
    ];
    expect(result.sites.map(short)).toEqual([
      ['gemm gemm.py:10', 'exact', 64, 1],
      ['new_cache new_cache.py:4', 'only_b', 20, 1],
      ['old_cache old_cache.py:4', 'only_a', -8, -1],
    ]);
    expect(result.sites[0]).toMatchObject({
      sizes: [{ size_bytes: 64 * MIB, a_count: 1, b_count: 2 }],
      callers: [
        { caller: 'mlp mlp.py:50', delta_bytes: 64 * MIB },
        { caller: 'other callers', delta_bytes: 0 },
      ],
    });
  });

  it('prints what changed, and what it leaves out, so that the figures add up', async () => {
    await expect(text('one/snapshot_0.pickle', 'two/snapshot_0.pickle')).toMatchFileSnapshot(
      goldenFile('diff-sites.txt'),
    );
    await expect(text('one/snapshot_0.pickle', 'two/snapshot_0.pickle', '--limit', '1')).toMatchFileSnapshot(
      goldenFile('diff-sites-limit-1.txt'),
    );
    const limited = json('one/snapshot_0.pickle', 'two/snapshot_0.pickle', '--min', '10MiB');
    expect(limited.sites.map((site) => site.delta_bytes / MIB)).toEqual([64, 20]);
    expect(limited.remainder).toMatchObject({ sites: 3, changed: 1, grown_bytes: 0, shrunk_bytes: -8 * MIB });
    expect(sum(limited.sites.map((site) => site.delta_bytes)) + limited.remainder_bytes).toBe(
      limited.total_delta_bytes,
    );
  });

  it('takes paths, runs, commits and handles, of one store or of two', () => {
    const expected = json('one/snapshot_0.pickle', 'two/snapshot_0.pickle').sites;
    const db = ['--db', 'runs.duckdb'];
    for (const [a, b] of [
      ['run:one', 'run:two'],
      ['commit:1f3c9aa', '77d0e1b'],
      ['one/0/snapshot#1', 'snapshot:two/0/snapshot#1'],
      ['one/snapshot_0.pickle', 'run:two'],
      ['run:one', 'path:two/snapshot_0.pickle'],
      ['one', 'two'],
    ]) {
      expect(json(a!, b!, ...db).sites, `${a} ${b}`).toEqual(expected);
    }
  });

  it('compares the same ranks of runs', () => {
    const first = json('one', 'two', '--all-ranks');
    expect(first).toMatchObject({ a: 'one/0/snapshot#1', b: 'two/0/snapshot#1' });
    expect(first.ranks).toMatchObject([
      { rank: 0, delta_active_bytes: 76 * MIB, delta_reserved_bytes: 36 * MIB },
      { rank: 3, delta_active_bytes: 80 * MIB, delta_reserved_bytes: 80 * MIB },
    ]);
    expect(json('one', 'two', '--rank', '3')).toMatchObject({ total_delta_bytes: 80 * MIB, ranks: [] });
    expect(refuse(2, 'diff', 'one', 'two', '--rank', '7')).toContain('a has 0, 3, b has 0, 3, 7');
  });

  it('is a gate only when asked', () => {
    const pair = ['one/snapshot_0.pickle', 'two/snapshot_0.pickle'];
    const code = (...args: string[]): number | null => cli.run(['diff', ...args], options).status;
    expect(code(...pair, '--max-growth', '1MiB')).toBe(0);
    expect(code(...pair, '--exit-code')).toBe(1);
    expect(code(...pair.toReversed(), '--exit-code')).toBe(0);
    expect(code(...pair, '--exit-code', '--max-growth', '76MiB')).toBe(0);
    expect(code(...pair, '--exit-code', '--max-growth', '52%')).toBe(1);
    for (const wrong of [
      ['--max-growth', 'much'],
      ['--min', 'x'],
      ['--at', 'noon'],
    ])
      expect(code(...pair, ...wrong), wrong.join(' ')).toBe(2);
  });

  it('does not lose memory without a stack', () => {
    const sized = (sizes: readonly number[]): Buffer =>
      smallSnapshot({
        segments: [sizes.map((mib) => ({ size: mib * MIB, stack: [] })), [block(8, 'norm.py:5', 'train.py:3')]],
      });
    put('none-a.pickle', sized([2, 2, 64]));
    put('none-b.pickle', sized([2, 64, 64, 64]));
    const { sites } = json('none-a.pickle', 'none-b.pickle');
    expect(sites[0]).toMatchObject({
      match: 'exact',
      delta_bytes: 126 * MIB,
      sizes: [
        { size_bytes: 64 * MIB, a_count: 1, b_count: 3 },
        { size_bytes: 2 * MIB, a_count: 2, b_count: 1 },
      ],
    });
    expect(text('none-a.pickle', 'none-b.pickle')).toContain('blocks of 64.00 MiB: 1 → 3');
  });

  it('reports that only one side ran out of memory, and which settings differ', () => {
    const settings = (value: boolean): Map<string, boolean> => new Map([['expandable_segments', value]]);
    const entries = [{ action: 'alloc', addr: 0x7f00_0000_0000, size: MIB }];
    const oom = { action: 'oom', size: 2 ** 30, extra: { device_free: 5 } };
    const segments = [[block(1, 'a.py:1')]];
    put(
      'dead.pickle',
      smallSnapshot({ segments, entries: [...entries, oom], top: { allocator_settings: settings(false) } }),
    );
    put('alive.pickle', smallSnapshot({ segments, entries, top: { allocator_settings: settings(true) } }));
    const result = json('dead.pickle', 'alive.pickle');
    expect(result.a_info.ooms).toBe(1);
    expect(result.notes).toContain('a ran out of memory, b did not: its peak is how far it came, not what it needs');
    expect(result.settings).toEqual([{ key: 'expandable_segments', a: 'False', b: 'True' }]);
    expect(text('dead.pickle', 'alive.pickle')).toMatch(/expandable_segments +False +True/);
  });

  it('compares two moments of one snapshot', () => {
    put('run.pickle', healthySnapshot(1, 0));
    const result = json('run.pickle', 'run.pickle', '--at-a', 'start', '--at-b', 'peak');
    expect(result).toMatchObject({ a_info: { moment: 'start', seq: null }, b_info: { moment: 'peak' } });
    expect(result.total_delta_bytes).toBe(result.b_info.active_bytes - result.a_info.active_bytes);
    expect(result.total_delta_bytes).toBeGreaterThan(0);
    expect(result.sites.every((site) => site.match === 'exact' || site.match.startsWith('only'))).toBe(true);
    expect(result.notes).toContain('moments differ: a at start, b at peak');
  });

  it('knows the steps that a snapshot has whole', async () => {
    const mark = (stage: string, step: number, time: number): PyValue =>
      new Map<string, PyValue>([
        ['stage', new PyText(stage)],
        ['name', new PyText(`ProfilerStep#${step}`)],
        ['device', 0],
        ['time_us', time],
      ]);
    // The ring lost the start of step 1, and the dump cut step 4.
    const external_annotations = [
      mark('END', 1, 1),
      ...[2, 10].flatMap((step) => [mark('START', step, step), mark('END', step, step + 1)]),
      mark('START', 4, 20),
    ];
    // A step without an entry in the trace is not shown.
    const entries = Array.from({ length: 21 }, (_, time) => ({
      action: 'snapshot',
      addr: 0,
      size: 0,
      extra: { time_us: time + 1 },
    }));
    put('steps.pickle', smallSnapshot({ entries, top: { external_annotations } }));
    put('stepless.pickle', smallSnapshot({ entries }));
    const db = join(cwd, 'steps.duckdb');
    mbf('ingest', 'steps.pickle', 'stepless.pickle', '--run', 'steps', '--db', db);
    const store = await openStore(db, { mode: 'read' });
    try {
      const [run] = await store.all('store.runs', { run_id: null });
      const steps = new Map<string, number[]>();
      for (const { path, snapshotId } of await listCandidates(store, run!.run_id, undefined))
        steps.set(path, await wholeSteps(store, snapshotId));
      expect(Object.fromEntries(steps)).toEqual({ 'steps.pickle': [2, 10], 'stepless.pickle': [] });
    } finally {
      await store.close();
    }
    const args = ['diff', 'steps.pickle', 'stepless.pickle', '--match-step'];
    expect(refuse(2, ...args)).toContain('a has step:2 to 10, b has no whole step');
    refuse(2, ...args, '--at-a', 'end');
  });

  it.each([11, 29])('puts the site first that doubled in a generated run (seed %i)', (seed) => {
    const name = (side: string): string => `doubled-${seed}-${side}.pickle`;
    put(name('a'), healthySnapshot(seed, 1));
    put(name('b'), healthySnapshot(seed, 2));
    const result = json(name('a'), name('b'));
    const [first] = result.sites;
    expect(first).toMatchObject({ match: 'line_shifted', a_count: 1, b_count: 2 });
    expect(first!.site).toContain('keep_one');
    expect(first!.b_bytes).toBe(2 * first!.a_bytes);
    expect(result.total_delta_bytes).toBe(first!.delta_bytes);
    expect(sum(result.sites.map((site) => site.delta_bytes)) + result.remainder_bytes).toBe(result.total_delta_bytes);
  });

  it('finds the leak of a generated run between two of its moments', () => {
    const run = CAUSES_TO_GENERATE.find((cause) => cause.name === 'leak')!.build(3);
    const [name, bytes] = [...runDirectory(run)].find(([path]) => path.includes('snapshot'))!;
    put(name, bytes);
    const complete = json(name, name);
    expect(complete.sites.filter((site) => site.delta_bytes !== 0)).toEqual([]);
    // The peak of a leak is its end; half of the trace earlier, half of what was kept was not there yet.
    const middle = Math.floor(complete.b_info.seq! / 2);
    const result = json(name, name, '--at-a', `seq:${middle}`);
    const kept = result.sites.filter((site) =>
      /activation_monitor|token_metrics|ema_callback|grad_stats/.test(site.site),
    );
    expect(kept.length).toBeGreaterThan(0);
    expect(kept[0]!.delta_bytes).toBeGreaterThan(0);
  });
});

/**
 * A healthy generated rank that keeps `times` buffers of 1 GiB from the build on; the more there are, the lower the
 * code that keeps them.
 */
function healthySnapshot(seed: number, times: number): Buffer {
  const fit = drawFit(seed);
  const attempt = simulateAttempt({
    plan: { ...fit.plan, profiledRanks: [0] },
    firstIteration: 0,
    workload: fit.workload,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
    deviceBytes: 2 ** 40,
    ranks: [0],
    hooks: {
      afterBuild: (rank) => {
        for (let i = 0; i < times; i += 1) {
          rank.process.malloc(2 ** 30, [
            at('keep_one', '/repo/code/callbacks/keeper.py', 40 + 3 * times, 'self.kept.append(torch.empty(n))'),
            ...rank.sites.outer.train,
          ]);
        }
      },
    },
  });
  const [rank] = attempt.ranks;
  return snapshotPickle(rank!.process, { torch: fit.plan.torch, deviceCount: 1, allocConf: '', maxEntries: 100_000 });
}

/** The first plan drawn from the seed that fits. */
function drawFit(seed: number): Fit {
  for (let draw = 0; draw < 1000; draw += 1) {
    const drawSeed = deriveSeed('diff', seed, draw);
    try {
      const fit = healthyFit(createRandom(drawSeed), drawSeed, { steps: 2 }, [0.35, 0.6]);
      if (fit !== undefined) return fit;
    } catch (error) {
      if (!(error instanceof UnfitPlan)) throw error;
    }
  }
  throw new Error(`no plan drawn from seed ${seed} fits`);
}
