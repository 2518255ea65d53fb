/**
 * The upstream verdicts, rule by rule. What is expected was worked out by hand from upstream's rules, or by the few
 * lines of arithmetic next to it; the code itself was compared with numpy over random values when it was written.
 */
import { describe, expect, it } from 'vitest';
import { type BridgeOptions, judgeBridge as judge } from '../../../src/findings/compare/presets/bridge.js';
import type { PresetOutcome } from '../../../src/findings/compare/presets/outcome.js';
import type { BridgeStep, BridgeValues, StepValue } from '../../../src/model/golden-values.js';
import type { CompareCheck } from '../../../src/model/results/compare.js';
import { worded } from '../../../src/report/words/worded.js';
import { bridge, failed, losses, NO_STEP, named } from './outcomes.js';

const judgeBridge = (...values: Parameters<typeof judge>) => worded(judge(...values));

const times = <Value>(count: number, value: Value): Value[] => Array(count).fill(value);

describe('Megatron Bridge: GPU utilization', () => {
  type Figures = readonly (number | null)[];
  const utilization = (golden: Figures, current: Figures, options: BridgeOptions = {}) => {
    const of = (figures: Figures) => bridge(losses(figures.length, (i) => ({ gpu_utilization: figures[i]! })));
    const outcome = judgeBridge(of(golden), of(current), options);
    return { check: named(outcome, 'GPU utilization'), outcome };
  };
  const ten = (head: number, tail: number): number[] => [...times(7, head), ...times(3, tail)];
  const NO_NUMBER = 'GPU utilization: no number';

  it('is the mean of the last 30 % of the steps: of 10 from the eighth on', () => {
    const { check } = utilization(ten(1, 400), ten(999, 404));
    expect(check).toMatchObject({ golden: 400, current: 404, delta: 4, unit: 'TFLOP/s/GPU', tolerance: 0.05 });
    expect(check).toMatchObject({ status: 'pass', reason: 'mean of positions 7 to 10 of 10 golden steps' });
    expect(check.relative).toBeCloseTo(0.01, 12);
  });

  it('leaves out one step at least', () => {
    const { check } = utilization([1, 400], [9999, 400], { skip_first_percent_time: 0 });
    expect(check).toMatchObject({ golden: 400, current: 400 });
    // Of a single step nothing is left: NaN passes.
    const single = utilization([400], [1]);
    expect(single.check).toMatchObject({ golden: null, current: null, status: 'pass', gate: true });
    expect(single.outcome.notes.join()).toContain(NO_NUMBER);
  });

  it.each([
    [380, 'pass'],
    [379.9, 'regression'],
    [420, 'pass'],
    [420.1, 'improvement'],
  ] as const)('%f of 400: %s', (current, status) => {
    const { check, outcome } = utilization(ten(400, 400), ten(400, current));
    expect(check.status).toBe(status);
    expect(outcome.passed).toBe(status === 'pass');
  });

  // As Python slices do.
  it.each([
    [1, 3, 2.5],
    [0, null, 3],
    [-2, null, 4.5],
    [1, -1, 3],
    [-99, 99, 3],
    [4, 2, null],
    [7, null, null],
  ])('positions %s to %s have a mean of %s', (start, end, mean) => {
    const options = { eval_time_start_step: start, eval_time_end_step: end };
    const { check } = utilization([1, 2, 3, 4, 5], [10, 20, 30, 40, 50], options);
    const expected = mean === null ? [null, null, 'pass'] : [mean, 10 * mean, 'improvement'];
    expect([check.golden, check.current, check.status]).toEqual(expected);
  });

  it('counts positions in numerical order of the golden steps', () => {
    const step = (loss: number, gpu: number): BridgeStep => ({ ...NO_STEP, lm_loss: loss, gpu_utilization: gpu });
    const steps = [[9, step(1, 100)] as const, [2, step(3, 1)] as const, [10, step(0.5, 200)] as const];
    const golden = bridge([], { steps: new Map(steps) });
    const outcome = judgeBridge(golden, golden, { eval_time_start_step: 1 });
    expect(named(outcome, 'GPU utilization').golden).toBe(150);
  });

  it('leaves NaN and missing figures out of the mean', () => {
    const { check } = utilization([...times(8, 400), null, 404], ten(400, 402));
    expect(check).toMatchObject({ golden: 402, current: 402, status: 'pass' });
  });

  it.each([
    ['of the run', ten(400, 400), times(10, null)],
    ['of golden', times(10, null), ten(400, 400)],
  ])('passes without a figure %s, with a note', (_, golden, current) => {
    const { check, outcome } = utilization(golden, current);
    expect(check).toMatchObject({ status: 'pass', gate: true, delta: null });
    expect(check.reason).toContain('no number, which passes upstream');
    expect(outcome.notes.join()).toContain(NO_NUMBER);
  });

  it('passes where golden is nothing', () => {
    expect(utilization(ten(0, 0), ten(0, 400)).check).toMatchObject({ golden: 0, current: 400, status: 'pass' });
  });

  it('reports the time of a step without judging it', () => {
    const slow = judgeBridge(bridge(losses(10)), bridge(losses(10, () => ({ step_ms: 9000 }))));
    const expected = { golden: 1000, current: 9000, unit: 'ms', tolerance: null, status: 'info', gate: false };
    expect(named(slow, 'elapsed time per iteration (ms)')).toMatchObject(expected);
    expect(slow.passed).toBe(true);
  });
});

