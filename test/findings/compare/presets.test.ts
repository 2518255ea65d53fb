/**
 * The upstream verdicts, rule by rule. What is expected was worked out by hand from upstream's rules, or by the few
 * lines of arithmetic next to it; the code itself was compared with numpy over random values when it was written.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readGolden } from '../../../parsers/index.js';
import { judgeBridge } from '../../../src/findings/compare/presets/bridge.js';
import { judgeMegatron, type MegatronOptions } from '../../../src/findings/compare/presets/megatron-lm.js';
import {
  correlation,
  isClose,
  mean,
  median,
  nanMean,
  standardDeviation,
  sum,
} from '../../../src/findings/compare/presets/numpy-semantics.js';
import type { PresetOutcome } from '../../../src/findings/compare/presets/outcome.js';
import type { MegatronInferenceValues } from '../../../src/model/golden-values.js';
import { worded } from '../../../src/report/words/worded.js';
import { bridge, failed, losses, named, only, type StepValues, training } from './outcomes.js';

const judge = (golden: StepValues, current: StepValues, metric: string, options: MegatronOptions = {}): PresetOutcome =>
  judgeMegatron(training({ [metric]: golden }), training({ [metric]: current }), options);

const [NAN, INF] = [Number.NaN, Infinity];
const tenths = (count: number): number[] => Array(count).fill(0.1);

const OF_LISTS = { median, sum, mean, nanMean, standardDeviation };

describe('numpy', () => {
  // Relative to golden, infinities of one sign, never NaN.
  it.each([
    [105, 100, 0.05, true],
    [100, 105.2, 0.05, true],
    [105.2, 100, 0.05, false],
    [-105, -100, 0.05, true],
    [0, 0, 0, true],
    [1e-300, 0, 0.05, false],
    [INF, INF, 0, true],
    [-INF, INF, 0.05, false],
    [1, INF, 0.05, false],
    [INF, 1, 0.05, false],
    [NAN, NAN, 0.05, false],
  ])('isclose(%f, %f, %f): %s', (a, b, tolerance, expected) => expect(isClose(a, b, tolerance)).toBe(expected));

  // The middle, or the mean of the middle two. Sums are pairwise, which loses less than one after the other; numpy 2.4:
  // np.sum([0.1] * n).
  it.each([
    ['median', [3, 1, 2], 2],
    ['median', [4, 1, 10, 2], 3],
    ['median', [1, INF], INF],
    ['median', [1, 2, INF], 2],
    ['median', [1, NAN], NAN],
    ['median', [], NAN],
    ['sum', tenths(10), 1],
    ['sum', tenths(7), 0.7],
    ['sum', tenths(1000), 100.00000000000001],
    ['mean', [], NAN],
    ['nanMean', [1, NAN, 3], 2],
    ['nanMean', [NAN], NAN],
    ['nanMean', [], NAN],
    ['standardDeviation', [1, 3], 1],
  ] as const)('%s(%j): %f', (name, values, expected) => expect(OF_LISTS[name](values)).toBe(expected));

  // NaN for a curve that does not vary, and for one point.
  it.each([
    [[1, 2, 3], [2, 4, 6], 1],
    [[1, 2, 3], [3, 2, 1], -1],
    [[1, 2, 3], [2, 2, 2], NAN],
    [[1], [1], NAN],
    [[1, NAN], [1, 2], NAN],
  ])('corrcoef(%j, %j): %f', (a, b, expected) => expect(correlation(a, b)).toBe(expected));

  it('corrcoef in between', () => {
    // Deviations (-1, 0, 1) and (-1, 1, 0) of (1, 3, 2): 1 / √(2 · 2).
    expect(correlation([1, 2, 3], [1, 3, 2])).toBeCloseTo(0.5, 12);
  });
});

interface Case {
  readonly case: string;
  readonly golden: StepValues;
  readonly current?: StepValues;
  readonly options?: MegatronOptions;
  readonly is?: object;
  readonly reason?: string;
  readonly close?: Readonly<Record<'golden' | 'current', number>>;
  readonly outcome?: object;
  readonly fails?: boolean;
}
const CASES = parse(readFileSync(new URL('presets.yaml', import.meta.url), 'utf8')) as Record<string, readonly Case[]>;

describe.each(Object.entries(CASES))('Megatron-LM: %s', (metric, cases) => {
  it.each(cases)('$case', (one) => {
    const outcome = judge(one.golden, one.current ?? one.golden, metric, one.options);
    expect(outcome).toMatchObject(one.outcome ?? {});
    if (one.fails !== undefined) expect(failed(outcome)).toEqual(one.fails ? [metric] : []);
    const check = only(outcome);
    expect(check).toMatchObject(one.is ?? {});
    if (one.reason !== undefined) expect(check.reason).toContain(one.reason);
    for (const [side, value] of Object.entries(one.close ?? {})) expect(check[side as 'golden']).toBeCloseTo(value, 12);
  });
});

describe('Megatron-LM: metrics by step', () => {
  const METRIC = 'mem-max-allocated-bytes';

  it.each([
    ['lm loss', 105],
    ['mtp_1 loss', 105],
    ['mtp_2 loss', 105],
    ['total loss', 105],
    ['generated_tokens', 105],
    ['logprobs', 105],
    ['mem-allocated-bytes', 105],
    ['mem-max-allocated-bytes', 105],
    ['num-zeros', 120],
  ])('of 100 %s passes at %f and fails a hundredth beyond, and as far below', (metric, pass) => {
    const failing = (current: number) => failed(judge({ '1-10': 100 }, { '1-10': current }, metric));
    const fail = pass + 0.01;
    for (const current of [pass, 200 - pass]) expect(failing(current)).toEqual([]);
    for (const current of [fail, 200 - fail]) expect(failing(current)).toEqual([metric]);
  });

  // min(max(⌊N / 100⌋, 1), 50)
  it.each([
    [2, 1],
    [25, 1],
    [50, 1],
    [199, 1],
    [200, 2],
    [299, 2],
    [1000, 10],
    [5000, 50],
    [6000, 50],
  ])('of %i steps %i may fail', (total, allowed) => {
    const failing = (count: number): PresetOutcome =>
      judge({ [`1-${total}`]: 100 }, { [`1-${count}`]: 200, [`${count + 1}-${total}`]: 100 }, METRIC);
    expect(failing(allowed).passed).toBe(true);
    expect(failing(allowed + 1).passed).toBe(false);
    const differ = `${allowed + 1} of ${total} steps differ by more than 5 %`;
    expect(only(failing(allowed + 1)).reason).toBe(`${differ}, ${allowed} allowed`);
  });

  it.each([3, 7, 19, 27, 63])('of %i steps none may fail: upstream subtracts in floating point', (total) => {
    // (N − 1) / N is below 1 − 1 / N by a rounding error; found with numpy.
    const golden = { [`1-${total}`]: 100 };
    expect(judge(golden, { 1: 200, [`2-${total}`]: 100 }, METRIC).passed).toBe(false);
    expect(judge(golden, golden, METRIC).passed).toBe(true);
  });

  it('fails a metric that is missing or empty on a side', () => {
    const [some, none] = [training({ 'lm loss': { 1: 1 } }), training({})];
    const lacks = judgeMegatron(some, none);
    const missing = { status: 'regression', gate: true, reason: expect.stringContaining('values lack this metric') };
    expect(only(lacks)).toMatchObject({ name: 'lm loss', golden: null, current: null, ...missing });
    expect(only(lacks).reason).toContain('current values lack');
    expect(lacks.passed).toBe(false);
    const requested = only(judgeMegatron(none, some, { metrics: ['lm loss'] }));
    expect(requested).toMatchObject(missing);
    expect(requested.reason).toContain('golden values lack');
  });

  it('judges exactly on demand, where upstream has such a test', () => {
    const values = (loss: number, zeros: number, bytes: number) =>
      training({ 'lm loss': { 1: 1, 2: loss }, 'num-zeros': { 1: zeros }, 'mem-allocated-bytes': { 1: bytes } });
    const [golden, near] = [values(2, 10, 100), values(2.0001, 11, 101)];
    expect(judgeMegatron(golden, near).passed).toBe(true);
    const exact = judgeMegatron(golden, near, { deterministic: true });
    expect(failed(exact)).toEqual(['lm loss', 'num-zeros']);
    expect(named(exact, 'lm loss')).toMatchObject({ tolerance: 0, reason: '1 of 2 steps differs, 0 allowed' });
    expect(judgeMegatron(golden, golden, { deterministic: true }).passed).toBe(true);
  });

  it('judges what the golden values have, or what is requested', () => {
    const golden = training({ 'lm loss': { 1: 1 }, 'num-zeros': { 1: 1 }, 'grad-norm': { 1: 1 }, toString: { 1: 1 } });
    const current = training({ 'lm loss': { 1: 1 } });
    const all = judgeMegatron(golden, current);
    expect(failed(all)).toEqual(['num-zeros']);
    for (const name of ['grad-norm', 'toString'])
      expect(named(all, name)).toMatchObject({ status: 'skipped', gate: false, golden: null });
    expect(judgeMegatron(golden, current, { metrics: ['lm loss', 'lm loss'] })).toMatchObject({ passed: true });
    expect(failed(judgeMegatron(golden, current, { metrics: ['grad-norm'] }))).toEqual(['grad-norm']);
  });

  it('decides nothing without a metric', () => {
    expect(judgeMegatron(training({}), training({}))).toMatchObject({ passed: true, undecided: true, checks: [] });
    expect(judgeMegatron(training({ x: { 1: 1 } }), training({}))).toMatchObject({ passed: true, undecided: true });
  });

  it('reports that lists are no longer read upstream', () => {
    const steps = { 0: 1, 5: 2, 10: 3 };
    const outcome = judgeMegatron(training({ 'lm loss': steps }, true), training({ 'lm loss': steps }));
    expect(outcome.passed).toBe(true);
    expect(worded(outcome.notes).join()).toContain('lists');
    const text = '{"lm loss": {"start_step": 0, "end_step": 15, "step_interval": 5, "values": [1, 2, 3]}}';
    const file = readGolden(text, 'a.json');
    if (file.kind !== 'upstream' || file.values.kind !== 'megatron_training') throw new Error(file.kind);
    expect(judgeMegatron(file.values, training({ 'lm loss': steps })).passed).toBe(true);
    // Counted from 1, two of three are somewhere else.
    expect(judgeMegatron(file.values, training({ 'lm loss': { 0: 1, 1: 2, 2: 3 } })).passed).toBe(false);
  });
});

describe('Megatron-LM: inference', () => {
  const inference = (throughput: readonly number[], memory: number | null): MegatronInferenceValues => ({
    ...{ kind: 'megatron_inference', requests: 1, throughput, mem_max_allocated_bytes: memory },
  });

  it.each([
    ['throughput', 100, 100, 'pass'],
    ['throughput', 100, 90, 'pass'],
    ['throughput', 100, 89.99, 'regression'],
    ['throughput', 100, 119.99, 'pass'],
    // 1.2 × 100 itself is too fast.
    ['throughput', 100, 120, 'improvement'],
    ['throughput', 100, INF, 'improvement'],
    ['mem-max-allocated-bytes', 1000, 1000, 'pass'],
    ['mem-max-allocated-bytes', 1000, 1050, 'pass'],
    ['mem-max-allocated-bytes', 1000, 1051, 'regression'],
    ['mem-max-allocated-bytes', 1000, 950, 'pass'],
    ['mem-max-allocated-bytes', 1000, 949, 'improvement'],
  ] as const)('%s of %f is %f: %s', (metric, golden, current, status) => {
    const isSpeed = metric === 'throughput';
    const valuesOf = (value: number) => (isSpeed ? inference([value], null) : inference([], value));
    const outcome = judgeMegatron(valuesOf(golden), valuesOf(current));
    expect(named(outcome, metric)).toMatchObject({ status, gate: true, unit: isSpeed ? 'tokens/s' : 'bytes' });
    if (!isSpeed) expect(named(outcome, 'throughput')).toMatchObject({ status: 'skipped', gate: false });
    expect(outcome.passed).toBe(status === 'pass');
  });

  it('is the median behind the first repetition, which warms up', () => {
    // [12, 14, 10, 16] → 13; [13, 13] → 13.
    const outcome = judgeMegatron(inference([1, 12, 14, 10, 16], null), inference([500, 13, 13], null));
    expect(named(outcome, 'throughput')).toMatchObject({ golden: 13, current: 13, status: 'pass' });
  });

  it('is undecided without a figure of the run, and without any of golden', () => {
    const golden = inference([100], 1000);
    const half = judgeMegatron(golden, inference([100], null));
    expect(half).toMatchObject({ passed: true, undecided: true });
    expect(named(half, 'mem-max-allocated-bytes')).toMatchObject({ status: 'undecided', gate: true, golden: 1000 });
    // A failure decides whatever else is missing.
    expect(judgeMegatron(golden, inference([10], null))).toMatchObject({ passed: false, undecided: false });
    expect(judgeMegatron(inference([], null), golden)).toMatchObject({ passed: true, undecided: true });
    expect(judgeMegatron(golden, inference([100], null), { metrics: ['throughput'] }).passed).toBe(true);
  });

  it('is not compared with training', () => {
    const [a, b] = [inference([1], 1), training({ 'lm loss': { 1: 1 } })];
    for (const outcome of [judgeMegatron(a, b), judgeMegatron(b, a)]) {
      expect(outcome).toMatchObject({ passed: true, undecided: true, checks: [] });
      expect(outcome.notes).toHaveLength(1);
    }
  });
});

it('every result is valid JSON, names each check once, and has differences that add up', () => {
  const lossAt = (i: number): number => (i === 3 ? NAN : i === 4 ? INF : 5);
  const odd = bridge(
    losses(12, (i) => ({ lm_loss: lossAt(i), grad_norm: INF, step_ms: null })),
    { alloc: INF, max_alloc: 0, max_reserved: NAN },
  );
  const ordinary = bridge(losses(12));
  const outcomes = [judgeBridge(odd, odd), judgeBridge(odd, ordinary), judgeBridge(ordinary, odd)];
  for (const { checks, notes } of [...outcomes, judge({ 1: INF, 2: NAN }, { 1: -INF }, 'lm loss')]) {
    expect(JSON.parse(JSON.stringify(checks))).toEqual(checks);
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
    expect(new Set(notes).size).toBe(notes.length);
    for (const { golden, current, delta } of checks)
      if (delta !== null) expect(Number(current) - Number(golden)).toBe(delta);
  }
});
