/**
 * The verdict of Megatron-LM's functional tests: `pipeline` in `tests/functional_tests/python_test_utils/common.py`,
 * with the thresholds of `test_pretraining_regular_pipeline.py`, and for inference
 * `test_inference_regular_pipeline.py`; main at d98e8a6 (2026-08-22).
 */

import type {
  MegatronInferenceValues,
  MegatronTrainingValues,
  StepSeries,
  StepValue,
} from '../../../model/golden-values.js';
import type { CheckStatus, CompareCheck } from '../../../model/results/compare.js';
import { sentencesOf, type Text } from '../../../model/statement.js';
import { isClose, median } from './numpy-semantics.js';
import { type PresetOutcome, presetCheck, presetOutcome } from './outcome.js';

const sentence = sentencesOf('presets');

export interface MegatronOptions {
  /**
   * METRICS of the test's `model_config.yaml`. Without it: all that the golden values have and that upstream has a rule
   * for.
   */
  readonly metrics?: readonly string[] | undefined;
  /**
   * Ask for equality where upstream has such a test (without `--allow-nondeterministic-algo`). Off: a golden of another
   * machine never passes it.
   */
  readonly deterministic?: boolean | undefined;
  /** The current values are those that a log prints: equal means equal in the digits that golden values keep. */
  readonly isPrinted?: boolean;
}

/** The last decimal of golden values, and what the decimal of a log rounds away before it. */
const LAST_DECIMAL = 1.5e-5;

interface Rule {
  readonly rtol: number;
  /** There is a test for equality too. */
  readonly isExact: boolean;
  readonly unit: string;
  /**
   * Less of it is an improvement, if one that fails. A loss is the same, or the computation changed: it has neither a
   * better nor a worse side.
   */
  readonly lessIsBetter: boolean;
}

const SAME_NUMBERS: Rule = { rtol: 0.05, isExact: true, unit: '1', lessIsBetter: false };
const MEMORY: Rule = { rtol: 0.05, isExact: false, unit: 'bytes', lessIsBetter: true };
const ITERATION_TIME = 'iteration-time';
const RULES: Readonly<Record<string, Rule>> = {
  'lm loss': SAME_NUMBERS,
  'total loss': SAME_NUMBERS,
  generated_tokens: SAME_NUMBERS,
  logprobs: SAME_NUMBERS,
  'num-zeros': { ...SAME_NUMBERS, rtol: 0.2 },
  'mem-allocated-bytes': MEMORY,
  'mem-max-allocated-bytes': MEMORY,
  [ITERATION_TIME]: { ...MEMORY, unit: 's' },
};
const OF_A_PREDICTION_LAYER = /^mtp_\d+ loss$/;

function ruleOf(metric: string): Rule | undefined {
  if (OF_A_PREDICTION_LAYER.test(metric)) return SAME_NUMBERS;
  return Object.hasOwn(RULES, metric) ? RULES[metric] : undefined;
}

/** Judges values of one kind by golden values of the same; of different kinds nothing is judged. */
export function judgeMegatron(
  golden: MegatronTrainingValues | MegatronInferenceValues,
  current: MegatronTrainingValues | MegatronInferenceValues,
  options: MegatronOptions = {},
): PresetOutcome {
  if (golden.kind === 'megatron_training' && current.kind === 'megatron_training') {
    return judgeTraining(golden, current, options);
  }
  if (golden.kind === 'megatron_inference' && current.kind === 'megatron_inference') {
    return judgeInference(golden, current, options);
  }
  return presetOutcome([], [sentence('other_kind')]);
}

function judgeTraining(
  golden: MegatronTrainingValues,
  current: MegatronTrainingValues,
  options: MegatronOptions,
): PresetOutcome {
  const names = options.metrics === undefined ? [...golden.metrics.keys()] : [...new Set(options.metrics)];
  const checks = names.map((name): CompareCheck => {
    const rule = ruleOf(name);
    if (rule !== undefined) {
      const isExact = rule.isExact && options.deterministic === true;
      const least = isExact && options.isPrinted === true ? LAST_DECIMAL : 0;
      return checkMetric(name, rule, { isExact, least }, golden.metrics.get(name), current.metrics.get(name));
    }
    // Asked for by name, upstream looks the rule up and fails.
    const isNamed = options.metrics !== undefined;
    const reason = sentence('no_rule');
    return presetCheck({ name, unit: '1', status: isNamed ? 'regression' : 'skipped', gate: isNamed, reason });
  });
  const notes = names.length === 0 ? [sentence('no_metric')] : [];
  if (golden.is_legacy) {
    notes.push(sentence('legacy'));
  }
  return presetOutcome(checks, notes);
}

