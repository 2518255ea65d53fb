/**
 * The verdict of Megatron Bridge's performance tests: `calc_convergence_and_performance` in
 * `scripts/performance/utils/evaluate.py`, main at 067f987 (2026-08-22), with the defaults of its command line.
 * Comparisons with NaN are false there, so a value that is not a number passes; it passes here too, with a note.
 */

import type { BridgeStep, BridgeValues, StepValue } from '../../../model/golden-values.js';
import type { CheckStatus, CompareCheck } from '../../../model/results/compare.js';
import { sentencesOf, type Text } from '../../../model/statement.js';
import { correlation, mean, nanMean, standardDeviation } from './numpy-semantics.js';
import { type PresetOutcome, presetCheck, presetOutcome } from './outcome.js';

const sentence = sentencesOf('presets');

/**
 * What upstream's command line hands on, named as its options; shares, not percentages. The functions' own defaults
 * differ in `skip_first_percent_time` (0.1), `skip_first_percent_loss` (0) and `final_loss_tolerance` (0.03).
 */
export const BRIDGE_DEFAULTS = {
  /** Largest relative change of the mean GPU utilization, either way. */
  timing_threshold: 0.05,
  skip_first_percent_time: 0.7,
  /**
   * Positions, not step numbers, and as Python slices: negative ones count from the end. Null:
   * `skip_first_percent_time` decides, and all to the end.
   */
  eval_time_start_step: null as number | null,
  eval_time_end_step: null as number | null,
  memory_threshold: 0.05,
  skip_first_percent_loss: 0.2,
  correlation_threshold: 0.95,
  /** Of losses above 2.0. */
  high_loss_tolerance: 0.1,
  /** Of losses above 0.5. */
  medium_loss_tolerance: 0.05,
  low_loss_tolerance: 0.02,
  final_loss_tolerance: 0.05,
  /** Share of points that may exceed their tolerance, and share of residuals that may be outliers. */
  max_outlier_ratio: 0.1,
  /** In standard deviations. */
  outlier_threshold: 3,
};
type BridgeThresholds = Readonly<typeof BRIDGE_DEFAULTS>;
export type BridgeOptions = Partial<BridgeThresholds>;

const HIGH_LOSS = 2.0;
const MEDIUM_LOSS = 0.5;

/** Judges a run by the golden steps; steps that only the run has do not count, but for the gradient norm. */
export function judgeBridge(golden: BridgeValues, current: BridgeValues, options: BridgeOptions = {}): PresetOutcome {
  const thresholds = { ...BRIDGE_DEFAULTS, ...options };
  const notes: Text[] = [];
  const steps = [...golden.steps.keys()]
    .filter((step) => golden.steps.get(step)!.lm_loss !== null)
    .sort((a, b) => a - b);
  const without = golden.steps.size - steps.length;
  if (without > 0) {
    notes.push(sentence('without_loss', { steps: without }));
  }
  const series = (field: keyof BridgeStep): Pair => ({
    golden: steps.map((step) => numberOf(golden.steps.get(step)?.[field])),
    current: steps.map((step) => numberOf(current.steps.get(step)?.[field])),
  });
  const missing = steps.filter((step) => !current.steps.has(step)).length;
  if (missing > 0) {
    notes.push(sentence('nothing_current', { steps: missing }));
  }
  const checks = [
    ...performanceChecks(series('gpu_utilization'), series('step_ms'), thresholds, notes),
    ...memoryChecks(golden, current, thresholds.memory_threshold, notes),
    ...lossChecks(series('lm_loss'), thresholds, notes),
    gradientCheck(current),
  ];
  return presetOutcome(checks, notes);
}

/** Values at the golden steps. */
interface Pair {
  readonly golden: readonly number[];
  readonly current: readonly number[];
}

/** A text is not a loss; upstream would stop at one, a log prints `nan`. */
const numberOf = (value: StepValue | null | undefined): number =>
  value === null || value === undefined || value === 'nan' ? Number.NaN : value;

const NO_STEPS = sentence('no_loss_step');

const unjudged = (name: string, unit: string): CompareCheck =>
  presetCheck({ name, unit, status: 'undecided', gate: true, reason: NO_STEPS });

