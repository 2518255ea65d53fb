/** The script limits its own process to a part of the device, and the part is too small while the rest is idle. */
import type { GeneratedRun, RunPlan } from '../run.js';
import { between, chance, type Random } from '../simulate/random.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { capacityNumbers, LEAST_SHORTFALL_BYTES } from './capacity.js';
import { fitPlan, ranksOf, runAlone } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, variedPattern } from './workload.js';

const NAME = 'fraction-limit';

export const fractionLimit: GeneratedCause = {
  name: NAME,
  title: "the process's memory fraction is used up",
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = 2;
  const passedSteps = chance(random, 0.5) ? 1 : 0;
  // Before 2.4 the message does not contain the limit.
  const drawn = drawPlan(random, draw, { stateShare: [0.15, 0.6], steps, torch: ['2.6', '2.8', '2.8', '2.12'] });
  if (drawn === undefined) return undefined;
  const pattern = chance(random, 0.3) ? variedPattern(drawn, steps, random) : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.45, 0.85] });
  if (fit === undefined) return undefined;
  const need = fit.heaviest.peakBytes.at(-1)!;
  // A value a user would write: two digits.
  const memoryFraction = Math.floor((100 * need * between(random, 0.7, 0.98)) / drawn.gpu.totalBytes) / 100;
  if (memoryFraction < 0.2) return undefined;
  if (runAlone(fit, fit.heaviest.rank).ending.kind !== 'completed') return undefined;
  const suspects = ranksOf(drawn, fit.heaviest.stage);
  const plan: RunPlan = { ...fit.plan, memoryFraction, profiledRanks: drawProfiledRanks(random, drawn, suspects) };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first) || first.iterations.length < passedSteps) return undefined;
  const { report } = first.ending;
  const sums = oomArithmetic(report);
  const deviceSpare = report.reservedBytes + report.deviceFreeBytes - sums.liveBytes - sums.requestBytes;
  if (-sums.spareBytes < LEAST_SHORTFALL_BYTES || deviceSpare < LEAST_SHORTFALL_BYTES) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'capacity',
      detail: 'fraction_limit',
      because:
        `A memory fraction of ${memoryFraction} allows ${gib(sums.budgetBytes)}, ${gib(-sums.spareBytes)} less than rank ${first.rank} had live and ` +
        `asked for; the device itself had ${gib(deviceSpare)} more than that, and without the fraction the same steps complete.`,
      numbers: { ...capacityNumbers(sums), allowed_bytes: report.allowedBytes!, device_spare_bytes: deviceSpare },
    },
  });
}
