/**
 * The upstream verdicts, rule by rule. What is expected was worked out by hand from upstream's rules, or by the few
 * lines of arithmetic next to it; the code itself was compared with numpy over random values when it was written.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
import type { MegatronInferenceValues, MegatronTrainingValues, StepValue } from '../../../src/model/golden-values.js';
import type { CompareCheck } from '../../../src/model/results/compare.js';
import { CORPUS, skipLoudly } from '../../support/corpus.js';
import { bridge, failed, losses, named } from './outcomes.js';

type Values = Readonly<Record<number, StepValue>>;

function training(metrics: Readonly<Record<string, Values>>, isLegacy = false): MegatronTrainingValues {
  return {
    kind: 'megatron_training',
    is_legacy: isLegacy,
    metrics: new Map(
      Object.entries(metrics).map(([name, values]) => {
        const steps = Object.keys(values).map(Number);
        const series = {
          start_step: steps[0] ?? 0,
          end_step: steps.at(-1) ?? 0,
          step_interval: 1,
          values: new Map(steps.map((step) => [step, values[step]!] as const)),
        };
        return [name, series] as const;
      }),
    ),
  };
}

/** `values(1, 25, () => 2)`: steps 1 to 25, each with 2. */
const values = (from: number, to: number, at: (step: number) => StepValue): Values =>
  Object.fromEntries(Array.from({ length: to - from + 1 }, (_, i) => [from + i, at(from + i)]));

function only(outcome: PresetOutcome): CompareCheck {
  expect(outcome.checks).toHaveLength(1);
  return outcome.checks[0]!;
}

const judge = (golden: Values, current: Values, metric: string, options: MegatronOptions = {}): PresetOutcome =>
  judgeMegatron(training({ [metric]: golden }), training({ [metric]: current }), options);

describe('numpy', () => {
  it('isclose: relative to golden, infinities of one sign, never NaN', () => {
    expect(isClose(105, 100, 0.05)).toBe(true);
    expect(isClose(100, 105.2, 0.05)).toBe(true);
    expect(isClose(105.2, 100, 0.05)).toBe(false);
    expect(isClose(-105, -100, 0.05)).toBe(true);
    expect(isClose(0, 0, 0)).toBe(true);
    expect(isClose(1e-300, 0, 0.05)).toBe(false);
    expect(isClose(Infinity, Infinity, 0)).toBe(true);
    expect(isClose(-Infinity, Infinity, 0.05)).toBe(false);
    expect(isClose(1, Infinity, 0.05)).toBe(false);
    expect(isClose(Infinity, 1, 0.05)).toBe(false);
    expect(isClose(Number.NaN, Number.NaN, 0.05)).toBe(false);
  });

  it('median: the middle, or the mean of the middle two', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 10, 2])).toBe(3);
    expect(median([1, Infinity])).toBe(Infinity);
    expect(median([1, 2, Infinity])).toBe(2);
    expect(median([1, Number.NaN])).toBeNaN();
    expect(median([])).toBeNaN();
  });

  it('adds pairwise, which loses less than one after the other', () => {
    // numpy 2.4: np.sum([0.1] * n).
    expect(sum(Array(10).fill(0.1))).toBe(1);
    expect(sum(Array(7).fill(0.1))).toBe(0.7);
    expect(sum(Array(1000).fill(0.1))).toBe(100.00000000000001);
    expect(mean([])).toBeNaN();
    expect(nanMean([1, Number.NaN, 3])).toBe(2);
    expect(nanMean([Number.NaN])).toBeNaN();
    expect(nanMean([])).toBeNaN();
    expect(standardDeviation([1, 3])).toBe(1);
  });

  it('corrcoef: NaN for a curve that does not vary, and for one point', () => {
    expect(correlation([1, 2, 3], [2, 4, 6])).toBe(1);
    expect(correlation([1, 2, 3], [3, 2, 1])).toBe(-1);
    // Deviations (-1, 0, 1) and (-1, 1, 0) of (1, 3, 2): 1 / √(2 · 2).
    expect(correlation([1, 2, 3], [1, 3, 2])).toBeCloseTo(0.5, 12);
    expect(correlation([1, 2, 3], [2, 2, 2])).toBeNaN();
    expect(correlation([1], [1])).toBeNaN();
    expect(correlation([1, Number.NaN], [1, 2])).toBeNaN();
  });
});