function passedForNaN(name: string, notes: Text[]): Text {
  notes.push(sentence('no_number_note', { name }));
  return sentence('no_number');
}

const UTILIZATION = 'GPU utilization';
const STEP_TIME = 'elapsed time per iteration (ms)';

function performanceChecks(
  utilization: Pair,
  stepTime: Pair,
  { timing_threshold: tolerance, ...window }: BridgeThresholds,
  notes: Text[],
): CompareCheck[] {
  const total = utilization.golden.length;
  if (total === 0) return [unjudged(UTILIZATION, 'TFLOP/s/GPU')];
  const start = window.eval_time_start_step ?? Math.max(1, Math.trunc(total * window.skip_first_percent_time));
  const end = window.eval_time_end_step ?? total;
  const stable = (values: readonly number[]): number => nanMean(values.slice(start, end));
  const [golden, current] = [stable(utilization.golden), stable(utilization.current)];
  const signed = golden === 0 ? 0 : (current - golden) / golden;
  const status: CheckStatus = signed < -tolerance ? 'regression' : signed > tolerance ? 'improvement' : 'pass';
  const figures = sentence('positions', { from: start, to: end, steps: total });
  const odd = Number.isNaN(signed) ? passedForNaN(UTILIZATION, notes) : null;
  return [
    presetCheck({
      name: UTILIZATION,
      unit: 'TFLOP/s/GPU',
      golden,
      current,
      tolerance,
      status,
      gate: true,
      reason: odd === null ? figures : sentence('positions_odd', { figures, odd }),
    }),
    presetCheck({
      name: STEP_TIME,
      unit: 'ms',
      golden: stable(stepTime.golden),
      current: stable(stepTime.current),
      status: 'info',
      gate: false,
      reason: sentence('reported', { figures }),
    }),
  ];
}

const MEMORY = ['alloc', 'max_alloc', 'max_reserved'] as const;

function memoryChecks(golden: BridgeValues, current: BridgeValues, tolerance: number, notes: Text[]): CompareCheck[] {
  const isSkipped = golden.alloc === null || golden.max_alloc === null;
  if (isSkipped) notes.push(sentence('lacks_alloc'));
  return MEMORY.map((name): CompareCheck => {
    const figures = { name, unit: 'GB', golden: golden[name], current: current[name] };
    if (isSkipped || golden[name] === null) {
      const reason = isSkipped ? sentence('memory_by_both') : sentence('golden_none');
      return presetCheck({ ...figures, status: 'skipped', gate: false, reason });
    }
    const [g, c] = [golden[name], current[name]];
    if (c === null) {
      const reason = name === 'max_reserved' ? sentence('current_fails') : sentence('current_stops');
      return presetCheck({ ...figures, tolerance, status: 'regression', gate: true, reason });
    }
    const difference = g === 0 ? Math.abs(c) : Math.abs(c - g) / g;
    const status: CheckStatus = difference > tolerance ? (c < g ? 'improvement' : 'regression') : 'pass';
    const reason = Number.isNaN(difference) ? passedForNaN(name, notes) : null;
    return presetCheck({ ...figures, tolerance, status, gate: true, reason });
  });
}

function lossChecks(all: Pair, thresholds: BridgeThresholds, notes: Text[]): CompareCheck[] {
  const skipped = Math.max(0, Math.trunc(all.current.length * thresholds.skip_first_percent_loss));
  const loss: Pair = { golden: all.golden.slice(skipped), current: all.current.slice(skipped) };
  if (loss.golden.length === 0) {
    return ['correlation', 'points', 'final', 'outliers'].map((what) => unjudged(`lm loss: ${what}`, '1'));
  }
  return [
    correlationCheck(loss, thresholds, notes),
    pointsCheck(loss, thresholds, notes),
    finalCheck(loss, thresholds, notes),
    outlierCheck(loss, thresholds, notes),
  ];
}

/** Judges one number of the curve, which golden has as a limit and not as a figure. */
function curveCheck(
  name: string,
  current: number,
  fails: boolean,
  tolerance: number | null,
  reason: Text,
): CompareCheck {
  const status = fails ? 'regression' : 'pass';
  return presetCheck({ name, unit: '1', current, tolerance, status, gate: true, reason });
}

