/** One device against one stage of the estimate. */

import type { EstimateInputs } from '../../../estimate/inputs.js';
import { threshold } from '../../../knowledge/thresholds/threshold.js';
import type { Phase } from '../../../model/log-rows.js';
import type { EstimateMoment, EstimateStage } from '../../../model/results/estimate.js';
import type { ComponentResidual } from '../../../model/results/residual.js';
import { COMPONENTS, type Component } from '../../../model/vocabulary.js';
import { readingOf } from './readings.js';

export interface Measured {
  /** Actual bytes of live blocks by component. */
  readonly components: ReadonlyMap<Component, number>;
  /** Bytes of Adam's moments among the optimizer's states. */
  readonly momentBytes: number;
  readonly phase: Phase;
  readonly seen: ReadonlySet<Component>;
  readonly heldBytes: number;
  readonly atFailure: boolean;
}

export interface StageComparison {
  readonly moment: EstimateMoment;
  readonly beforeFirstStep: boolean;
  readonly estimatedBytes: number;
  readonly components: readonly ComponentResidual[];
}

/** Components that an estimate never has, or that could be any. */
const UNKNOWN: ReadonlySet<Component> = new Set<Component>(['before_recording', 'unattributed']);
const PARTS_OF_MOMENTS: ReadonlySet<string> = new Set(['exp_avg', 'exp_avg_sq']);

const MOMENT_OF_PHASE: Partial<Record<Phase, EstimateMoment>> = {
  forward: 'forward',
  backward: 'backward',
  grad_finalize: 'backward',
  optimizer_step: 'optimizer_step',
  param_gather: 'optimizer_step',
};

const SLACK = threshold('estimate.slack');

/** How far `bytes` are outside the bounds; 0 within. */
export function outside(bytes: number, low: number, high: number): number {
  if (bytes > high * (1 + SLACK)) return bytes - high;
  return bytes < low * (1 - SLACK) ? bytes - low : 0;
}

export function compareStage(measured: Measured, stage: EstimateStage, inputs: EstimateInputs): StageComparison {
  const momentOfPhase = MOMENT_OF_PHASE[measured.phase];
  const estimateAtMoment =
    stage.moments.find(({ moment }) => moment === momentOfPhase) ??
    stage.moments.find(({ moment }) => moment === stage.moment);
  const moment = estimateAtMoment?.moment ?? stage.moment;
  const estimate = new Map(
    (estimateAtMoment?.components ?? stage.components).map((component) => [component.name, component]),
  );
  // Offloaded, the moments are on the host at all times.
  const beforeFirstStep = measured.momentBytes === 0 && inputs.given.optimizer_cpu_offload !== true;
  // Parts are those of the stage's own moment; what is outside PyTorch, and the states, are the same at all of them.
  const left = new Map<string, { bytes: number; low: number; high: number }>();
  for (const { name, parts } of stage.components)
    for (const part of parts) {
      const isMoment = beforeFirstStep && name === 'optimizer_state' && PARTS_OF_MOMENTS.has(part.name);
      if (!part.outside_pytorch && !isMoment) continue;
      const sum = left.get(name) ?? { bytes: 0, low: 0, high: 0 };
      left.set(name, {
        bytes: sum.bytes + part.bytes,
        low: sum.low + part.low_bytes,
        high: sum.high + part.high_bytes,
      });
    }
  const shards = inputs.dp * inputs.cp;
  const components = COMPONENTS.filter((component) => !UNKNOWN.has(component)).flatMap((component) => {
    const estimateOfComponent = estimate.get(component);
    const away = left.get(component) ?? { bytes: 0, low: 0, high: 0 };
    const bytes = measured.components.get(component) ?? 0;
    const estimated = Math.max(0, (estimateOfComponent?.bytes ?? 0) - away.bytes);
    if (bytes === 0 && estimated === 0) return [];
    const low = Math.max(0, (estimateOfComponent?.low_bytes ?? 0) - away.low);
    const high = Math.max(low, (estimateOfComponent?.high_bytes ?? 0) - away.high);
    const row = {
      component,
      measured_bytes: bytes,
      estimated_bytes: estimated,
      low_bytes: low,
      high_bytes: high,
      residual_bytes: bytes - estimated,
      surprise_bytes: outside(bytes, low, high),
    };
    return [{ ...row, reading: readingOf({ row, inputs, shards, beforeFirstStep, ...measured }) }];
  });
  components.sort(
    (a, b) =>
      Math.abs(b.surprise_bytes) - Math.abs(a.surprise_bytes) ||
      Math.abs(b.residual_bytes) - Math.abs(a.residual_bytes),
  );
  return {
    moment,
    beforeFirstStep,
    estimatedBytes: components.reduce((sum, row) => sum + row.estimated_bytes, 0),
    components,
  };
}
