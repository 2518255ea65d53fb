/**
 * How long the micro-batches are: all alike (packed or pretraining data), or one document each and padded to a multiple
 * (fine-tuning).
 */
import type { RunPlan } from '../run.js';
import { type Random, wholeBetween } from '../simulate/random.js';
import { microBatchCount } from '../simulate/rank-context.js';
import type { Workload } from '../simulate/simulate-attempt.js';

/** Lengths relative to the plan's sequence length, in (0, 1]: `pattern[step][data rank][micro-batch]`. */
export type Pattern = readonly (readonly (readonly number[])[])[];

export function fixedPattern(plan: RunPlan, steps: number): Pattern {
  return table(plan, steps, () => 1);
}

/** Few long documents, many short ones. */
export function variedPattern(plan: RunPlan, steps: number, random: Random, shortest = 0.06, longest = 1): Pattern {
  return table(plan, steps, () => shortest + (longest - shortest) * random() ** 1.5);
}

function table(plan: RunPlan, steps: number, length: () => number): Pattern {
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  return times(steps, () => times(plan.parallelism.data, () => times(microBatchCount(plan), length)));
}

/** With one micro-batch's relative length changed. */
export function withLength(pattern: Pattern, step: number, dataRank: number, microBatch: number, to: number): Pattern {
  return pattern.map((ranks, s) =>
    ranks.map((lengths, d) =>
      lengths.map((length, m) => (s === step && d === dataRank && m === microBatch ? to : length)),
    ),
  );
}

/** Tokens, every sequence padded to a multiple that tensor parallelism divides. */
export function tokensOf(plan: RunPlan, pattern: Pattern): Workload {
  const unit = 64 * plan.parallelism.tensor;
  return pattern.map((ranks) =>
    ranks.map((lengths) =>
      lengths.map(
        (length) =>
          plan.microBatchSize * Math.min(plan.sequenceLength, Math.ceil((length * plan.sequenceLength) / unit) * unit),
      ),
    ),
  );
}

/** A sequence length a configuration would have near `wanted`: a multiple of 1024, or of 256 where that is coarse. */
export function roundSequence(wanted: number): number {
  const unit = wanted >= 8192 ? 1024 : wanted >= 3000 ? 512 : 256;
  return Math.max(unit, Math.round(wanted / unit) * unit);
}

/** Where a run is when it is launched: at the beginning, or at a checkpoint in the first half. */
export function drawFirstIteration(random: Random, plan: RunPlan): number {
  if (random() < 0.6) return 0;
  const interval = plan.saveInterval ?? 10;
  return interval * wholeBetween(random, 0, Math.floor((0.4 * plan.trainIterations) / interval));
}

/** Who gets which documents is chance: two data-parallel ranks change places. */
export function swapDataRanks(pattern: Pattern, a: number, b: number): Pattern {
  const place = (rank: number): number => (rank === a ? b : rank === b ? a : rank);
  return pattern.map((ranks) => ranks.map((_, rank) => ranks[place(rank)]!));
}