function correlationCheck(
  { golden, current }: Pair,
  { correlation_threshold: least }: BridgeThresholds,
  notes: Text[],
): CompareCheck {
  const name = 'lm loss: correlation';
  const coefficient = correlation(current, golden);
  const odd = Number.isNaN(coefficient) ? passedForNaN(name, notes) : null;
  const reason = sentence('pearson', { steps: golden.length, least, odd });
  return curveCheck(name, coefficient, coefficient < least, null, reason);
}

function pointsCheck({ golden, current }: Pair, thresholds: BridgeThresholds, notes: Text[]): CompareCheck {
  const name = 'lm loss: points';
  let failing = 0;
  let odd = 0;
  for (const [i, g] of golden.entries()) {
    const c = current[i]!;
    const tolerance =
      g > HIGH_LOSS
        ? thresholds.high_loss_tolerance
        : g > MEDIUM_LOSS
          ? thresholds.medium_loss_tolerance
          : thresholds.low_loss_tolerance;
    const difference = g === 0 ? Math.abs(c) : Math.abs(c - g) / Math.abs(g);
    if (difference > tolerance) failing += 1;
    if (Number.isNaN(difference)) odd += 1;
  }
  const share = failing / golden.length;
  const most = thresholds.max_outlier_ratio;
  const passed = odd === 0 ? {} : { nan: odd, odd: passedForNaN(name, notes) };
  const reason = sentence('points', { failing, steps: golden.length, most_share: most, ...passed });
  return curveCheck(name, share, share > most, most, reason);
}

function finalCheck(loss: Pair, { final_loss_tolerance: tolerance }: BridgeThresholds, notes: Text[]): CompareCheck {
  const name = 'lm loss: final';
  const [golden, current] = [loss.golden.at(-1)!, loss.current.at(-1)!];
  const difference = golden === 0 ? Math.abs(current) : Math.abs(current - golden) / golden;
  const reason = Number.isNaN(difference) ? passedForNaN(name, notes) : sentence('last_golden');
  const status = difference > tolerance ? 'regression' : 'pass';
  return presetCheck({ name, unit: '1', golden, current, tolerance, status, gate: true, reason });
}

function outlierCheck({ golden, current }: Pair, thresholds: BridgeThresholds, notes: Text[]): CompareCheck {
  const name = 'lm loss: outliers';
  const residuals = current.map((value, i) => value - golden[i]!);
  const centre = mean(residuals);
  const limit = thresholds.outlier_threshold * standardDeviation(residuals);
  const outliers = residuals.filter((residual) => Math.abs(residual - centre) > limit).length;
  const share = outliers / golden.length;
  const most = thresholds.max_outlier_ratio;
  const odd = Number.isNaN(limit) ? passedForNaN(name, notes) : null;
  const reason = sentence('outliers', {
    outliers,
    residuals: golden.length,
    limit: thresholds.outlier_threshold,
    most_share: most,
    odd,
  });
  return curveCheck(name, share, share > most, most, reason);
}

/** Of the run alone, at whatever steps it has one. */
function gradientCheck(current: BridgeValues): CompareCheck {
  const name = 'grad norm';
  const norms = [...current.steps].filter(([, step]) => step.grad_norm !== null);
  if (norms.length === 0) {
    const reason = sentence('no_norm');
    return presetCheck({ name, unit: '1', status: 'skipped', gate: false, reason });
  }
  const odd = norms.filter(([, step]) => !Number.isFinite(numberOf(step.grad_norm)));
  const largest = norms.reduce((most, [, step]) => {
    const norm = numberOf(step.grad_norm);
    return Number.isFinite(norm) ? Math.max(most, norm) : most;
  }, Number.NEGATIVE_INFINITY);
  const reason =
    odd.length === 0
      ? sentence('largest', { steps: norms.length })
      : sentence('odd_norms', { odd: odd.length, steps: norms.length, first: odd[0]![0] });
  const status = odd.length === 0 ? 'pass' : 'regression';
  return presetCheck({ name, unit: '1', current: largest, status, gate: true, reason });
}
