/**
 * Large buffers of early iterations stay cached; the optimizer's moments, born in the first step, are placed inside
 * them and pin them. What is left of each is too small for a later, longer sequence, and cannot go back to the driver.
 */
import type { GeneratedRun, RunPlan } from '../run.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import type { AttemptOptions } from '../simulate/simulate-attempt.js';
import { failedRanks, ranOutOfMemory } from './arithmetic.js';
import { fitPlan, ranksOf } from './fit.js';
import { fitsInSum, fragmentationNumbers, fragmentationOf, LEAST_UNUSABLE_BYTES } from './fragmentation.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { probe } from './probe.js';
import { search } from './search.js';
import { rankAt } from './trial.js';
import { drawFirstIteration, variedPattern } from './workload.js';

const NAME = 'fragmentation-split-remainder';

export const fragmentationSplitRemainder: GeneratedCause = {
  name: NAME,
  title: 'cached segments pinned by small live blocks, what is left of each too small',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 4);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.25, 0.7],
    steps,
    allocConf: [null, null, null, 'expandable_segments:False'],
  });
  if (drawn === undefined) return undefined;
  const pattern = variedPattern(drawn, steps, random);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.72, 0.96] });
  if (fit === undefined) return undefined;
  const { stage } = fit.heaviest;
  const unprofiled: AttemptOptions = {
    plan: fit.plan,
    firstIteration: drawFirstIteration(random, fit.plan),
    workload: fit.workload,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  };
  const oneOfEach = Array.from({ length: drawn.parallelism.data }, (_, dataRank) => rankAt(drawn, stage, dataRank));
  const failing = probe(unprofiled, oneOfEach).filter((rank) => isOfThisCause(rank) !== undefined);
  if (failing.length === 0) return undefined;
  const suspects = chance(random, 0.8) ? failing.map(({ rank }) => rank) : ranksOf(drawn, stage);
  const plan: RunPlan = { ...fit.plan, profiledRanks: drawProfiledRanks(random, fit.plan, suspects) };
  const attempts = launches(random, { ...unprofiled, plan });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first)) return undefined;
  const found = isOfThisCause(first);
  if (found === undefined) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'fragmentation',
      detail: 'split_remainder',
      because: `${fitsInSum(first, found)}, while ${gib(found.free.usable.totalBytes)} lie in ${found.free.usable.count} pieces beside live blocks.`,
      numbers: { ...fragmentationNumbers(found), usable_holes_count: found.free.usable.count },
    },
  });
}

/** Most of what is free must be in the request's own pool and stream. */
function isOfThisCause(rank: Parameters<typeof ranOutOfMemory>[0]) {
  if (!ranOutOfMemory(rank)) return undefined;
  const found = fragmentationOf(rank);
  if (found === undefined) return undefined;
  const { usable, otherStream, otherClass } = found.free;
  if (usable.totalBytes < LEAST_UNUSABLE_BYTES) return undefined;
  return usable.totalBytes > 4 * (otherStream.totalBytes + otherClass.totalBytes) ? found : undefined;
}
