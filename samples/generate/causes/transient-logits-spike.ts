/**
 * One long sequence makes the logits, and their fp32 copy in the loss, larger than ever before; a moment earlier and
 * later all is well.
 */
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import type { CallPath } from '../simulate/code-line.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import { microBatchCount } from '../simulate/rank-context.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { capacityNumbers, LEAST_SHORTFALL_BYTES } from './capacity.js';
import { fitPlan } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { search } from './search.js';
import { rankAt } from './trial.js';
import { drawFirstIteration, swapDataRanks, tokensOf, variedPattern, withLength } from './workload.js';

const NAME = 'transient-logits-spike';
/** At every other moment of the run at least the rest of the budget is free of live memory. */
const HIGHEST_OTHER_PEAK = 0.88;

export const transientLogitsSpike: GeneratedCause = {
  name: NAME,
  title: 'the logits of one long sequence exceed what is free for a moment',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/** The product of the output layer and everything the loss makes of it. */
function isLogits(path: CallPath): boolean {
  const { name = '', filename = '' } = path[0] ?? {};
  return (
    filename.endsWith('/cross_entropy.py') || (name === 'forward' && filename.endsWith('/tensor_parallel/layers.py'))
  );
}

/** Live bytes of logits and loss when the rank ended. */
function logitsBytes(rank: SimulatedRank): number {
  let bytes = 0;
  for (const { blocks } of rank.process.allocator.snapshot()) {
    for (const { state, stack, sizeBytes } of blocks) {
      if (state === 'active_allocated' && stack !== null && isLogits(stack.frames)) bytes += sizeBytes;
    }
  }
  return bytes;
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 3, 4);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.12, 0.55],
    steps,
    where: (model) => model.vocabulary > 100_000,
  });
  if (drawn === undefined) return undefined;
  const lastStage = drawn.parallelism.pipeline - 1;
  const usual = variedPattern(drawn, steps, random, 0.05, 0.4);
  const pattern = withLength(usual, steps - 1, 0, wholeBetween(random, 0, microBatchCount(drawn) - 1), 1);
  const fit = fitPlan(random, drawn, { pattern, ratio: [1.01, 1.4], stage: lastStage });
  if (fit === undefined) return undefined;
  const calm = fit.needs.every(({ stage, peakBytes }) => {
    const peak = peakBytes[stage === lastStage ? steps - 2 : steps - 1]!;
    return peak < HIGHEST_OTHER_PEAK * fit.budgetBytes;
  });
  if (!calm) return undefined;
  const dataRank = wholeBetween(random, 0, drawn.parallelism.data - 1);
  const suspects = [rankAt(drawn, lastStage, dataRank)];
  const plan: RunPlan = {
    ...fit.plan,
    profiledRanks: drawProfiledRanks(random, drawn, chance(random, 0.85) ? suspects : [0]),
  };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: tokensOf(plan, swapDataRanks(pattern, 0, dataRank)),
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first) || !isLogits(first.ending.path)) return undefined;
  const sums = oomArithmetic(first.ending.report);
  if (-sums.spareBytes < LEAST_SHORTFALL_BYTES) return undefined;
  const transientBytes = logitsBytes(first) + sums.requestBytes;
  const otherBytes = sums.liveBytes + sums.requestBytes - transientBytes;
  const before = Math.max(...first.iterations.map(({ memory }) => memory.allocatedBytes.peak), otherBytes);
  if (first.iterations.length === 0 || before > HIGHEST_OTHER_PEAK * sums.budgetBytes) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'capacity',
      detail: 'transient_spike',
      because:
        `Logits and loss of one micro-batch needed ${gib(transientBytes)} on rank ${first.rank}, ${gib(-sums.spareBytes)} more than was left of ` +
        `${gib(sums.budgetBytes)}; until then no more than ${gib(before)} had ever been live.`,
      numbers: { ...capacityNumbers(sums), transient_bytes: transientBytes, highest_before_bytes: before },
    },
  });
}
