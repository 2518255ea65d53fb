/**
 * Turning the one knob every run has, the sequence length, until the heaviest stage needs a chosen part of the device.
 */
import type { RunPlan, SimulatedRank } from '../run.js';
import { between, type Random } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { type OutsideMemory, simulateAttempt, type Workload } from '../simulate/simulate-attempt.js';
import { drawOutside } from './population.js';
import { rankAt, type StageNeed, stages, trial } from './trial.js';
import { type Pattern, roundSequence, tokensOf } from './workload.js';

export interface Fit {
  readonly plan: RunPlan;
  readonly workload: Workload;
  readonly outside: OutsideMemory;
  /** Of the stages as they are with this sequence length, on a device without limit. */
  readonly needs: readonly StageNeed[];
  readonly heaviest: StageNeed;
  /** The device without ordinary memory outside PyTorch. */
  readonly budgetBytes: number;
}

export interface FitOptions {
  readonly pattern: Pattern;
  /** Peak of live bytes of the chosen stage over the budget: from, to. */
  readonly ratio: readonly [number, number];
  readonly hooks?: RankHooks;
  /** Which stage's need is fitted. Default: the heaviest. */
  readonly stage?: number;
  readonly longest?: number;
}

function peak(need: StageNeed): number {
  return need.peakBytes.at(-1)!;
}

/** Undefined where no usual sequence length does it. */
export function fitPlan(random: Random, drawn: RunPlan, options: FitOptions): Fit | undefined {
  const { pattern, ratio, hooks = {}, stage, longest = 65_536 } = options;
  const outside = drawOutside(random, drawn);
  const budgetBytes = drawn.gpu.totalBytes - outside.trainingBytes;
  const measured = settles(pattern) ? pattern.slice(0, 2) : pattern;
  const measure = (plan: RunPlan, of: readonly number[]): StageNeed[] =>
    trial({ plan, hooks, workload: tokensOf(plan, measured), ranks: of.map((at) => rankAt(plan, at)) });
  const choose = (needs: readonly StageNeed[]): StageNeed =>
    needs.find((need) => need.stage === stage) ??
    needs.reduce((worst, need) => (peak(need) > peak(worst) ? need : worst));
  // The heaviest is one of the ends: most micro-batches in flight, or the logits.
  const ends = [...new Set([0, drawn.parallelism.pipeline - 1])];
  const first = choose(measure(drawn, ends));
  // Everything but the resting state grows with the sequence length.
  const perToken = (peak(first) - first.restingBytes) / drawn.sequenceLength;
  const wanted = (budgetBytes * between(random, ...ratio) - first.restingBytes) / perToken;
  const sequenceLength = roundSequence(wanted);
  if (wanted < 1000 || sequenceLength > longest) return undefined;
  const plan = { ...drawn, sequenceLength };
  const atEnds = measure(plan, ends);
  const heaviest = choose(atEnds);
  const reached = peak(heaviest) / budgetBytes;
  if (reached < ratio[0] || reached > ratio[1]) return undefined;
  const inner = stages(plan).filter((at) => !ends.includes(at));
  const needs = [...atEnds, ...(inner.length > 0 ? measure(plan, inner) : [])].toSorted((a, b) => a.stage - b.stage);
  return { plan, workload: tokensOf(plan, pattern), outside, needs, heaviest, budgetBytes };
}

/** Whether every step has the same lengths: two then show all there is. */
function settles(pattern: Pattern): boolean {
  return pattern.every((ranks) => ranks.every((lengths) => lengths.every((length) => length === pattern[0]![0]![0])));
}

/** All ranks of a stage. */
export function ranksOf(plan: RunPlan, stage: number): number[] {
  const { tensor, data } = plan.parallelism;
  return Array.from({ length: tensor * data }, (_, i) => rankAt(plan, stage) + i);
}

/** How one rank fares on its real device, with ordinary memory outside PyTorch and nobody else there. */
export function runAlone(fit: Fit, rank: number, hooks: RankHooks = {}, firstIteration = 0): SimulatedRank {
  const attempt = simulateAttempt({
    plan: fit.plan,
    workload: fit.workload,
    firstIteration,
    hooks,
    ranks: [rank],
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
    records: () => false,
  });
  return attempt.ranks[0]!;
}