/** `least`: an absolute difference that does not count. */
interface Closeness {
  readonly isExact: boolean;
  readonly least: number;
}

function checkMetric(
  name: string,
  rule: Rule,
  { isExact, least }: Closeness,
  golden: StepSeries | undefined,
  current: StepSeries | undefined,
): CompareCheck {
  const tolerance = isExact ? 0 : rule.rtol;
  const fails = (reason: Text): CompareCheck =>
    presetCheck({ name, unit: rule.unit, status: 'regression', gate: true, tolerance, reason });
  if (golden === undefined) return fails(sentence('golden_lacks'));
  if (current === undefined) return fails(sentence('current_lacks'));
  if (golden.values.size === 0) return fails(sentence('no_step'));
  return name === ITERATION_TIME
    ? checkIterationTime(rule, golden, current, fails)
    : checkSteps(name, rule, { tolerance, least }, golden, current);
}

/** Upstream takes every text for infinity, and a step that is missing for the text `nan`. */
const numberOf = (value: StepValue | undefined): number =>
  value === undefined || value === 'nan' ? Number.POSITIVE_INFINITY : value;

/** Median of a window, as one number. */
function checkIterationTime(
  rule: Rule,
  golden: StepSeries,
  current: StepSeries,
  fails: (reason: Text) => CompareCheck,
): CompareCheck {
  const finiteSteps = [...golden.values]
    .filter(([, value]) => value !== 'nan' && Number.isFinite(value))
    .map(([step]) => step)
    .sort((a, b) => a - b);
  const last = finiteSteps.at(-1);
  if (last === undefined) return fails(sentence('no_finite'));
  const [from, to] = last <= LAST_OF_SHORT_RUN ? SHORT_WINDOW : LONG_WINDOW;
  let steps = finiteSteps.filter((step) => step >= from && step <= to);
  let window = sentence('window', { steps: steps.length, from, to });
  if (steps.length === 0) {
    steps = finiteSteps.filter((step) => step >= from).slice(0, MOST_STEPS_BEHIND_WINDOW);
    window = sentence('late_window', { steps: steps.length, first: steps[0], from, to });
  }
  if (steps.length === 0) {
    return fails(sentence('after_warmup', { from }));
  }
  const goldenMedian = median(steps.map((step) => numberOf(golden.values.get(step))));
  const currentMedian = median(steps.map((step) => numberOf(current.values.get(step))));
  const missing = steps.filter((step) => !Number.isFinite(numberOf(current.values.get(step)))).length;
  return presetCheck({
    name: ITERATION_TIME,
    unit: rule.unit,
    golden: goldenMedian,
    current: currentMedian,
    tolerance: rule.rtol,
    status: statusOf(isClose(currentMedian, goldenMedian, rule.rtol), currentMedian < goldenMedian),
    gate: true,
    reason: sentence('median', { window, missing: missing || null }),
  });
}

/** Steps 5 to 20 of a run of up to 25 steps, else 30 to 45. */
const LAST_OF_SHORT_RUN = 25;
const SHORT_WINDOW = [5, 20] as const;
const LONG_WINDOW = [30, 45] as const;
const MOST_STEPS_BEHIND_WINDOW = 4;
/** One step in a hundred may differ, one at least and fifty at most. */
const STEPS_PER_FAILURE = 100;
const MOST_FAILURES = 50;

