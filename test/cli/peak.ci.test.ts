/** `peak` by every key and by the peers' definitions, on a snapshot small enough to add up by hand. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PyText } from '../../samples/generate/write/pickle-writer.js';
import { stateAt } from '../../src/derive/trace/state-at.js';
import { groupLiveSet } from '../../src/findings/state/live/live-groups.js';
import type { PeakDevice, PeakResult } from '../../src/model/results/common.js';
import { GROUP_KEYS } from '../../src/model/results/peak.js';
import { MIB } from '../../src/model/units.js';
import { openStore } from '../../src/store/open-store.js';
import { asker } from '../support/ask.js';
import { BASE, type SmallEntry, smallSnapshot } from '../support/small-snapshot.js';

/** Entry n is n µs later. */
const T = 1_700_000_000_000_000;

const annotation = (stage: string, name: string, time: number) =>
  new Map<string, PyText | number>([
    ['stage', new PyText(stage)],
    ['name', new PyText(name)],
    ['device', 0],
    ['time_us', time],
  ]);

/**
 * 16 MiB from before the recording; weights (8 MiB) that stay; activations (16 MiB) made and freed in each of two
 * steps; a gradient (4 MiB) made in the first and freed at the end of the second.
 */
function twoSteps(): Buffer {
  const texts = (context: string, metadata: string) => ({
    compile_context: new PyText(context),
    user_metadata: new PyText(metadata),
  });
  const plain = texts('N/A', '');
  const activation = { addr: BASE + 24 * MIB, size: 16 * MIB, stack: ['act.py:2', 'train.py:20'], extra: plain };
  const gradient = { addr: BASE + 40 * MIB, size: 4 * MIB, stack: ['grad.py:3'], extra: plain };
  const entries: SmallEntry[] = [
    {
      action: 'alloc',
      addr: BASE + 16 * MIB,
      size: 8 * MIB,
      stack: ['model.py:1', 'train.py:9'],
      extra: texts('Torch-Compiled Region: 0/0', 'weights'),
    },
    { action: 'alloc', ...activation },
    { action: 'alloc', ...gradient },
    { action: 'free_requested', ...activation },
    { action: 'free_completed', ...activation },
    { action: 'alloc', ...activation },
    { action: 'free_requested', ...activation },
    { action: 'free_completed', ...activation },
    { action: 'free_requested', ...gradient },
    { action: 'free_completed', ...gradient },
  ];
  return smallSnapshot({
    segments: [
      [
        { size: 16 * MIB, stack: [] },
        { size: 8 * MIB, stack: ['model.py:1', 'train.py:9'] },
        { size: 40 * MIB, state: 'inactive', stack: [] },
      ],
    ],
    entries,
    top: {
      external_annotations: [
        annotation('START', 'ProfilerStep#1', T - 1),
        annotation('START', '## forward ##', T + 1),
        annotation('END', '## forward ##', T + 2),
        annotation('END', 'ProfilerStep#1', T + 4),
        annotation('START', 'ProfilerStep#2', T + 5),
        annotation('END', 'ProfilerStep#2', T + 9),
      ],
    },
  });
}

type Group = readonly [key: string, mib: number, blocks: number];
const BEFORE: Group = ['(before the recording)', 16, 1];

