/** Megatron's timers block. Upstream: `_get_global_min_max_time_string` in `megatron/core/timers.py`. */
import type { IterationRecord, SimulatedRank } from '../run.js';
import { fixed } from './python-text.js';

export interface Timing {
  readonly name: string;
  readonly minUs: number;
  readonly maxUs: number;
}

/** The longest name with its dots. */
const NAME_WIDTH = 48;

export function timersBlock(timings: readonly Timing[]): string {
  const lines = timings.map(({ name, minUs, maxUs }) => {
    const [least, most] = [minUs, maxUs].map((us) => fixed(us / 1000, 2));
    return `    ${`${name} `.padEnd(NAME_WIDTH, '.')}: (${least}, ${most})`;
  });
  return ['(min, max) time across ranks (ms):', ...lines].join('\n');
}

/**
 * Timers of the setup: the model and the optimizer from a rank's first recorded allocation (`firstUs` where nothing is
 * recorded), the data from then on.
 */
export function setupTimings(
  ranks: readonly SimulatedRank[],
  firstUs: number,
  builtUs: number,
  loadedUs: number,
): Timing[] {
  const starts = ranks.flatMap(({ process }) => process.trace[0]?.timeUs ?? []);
  const known = starts.length > 0 ? starts : [firstUs];
  const loading = loadedUs - builtUs;
  return [
    { name: 'model-and-optimizer-setup', minUs: builtUs - Math.max(...known), maxUs: builtUs - Math.min(...known) },
    { name: 'train/valid/test-data-iterators-setup', minUs: loading, maxUs: loading },
  ];
}

/**
 * Timers of one iteration, as far as the simulation has them: the optimizer step is in the annotations, and what
 * lies before it is forward and backward. Only ranks with annotations count.
 */
export function iterationTimings(ranks: readonly SimulatedRank[], index: number): Timing[] {
  const steps = ranks.flatMap((rank) => {
    const record = rank.iterations[index];
    const step = record === undefined ? undefined : optimizerStep(rank, record);
    return record === undefined || step === undefined ? [] : [{ record, step }];
  });
  if (steps.length === 0) return [];
  const spread = (name: string, of: (step: (typeof steps)[number]) => number): Timing => {
    const durations = steps.map(of);
    return { name, minUs: Math.min(...durations), maxUs: Math.max(...durations) };
  };
  return [
    spread('forward-backward', ({ record, step }) => step.startUs - record.startUs),
    spread('optimizer-inner-step', ({ step }) => step.endUs - step.startUs),
    spread('optimizer', ({ record, step }) => record.endUs - step.startUs),
  ];
}

function optimizerStep(
  rank: SimulatedRank,
  record: IterationRecord,
): { readonly startUs: number; readonly endUs: number } | undefined {
  const own = rank.process.annotations.filter(
    ({ name, timeUs }) => name.startsWith('Optimizer.step') && timeUs >= record.startUs && timeUs <= record.endUs,
  );
  const start = own.find(({ stage }) => stage === 'START');
  const end = own.findLast(({ stage }) => stage === 'END');
  return start === undefined || end === undefined ? undefined : { startUs: start.timeUs, endUs: end.timeUs };
}