describe('Megatron-LM: iteration-time', () => {
  const METRIC = 'iteration-time';

  it('is one median of steps 5 to 20 up to step 25, of steps 30 to 45 beyond', () => {
    // 1 s in the early window, 2 s in the late one.
    const of = (last: number): Values => values(1, last, (step) => (step < 30 ? 1 : 2));
    const early = only(judge(of(25), of(25), METRIC));
    expect(early).toMatchObject({ golden: 1, current: 1, unit: 's', tolerance: 0.05, status: 'pass', gate: true });
    expect(early.reason).toBe('median of 16 steps of 5 to 20');
    // With 26 steps there is nothing from 30 on, nor behind.
    const none = only(judge(of(26), of(26), METRIC));
    expect(none).toMatchObject({ golden: null, status: 'regression', gate: true });
    expect(none.reason).toContain('no finite values after its warmup window');
    expect(only(judge(of(50), of(50), METRIC))).toMatchObject({
      golden: 2,
      reason: 'median of 16 steps of 30 to 45',
      status: 'pass',
    });
  });

  it('knows the last step from the finite ones only', () => {
    const golden = values(1, 50, (step) => (step <= 25 ? 1 : 'nan'));
    expect(only(judge(golden, golden, METRIC)).reason).toBe('median of 16 steps of 5 to 20');
  });

  it('falls back on the first four finite steps behind the start of the window', () => {
    const golden: Values = { 1: 9, 2: 9, 50: 1, 60: 2, 70: 4, 80: 8, 90: 1000 };
    expect(only(judge(golden, golden, METRIC))).toMatchObject({
      golden: 3,
      status: 'pass',
      reason: 'median of 4 steps from 50 on, because there are none from 30 to 45',
    });
    // Up to step 25 likewise: nothing from 5 to 20.
    const late: Values = { 2: 9, 22: 1, 24: 2 };
    expect(only(judge(late, late, METRIC))).toMatchObject({ golden: 1.5, status: 'pass' });
    const early: Values = { 1: 9, 4: 1 };
    expect(failed(judge(early, early, METRIC))).toEqual([METRIC]);
  });

  it('takes the mean of the middle two of an even count', () => {
    // Steps 10, 12, 14, 16: 1.0, 1.2, 1.4, 9 → 1.3.
    const golden: Values = { 10: 1, 12: 1.2, 14: 1.4, 16: 9 };
    expect(only(judge(golden, { 10: 1, 12: 1.2, 14: 1.6, 16: 1.7 }, METRIC))).toMatchObject({ status: 'regression' });
    const check = only(judge(golden, { 10: 0, 12: 1.3, 14: 1.4, 16: 70 }, METRIC));
    expect(check.golden).toBeCloseTo(1.3, 12);
    expect(check.current).toBeCloseTo(1.35, 12);
    expect(check.status).toBe('pass');
  });

  it('fails slower and faster', () => {
    const at = (seconds: number): Values => values(1, 25, () => seconds);
    for (const seconds of [95, 100, 105]) expect(only(judge(at(100), at(seconds), METRIC)).status).toBe('pass');
    expect(only(judge(at(100), at(105.01), METRIC)).status).toBe('regression');
    const faster = judge(at(100), at(94.5), METRIC);
    expect(only(faster)).toMatchObject({ status: 'improvement', gate: true, golden: 100, current: 94.5 });
    expect(only(faster)).toMatchObject({ delta: -5.5, relative: -0.055 });
    expect(faster).toMatchObject({ passed: false, undecided: false });
  });

  it('takes a step that the run lacks for infinitely slow', () => {
    const golden = values(5, 20, () => 1);
    // 16 steps: with 7 missing the median is that of ninth values, 1; with 8 the mean of 1 and infinity.
    expect(
      only(
        judge(
          golden,
          values(5, 13, () => 1),
          METRIC,
        ),
      ),
    ).toMatchObject({
      status: 'pass',
      current: 1,
      reason: 'median of 16 steps of 5 to 20, 7 of which the current values lack',
    });
    const half = judge(
      golden,
      values(5, 12, () => 1),
      METRIC,
    );
    expect(only(half)).toMatchObject({ status: 'regression', current: null, delta: null });
    expect(failed(half)).toEqual([METRIC]);
  });

  it('has no finite golden step, and fails', () => {
    const golden: Values = { 5: 'nan', 6: Number.NaN, 7: Infinity };
    expect(only(judge(golden, golden, METRIC))).toMatchObject({ status: 'regression', gate: true });
  });

  it('is never judged exactly', () => {
    const outcome = judge(
      values(5, 20, () => 1),
      values(5, 20, () => 1.04),
      METRIC,
      { deterministic: true },
    );
    expect(outcome.passed).toBe(true);
  });
});

