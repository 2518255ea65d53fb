/**
 * The model, its optimizer and its activations are simply too much for the device: no layout of the same bytes would
 * fit.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { fitPlan, ranksOf } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, type Pattern, variedPattern, withLength } from './workload.js';

/** At least so much must be missing, so that no rounding of a printed figure decides. */
export const LEAST_SHORTFALL_BYTES = 48 * MIB;
/** One tensor that large would be a spike, not a full device. */
export const LARGEST_REQUEST_SHARE = 0.25;

export const capacity: GeneratedCause = {
  name: 'capacity',
  title: 'live memory and the request exceed what the process could have at all',
  build: (seed) => search('capacity', seed, (random, draw) => build(random, seed, draw)),
};

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const varied = chance(random, 0.4);
  const steps = varied ? wholeBetween(random, 2, 4) : 2;
  const drawn = drawPlan(random, draw, { stateShare: [0.2, 0.85], steps });
  if (drawn === undefined) return undefined;
  const pattern = varied ? longAtTheEnd(random, drawn, steps) : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [1.01, 1.3] });
  if (fit === undefined) return undefined;
  const plan: RunPlan = {
    ...fit.plan,
    profiledRanks: drawProfiledRanks(random, drawn, ranksOf(drawn, fit.heaviest.stage)),
  };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first)) return undefined;
  const sums = oomArithmetic(first.ending.report);
  if (-sums.spareBytes < LEAST_SHORTFALL_BYTES) return undefined;
  if (sums.requestBytes > LARGEST_REQUEST_SHARE * sums.budgetBytes) return undefined;
  return oomRun({
    causeName: 'capacity',
    seed,
    attempts,
    truth: {
      cause: 'capacity',
      detail: null,
      because:
        `On rank ${first.rank} ${gib(sums.liveBytes)} were live and ${gib(sums.requestBytes)} were asked, ${gib(-sums.spareBytes)} more than the ` +
        `${gib(sums.budgetBytes)} the process could have; memory outside PyTorch was an ordinary ${gib(sums.outsideBytes)}.`,
      numbers: capacityNumbers(sums),
    },
  });
}

export function capacityNumbers(sums: ReturnType<typeof oomArithmetic>): Record<string, number> {
  return {
    live_bytes: sums.liveBytes,
    request_bytes: sums.requestBytes,
    budget_bytes: sums.budgetBytes,
    shortfall_bytes: -sums.spareBytes,
    outside_bytes: sums.outsideBytes,
  };
}

/** Lengths vary, and the longest sequence of all comes in the last step, on one data-parallel rank. */
function longAtTheEnd(random: Random, plan: RunPlan, steps: number): Pattern {
  const pattern = variedPattern(plan, steps, random, 0.1, 0.7);
  return withLength(pattern, steps - 1, 0, 0, 1);
}
