/** Published experiments as evidence: their figures in one sentence, and what they cost. */

import { EXPERIMENTS, type Experiment, WORKLOADS } from '../../knowledge/measured.js';
import type { AdviceEvidence } from '../../model/results/advise.js';

const BY_ID = new Map(EXPERIMENTS.map((one) => [one.id, one]));
/** Model and machine: the rest of a workload is printed by `explain`. */
const WORKLOAD_TEXTS = new Map(
  WORKLOADS.map(({ id, model, gpus }) => [id, gpus === null ? model : `${model}, ${gpus}`]),
);

/** Throws on an id that is none: a slip of the pen, which every test of a fix would find. */
export function experimentOf(id: string): Experiment {
  const found = BY_ID.get(id);
  if (found === undefined) throw new Error(`no experiment ${id}`);
  return found;
}

/** Throughput lost, in percent: of the golden value, or of the run it was compared with; null where nobody measured it. */
export function lostPercent({
  vs_golden_percent: golden,
  throughput_change_percent: change,
  step_factor: factor,
}: Experiment): number | null {
  if (golden !== null) return -golden;
  if (change !== null) return -change;
  return factor === null ? null : oneDecimal(100 * (1 - 1 / factor));
}

/** `more PP: 668 TFLOP/s/GPU (−5.9 %), peak 53.2 GB, −5.6 GB; … (Llama 3 70B, 32 × H100 80GB)`. */
export function measured(id: string): AdviceEvidence {
  const one = experimentOf(id);
  const about = one.isRounded === true ? '~' : '';
  const figures = [
    ...(one.tflops === null
      ? []
      : [
          `${about}${one.tflops} TFLOP/s/GPU${one.vs_golden_percent === null ? '' : ` (${signed(one.vs_golden_percent)} %)`}`,
        ]),
    ...(one.step_factor === null ? [] : [stepText(one.step_factor)]),
    ...(one.throughput_change_percent === null ? [] : [`${signed(one.throughput_change_percent)} % throughput`]),
    ...(one.peak_gb === null ? [] : [`peak ${about}${one.peak_gb} GB`]),
    ...(one.peak_change_gb === null ? [] : [`${signed(one.peak_change_gb)} GB`]),
    ...(one.peak_change_percent === null ? [] : [`${signed(one.peak_change_percent)} % memory`]),
    ...(one.result === 'passes' ? [] : [one.result]),
  ];
  const caveat = one.caveat === '' ? '' : `; ${one.caveat}`;
  return {
    text: `${one.title}: ${figures.join(', ')}${caveat} (${WORKLOAD_TEXTS.get(one.workload) ?? one.workload})`,
    grade: 'measured',
    source: one.source,
  };
}

/** Small changes as percent, large ones as a multiple. */
function stepText(factor: number): string {
  return factor < 1.2 ? `step ${signed(Math.round(1e4 * (factor - 1)) / 100)} %` : `step time × ${factor}`;
}

export function signed(value: number): string {
  return value < 0 ? `−${-value}` : `+${value}`;
}

function oneDecimal(value: number): number {
  return Math.round(10 * value) / 10;
}