function checkSteps(
  name: string,
  rule: Rule,
  { tolerance, least }: { readonly tolerance: number; readonly least: number },
  golden: StepSeries,
  current: StepSeries,
): CompareCheck {
  const pairs = [...golden.values].map(([step, value]) => ({
    golden: numberOf(value),
    current: numberOf(current.values.get(step)),
  }));
  const total = pairs.length;
  const failing = pairs.filter(
    (pair) => !isClose(pair.current, pair.golden, tolerance) && !(Math.abs(pair.current - pair.golden) <= least),
  );
  const isExact = tolerance === 0;
  const allowed =
    isExact || total === 1 ? 0 : Math.min(Math.max(Math.floor(total / STEPS_PER_FAILURE), 1), MOST_FAILURES);
  // In floating point, as upstream: of 3, 7, 19, 27, … steps even the allowed one is one too many.
  const passes = allowed === 0 ? failing.length === 0 : (total - failing.length) / total >= 1 - allowed / total;
  const finitePairs = pairs.filter((pair) => Number.isFinite(pair.golden) && Number.isFinite(pair.current));
  const isLower = failing.every((pair) => pair.current < pair.golden && Number.isFinite(pair.golden));
  const gone = failing.filter((pair) => Number.isFinite(pair.golden) && !Number.isFinite(pair.current)).length;
  return presetCheck({
    name,
    unit: rule.unit,
    golden: median(finitePairs.map((pair) => pair.golden)),
    current: median(finitePairs.map((pair) => pair.current)),
    tolerance,
    status: statusOf(passes, rule.lessIsBetter && isLower),
    gate: true,
    reason: sentence('steps', {
      ...{ failing: failing.length, steps: total, allowed, gone: gone || null },
      tolerance_share: isExact ? null : tolerance,
    }),
  });
}

const statusOf = (passes: boolean, isBetter: boolean): CheckStatus =>
  passes ? 'pass' : isBetter ? 'improvement' : 'regression';

const SLOWEST = 0.9;
const FASTEST = 1.2;
const LEAST_MEMORY = 0.95;
const MOST_MEMORY = 1.05;

function judgeInference(
  golden: MegatronInferenceValues,
  current: MegatronInferenceValues,
  options: MegatronOptions,
): PresetOutcome {
  const isAsked = (name: string): boolean => options.metrics === undefined || options.metrics.includes(name);
  const checks: CompareCheck[] = [];
  if (isAsked('throughput')) {
    const [g, c] = [throughputOf(golden), throughputOf(current)];
    checks.push(
      inferenceCheck('throughput', 'tokens/s', g, c, {
        tolerance: 1 - SLOWEST,
        // Written so that NaN fails, as it does in an assertion.
        status: statusOf(c >= SLOWEST * g && c < FASTEST * g, c >= FASTEST * g),
        reason: sentence('throughput', { least_share: SLOWEST, most_share: FASTEST }),
      }),
    );
  }
  if (isAsked('mem-max-allocated-bytes')) {
    const [g, c] = [golden.mem_max_allocated_bytes ?? Number.NaN, current.mem_max_allocated_bytes ?? Number.NaN];
    checks.push(
      inferenceCheck('mem-max-allocated-bytes', 'bytes', g, c, {
        tolerance: 1 - LEAST_MEMORY,
        status: statusOf(g > 0 && c >= LEAST_MEMORY * g && c <= MOST_MEMORY * g, c < LEAST_MEMORY * g),
        reason: c < LEAST_MEMORY * g ? sentence('lower') : null,
      }),
    );
  }
  const notes = [sentence('texts')];
  return presetOutcome(checks, notes);
}

/** With one repetition there is only the first. */
function throughputOf({ throughput }: MegatronInferenceValues): number {
  return median(throughput.length > 1 ? throughput.slice(1) : throughput);
}

/** A figure that golden lacks is not judged upstream; one that only the current values lack cannot be judged here. */
function inferenceCheck(
  name: string,
  unit: string,
  golden: number,
  current: number,
  judged: { readonly tolerance: number; readonly status: CheckStatus; readonly reason: Text | null },
): CompareCheck {
  if (Number.isNaN(golden)) {
    return presetCheck({ name, unit, current, status: 'skipped', gate: false, reason: sentence('golden_none') });
  }
  if (Number.isNaN(current)) {
    return presetCheck({ name, unit, golden, status: 'undecided', gate: true, reason: sentence('current_none') });
  }
  return presetCheck({ name, unit, golden, current, gate: true, ...judged });
}
