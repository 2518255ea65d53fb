/** What every cause is, and the parts of a generated run that they all make in the same way. */
import { GIB } from '../../../src/model/units.js';
import type { Attempt, DumpedSnapshot, GeneratedRun, RunPlan, RunTruth } from '../run.js';
import { chance, type Random, shuffled, wholeBetween } from '../simulate/random.js';
import { worldSize } from '../simulate/rank-context.js';
import { type AttemptOptions, simulateAttempt } from '../simulate/simulate-attempt.js';
import { failedRanks } from './arithmetic.js';
import { withNeed } from './trial.js';

export interface GeneratedCause {
  /** As `--cause` takes it. */
  readonly name: string;
  /** One line for the list. */
  readonly title: string;
  /** Deterministic; throws if the seed gives no run, which is a mistake of the cause. */
  build(seed: number): GeneratedRun;
}

/** Ranks that record memory: one to three of those expected to fail, sometimes with a bystander. */
export function drawProfiledRanks(random: Random, plan: RunPlan, suspects: readonly number[]): number[] {
  const ranks = new Set(shuffled(random, suspects).slice(0, wholeBetween(random, 1, 2)));
  if (chance(random, 0.3)) ranks.add(wholeBetween(random, 0, worldSize(plan) - 1));
  return [...ranks].toSorted((a, b) => a - b);
}

/** How long a scheduler takes to start a job again. */
function requeueUs(random: Random): number {
  return wholeBetween(random, 70, 900) * 1_000_000;
}

/** One launch; or, now and then, a second one of the same job after the first has failed in the same way. */
export function launches(random: Random, options: AttemptOptions): Attempt[] {
  const first = simulateAttempt(options);
  const failed = failedRanks(first.ranks).length > 0;
  if (!failed || !chance(random, 0.2)) return [withNeed(first, options)];
  const second = { ...options, plan: { ...options.plan, startUs: first.endUs + requeueUs(random) } };
  return [first, withNeed(simulateAttempt(second), second)];
}

/**
 * Snapshots of the last launch's recorded ranks that ran out of memory; earlier ones of the same rank have been
 * overwritten.
 */
function dumpedAtOom(attempts: readonly Attempt[]): DumpedSnapshot[] {
  const attempt = attempts.length - 1;
  const { plan, ranks } = attempts[attempt]!;
  return ranks
    .filter(({ rank, ending }) => ending.kind === 'oom' && plan.profiledRanks.includes(rank))
    .map(({ rank }) => ({ attempt, rank, trigger: 'oom' }));
}

export interface OomRun {
  readonly causeName: string;
  readonly seed: number;
  readonly attempts: readonly Attempt[];
  readonly truth: Pick<RunTruth, 'cause' | 'detail' | 'because' | 'numbers'>;
}

/** A run that ended with the out-of-memory errors of its last attempt. */
export function oomRun({ causeName, seed, attempts, truth }: OomRun): GeneratedRun {
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  return {
    causeName,
    seed,
    attempts,
    snapshots: dumpedAtOom(attempts),
    truth: { ...truth, isOom: true, firstFailingRank: first?.rank ?? null },
  };
}

/** For sentences: `12.34 GiB`. */
export function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(2)} GiB`;
}