describe('Megatron-LM: metrics by step', () => {
  const METRIC = 'mem-max-allocated-bytes';

  it.each([
    ['lm loss', 105, 105.01],
    ['mtp_1 loss', 105, 105.01],
    ['mtp_2 loss', 105, 105.01],
    ['total loss', 105, 105.01],
    ['generated_tokens', 105, 105.01],
    ['logprobs', 105, 105.01],
    ['mem-allocated-bytes', 105, 105.01],
    ['mem-max-allocated-bytes', 105, 105.01],
    ['num-zeros', 120, 120.01],
  ])('of 100 %s passes at %f and fails at %f, and as far below', (metric, pass, fail) => {
    const at = (value: number): Values => values(1, 10, () => value);
    for (const current of [pass, 200 - pass]) expect(failed(judge(at(100), at(current), metric))).toEqual([]);
    for (const current of [fail, 200 - fail]) expect(failed(judge(at(100), at(current), metric))).toEqual([metric]);
  });

  it('distinguishes less memory from more, and fails both', () => {
    const golden = values(1, 25, () => 50e9);
    const less = judge(
      golden,
      values(1, 25, () => 40e9),
      METRIC,
    );
    expect(only(less)).toMatchObject({
      golden: 50e9,
      current: 40e9,
      delta: -10e9,
      relative: -0.2,
      unit: 'bytes',
      tolerance: 0.05,
      status: 'improvement',
      gate: true,
      noise: null,
      reason: '25 of 25 steps differ by more than 5 %, 1 allowed',
    });
    expect(less).toMatchObject({ passed: false, undecided: false });
    expect(
      only(
        judge(
          golden,
          values(1, 25, () => 60e9),
          METRIC,
        ),
      ).status,
    ).toBe('regression');
    // Less at one step, more at another.
    const both = values(1, 25, (step) => (step === 1 ? 40e9 : step === 2 ? 60e9 : 50e9));
    expect(only(judge(golden, both, METRIC)).status).toBe('regression');
    // A smaller loss is no improvement: the computation changed.
    expect(
      only(
        judge(
          golden,
          values(1, 25, () => 40e9),
          'lm loss',
        ),
      ).status,
    ).toBe('regression');
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
    const golden = values(1, total, () => 100);
    const failing = (count: number): PresetOutcome =>
      judge(
        golden,
        values(1, total, (step) => (step <= count ? 200 : 100)),
        METRIC,
      );
    expect(failing(allowed).passed).toBe(true);
    expect(failing(allowed + 1).passed).toBe(false);
    expect(only(failing(allowed + 1)).reason).toBe(
      `${allowed + 1} of ${total} steps differ by more than 5 %, ${allowed} allowed`,
    );
  });

  it.each([3, 7, 19, 27, 63])('of %i steps none may fail: upstream subtracts in floating point', (total) => {
    // (N − 1) / N is below 1 − 1 / N by a rounding error; found with numpy.
    const golden = values(1, total, () => 100);
    const one = values(1, total, (step) => (step === 1 ? 200 : 100));
    expect(judge(golden, one, METRIC).passed).toBe(false);
    expect(judge(golden, golden, METRIC).passed).toBe(true);
  });

  it('of a single step none may fail', () => {
    expect(judge({ 7: 100 }, { 7: 106 }, METRIC).passed).toBe(false);
    expect(only(judge({ 7: 100 }, { 7: 106 }, METRIC)).reason).toBe('1 of 1 step differs by more than 5 %, 0 allowed');
    expect(judge({ 7: 100 }, { 7: 105 }, METRIC).passed).toBe(true);
  });

  it('takes nan on both sides for equal, on one side for different', () => {
    const nan: Values = { 1: 'nan', 2: 'nan', 3: 10, 4: 10 };
    expect(judge(nan, nan, 'lm loss')).toMatchObject({ passed: true });
    expect(judge(nan, nan, 'lm loss', { deterministic: true })).toMatchObject({ passed: true });
    expect(only(judge(nan, nan, 'lm loss'))).toMatchObject({ golden: 10, current: 10 });
    expect(judge(nan, { 1: 5, 2: 5, 3: 10, 4: 10 }, 'lm loss').passed).toBe(false);
    // One of four: allowed.
    expect(judge(nan, { 1: 5, 2: 'nan', 3: 10, 4: 10 }, 'lm loss').passed).toBe(true);
    expect(judge({ 1: 5, 2: 5, 3: 10, 4: 10 }, nan, 'lm loss').passed).toBe(false);
  });

  it('takes NaN as a number for different from itself', () => {
    const golden: Values = { 1: Number.NaN, 2: Number.NaN, 3: 1, 4: 1 };
    expect(judge(golden, golden, 'lm loss').passed).toBe(false);
  });

  it('takes a step that the run lacks for nan', () => {
    const golden = values(1, 4, (step) => (step === 1 ? 'nan' : 10));
    // Step 1 is infinite on both sides, step 2 only in the run: one of four.
    expect(judge(golden, { 3: 10, 4: 10 }, METRIC).passed).toBe(true);
    const two = judge(golden, { 4: 10, 5: 10 }, METRIC);
    expect(two.passed).toBe(false);
    expect(only(two)).toMatchObject({
      status: 'regression',
      reason: '2 of 4 steps differ by more than 5 %, 1 allowed; of 2 the current values have none',
    });
  });

  it('ignores steps that only the run has', () => {
    expect(judge({ 1: 1, 2: 1 }, { 1: 1, 2: 1, 3: 99 }, METRIC).passed).toBe(true);
  });

  it('fails a metric that is missing or empty on a side', () => {
    const [some, none] = [training({ 'lm loss': { 1: 1 } }), training({})];
    const lacks = judgeMegatron(some, none);
    expect(only(lacks)).toMatchObject({
      name: 'lm loss',
      golden: null,
      current: null,
      status: 'regression',
      gate: true,
    });
    expect(only(lacks).reason).toContain('current values lack this metric');
    expect(lacks.passed).toBe(false);
    const named = judgeMegatron(none, some, { metrics: ['lm loss'] });
    expect(only(named)).toMatchObject({ status: 'regression', gate: true });
    expect(only(named).reason).toContain('golden values lack this metric');
    expect(failed(judge({}, { 1: 1 }, 'lm loss'))).toEqual(['lm loss']);
    expect(failed(judge({}, {}, 'iteration-time'))).toEqual(['iteration-time']);
  });

  it('judges exactly on demand, where upstream has such a test', () => {
    const golden = training({ 'lm loss': { 1: 1, 2: 2 }, 'num-zeros': { 1: 10 }, 'mem-allocated-bytes': { 1: 100 } });
    const near = training({
      'lm loss': { 1: 1, 2: 2.0001 },
      'num-zeros': { 1: 11 },
      'mem-allocated-bytes': { 1: 101 },
    });
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
    for (const name of ['grad-norm', 'toString']) {
      expect(named(all, name)).toMatchObject({ status: 'skipped', gate: false, golden: null });
    }
    expect(judgeMegatron(golden, current, { metrics: ['lm loss', 'lm loss'] })).toMatchObject({ passed: true });
    expect(failed(judgeMegatron(golden, current, { metrics: ['grad-norm'] }))).toEqual(['grad-norm']);
  });

  it('decides nothing without a metric', () => {
    expect(judgeMegatron(training({}), training({}))).toMatchObject({ passed: true, undecided: true, checks: [] });
    expect(judgeMegatron(training({ x: { 1: 1 } }), training({}))).toMatchObject({ passed: true, undecided: true });
  });

  it('reports that lists are no longer read upstream', () => {
    const legacy = training({ 'lm loss': { 0: 1, 5: 2, 10: 3 } }, true);
    const outcome = judgeMegatron(legacy, training({ 'lm loss': { 0: 1, 5: 2, 10: 3 } }));
    expect(outcome.passed).toBe(true);
    expect(outcome.notes.join()).toContain('lists');
    const file = readGolden(
      '{"lm loss": {"start_step": 0, "end_step": 15, "step_interval": 5, "values": [1, 2, 3]}}',
      'a.json',
    );
    if (file.kind !== 'upstream' || file.values.kind !== 'megatron_training') throw new Error(file.kind);
    expect(judgeMegatron(file.values, training({ 'lm loss': { 0: 1, 5: 2, 10: 3 } })).passed).toBe(true);
    // Counted from 1, two of three are somewhere else.
    expect(judgeMegatron(file.values, training({ 'lm loss': { 0: 1, 1: 2, 2: 3 } })).passed).toBe(false);
  });
});

