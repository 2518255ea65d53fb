/** One pipeline stage carries far more than the others: its part of the device is full while theirs is half empty. */
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import type { AttemptOptions } from '../simulate/simulate-attempt.js';
import { failedRanks, type OomArithmetic, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { capacityNumbers, LARGEST_REQUEST_SHARE, LEAST_SHORTFALL_BYTES } from './capacity.js';
import { fitPlan, ranksOf } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { probe } from './probe.js';
import { search } from './search.js';
import { drawFirstIteration, type Pattern, variedPattern } from './workload.js';

const NAME = 'imbalance';
/** The next stage needs no more than this part of the failing one's need. */
const HIGHEST_OTHER_NEED = 0.8;

export const imbalance: GeneratedCause = {
  name: NAME,
  title: 'one pipeline stage needs far more than the others',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 3);
  // The first stage has the most micro-batches in flight; with full recomputation they are small, and the last one's
  // logits do.
  const firstStage = chance(random, 0.7);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.12, 0.5],
    steps,
    recompute: firstStage ? ['none', 'selective'] : ['full'],
    where: (model, { pipeline, virtualPipeline, tensor }) =>
      firstStage
        ? pipeline > 1 && pipeline <= 4 && virtualPipeline === null
        : pipeline > 1 && tensor > 1 && model.vocabulary > 100_000,
    allocConf: [null, 'expandable_segments:True', 'expandable_segments:True'],
  });
  if (drawn === undefined) return undefined;
  const pattern = growingPattern(random, drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [1.02, 1.22] });
  if (fit === undefined) return undefined;
  const heaviest = fit.heaviest.peakBytes.at(-1)!;
  const others = fit.needs.filter((need) => need !== fit.heaviest).map((need) => need.peakBytes.at(-1)!);
  const next = Math.max(...others);
  // The first step must pass, or no rank ever reports what it holds.
  if (fit.heaviest.peakBytes[0]! > 0.98 * fit.budgetBytes) return undefined;
  if (next > HIGHEST_OTHER_NEED * heaviest || next > 0.9 * fit.budgetBytes) return undefined;
  const { stage } = fit.heaviest;
  const suspects = chance(random, 0.85) ? ranksOf(drawn, stage) : [0];
  const options: AttemptOptions = {
    plan: { ...fit.plan, profiledRanks: drawProfiledRanks(random, drawn, suspects) },
    firstIteration: drawFirstIteration(random, fit.plan),
    workload: fit.workload,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  };
  if (shortOf(probe(options, [fit.heaviest.rank])[0]!) === undefined) return undefined;
  const attempts = launches(random, options);
  const failed = failedRanks(attempts.at(-1)!.ranks);
  const first = failed[0];
  if (first === undefined || failed.some((rank) => rank.stage !== stage)) return undefined;
  const sums = shortOf(first);
  if (sums === undefined) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'capacity',
      detail: 'imbalance',
      because:
        `Stage ${stage} of ${drawn.parallelism.pipeline} needs ${gib(heaviest)} of live memory for a step, the next stage ${gib(next)}; rank ` +
        `${first.rank} of it was ${gib(-sums.spareBytes)} short of ${gib(sums.budgetBytes)}.`,
      numbers: {
        ...capacityNumbers(sums),
        stage_need_bytes: heaviest,
        next_stage_need_bytes: next,
        failing_stage: stage,
      },
    },
  });
}

/** A later step, no single tensor to blame, and clearly not enough in sum. */
function shortOf(rank: SimulatedRank): OomArithmetic | undefined {
  if (!ranOutOfMemory(rank) || rank.iterations.length === 0) return undefined;
  const sums = oomArithmetic(rank.ending.report);
  if (sums.requestBytes > LARGEST_REQUEST_SHARE * sums.budgetBytes) return undefined;
  return -sums.spareBytes < LEAST_SHORTFALL_BYTES ? undefined : sums;
}

/** Shorter sequences first, as a length warm-up has them, then full ones on every rank. */
function growingPattern(random: Random, plan: RunPlan, steps: number): Pattern {
  const early = variedPattern(plan, steps, random, 0.3, 0.8);
  return early.map((ranks, step) => (step < steps - 1 ? ranks : ranks.map((lengths) => lengths.map(() => 1))));
}
