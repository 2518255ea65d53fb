/**
 * One launch of a training run: every rank walks through model build, iterations, checkpoints and evaluation, asking
 * the allocator model for every tensor. Ranks meet at the end of each iteration; when one fails, the launcher stops the
 * others.
 */
import type { Attempt, RankEnding, SimulatedRank, StoryLine } from '../run.js';
import type { AttemptOptions } from './attempt-options.js';
import { type Between, betweenIterations } from './between-iterations.js';
import { createCallSites } from './call-sites/index.js';
import { type LiveRank, launchRank } from './live-rank.js';
import { describeState } from './model-state.js';
import { worldSize } from './rank-context.js';
import { trainIteration } from './train-iteration.js';

export type { AttemptOptions, OutsideMemory, Workload } from './attempt-options.js';
export { UnfitPlan } from './live-rank.js';

/** How long the launcher takes to see a failed process and stop the others; they may fail on their own until then. */
const STOP_US = 4_000_000;

export function simulateAttempt(options: AttemptOptions): Attempt {
  const { plan, firstIteration, workload } = options;
  const sites = createCallSites(plan);
  const lines: StoryLine[] = [];
  const numbers = options.ranks ?? Array.from({ length: worldSize(plan) }, (_, rank) => rank);
  const live = numbers.map((rank) => launchRank(options, sites, rank, lines));
  const between: Between = { checkpoints: [], evaluations: [] };
  const running = (): LiveRank[] => live.filter((rank) => rank.ending === null);
  if (running().length === live.length) {
    const startUs = Math.max(...live.map((rank) => rank.context.process.now())) + 400_000;
    for (const rank of live) {
      rank.context.process.waitUntil(startUs);
      rank.trainingStartUs = startUs;
    }
    for (const [step, tokens] of workload.entries()) {
      const at = { iteration: firstIteration + step, step };
      trainIteration(options, live, at, tokens);
      if (running().length < live.length) break;
      betweenIterations(options, live, at, between);
      if (running().length < live.length) break;
    }
  }
  return finish(options, live, between, lines);
}

function finish(
  options: AttemptOptions,
  live: readonly LiveRank[],
  between: Between,
  lines: readonly StoryLine[],
): Attempt {
  const { plan, firstIteration } = options;
  const failures = live.filter((rank) => rank.ending !== null).map((rank) => rank.context.process.now());
  const firstFailureUs = failures.length === 0 ? null : Math.min(...failures);
  const ranks = live.map((rank): SimulatedRank => {
    const { process, position } = rank.context;
    const state = rank.state ?? describeState(rank.context);
    const lateUs = firstFailureUs === null ? Number.POSITIVE_INFINITY : firstFailureUs + STOP_US;
    const late = process.now() > lateUs;
    // A failure that would have come after the launcher had stopped everything never happened.
    const ending: RankEnding =
      rank.ending !== null && !late ? rank.ending : { kind: firstFailureUs === null ? 'completed' : 'stopped' };
    return {
      ...position,
      process,
      parameterElements: state.parameters.reduce((sum, parameter) => sum + parameter.elements, 0),
      parameters: state.parameters.map(({ name, elements }) => ({ name, elements })),
      trainingStartUs: rank.trainingStartUs,
      iterations: rank.iterations,
      ending,
      endUs: Math.min(process.now(), lateUs),
    };
  });
  const endUs = new Map(ranks.map((rank) => [rank.rank, rank.endUs]));
  // Nor did what a rank would have printed after its end.
  const told = ({ rank, timeUs }: StoryLine): boolean => rank === null || timeUs <= endUs.get(rank)!;
  return {
    plan,
    firstIteration,
    ranks,
    ...between,
    storyLines: lines.filter(told).toSorted((a, b) => a.timeUs - b.timeUs),
    endUs: Math.max(...ranks.map((rank) => rank.endUs)),
  };
}