describe('Megatron-LM: inference', () => {
  const inference = (throughput: readonly number[], memory: number | null): MegatronInferenceValues => ({
    kind: 'megatron_inference',
    requests: 1,
    throughput,
    mem_max_allocated_bytes: memory,
  });
  const judgeThroughput = (golden: readonly number[], current: readonly number[]): PresetOutcome =>
    judgeMegatron(inference(golden, null), inference(current, null));

  it.each([
    [100, 'pass'],
    [90, 'pass'],
    [89.99, 'regression'],
    [119.99, 'pass'],
    // 1.2 × 100 itself is too fast.
    [120, 'improvement'],
    [Infinity, 'improvement'],
  ] as const)('throughput %f of 100: %s', (current, status) => {
    const outcome = judgeThroughput([100], [current]);
    expect(named(outcome, 'throughput')).toMatchObject({ status, gate: true, unit: 'tokens/s' });
    expect(outcome.passed).toBe(status === 'pass');
  });

  it('is the median behind the first repetition, which warms up', () => {
    // [12, 14, 10, 16] → 13; [13, 13] → 13.
    const outcome = judgeThroughput([1, 12, 14, 10, 16], [500, 13, 13]);
    expect(named(outcome, 'throughput')).toMatchObject({ golden: 13, current: 13, status: 'pass' });
  });

  it.each([
    [1000, 'pass'],
    [1050, 'pass'],
    [1051, 'regression'],
    [950, 'pass'],
    [949, 'improvement'],
  ] as const)('memory %i of 1000: %s', (current, status) => {
    const outcome = judgeMegatron(inference([], 1000), inference([], current));
    expect(named(outcome, 'mem-max-allocated-bytes')).toMatchObject({ status, gate: true, unit: 'bytes' });
    expect(named(outcome, 'throughput')).toMatchObject({ status: 'skipped', gate: false });
    expect(outcome.passed).toBe(status === 'pass');
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

describe('every result', () => {
  it('is valid JSON, names each check once, and has differences that add up', () => {
    const odd = bridge(
      losses(12, (i) => ({
        lm_loss: i === 3 ? Number.NaN : i === 4 ? Infinity : 5,
        grad_norm: Infinity,
        step_ms: null,
      })),
      { alloc: Infinity, max_alloc: 0, max_reserved: Number.NaN },
    );
    const outcomes = [
      judgeBridge(odd, odd),
      judgeBridge(odd, bridge(losses(12))),
      judgeBridge(bridge(losses(12)), odd),
      judge({ 1: Infinity, 2: Number.NaN }, { 1: -Infinity }, 'lm loss'),
    ];
    for (const { checks, notes } of outcomes) {
      expect(JSON.parse(JSON.stringify(checks))).toEqual(checks);
      expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
      expect(new Set(notes).size).toBe(notes.length);
      for (const { golden, current, delta } of checks) {
        if (delta !== null) expect(Number(current) - Number(golden)).toBe(delta);
      }
    }
  });
});

const DIRECTORY = join(CORPUS, 'golden');
const files = existsSync(DIRECTORY) ? readdirSync(DIRECTORY).filter((name) => name.endsWith('.json')) : [];

describe('the corpus', () => {
  if (files.length === 0) skipLoudly('presets over golden values', 'the reference corpus (MBF_CORPUS)');
  for (const name of files) {
    const file = readGolden(readFileSync(join(DIRECTORY, name), 'utf8'), name);
    if (file.kind !== 'upstream') throw new Error(file.kind);
    const golden = file.values;
    if (golden.kind !== 'megatron_training' && golden.kind !== 'megatron_inference') throw new Error(golden.kind);

    const scaled = (factor: number, isScaled: (metric: string) => boolean): typeof golden => {
      const by = (metric: string, value: number): number => (isScaled(metric) ? value * factor : value);
      if (golden.kind === 'megatron_inference') {
        const { mem_max_allocated_bytes: memory } = golden;
        return {
          ...golden,
          throughput: golden.throughput.map((value) => by('throughput', value)),
          mem_max_allocated_bytes: memory === null ? null : by('mem-max-allocated-bytes', memory),
        };
      }
      const metrics = new Map(
        [...golden.metrics].map(([metric, series]) => {
          const scale = (value: StepValue): StepValue => (value === 'nan' ? value : by(metric, value));
          return [metric, { ...series, values: new Map([...series.values].map(([step, v]) => [step, scale(v)])) }];
        }),
      );
      return { ...golden, metrics };
    };
    const metrics: readonly string[] =
      golden.kind === 'megatron_training' ? [...golden.metrics.keys()] : ['throughput', 'mem-max-allocated-bytes'];
    /** Enough finite values that more of them fail than may. */
    const isJudged = (metric: string): boolean => {
      if (golden.kind === 'megatron_inference') return true;
      const finite = [...golden.metrics.get(metric)!.values.values()].filter((value) => value !== 'nan' && value !== 0);
      return finite.length > 1;
    };

    it(`${name} passes by itself`, () => {
      for (const deterministic of [false, true]) {
        const outcome = judgeMegatron(golden, golden, { deterministic });
        expect(outcome).toMatchObject({ passed: true, undecided: false });
        expect(outcome.checks.map((check) => check.name)).toEqual(metrics);
      }
    });

    it(`${name} passes at 1.04 and 0.96, but exactly`, () => {
      for (const factor of [1.04, 0.96]) {
        expect(
          failed(
            judgeMegatron(
              golden,
              scaled(factor, () => true),
            ),
          ),
        ).toEqual([]);
      }
      const exact = judgeMegatron(
        golden,
        scaled(1.04, () => true),
        { deterministic: true },
      );
      const expected = metrics.filter((metric) => /loss$|^num-zeros$/.test(metric));
      expect(failed(exact)).toEqual(expected);
    });

    // What fails at ±6 %: all that has a tolerance of 5 %.
    const strict = metrics.filter((metric) => metric !== 'num-zeros' && metric !== 'throughput' && isJudged(metric));

    it.each([1.06, 0.94])(`${name} fails at %f where 5 % are the limit`, (factor) => {
      expect(
        failed(
          judgeMegatron(
            golden,
            scaled(factor, () => true),
          ),
        ),
      ).toEqual(strict);
      for (const one of metrics) {
        const outcome = judgeMegatron(
          golden,
          scaled(factor, (metric) => metric === one),
        );
        expect(failed(outcome)).toEqual(strict.filter((metric) => metric === one));
        const isBetter = factor < 1 && /^mem-|^iteration-time$/.test(one);
        if (strict.includes(one)) expect(named(outcome, one).status).toBe(isBetter ? 'improvement' : 'regression');
      }
    });

    it(`${name} fails at 1.21 and 0.79 whatever the metric`, () => {
      for (const factor of [1.21, 0.79]) {
        expect(
          failed(
            judgeMegatron(
              golden,
              scaled(factor, () => true),
            ),
          ),
        ).toEqual(metrics.filter(isJudged));
      }
    });
  }
});
