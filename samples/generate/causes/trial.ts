/** What a plan would need: the heaviest data-parallel rank of every pipeline stage on a device without limit. */
import type { Attempt, RunPlan } from '../run.js';
import type { RankHooks } from '../simulate/rank-context.js';
import {
  type AttemptOptions,
  type OutsideMemory,
  simulateAttempt,
  type Workload,
} from '../simulate/simulate-attempt.js';
import { failedRanks, ranOutOfMemory } from './arithmetic.js';

/** More than any plan needs; addresses stay far below 2^53. */
const UNLIMITED_BYTES = 2 ** 43;

export interface StageNeed {
  readonly rank: number;
  readonly stage: number;
  /** Live bytes at their highest, up to the end of each step. */
  readonly peakBytes: readonly number[];
  /** Reserved bytes at their highest, up to the end of each step. */
  readonly reservedBytes: readonly number[];
  /** Live bytes between steps, after the last one. */
  readonly restingBytes: number;
}

export interface TrialOptions {
  readonly plan: RunPlan;
  readonly workload: Workload;
  readonly hooks?: RankHooks;
  readonly firstIteration?: number;
  /** Default: data rank 0 of every stage. */
  readonly ranks?: readonly number[];
}

const NOTHING_OUTSIDE: OutsideMemory = { contextBytes: 0, builtBytes: 0, trainingBytes: 0 };

/** First rank of a stage: tensor rank 0, data rank 0, or another data rank. */
export function rankAt({ parallelism }: RunPlan, stage: number, dataRank = 0): number {
  return parallelism.tensor * (dataRank + parallelism.data * stage);
}

export function stages(plan: RunPlan): number[] {
  return Array.from({ length: plan.parallelism.pipeline }, (_, stage) => stage);
}

export function trial(options: TrialOptions): StageNeed[] {
  const { plan, hooks = {}, workload, firstIteration = 0 } = options;
  const ranks = options.ranks ?? stages(plan).map((stage) => rankAt(plan, stage));
  const attempt = simulateAttempt({
    plan,
    hooks,
    workload,
    firstIteration,
    ranks,
    deviceBytes: UNLIMITED_BYTES,
    conditions: () => ({ outside: NOTHING_OUTSIDE, otherProcesses: [] }),
    records: () => false,
  });
  return attempt.ranks.map((rank) => ({
    rank: rank.rank,
    stage: rank.stage,
    peakBytes: rank.iterations.map(({ memory }) => memory.allocatedBytes.peak),
    reservedBytes: rank.iterations.map(({ memory }) => memory.reservedBytes.peak),
    restingBytes: rank.process.allocator.statistics.allocatedBytes.current,
  }));
}

/** The attempt with what its failing step needs. `options`: those that it was made with. */
export function withNeed(attempt: Attempt, options: AttemptOptions): Attempt {
  const first = failedRanks(attempt.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first)) return attempt;
  const onUnlimited = simulateAttempt({
    ...options,
    ranks: [first.rank],
    deviceBytes: UNLIMITED_BYTES,
    records: () => false,
  }).ranks[0]!;
  const statistics =
    onUnlimited.iterations[first.iterations.length]?.memory ?? onUnlimited.process.allocator.statistics;
  return { ...attempt, needBytes: statistics.allocatedBytes.peak };
}
