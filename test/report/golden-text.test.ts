/** The screens of `golden list` and `golden show`. */
import { describe, expect, it } from 'vitest';
import type { Measurement } from '../../src/model/measurement.js';
import { goldenListText, goldenShowText } from '../../src/report/compare/golden-text.js';
import { gib, goldenList, goldenShow, HOSTILE, measuredRank, measurement, PEAK } from '../support/compare-results.js';

function expectFits(text: string): void {
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  expect(text).not.toMatch(/undefined|NaN|\bnull\b|\[object/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
}

/** A run of which nothing is known. */
const BLANK: Partial<Measurement> = {
  commit: null,
  status: {
    ending: 'no_training',
    failure: null,
    verdict: null,
    attempts: 0,
    first_iteration: null,
    last_iteration: null,
    target_iterations: null,
  },
  world_size: null,
  parallel: { tp: null, pp: null, vpp: null, cp: null, ep: null, dp: null, etp: null },
  gpu: { name: null, total_bytes: null },
  versions: {},
  allocator_conf: null,
  ranks: [],
  peaks: [],
  steps: null,
  config: {},
};

describe('goldenListText', () => {
  it('has a line for each', () => {
    expect(goldenListText(goldenList())).toBe(`\
golden values in mbforensics.duckdb

  golden    runs  commit      ended      allocated        step  spread  added
  nightly      3  d34db33 +1  completed  54.80 GiB  2,366.6 ms  0.21 %  2026-11-20
  oom-case     1  —           oom                —           —       —  2026-11-21
`);
  });

  it('explains how to create the first one', () => {
    expect(goldenListText(goldenList({ goldens: [] }))).toBe(
      'no golden values in mbforensics.duckdb; golden add RUN --name NAME makes them of a run\n',
    );
  });

  it('fits the screen', () => {
    const [golden] = goldenList().goldens;
    const hostile = { ...golden!, name: HOSTILE, commits: [HOSTILE, 'x'], added_at: HOSTILE, ending: null };
    expectFits(goldenListText(goldenList({ db: HOSTILE, goldens: [hostile] })));
  });
});

describe('goldenShowText', () => {
  it('shows what they hold', () => {
    expect(goldenShowText(goldenShow())).toBe(`\
golden nightly: 2 runs, from mbforensics.duckdb
  job         4 ranks · NVIDIA H100 80GB HBM3 (79.10 GiB) · TP 2 PP 2

  run    commit   ended      iterations  allocated   reserved        step
  run-1  d34db33  completed        1–50  54.80 GiB  58.80 GiB  2,366.6 ms
  run-2  d34db33  completed        1–50  54.90 GiB  58.90 GiB  2,366.6 ms

peaks by stage, of the rank that has most
  stage  ranks    first allocated          allocated           reserved
  0      0-1    52.80 – 52.90 GiB  54.80 – 54.90 GiB  58.80 – 58.90 GiB
  1      2-3            38.20 GiB          40.20 GiB          44.20 GiB

components at the peak of run-1/0/snapshot#1, rank 0, device 0: 54.00 GiB active, 58.00 GiB reserved
  parameter 20.00 GiB, activation 19.50 GiB, optimizer_state 14.00 GiB, unattributed 256.00 MiB,
  unknown 256.00 MiB

  step time   run-1: 2,366.6 ms ± 5.20 ms; over 40 iterations from 11 to 50, 10 before left out;
              from 2,358.1 ms to 2,391.4 ms; 402.1 ± 0.9 TFLOP/s/GPU
              run-2: 2,366.6 ms ± 5.20 ms; over 40 iterations from 11 to 50, 10 before left out;
              from 2,358.1 ms to 2,391.4 ms; 402.1 ± 0.9 TFLOP/s/GPU

noise between runs
  metric          runs         low      median        high             spread
  peak_allocated     2   54.80 GiB   54.85 GiB   54.90 GiB  71.68 MiB, 0.13 %
  step_time          2  2,366.6 ms  2,368.0 ms  2,369.4 ms    2.00 ms, 0.08 %

  versions    torch 2.6.0, cuda 12.8
  allocator   expandable_segments:True
              recorded: expandable_segments=True
  config      micro_batch_size 1, seq_length 4096, num_layers 32; 3 other settings (--json)
`);
  });

  it('is short for a run with few known facts', () => {
    const text = goldenShowText(goldenShow({ runs: [measurement('blank', BLANK)], bands: [] }));
    expect(text).toBe(`\
golden nightly: 1 run, from mbforensics.duckdb

  run    commit  ended        iterations  allocated  reserved  step
  blank  —       no_training           —          —         —     —
`);
    expect(goldenShowText(goldenShow({ runs: [] }))).toContain('it holds no run');
  });

  it('distinguishes what differs between runs, and names failures', () => {
    const { status } = measurement('x');
    const failure = {
      kind: 'cuda_oom' as const,
      rank: 0,
      stage: 0,
      iteration: 2,
      text: 'CUDA out of memory',
      file: 'a.log',
      line: 3,
    };
    const died = measurement('run-2', {
      versions: { torch: '2.7.0' },
      gpu: { name: 'NVIDIA H200', total_bytes: null },
      status: { ...status, ending: 'oom', failure, last_iteration: 2 },
      config: { micro_batch_size: '2' },
      disturbances: [{ kind: 'straggler', text: 'rank 3 was slow' }],
    });
    const text = goldenShowText(goldenShow({ runs: [measurement('run-1'), died] }));
    expect(text).toContain('torch 2.6.0 | 2.7.0, cuda 12.8');
    expect(text).toContain('4 ranks · NVIDIA H200 · TP 2 PP 2');
    expect(text).toContain('failed      run-2: CUDA out of memory (cuda_oom)');
    expect(text).toContain('1–2 of 50');
    expect(text).toContain('micro_batch_size 1 | 2');
    expect(text).toContain('disturbed   rank 3 was slow');
  });

  it('shows a dozen settings and counts the others', () => {
    const keys = ['micro_batch_size', 'global_batch_size', 'seq_length', 'sequence_parallel', 'num_layers', 'bf16'];
    const more = ['tensor_model_parallel_size', 'hidden_size', 'fp8_recipe', 'recompute_method', 'recompute_modules'];
    const last = ['use_distributed_optimizer', 'overlap_grad_reduce', 'lr'];
    const config = Object.fromEntries([...keys, ...more, ...last].map((key) => [key, '1']));
    const text = goldenShowText(goldenShow({ runs: [measurement('a', { config })] }));
    const shown = [...text.slice(text.indexOf('  config')).matchAll(/\w+ 1\b/g)];
    expect(shown).toHaveLength(12);
    expect(text).toMatch(/; 2\s+other settings \(--json\)/);
  });

  it('fits the screen', () => {
    const h = HOSTILE;
    const hostile = measurement(h, {
      commit: h,
      gpu: { name: h, total_bytes: 1 },
      versions: { [h]: h },
      config: { [h]: h, micro_batch_size: h },
      allocator_conf: h,
      peaks: [{ ...PEAK, handle: h, settings: { [h]: h } }],
      ranks: Array.from({ length: 500 }, (_, i) => measuredRank(3 * i, i, gib(900 + i))),
      disturbances: [{ kind: 'throttling', text: h }],
    });
    const bands = [{ metric: h, unit: h, runs: 1, low: 1, median: 0, high: 2, spread: 0.5 }];
    expectFits(
      goldenShowText(goldenShow({ name: h, source: h, runs: Array.from({ length: 9 }, () => hostile), bands })),
    );
  });
});
