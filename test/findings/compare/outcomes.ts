/** Values of Megatron Bridge written by hand, and what is asked of the outcome of an upstream verdict. */
import { expect } from 'vitest';
import type { PresetOutcome } from '../../../src/findings/compare/presets/outcome.js';
import type { BridgeStep, BridgeValues } from '../../../src/model/golden-values.js';
import type { CompareCheck } from '../../../src/model/results/compare.js';

export function named(outcome: PresetOutcome, name: string): CompareCheck {
  const actual = outcome.checks.filter((check) => check.name === name);
  expect(actual, name).toHaveLength(1);
  return actual[0]!;
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

export function bridge(steps: readonly Partial<BridgeStep>[], more: Partial<BridgeValues> = {}): BridgeValues {
  return {
    kind: 'bridge',
    wrapper: '',
    steps: new Map(steps.map((step, i) => [i, { ...NO_STEP, ...step }])),
    alloc: null,
    max_alloc: null,
    max_reserved: null,
    others: {},
    ...more,
  };
}

/** A loss that falls, so that curves correlate. */
export const losses = (count: number, at: (i: number) => Partial<BridgeStep> = () => ({})): Partial<BridgeStep>[] =>
  Array.from({ length: count }, (_, i) => ({ lm_loss: 10 - 0.25 * i, step_ms: 1000, gpu_utilization: 400, ...at(i) }));