describe('Megatron Bridge: memory', () => {
  const NAMES = ['alloc', 'max_alloc', 'max_reserved'] as const;
  type Memory = readonly [alloc: number | null, maxAlloc: number | null, maxReserved: number | null];
  const memory = (golden: Memory, current: Memory, options: BridgeOptions = {}): PresetOutcome => {
    const of = (figures: Memory) =>
      bridge(losses(10), Object.fromEntries(NAMES.map((name, i) => [name, figures[i]])) as Partial<BridgeValues>);
    return judgeBridge(of(golden), of(current), options);
  };
  const ALL: Memory = [20, 40, 60];

  // 5 % pass either way. Where golden is 0 the figure itself is the difference. A run that lacks a figure of golden
  // fails: at the first two upstream stops.
  it.each<[Memory, Memory, string, BridgeOptions?]>([
    [ALL, ALL, ''],
    [ALL, [21, 38, 63], ''],
    [ALL, [21.01, 37.99, 63.01], 'alloc,max_alloc,max_reserved'],
    [ALL, [21.01, 37.99, 63.01], '', { memory_threshold: 0.1 }],
    [ALL, [20, 40, null], 'max_reserved'],
    [ALL, [null, 40, 60], 'alloc'],
    [ALL, [null, null, null], 'alloc,max_alloc,max_reserved'],
    [[0, 40, 60], [0.05, 40, 60], ''],
    [[0, 40, 60], [0.06, 40, 60], 'alloc'],
    [[Number.NaN, 40, 60], ALL, ''],
    [[20, 40, null], [20, 40, 999], ''],
  ])('of golden %j and now %j these fail: "%s"', (golden, current, expected, options) => {
    expect(failed(memory(golden, current, options)).join()).toBe(expected);
  });

  it('has a status and a reason for each figure', () => {
    const outcome = memory(ALL, [21.01, 37.99, 63.01]);
    const statuses = NAMES.map((name) => named(outcome, name)).map(({ unit, status }) => `${status} ${unit}`);
    expect(statuses).toEqual(['regression GB', 'improvement GB', 'regression GB']);
    expect(named(outcome, 'max_alloc')).toMatchObject({ golden: 40, current: 37.99, tolerance: 0.05, gate: true });
    expect(named(memory(ALL, [20, 40, null]), 'max_reserved').reason).toContain('fails upstream');
    expect(named(memory(ALL, [null, null, null]), 'alloc').reason).toContain('stops with an error');
    expect(memory([Number.NaN, 40, 60], ALL).notes.join()).toContain('alloc: no number');
    const unjudged = named(memory([20, 40, null], [20, 40, 999]), 'max_reserved');
    expect(unjudged).toMatchObject({ status: 'skipped', gate: false, current: 999 });
  });

  it.each<[Memory]>([[[null, 40, 60]], [[20, null, 60]], [[null, null, 60]], [[null, null, null]]])(
    'is skipped as a whole if golden has only %j',
    (golden) => {
      const outcome = memory(golden, [90, 90, 90]);
      for (const name of NAMES) expect(named(outcome, name)).toMatchObject({ status: 'skipped', gate: false });
      expect(outcome.notes).toEqual(['the golden values lack alloc or max_alloc: upstream judges no memory then']);
      expect(outcome.passed).toBe(true);
    },
  );
});

