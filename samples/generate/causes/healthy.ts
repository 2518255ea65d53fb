/**
 * Runs whose device memory is in order: what the causes that are no device OOM, and the run without one, start from.
 */
import type { Attempt, DumpedSnapshot, DumpedState, RunPlan } from '../run.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { worldSize } from '../simulate/rank-context.js';
import { type Fit, fitPlan } from './fit.js';
import { drawPlan, type PlanWishes } from './population.js';
import { fixedPattern, variedPattern } from './workload.js';

/** A plan whose heaviest stage needs so much of the budget. */
export function healthyFit(
  random: Random,
  draw: number,
  wishes: PlanWishes,
  ratio: readonly [number, number] = [0.35, 0.88],
): Fit | undefined {
  const drawn = drawPlan(random, draw, { stateShare: [0.12, 0.65], ...wishes });
  if (drawn === undefined) return undefined;
  const { steps } = wishes;
  const pattern = chance(random, 0.4) ? variedPattern(drawn, steps, random) : fixedPattern(drawn, steps);
  return fitPlan(random, drawn, { pattern, ratio });
}

/** One or two ranks, rank 0 more often than others: what a configuration that is unchanged records. */
export function anyProfiledRanks(random: Random, plan: RunPlan): number[] {
  const ranks = new Set([chance(random, 0.7) ? 0 : wholeBetween(random, 0, worldSize(plan) - 1)]);
  if (chance(random, 0.3)) ranks.add(wholeBetween(random, 0, worldSize(plan) - 1));
  return [...ranks].toSorted((a, b) => a - b);
}

/** Snapshots dumped after a step that the configuration names, while the run goes on. */
export class StepDumps {
  readonly states = new Map<number, DumpedState>();
  private readonly step: number;

  constructor(step: number) {
    this.step = step;
  }

  readonly hook: NonNullable<RankHooks['afterIteration']> = (rank, { step }) => {
    const { process, plan, position } = rank;
    if (step !== this.step || !plan.profiledRanks.includes(position.rank)) return;
    const { allocator, trace, annotations } = process;
    this.states.set(position.rank, {
      segments: allocator.snapshot(),
      traceEntries: trace.length,
      annotations: annotations.length,
    });
    process.pass(350_000);
  };

  /** Of the last attempt. */
  snapshots(attempts: readonly Attempt[]): DumpedSnapshot[] {
    return [...this.states].map(([rank, state]) => ({ attempt: attempts.length - 1, rank, trigger: 'step', state }));
  }
}
