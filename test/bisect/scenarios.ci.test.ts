/** Bisections that mislead: no wrong commit is named with medium confidence or more. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { sampled } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { BASE, bisectScenario, type Scenario, type State } from './scenarios.js';

/** The base state, changed from some commits on. */
const steps =
  (...changes: readonly (readonly [from: number, to: number, change: Partial<State>])[]) =>
  (i: number): State => {
    let state = BASE;
    for (const [from, to, { settings, ...change }] of changes)
      if (i >= from && i <= to) state = { ...state, ...change, settings: { ...state.settings, ...settings } };
    return state;
  };
const END = 99;
const grown = (share: number): Partial<State> => ({ peakMib: BASE.peakMib * (1 + share) });
const slower = (share: number): Partial<State> => ({ stepMs: BASE.stepMs * (1 + share) });
const setting = (key: string, value: string, change: Partial<State> = {}): Partial<State> => ({
  ...change,
  settings: { [key]: value },
});

const RECOMPUTE_OFF_FOR_A_WHILE = steps(
  [0, END, setting('recompute_granularity', 'full')],
  [32, 56, setting('recompute_granularity', 'None', grown(0.3))],
  [70, END, grown(0.08)],
);

const SCENARIOS: readonly Scenario[] = [
  { name: 'memory +6.3 %', on: 'memory', planted: 63, at: steps([63, END, grown(0.063)]), expected: 'named' },
  { name: 'memory +10 % near the start', on: 'memory', planted: 1, at: steps([1, END, grown(0.1)]), expected: 'named' },
  { name: 'memory +10 % at the end', on: 'memory', planted: 99, at: steps([99, END, grown(0.1)]), expected: 'held' },
  { name: 'step time +8 %', on: 'throughput', planted: 41, at: steps([41, END, slower(0.08)]), expected: 'named' },
  {
    name: 'step time +5 % with three golden runs',
    on: 'throughput',
    planted: 37,
    at: steps([37, END, slower(0.05)]),
    goldenRuns: 3,
    options: ['--runs', '3'],
    expected: 'held',
  },
  { name: 'step time +4.2 %', on: 'throughput', planted: 50, at: steps([50, END, slower(0.042)]), expected: 'held' },
  { name: 'a capacity OOM', on: 'oom', planted: 72, at: steps([72, END, { ending: 'capacity' }]), expected: 'named' },
  {
    name: 'a fragmentation OOM by its cause',
    on: 'cause:fragmentation',
    planted: 28,
    at: steps([28, END, { ending: 'fragmentation' }]),
    expected: 'named',
  },
  { name: 'a leak', on: 'memory', planted: 55, at: steps([55, END, { leakMib: 60 }]), expected: 'named' },
  {
    name: 'fragmentation hunted past a stretch of capacity OOMs',
    on: 'oom',
    planted: 70,
    at: steps([45, 53, { ending: 'capacity' }], [70, END, { ending: 'fragmentation' }]),
    like: { ...BASE, ending: 'fragmentation' },
    expected: 'named',
  },
  {
    name: 'another process held the memory now and then',
    on: 'oom',
    planted: 61,
    at: (i) => ({
      ...BASE,
      ending: i >= 61 ? 'capacity' : i % 6 === 1 ? 'other_process' : 'completed',
    }),
    expected: 'held',
  },
  {
    name: 'masked: recompute on from 56 to 79',
    on: 'memory',
    planted: 56,
    at: steps(
      [56, END, grown(0.08)],
      [56, 79, setting('recompute_granularity', 'full', { peakMib: 0.952 * BASE.peakMib, ...slower(0.25) })],
    ),
    subjects: { 80: 'Turn recompute off' },
    expected: 'reported',
    setting: 'recompute_granularity',
  },
  {
    name: 'masked, planted within the stretch',
    on: 'memory',
    planted: 66,
    at: steps(
      [56, 79, setting('recompute_granularity', 'full', { peakMib: 0.9 * BASE.peakMib, ...slower(0.25) })],
      [66, 79, { peakMib: 0.96 * BASE.peakMib }],
      [80, END, grown(0.07)],
    ),
    expected: 'reported',
    setting: 'recompute_granularity',
  },
  {
    name: 'another sequence length from 32 to 56',
    on: 'memory',
    planted: 70,
    at: steps([32, 56, setting('seq_length', '8192', grown(0.4))], [70, END, grown(0.08)]),
    subjects: { 32: 'Train on 8k sequences' },
    expected: 'held',
  },
  {
    name: 'another sequence length from 20 on, and a regression',
    on: 'memory',
    planted: 70,
    at: steps([20, END, setting('seq_length', '8192', grown(0.4))], [70, END, grown(0.5)]),
    subjects: { 20: 'Train on 8k sequences' },
    expected: 'reported',
    setting: 'seq_length',
  },
  {
    name: 'the same, allowed',
    on: 'memory',
    planted: 70,
    at: steps([20, END, setting('seq_length', '8192', grown(0.4))], [70, END, grown(0.5)]),
    options: ['--allow-change', 'seq_length'],
    expected: 'reported',
    setting: 'seq_length',
  },
  {
    name: 'more layers from 40 to 60',
    on: 'throughput',
    planted: 75,
    at: steps([40, 60, setting('num_layers', '32', slower(0.3))], [75, END, slower(0.09)]),
    expected: 'held',
  },
  {
    name: 'another global batch from 48 to 52',
    on: 'throughput',
    planted: 30,
    at: steps([30, END, slower(0.09)], [48, 52, setting('global_batch_size', '128', slower(1))]),
    expected: 'named',
  },
  {
    name: 'another layout from 45 to 55',
    on: 'memory',
    planted: 80,
    at: steps([45, 55, setting('tensor_model_parallel_size', '4', grown(-0.3))], [80, END, grown(0.06)]),
    expected: 'named',
  },
  {
    name: 'recompute off from 32 to 56, hunted run known',
    on: 'memory',
    planted: 70,
    at: RECOMPUTE_OFF_FOR_A_WHILE,
    like: { ...BASE, ...grown(0.08), settings: { ...BASE.settings, recompute_granularity: 'full' } },
    expected: 'named',
  },
  {
    name: 'recompute off from 32 to 56',
    on: 'memory',
    planted: 70,
    at: RECOMPUTE_OFF_FOR_A_WHILE,
    expected: 'reported',
    setting: 'recompute_granularity',
  },
  {
    name: 'recompute off is the regression',
    on: 'memory',
    planted: 58,
    at: steps(
      [0, END, setting('recompute_granularity', 'full')],
      [58, END, setting('recompute_granularity', 'None', grown(0.3))],
    ),
    expected: 'held',
    setting: 'recompute_granularity',
  },
  {
    name: 'settings that no log prints',
    on: 'memory',
    planted: 70,
    at: (i) => ({ ...steps([70, END, grown(0.08)])(i), printed: false }),
    expected: 'held',
  },
  {
    name: 'a sequence length that no log prints',
    on: 'memory',
    planted: 70,
    at: (i) => ({
      ...steps([32, 56, setting('seq_length', '8192', grown(0.4))], [70, END, grown(0.08)])(i),
      printed: false,
    }),
    expected: 'reported',
  },
  {
    name: 'in a merged branch',
    on: 'memory',
    planted: 44,
    at: steps([44, END, grown(0.07)]),
    branch: { from: 38, to: 52 },
    expected: 'named',
  },
  {
    name: 'a branch that never builds',
    on: 'memory',
    planted: 44,
    at: steps([44, END, grown(0.07)], [40, 51, { ending: 'broken' }]),
    branch: { from: 40, to: 52 },
    expected: 'held',
  },
  {
    name: 'reverted, and made again',
    on: 'memory',
    planted: 71,
    at: steps([20, 24, grown(0.07)], [71, END, grown(0.07)]),
    subjects: { 25: 'Revert "Tidy up"' },
    expected: 'named',
  },
  {
    name: 'broken builds everywhere',
    on: 'memory',
    planted: 64,
    at: (i) => ({ ...steps([64, END, grown(0.06)])(i), ...(i % 5 === 2 ? { ending: 'broken' } : {}) }),
    expected: 'held',
  },
  {
    name: 'flaky runs',
    on: 'memory',
    planted: 35,
    at: (i) => ({ ...steps([35, END, grown(0.06)])(i), flaky: i % 4 === 0 ? 0.6 : 0 }),
    options: ['--runs', '3'],
    expected: 'held',
  },
  {
    name: 'empty and cut outputs',
    on: 'memory',
    planted: 66,
    at: (i) => ({
      ...steps([66, END, grown(0.06)])(i),
      ...(i % 9 === 4 ? { ending: 'empty' } : i % 9 === 5 ? { ending: 'cut' } : {}),
    }),
    expected: 'held',
  },
  { name: 'memory +2.05 %', on: 'memory', planted: 47, at: steps([47, END, grown(0.0205)]), expected: 'held' },
  {
    name: 'small steps that add up',
    on: 'throughput',
    planted: 60,
    at: steps([15, END, slower(0.01)], [30, END, slower(0.02)], [60, END, slower(0.07)]),
    expected: 'held',
  },
  {
    name: 'a noisy machine',
    on: 'throughput',
    planted: 60,
    at: (i) => ({ ...steps([60, END, slower(0.1)])(i), stepNoise: 0.03, runNoise: 0.01 }),
    goldenRuns: 4,
    options: ['--runs', '2'],
    expected: 'held',
  },
];

