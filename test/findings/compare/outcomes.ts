/** Values of upstream's golden files written by hand, and what is asked of the outcome of an upstream verdict. */
import { expect } from 'vitest';
import type { PresetOutcome } from '../../../src/findings/compare/presets/outcome.js';
import type { BridgeStep, BridgeValues, MegatronTrainingValues, StepValue } from '../../../src/model/golden-values.js';
import type { CompareCheck } from '../../../src/model/results/compare.js';
import { wordedCheck } from '../../../src/report/compare/check-reason.js';

export function named(outcome: PresetOutcome, name: string): CompareCheck {
  const actual = outcome.checks.filter((check) => check.name === name);
  expect(actual, name).toHaveLength(1);
  return wordedCheck(actual[0]!);
}

export function only(outcome: PresetOutcome): CompareCheck {
  expect(outcome.checks).toHaveLength(1);
  return wordedCheck(outcome.checks[0]!);
}

/** Names of the gates that fail. */
export const failed = (outcome: PresetOutcome): string[] => {
  const names = outcome.checks
    .filter(({ gate, status }) => gate && (status === 'regression' || status === 'improvement'))
    .map(({ name }) => name);
  expect(outcome.passed).toBe(names.length === 0);
  return names;
};

export const NO_STEP: BridgeStep = { lm_loss: null, step_ms: null, gpu_utilization: null, grad_norm: null };

export const bridge = (steps: readonly Partial<BridgeStep>[], more: Partial<BridgeValues> = {}): BridgeValues => ({
  ...{ kind: 'bridge', wrapper: '', alloc: null, max_alloc: null, max_reserved: null, others: {} },
  steps: new Map(steps.map((step, i) => [i, { ...NO_STEP, ...step }])),
  ...more,
});

/** A loss that falls, so that curves correlate. */
export const losses = (count: number, at: (i: number) => Partial<BridgeStep> = () => ({})): Partial<BridgeStep>[] =>
  Array.from({ length: count }, (_, i) => ({ lm_loss: 10 - 0.25 * i, step_ms: 1000, gpu_utilization: 400, ...at(i) }));

/** Values by step; `1-25` is each of these steps. */
export type StepValues = Readonly<Record<string, StepValue>>;

function stepsOf(values: StepValues): [step: number, value: StepValue][] {
  return Object.entries(values).flatMap(([steps, value]) => {
    const [from, to = from] = steps.split('-').map(Number);
    return Array.from({ length: to! - from! + 1 }, (_, i): [number, StepValue] => [from! + i, value]);
  });
}

export const training = (metrics: Readonly<Record<string, StepValues>>, isLegacy = false): MegatronTrainingValues => ({
  kind: 'megatron_training',
  is_legacy: isLegacy,
  metrics: new Map(
    Object.entries(metrics).map(([name, values]) => {
      const steps = stepsOf(values);
      const ends = { start_step: steps[0]?.[0] ?? 0, end_step: steps.at(-1)?.[0] ?? 0, step_interval: 1 };
      return [name, { ...ends, values: new Map(steps) }] as const;
    }),
  ),
});