describe('Megatron Bridge: the loss', () => {
  type Curve = readonly (StepValue | null)[];
  const curves = (golden: Curve, current: Curve, options: BridgeOptions = {}): PresetOutcome => {
    const of = (curve: Curve) => bridge(curve.map((lm_loss) => ({ lm_loss, step_ms: 1, gpu_utilization: 1 })));
    return judgeBridge(of(golden), of(current), { skip_first_percent_loss: 0, ...options });
  };
  const ofCheck = (name: string, ...question: Parameters<typeof curves>): CompareCheck =>
    named(curves(...question), `lm loss: ${name}`);
  const falling = Array.from({ length: 20 }, (_, i) => 10 - 0.25 * i);
  /** The first `count` losses are others. */
  const withFirst = (count: number, other: (loss: number) => number, curve: readonly number[] = falling): number[] =>
    curve.map((loss, i) => (i < count ? other(loss) : loss));

  it('is skipped in the first fifth of the steps', () => {
    // Of 20 points four are skipped, of 19 three (3.8).
    const judged = (total: number, count: number): PresetOutcome =>
      judgeBridge(bridge(losses(total)), bridge(losses(total, (i) => ({ lm_loss: withFirst(count, () => 99)[i]! }))));
    for (const [total, count] of [[20, 4] as const, [19, 3] as const]) {
      expect(failed(judged(total, count))).toEqual([]);
      expect(failed(judged(total, count + 1))).toContain('lm loss: correlation');
    }
    expect(named(judged(20, 0), 'lm loss: points').reason).toContain('0 of 16 steps');
  });

  it('has to correlate', () => {
    // Deviations of golden (-1.5, -0.5, 0.5, 1.5): square sum 5. Last two swapped: products 2.25 + 0.25 + 0.75 + 0.75 =
    // 4 → 0.8.
    const check = ofCheck('correlation', [1, 2, 3, 4], [1, 2, 4, 3]);
    expect(check).toMatchObject({ golden: null, status: 'regression', gate: true, unit: '1' });
    expect(check.current).toBeCloseTo(0.8, 12);
    expect(check.reason).toBe('Pearson over 4 steps, 0.95 wanted');
    const options = { correlation_threshold: 0.79 };
    expect(ofCheck('correlation', [1, 2, 3, 4], [1, 2, 4, 3], options).status).toBe('pass');
    // Twice the loss correlates, and is wrong elsewhere.
    expect(
      failed(
        curves(
          falling,
          withFirst(20, (loss) => 2 * loss),
        ),
      ),
    ).toEqual(['lm loss: points', 'lm loss: final']);
  });

  it.each<[string, Curve, Curve]>([
    ['two flat curves', times(10, 3), times(10, 3)],
    ['one point', [3], [3]],
    ['a curve with a gap', falling, falling.with(10, null as never)],
  ])('passes a correlation that is no number: of %s', (_, golden, current) => {
    const outcome = curves(golden, current);
    expect(named(outcome, 'lm loss: correlation')).toMatchObject({ status: 'pass', current: null });
    expect(outcome.notes.join()).toContain('lm loss: correlation: no number');
    expect(outcome.passed).toBe(true);
  });

  // Tolerance by the golden loss: above 2.0, above 0.5, and below.
  it.each([
    [2.01, 0.1],
    [2.0, 0.05],
    [0.51, 0.05],
    [0.5, 0.02],
    [-0.5, 0.02],
  ])('of %f may differ by %f', (golden, tolerance) => {
    const points = (share: number): string =>
      ofCheck('points', times(10, golden), times(10, golden * (1 + share * tolerance)), { final_loss_tolerance: 9 })
        .status;
    expect([0.999, 1.001, -1.001].map(points)).toEqual(['pass', 'regression', 'regression']);
  });

  it('may differ at a tenth of the points', () => {
    const of = (count: number): CompareCheck =>
      ofCheck(
        'points',
        falling,
        withFirst(count, (loss) => loss * 1.2),
      );
    expect(of(2)).toMatchObject({ current: 0.1, tolerance: 0.1, status: 'pass' });
    expect(of(3)).toMatchObject({ current: 0.15, status: 'regression' });
    expect(of(3).reason).toBe('3 of 20 steps differ by more than the tolerance of their size, 10 % allowed');
  });

  it('takes the figure itself for the difference where golden is 0', () => {
    const of = (current: number): string => ofCheck('points', [0, 0], [current, current]).status;
    expect([0, 0.02, 0.021, -0.021].map(of)).toEqual(['pass', 'pass', 'regression', 'regression']);
  });

  it('lets points without a number pass', () => {
    const gone = curves(
      falling,
      falling.map((loss, i) => (i % 2 === 0 ? null : loss)),
    );
    expect(gone.passed).toBe(true);
    expect(named(gone, 'lm loss: points').reason).toContain('10 of them: no number');
    expect(curves(times(20, Number.NaN), falling).passed).toBe(true);
    expect(curves(falling, times(20, 'nan')).passed).toBe(true);
  });

  // Divided by golden, not by its size: a negative one lets everything pass.
  it.each([
    [100, 105, 'pass'],
    [100, 95, 'pass'],
    [100, 105.01, 'regression'],
    [100, 94.99, 'regression'],
    [0, 0.05, 'pass'],
    [0, -0.06, 'regression'],
    [-4, 100, 'pass'],
    [4, Number.NaN, 'pass'],
  ])('has to end where golden ends: %f, now %f: %s', (golden, current, status) => {
    const check = ofCheck('final', [...falling, golden], [...falling, current]);
    expect(check).toMatchObject({ golden, tolerance: 0.05, status });
    if (!Number.isNaN(current)) expect(check.current).toBe(current);
  });

  it('may have outliers beyond three standard deviations at a tenth of the points', () => {
    // 100 residuals, one of them 1: mean 0.01, σ ≈ 0.0995, 0.99 > 0.298.
    const flat = times(100, 5);
    const outliers = (count: number, options: BridgeOptions = {}): CompareCheck =>
      ofCheck(
        'outliers',
        flat,
        withFirst(count, (loss) => loss + 1, flat),
        options,
      );
    expect(outliers(1)).toMatchObject({ current: 0.01, tolerance: 0.1, status: 'pass' });
    // p ones of 1: (1 − p) > 3 √(p (1 − p)) as long as p < 1/10. At 9 %: 0.91 > 0.8585.
    expect(outliers(9)).toMatchObject({ current: 0.09, status: 'pass' });
    expect(outliers(9, { max_outlier_ratio: 0.08 })).toMatchObject({ current: 0.09, status: 'regression' });
    expect(outliers(11)).toMatchObject({ current: 0, status: 'pass' });
    // Two deviations: p < 1/5.
    expect(outliers(15, { outlier_threshold: 2 })).toMatchObject({ current: 0.15, status: 'regression' });
    expect(outliers(0).current).toBe(0);
  });

  it('cannot be judged without golden steps, where upstream stops', () => {
    const none = (alloc: number) => bridge([], { alloc, max_alloc: 1 });
    const outcome = judgeBridge(none(1), bridge(losses(5), { alloc: 1, max_alloc: 1 }));
    expect(outcome).toMatchObject({ passed: true, undecided: true });
    expect(outcome.checks.filter(({ status }) => status === 'undecided')).toHaveLength(5);
    expect(judgeBridge(none(1), none(2))).toMatchObject({ passed: false, undecided: false });
    expect(curves(falling, falling, { skip_first_percent_loss: 1 })).toMatchObject({ passed: true, undecided: true });
  });

  it('leaves out golden steps without a loss, and reports that upstream does not', () => {
    const golden = bridge([{ gpu_utilization: 1 }, ...losses(10)]);
    const { passed, notes } = judgeBridge(golden, golden);
    expect(passed).toBe(true);
    expect(notes).toContain('1 golden step without a loss left out; upstream stops at such a file with an error');
  });

  it('goes on with NaN where the run has no such step', () => {
    const { passed, notes } = judgeBridge(bridge(losses(10)), bridge(losses(8)));
    expect(passed).toBe(true);
    expect(notes[0]).toBe('of 2 golden steps the current values have nothing; upstream goes on with NaN');
  });
});

describe('Megatron Bridge: gradient norms', () => {
  const norms = (figures: readonly (StepValue | null)[]): PresetOutcome =>
    judgeBridge(bridge(losses(5)), bridge(losses(figures.length, (i) => ({ grad_norm: figures[i]! }))));

  it('fail if any is NaN or infinite, at steps that golden lacks too', () => {
    expect(named(norms([1, 2.5, null, 1, 1]), 'grad norm')).toMatchObject({ status: 'pass', gate: true, current: 2.5 });
    for (const odd of [Number.NaN, Infinity, 'nan'] as const) {
      const outcome = norms([...times(6, 1), odd]);
      expect(failed(outcome)).toEqual(['grad norm']);
      expect(named(outcome, 'grad norm').reason).toContain('1 of 7 steps NaN or infinite, first at step 6');
    }
    expect(named(norms([Number.NaN]), 'grad norm').current).toBeNull();
  });

  it('are not asked for', () => {
    expect(named(norms(times(5, null)), 'grad norm')).toMatchObject({ status: 'skipped', gate: false });
  });
});