describe('git bisect run over a hundred commits', () => {
  const cli = buildCli();
  const root = temporaryDirectory();

  it('has enough scenarios', () => expect(SCENARIOS.length).toBeGreaterThanOrEqual(30));

  it.each(sampled(SCENARIOS, 6).map((one) => [one.name, one] as const))('%s', (_, scenario) => {
    const { report, planted, output, runs } = bisectScenario(cli.script, mkdtempSync(join(root, 's-')), scenario);
    const { confidence, culprit, state, suspects_left: left, settings } = report;
    const answer = { confidence, state, culprit: culprit?.subject, why: report.confidence_reason };
    const launched = report.steps.filter((step) => step.runs > 0).length;
    expect(runs).toBe(launched);
    // Never a wrong commit.
    if (confidence !== 'low') expect(culprit?.sha, JSON.stringify(answer)).toBe(planted);
    if (scenario.expected === 'named') expect([culprit?.sha, confidence === 'low'], output).toEqual([planted, false]);
    if (scenario.expected === 'held')
      expect([culprit?.sha, ...left.map(({ sha }) => sha)], JSON.stringify(answer)).toContain(planted);
    if (scenario.setting !== undefined) expect(settings.map(({ key }) => key)).toContain(scenario.setting);
    if (process.env['MBF_SHOW'] === '1')
      console.log(JSON.stringify([scenario.name, scenario.planted, answer, left.length, report.steps.length]));
  });
});