describe('peak', () => {
  const { cli, cwd, options, mbf, text, json, put } = asker();
  const file = put('snapshot_0.pickle', twoSteps());
  const run = (...args: string[]) => cli.run(['peak', file, ...args], options);
  const ask = (...args: string[]): PeakResult['snapshots'][number] => {
    const answer = run(...args, '--json=full');
    expect(answer.stderr).not.toMatch(/error/);
    return answer.json<PeakResult>().snapshots[0]!;
  };
  const device = (...args: string[]): PeakDevice => ask(...args).devices[0]!;
  const mib = ({ groups }: PeakDevice) => groups.map(({ key, bytes, count }) => [key, bytes / MIB, count]);

  it.each<[by: string, ...groups: Group[]]>([
    ['site', ['act act.py:2', 16, 1], BEFORE, ['model model.py:1', 8, 1], ['grad grad.py:3', 4, 1]],
    ['stack', ['act act.py:2', 16, 1], BEFORE, ['model model.py:1', 8, 1], ['grad grad.py:3', 4, 1]],
    ['module', ['act:act', 16, 1], BEFORE, ['model:model', 8, 1], ['grad:grad', 4, 1]],
    ['stage', ['## forward ##', 16, 1], BEFORE, ['ProfilerStep#1', 12, 2]],
    ['compile', ['(in no compiled region)', 20, 2], BEFORE, ['Torch-Compiled Region: 0/0', 8, 1]],
    ['metadata', ['(no metadata set)', 20, 2], BEFORE, ['weights', 8, 1]],
    ['stream', ['stream 0 (default)', 44, 4]],
    ['pool', ['default large', 44, 4]],
  ])('groups by %s, and the groups add up', (by, ...expected) => {
    const answer = device('--by', by);
    expect(answer).toMatchObject({ seq: 2, moment: 'peak', active_bytes: 44 * MIB, blocks: 4, by });
    expect(new Set(mib(answer).map(String))).toEqual(new Set(expected.map(String)));
    const sum = (pick: (group: PeakDevice['groups'][number]) => number | null): number =>
      answer.groups.reduce((total, group) => total + (pick(group) ?? 0), 0) / MIB;
    expect(sum(({ bytes }) => bytes)).toBe(44);
    expect(sum(({ resident_bytes }) => resident_bytes)).toBe(28);
    expect(sum(({ transient_bytes }) => transient_bytes)).toBe(16);
    expect(sum(({ unknown_bytes }) => unknown_bytes)).toBe(0);
    expect(answer.lifetime).toEqual({ rule: 'steps', boundary: 'ProfilerStep#N', boundaries: 3 });
    const remainders = answer.groups.filter(({ remainder }) => remainder).map(({ key }) => key);
    expect(remainders).toEqual(expected.map(([key]) => key).filter((key) => key.startsWith('(')));
    for (const [key] of expected) expect(run('--by', by).stdout).toContain(key);
  });

  it('has callers in the key with --depth, and cuts with --limit without losing a byte', () => {
    const answer = device('--depth', '2', '--limit', '1');
    expect(answer.groups.length).toBe(1);
    expect(answer.other_groups.groups).toBe(3);
    const { bytes, resident_bytes, transient_bytes, unknown_bytes } = answer.other_groups;
    expect(bytes + answer.groups[0]!.bytes).toBe(44 * MIB);
    expect((resident_bytes ?? 0) + (transient_bytes ?? 0) + (unknown_bytes ?? 0)).toBe(bytes);
    const keys = device('--depth', '2').groups.map(({ key }) => key);
    expect(keys).toContain('act act.py:2 \u2190 train train.py:20');
    expect(keys).toContain('grad grad.py:3');
    expect(device('--depth', '2', '--by', 'module').groups.map(({ key }) => key)).toContain(
      'model:model \u2190 train:train',
    );
  });

  it('looks at other moments', () => {
    expect(device('--at', 'seq:0')).toMatchObject({ moment: 'seq:0', seq: 0, active_bytes: 24 * MIB });
    expect(device('--at', 'start')).toMatchObject({ moment: 'start', seq: null, active_bytes: 16 * MIB });
    const end = device('--at', 'end');
    expect(end).toMatchObject({ moment: 'end', active_bytes: 24 * MIB });
    // Both have lived through the second step at least.
    expect(end.groups.reduce((sum, group) => sum + group.resident_bytes!, 0)).toBe(24 * MIB);
  });

  it('gives the figures of Bridge\u2019s scripts, step by step', () => {
    const { bridge } = ask('--grouping', 'bridge');
    const M = MIB;
    const atPeak = [
      { source: 'act@act.py:2', bytes: 16 * M, count: 1 },
      { source: 'model@model.py:1', bytes: 8 * M, count: 1 },
      { source: 'grad@grad.py:3', bytes: 4 * M, count: 1 },
    ];
    expect(bridge).toEqual({
      segments: {
        count: 1,
        total_bytes: 64 * M,
        allocated_bytes: 24 * M,
        active_bytes: 24 * M,
        awaiting_free_bytes: 0,
        inactive_bytes: 40 * M,
      },
      device: 0,
      events: 10,
      baseline: {
        baseline_at_start_bytes: 16 * M,
        segments_active_bytes: 24 * M,
        pre_existing_freed_bytes: 0,
        profiling_still_live_bytes: 8 * M,
      },
      full_trace: {
        peak_delta_bytes: 28 * M,
        absolute_peak_bytes: 44 * M,
        end_delta_bytes: 8 * M,
        alloc_count: 4,
        free_count: 3,
        throughput_bytes: 44 * M,
        unmatched_frees: 0,
        unmatched_free_bytes: 0,
        sources_at_peak: atPeak,
      },
      steps: [
        {
          step: 1,
          start_us: T - 1,
          end_us: T + 4,
          peak_delta_bytes: 28 * M,
          absolute_peak_bytes: 44 * M,
          end_delta_bytes: 12 * M,
          alloc_count: 3,
          free_count: 1,
          throughput_bytes: 28 * M,
          unmatched_frees: 0,
          unmatched_free_bytes: 0,
          sources_at_peak: atPeak,
          annotations: { '## forward ##': 1 },
        },
        {
          step: 2,
          start_us: T + 5,
          end_us: T + 9,
          peak_delta_bytes: 16 * M,
          absolute_peak_bytes: 44 * M,
          end_delta_bytes: -4 * M,
          alloc_count: 1,
          free_count: 2,
          throughput_bytes: 16 * M,
          unmatched_frees: 0,
          unmatched_free_bytes: 0,
          // What the step opened with is named too.
          sources_at_peak: atPeak,
          annotations: {},
        },
      ],
      throughput: [
        { source: 'act@act.py:2', bytes: 32 * M, count: 2 },
        { source: 'model@model.py:1', bytes: 8 * M, count: 1 },
        { source: 'grad@grad.py:3', bytes: 4 * M, count: 1 },
      ],
    });
    const deeper = ask('--grouping', 'bridge', '--depth', '2').bridge!.throughput[0]!.source;
    expect(deeper).toBe('act@act.py:2 -> train@train.py:20');
    expect(run('--grouping', 'bridge').stdout).toMatch(/16\.00 MiB at the start[\s\S]*Step 2\n +peak 16\.00 MiB/);
  });

  it('gives the figures of mosaic and of memory_viz', () => {
    expect(ask('--grouping', 'mosaic').mosaic).toEqual({
      device: 0,
      dynamic_peak_bytes: 28 * MIB,
      static_bytes: 16 * MIB,
      stacks_at_peak: 3,
    });
    expect(ask('--grouping', 'memory_viz').memory_viz).toEqual([
      {
        device: 0,
        plotted_peak_bytes: 44 * MIB,
        initially_allocated_bytes: 16 * MIB,
        initially_allocated: 1,
        fragmentation_index: (40 / 64) ** 2,
      },
    ]);
    expect(run('--grouping', 'mosaic').stdout).toContain('dynamic peak 28.00 MiB of 3 stacks');
    expect(run('--grouping', 'memory_viz').stdout).toContain('peak 44.00 MiB');
  });

  it('reports no lifetimes, and little about peers, without a trace', () => {
    const blocks = [[{ size: 2 * MIB, stack: ['a.py:1'] }]];
    const bare = put('bare.pickle', smallSnapshot({ segments: blocks, entries: [] }));
    for (const grouping of ['bridge', 'mosaic', 'memory_viz']) {
      const [snapshot] = json<PeakResult>('peak', bare, '--grouping', grouping).snapshots;
      expect(snapshot!.devices[0]).toMatchObject({
        moment: 'dump',
        groups: [{ key: 'a a.py:1', bytes: 2 * MIB, resident_bytes: null, transient_bytes: null, unknown_bytes: null }],
        lifetime: { rule: 'none' },
      });
      expect(text('peak', bare, '--grouping', grouping)).toContain('2.00 MiB');
    }
  });

  it.each([
    [['--by', 'colour'], /MBF1001.*invalid --by "colour"; expected one of site, stack/],
    [['--depth', '0'], /MBF1001.*--depth "0"/],
    [['--limit', ''], /MBF1001.*--limit/],
    [['--grouping', 'theirs'], /MBF1001.*--grouping/],
    [['--at', 'noon'], /MBF1001.*noon/],
    [['--at', 'oom'], /MBF1002/],
  ])('refuses %j', (args, expected) => {
    const answer = run(...args);
    expect(answer.status).toBe(2);
    expect(answer.stderr).toMatch(expected);
  });

  it('groups 100,000 live blocks by any key', async () => {
    const count = 100_000;
    const stack = (n: number): string[] => [`f${n % 2000}.py:${n % 2000}`, 'train.py:1'];
    const blocks = Array.from({ length: count }, (_, n) => ({ size: 512, stack: stack(n) }));
    const entries = blocks.map((block, n) => ({
      action: 'alloc',
      addr: BASE + 512 * n,
      size: 512,
      stack: block.stack,
    }));
    const db = join(cwd, 'large.duckdb');
    mbf('ingest', put('large.pickle', smallSnapshot({ segments: [blocks], entries })), '--db', db);
    const store = await openStore(db, { mode: 'read' });
    try {
      const at = await stateAt(store, 1, 0, { kind: 'end' });
      expect(at.state.blocks.count).toBe(count);
      for (const by of GROUP_KEYS) {
        const groups = await groupLiveSet(store, at.key, by);
        expect(groups.reduce((sum, group) => sum + group.bytes, 0)).toBe(512 * count);
      }
    } finally {
      await store.close();
    }
  });
});
