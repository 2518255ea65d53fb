/** Published experiments as evidence: their figures in one sentence, and what they cost. */

import { EXPERIMENTS, type Experiment, WORKLOADS } from '../../knowledge/measured.js';
import type { AdviceEvidence } from '../../model/results/advise.js';
import { sentencesOf, type Unworded } from '../../model/statement.js';

const sentence = sentencesOf('advice', 'experiments');

const BY_ID = new Map(EXPERIMENTS.map((experiment) => [experiment.id, experiment]));
/** Model and machine: the rest of a workload is printed by `explain`. */
const WORKLOAD_TEXTS = new Map(
  WORKLOADS.map(({ id, model, gpus }) => [id, gpus === null ? model : `${model}, ${gpus}`]),
);

/** Throws on an id that is none: a slip of the pen, which every test of a fix would find. */
export function experimentOf(id: string): Experiment {
  const experiment = BY_ID.get(id);
  if (experiment === undefined) throw new Error(`no experiment ${id}`);
  return experiment;
}

/**
 * Percent of throughput lost against the run that it was compared with; null if not measured. What is printed against
 * a golden value has the loss of that run in it.
 */
export function lostPercent({
  tflops,
  control,
  throughput_change_percent: change,
  step_factor: factor,
}: Experiment): number | null {
  const before = control === null ? null : (BY_ID.get(control)?.tflops ?? null);
  if (tflops !== null && before !== null) return oneDecimal(100 * (1 - tflops / before));
  if (change !== null) return -change;
  return factor === null ? null : oneDecimal(100 * (1 - 1 / factor));
}

/** Model and GPUs of an experiment: `Llama 3 70B, 32 × H100 80GB`. */
export function workloadText(id: string): string {
  const { workload } = experimentOf(id);
  return WORKLOAD_TEXTS.get(workload) ?? workload;
}

/** `more PP: 668 TFLOP/s/GPU (−5.9 % against golden), peak 53.2 GB, −5.6 GB; … (Llama 3 70B, 32 × H100 80GB)`. */
export function measured(id: string): Unworded<AdviceEvidence, 'text'> {
  const experiment = experimentOf(id);
  const { step_factor: factor, result } = experiment;
  // Small changes as percent, large ones as a multiple.
  const isSmall = factor !== null && factor < 1.2;
  const figures = [
    ['tflops', experiment.tflops],
    ['step_change', isSmall ? Math.round(1e4 * (factor - 1)) / 100 : null],
    ['step_factor', isSmall ? null : factor],
    ['throughput', experiment.throughput_change_percent],
    ['peak', experiment.peak_gb],
    ['peak_change', experiment.peak_change_gb],
    ['peak_percent', experiment.peak_change_percent],
    ['result', result === 'passes' ? null : result],
  ] as const;
  const { isRounded: rounded, vs_golden_percent: golden, title, caveat } = experiment;
  return {
    text: sentence('experiment', {
      ...{ title, caveat: caveat || null, workload: workloadText(id) },
      figures: figures.flatMap(([code, value]) => (value === null ? [] : [sentence(code, { value, rounded, golden })])),
    }),
    grade: 'measured',
    source: experiment.source,
  };
}

function oneDecimal(value: number): number {
  return Math.round(10 * value) / 10;
}
