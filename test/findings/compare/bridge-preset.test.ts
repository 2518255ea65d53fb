/**
 * The upstream verdicts, rule by rule. What is expected was worked out by hand from upstream's rules, or by the few
 * lines of arithmetic next to it; the code itself was compared with numpy over random values when it was written.
 */
import { describe, expect, it } from 'vitest';
import { type BridgeOptions, judgeBridge } from '../../../src/findings/compare/presets/bridge.js';
import type { PresetOutcome } from '../../../src/findings/compare/presets/outcome.js';
import type { BridgeStep, BridgeValues, StepValue } from '../../../src/model/golden-values.js';
import type { CompareCheck } from '../../../src/model/results/compare.js';
import { bridge, failed, losses, NO_STEP, named } from './outcomes.js';

describe('Megatron Bridge: GPU utilization', () => {
  const utilization = (
    golden: readonly (number | null)[],
    current: readonly (number | null)[],
    options: BridgeOptions = {},
  ): { readonly check: CompareCheck; readonly outcome: PresetOutcome } => {
    const of = (figures: readonly (number | null)[]): BridgeValues =>
      bridge(losses(figures.length, (i) => ({ gpu_utilization: figures[i]! })));
    const outcome = judgeBridge(of(golden), of(current), options);
    return { check: named(outcome, 'GPU utilization'), outcome };
  };
  const ten = (head: number, tail: number): number[] => [...Array(7).fill(head), ...Array(3).fill(tail)];

  it('is the mean of the last 30 % of the steps: of 10 from the eighth on', () => {
    const { check } = utilization(ten(1, 400), ten(999, 404));
    expect(check).toMatchObject({
      golden: 400,
      current: 404,
      delta: 4,
      unit: 'TFLOP/s/GPU',
      tolerance: 0.05,
      status: 'pass',
    });
    expect(check.relative).toBeCloseTo(0.01, 12);
    expect(check.reason).toBe('mean of positions 7 to 10 of 10 golden steps');
  });

  it('leaves out one step at least', () => {
    expect(utilization([1, 400], [9999, 400], { skip_first_percent_time: 0 }).check).toMatchObject({
      golden: 400,
      current: 400,
    });
    // Of a single step nothing is left: NaN passes.
    const { check, outcome } = utilization([400], [1]);
    expect(check).toMatchObject({ golden: null, current: null, status: 'pass', gate: true });
    expect(outcome.notes.join()).toContain('GPU utilization: no number');
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

  it('takes positions as Python slices do', () => {
    const [golden, current] = [
      [1, 2, 3, 4, 5],
      [10, 20, 30, 40, 50],
    ];
    const window = (start: number | null, end: number | null): unknown => {
      const options = { eval_time_start_step: start, eval_time_end_step: end };
      const { check } = utilization(golden, current, options);
      return [check.golden, check.current, check.status];
    };
    expect(window(1, 3)).toEqual([2.5, 25, 'improvement']);
    expect(window(0, null)).toEqual([3, 30, 'improvement']);
    expect(window(-2, null)).toEqual([4.5, 45, 'improvement']);
    expect(window(1, -1)).toEqual([3, 30, 'improvement']);
    expect(window(-99, 99)).toEqual([3, 30, 'improvement']);
    expect(window(4, 2)).toEqual([null, null, 'pass']);
    expect(window(7, null)).toEqual([null, null, 'pass']);
  });

  it('counts positions in numerical order of the golden steps', () => {
    const step = (loss: number, gpu: number): BridgeStep => ({ ...NO_STEP, lm_loss: loss, gpu_utilization: gpu });
    const golden = bridge([], {
      steps: new Map([
        [9, step(1, 100)],
        [2, step(3, 1)],
        [10, step(0.5, 200)],
      ]),
    });
    const outcome = judgeBridge(golden, golden, { eval_time_start_step: 1 });
    expect(named(outcome, 'GPU utilization').golden).toBe(150);
  });

  it('leaves NaN and missing figures out of the mean', () => {
    const missing = [...Array(7).fill(400), 400, null, 404];
    expect(utilization(missing, ten(400, 402)).check).toMatchObject({ golden: 402, current: 402, status: 'pass' });
  });

  it('passes without a figure, with a note', () => {
    for (const [golden, current] of [
      [ten(400, 400), Array(10).fill(null)],
      [Array(10).fill(null), ten(400, 400)],
    ] as const) {
      const { check, outcome } = utilization(golden, current);
      expect(check).toMatchObject({ status: 'pass', gate: true, delta: null });
      expect(check.reason).toContain('no number, which passes upstream');
      expect(outcome.notes.join()).toContain('GPU utilization: no number');
    }
  });

  it('passes where golden is nothing', () => {
    expect(utilization(ten(0, 0), ten(0, 400)).check).toMatchObject({ golden: 0, current: 400, status: 'pass' });
  });

  it('reports the time of a step without judging it', () => {
    const slow = judgeBridge(bridge(losses(10)), bridge(losses(10, () => ({ step_ms: 9000 }))));
    expect(named(slow, 'elapsed time per iteration (ms)')).toMatchObject({
      golden: 1000,
      current: 9000,
      unit: 'ms',
      tolerance: null,
      status: 'info',
      gate: false,
    });
    expect(slow.passed).toBe(true);
  });
});

describe('Megatron Bridge: memory', () => {
  const memory = (
    golden: Partial<BridgeValues>,
    current: Partial<BridgeValues>,
    options: BridgeOptions = {},
  ): PresetOutcome => judgeBridge(bridge(losses(10), golden), bridge(losses(10), current), options);
  const all = { alloc: 20, max_alloc: 40, max_reserved: 60 };

  it('passes 5 % either way', () => {
    expect(failed(memory(all, all))).toEqual([]);
    expect(failed(memory(all, { alloc: 21, max_alloc: 38, max_reserved: 63 }))).toEqual([]);
    const outcome = memory(all, { alloc: 21.01, max_alloc: 37.99, max_reserved: 63.01 });
    expect(failed(outcome)).toEqual(['alloc', 'max_alloc', 'max_reserved']);
    expect(outcome.checks.filter(({ unit }) => unit === 'GB').map(({ status }) => status)).toEqual([
      'regression',
      'improvement',
      'regression',
    ]);
    expect(named(outcome, 'max_alloc')).toMatchObject({ golden: 40, current: 37.99, tolerance: 0.05, gate: true });
    expect(
      failed(memory(all, { alloc: 21.01, max_alloc: 37.99, max_reserved: 63.01 }, { memory_threshold: 0.1 })),
    ).toEqual([]);
  });

  it.each([{ max_alloc: 40, max_reserved: 60 }, { alloc: 20, max_reserved: 60 }, { max_reserved: 60 }, {}])(
    'is skipped as a whole if golden has only %j',
    (golden) => {
      const outcome = memory(golden, { alloc: 90, max_alloc: 90, max_reserved: 90 });
      for (const name of ['alloc', 'max_alloc', 'max_reserved']) {
        expect(named(outcome, name)).toMatchObject({ status: 'skipped', gate: false });
      }
      expect(outcome.notes).toEqual(['the golden values lack alloc or max_alloc: upstream judges no memory then']);
      expect(outcome.passed).toBe(true);
    },
  );

  it('judges the reserved peak only if golden has it, and then wants it', () => {
    const without = memory({ alloc: 20, max_alloc: 40 }, { ...all, max_reserved: 999 });
    expect(named(without, 'max_reserved')).toMatchObject({ status: 'skipped', gate: false, current: 999 });
    expect(without.passed).toBe(true);
    const missing = memory(all, { alloc: 20, max_alloc: 40 });
    expect(failed(missing)).toEqual(['max_reserved']);
    expect(named(missing, 'max_reserved').reason).toContain('fails upstream');
  });

  it('fails a run that lacks the others, at which upstream stops', () => {
    expect(failed(memory(all, { max_alloc: 40, max_reserved: 60 }))).toEqual(['alloc']);
    expect(failed(memory(all, {}))).toEqual(['alloc', 'max_alloc', 'max_reserved']);
    expect(named(memory(all, {}), 'alloc').reason).toContain('stops with an error');
  });

  it('takes the figure itself for the difference where golden is 0, and passes NaN', () => {
    expect(failed(memory({ ...all, alloc: 0 }, { ...all, alloc: 0.05 }))).toEqual([]);
    expect(failed(memory({ ...all, alloc: 0 }, { ...all, alloc: 0.06 }))).toEqual(['alloc']);
    const nan = memory({ ...all, alloc: Number.NaN }, all);
    expect(nan.passed).toBe(true);
    expect(nan.notes.join()).toContain('alloc: no number');
  });
});

describe('Megatron Bridge: the loss', () => {
  const curves = (
    golden: readonly (StepValue | null)[],
    current: readonly (StepValue | null)[],
    options: BridgeOptions = {},
  ): PresetOutcome => {
    const of = (curve: readonly (StepValue | null)[]): BridgeValues =>
      bridge(curve.map((lm_loss) => ({ lm_loss, step_ms: 1, gpu_utilization: 1 })));
    return judgeBridge(of(golden), of(current), { skip_first_percent_loss: 0, ...options });
  };
  const falling = Array.from({ length: 20 }, (_, i) => 10 - 0.25 * i);

  it('is skipped in the first fifth of the steps', () => {
    // Of 20 points four are skipped, of 19 three (3.8).
    const wrong = (count: number): number[] => falling.map((loss, i) => (i < count ? 99 : loss));
    const judged = (total: number, count: number): PresetOutcome =>
      judgeBridge(bridge(losses(total)), bridge(losses(total, (i) => ({ lm_loss: wrong(count)[i]! }))));
    expect(failed(judged(20, 4))).toEqual([]);
    expect(failed(judged(20, 5))).toContain('lm loss: correlation');
    expect(failed(judged(19, 3))).toEqual([]);
    expect(failed(judged(19, 4))).toContain('lm loss: correlation');
    expect(named(judged(20, 0), 'lm loss: points').reason).toContain('0 of 16 steps');
  });

  it('has to correlate', () => {
    // Deviations of golden (-1.5, -0.5, 0.5, 1.5): square sum 5. Last two swapped: products 2.25 + 0.25 + 0.75 + 0.75 =
    // 4 → 0.8.
    const check = named(curves([1, 2, 3, 4], [1, 2, 4, 3]), 'lm loss: correlation');
    expect(check).toMatchObject({ golden: null, status: 'regression', gate: true, unit: '1' });
    expect(check.current).toBeCloseTo(0.8, 12);
    expect(check.reason).toBe('Pearson over 4 steps, 0.95 wanted');
    expect(named(curves([1, 2, 3, 4], [1, 2, 4, 3], { correlation_threshold: 0.79 }), check.name).status).toBe('pass');
    // Twice the loss correlates, and is wrong elsewhere.
    const twice = curves(
      falling,
      falling.map((loss) => 2 * loss),
    );
    expect(failed(twice)).toEqual(['lm loss: points', 'lm loss: final']);
  });

  it('passes a correlation that is no number', () => {
    for (const [golden, current] of [
      [Array(10).fill(3), Array(10).fill(3)],
      [[3], [3]],
      [falling, [...falling.slice(0, 10), null, ...falling.slice(11)]],
    ] as const) {
      const outcome = curves(golden, current);
      expect(named(outcome, 'lm loss: correlation')).toMatchObject({ status: 'pass', current: null });
      expect(outcome.notes.join()).toContain('lm loss: correlation: no number');
      expect(outcome.passed).toBe(true);
    }
  });

  // Tolerance by the golden loss: above 2.0, above 0.5, and below.
  it.each([
    [2.01, 0.1],
    [2.0, 0.05],
    [0.51, 0.05],
    [0.5, 0.02],
    [-0.5, 0.02],
  ])('of %f may differ by %f', (golden, tolerance) => {
    const points = (factor: number): string => {
      const outcome = curves(Array(10).fill(golden), Array(10).fill(golden * factor), { final_loss_tolerance: 9 });
      return named(outcome, 'lm loss: points').status;
    };
    expect(points(1 + 0.999 * tolerance)).toBe('pass');
    expect(points(1 + 1.001 * tolerance)).toBe('regression');
    expect(points(1 - 1.001 * tolerance)).toBe('regression');
  });

  it('may differ at a tenth of the points', () => {
    const of = (count: number): CompareCheck =>
      named(
        curves(
          falling,
          falling.map((loss, i) => (i < count ? loss * 1.2 : loss)),
        ),
        'lm loss: points',
      );
    expect(of(2)).toMatchObject({ current: 0.1, tolerance: 0.1, status: 'pass' });
    expect(of(3)).toMatchObject({ current: 0.15, status: 'regression' });
    expect(of(3).reason).toBe('3 of 20 steps differ by more than the tolerance of their size, 10 % allowed');
  });

  it('takes the figure itself for the difference where golden is 0', () => {
    const of = (current: number): string => named(curves([0, 0], [current, current]), 'lm loss: points').status;
    expect([of(0), of(0.02), of(0.021), of(-0.021)]).toEqual(['pass', 'pass', 'regression', 'regression']);
  });

  it('lets points without a number pass', () => {
    const gone = falling.map((loss, i) => (i % 2 === 0 ? null : loss));
    const outcome = curves(falling, gone);
    expect(outcome.passed).toBe(true);
    expect(named(outcome, 'lm loss: points').reason).toContain('10 of them: no number');
    expect(
      curves(
        falling.map(() => Number.NaN),
        falling,
      ).passed,
    ).toBe(true);
    expect(
      curves(
        falling,
        falling.map(() => 'nan' as const),
      ).passed,
    ).toBe(true);
  });

  it('has to end where golden ends', () => {
    const ends = (golden: number, current: number): CompareCheck =>
      named(curves([...falling, golden], [...falling, current]), 'lm loss: final');
    expect(ends(100, 105)).toMatchObject({ golden: 100, current: 105, tolerance: 0.05, status: 'pass' });
    expect(ends(100, 95).status).toBe('pass');
    expect(ends(100, 105.01).status).toBe('regression');
    expect(ends(100, 94.99).status).toBe('regression');
    expect(ends(0, 0.05).status).toBe('pass');
    expect(ends(0, -0.06).status).toBe('regression');
    // Divided by golden, not by its size: a negative one lets everything pass.
    expect(ends(-4, 100).status).toBe('pass');
    expect(ends(4, Number.NaN).status).toBe('pass');
  });

  it('may have outliers beyond three standard deviations at a tenth of the points', () => {
    // 100 residuals, one of them 1: mean 0.01, σ ≈ 0.0995, 0.99 > 0.298.
    const flat = Array(100).fill(5) as number[];
    const outliers = (count: number, options: BridgeOptions = {}): CompareCheck =>
      named(
        curves(
          flat,
          flat.map((loss, i) => (i < count ? loss + 1 : loss)),
          options,
        ),
        'lm loss: outliers',
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
    const outcome = judgeBridge(bridge([], { alloc: 1, max_alloc: 1 }), bridge(losses(5), { alloc: 1, max_alloc: 1 }));
    expect(outcome).toMatchObject({ passed: true, undecided: true });
    expect(outcome.checks.filter(({ status }) => status === 'undecided')).toHaveLength(5);
    expect(judgeBridge(bridge([], { alloc: 1, max_alloc: 1 }), bridge([], { alloc: 2, max_alloc: 1 }))).toMatchObject({
      passed: false,
      undecided: false,
    });
    expect(curves(falling, falling, { skip_first_percent_loss: 1 })).toMatchObject({ passed: true, undecided: true });
  });

  it('leaves out golden steps without a loss, and reports that upstream does not', () => {
    const golden = bridge([{ gpu_utilization: 1 }, ...losses(10)]);
    const outcome = judgeBridge(golden, golden);
    expect(outcome.passed).toBe(true);
    expect(outcome.notes).toContain(
      '1 golden step without a loss left out; upstream stops at such a file with an error',
    );
  });

  it('goes on with NaN where the run has no such step', () => {
    const outcome = judgeBridge(bridge(losses(10)), bridge(losses(8)));
    expect(outcome.passed).toBe(true);
    expect(outcome.notes[0]).toBe('of 2 golden steps the current values have nothing; upstream goes on with NaN');
  });
});

describe('Megatron Bridge: gradient norms', () => {
  const norms = (figures: readonly (StepValue | null)[]): PresetOutcome =>
    judgeBridge(bridge(losses(5)), bridge(losses(figures.length, (i) => ({ grad_norm: figures[i]! }))));

  it('fail if any is NaN or infinite, at steps that golden lacks too', () => {
    expect(named(norms([1, 2.5, null, 1, 1]), 'grad norm')).toMatchObject({ status: 'pass', gate: true, current: 2.5 });
    for (const odd of [Number.NaN, Infinity, 'nan'] as const) {
      const outcome = norms([1, 1, 1, 1, 1, 1, odd]);
      expect(failed(outcome)).toEqual(['grad norm']);
      expect(named(outcome, 'grad norm').reason).toContain('1 of 7 steps NaN or infinite, first at step 6');
    }
    expect(named(norms([Number.NaN]), 'grad norm').current).toBeNull();
  });

  it('are not asked for', () => {
    expect(named(norms([null, null, null, null, null]), 'grad norm')).toMatchObject({ status: 'skipped', gate: false });
  });
});
