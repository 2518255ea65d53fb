/**
 * With max_split_size_mb a request of that size or more takes a cached block whole, up to max_non_split_rounding_mb
 * larger than itself. What a shorter batch does not need of the block of a longer one is lost inside it: allocated, and
 * unused.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import { pick, type Random, wholeBetween } from '../simulate/random.js';
import type { AttemptOptions } from '../simulate/simulate-attempt.js';
import { failedRanks, type OomArithmetic, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { LEAST_SHORTFALL_BYTES } from './capacity.js';
import { fitPlan } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { probe } from './probe.js';
import { search } from './search.js';
import { rankAt } from './trial.js';
import { drawFirstIteration, variedPattern } from './workload.js';

const NAME = 'fragmentation-oversize-rule';

export const fragmentationOversizeRule: GeneratedCause = {
  name: NAME,
  title: 'max_split_size_mb hands out oversize blocks whole',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/** What live blocks of at least `maxSplitBytes` have beyond what was requested of them. */
function oversizeWaste(rank: SimulatedRank, maxSplitBytes: number): number {
  let bytes = 0;
  for (const { blocks } of rank.process.allocator.snapshot()) {
    for (const { state, sizeBytes, requestedBytes } of blocks) {
      if (state === 'active_allocated' && sizeBytes >= maxSplitBytes) bytes += sizeBytes - requestedBytes;
    }
  }
  return bytes;
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 4);
  const maxSplit = pick(random, [64, 128, 256, 512]);
  const rounding = pick(random, [1024, 2048, 4096, 8192]);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.15, 0.6],
    steps,
    torch: ['2.6', '2.8', '2.12'],
    allocConf: [`max_split_size_mb:${maxSplit},max_non_split_rounding_mb:${rounding}`],
  });
  if (drawn === undefined) return undefined;
  const pattern = variedPattern(drawn, steps, random);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.95, 1.6] });
  if (fit === undefined) return undefined;
  const unprofiled: AttemptOptions = {
    plan: fit.plan,
    firstIteration: drawFirstIteration(random, fit.plan),
    workload: fit.workload,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  };
  const oneOfEach = Array.from({ length: drawn.parallelism.data }, (_, dataRank) =>
    rankAt(drawn, fit.heaviest.stage, dataRank),
  );
  const suspects = probe(unprofiled, oneOfEach).filter((rank) => lostInside(rank, maxSplit * MIB));
  if (suspects.length === 0) return undefined;
  // Only a snapshot shows what is lost inside a block, so a failing rank must record.
  const profiledRanks = drawProfiledRanks(
    random,
    drawn,
    suspects.map(({ rank }) => rank),
  );
  const plan: RunPlan = { ...fit.plan, profiledRanks };
  const attempts = launches(random, { ...unprofiled, plan });
  const { ranks } = attempts.at(-1)!;
  const first = failedRanks(ranks)[0];
  const found = first === undefined ? undefined : lostInside(first, maxSplit * MIB);
  const recorded = ranks.some((rank) => profiledRanks.includes(rank.rank) && lostInside(rank, maxSplit * MIB));
  if (first === undefined || found === undefined || !recorded) return undefined;
  const { sums, wasteBytes } = found;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'fragmentation',
      detail: 'oversize_rule',
      because:
        `On rank ${first.rank} live blocks of ${maxSplit} MiB and more had ${gib(wasteBytes)} that nobody had requested; ${gib(sums.liveBytes)} live ` +
        `and ${gib(sums.requestBytes)} asked exceed the ${gib(sums.budgetBytes)} the process could have by ${gib(-sums.spareBytes)}.`,
      numbers: {
        oversize_waste_bytes: wasteBytes,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        budget_bytes: sums.budgetBytes,
        shortfall_bytes: -sums.spareBytes,
        max_split_bytes: maxSplit * MIB,
        outside_bytes: sums.outsideBytes,
      },
    },
  });
}

/** What is missing is less than what is lost inside oversize blocks, both by a clear margin. */
function lostInside(
  rank: SimulatedRank,
  maxSplitBytes: number,
): { readonly sums: OomArithmetic; readonly wasteBytes: number } | undefined {
  if (!ranOutOfMemory(rank)) return undefined;
  const sums = oomArithmetic(rank.ending.report);
  const wasteBytes = oversizeWaste(rank, maxSplitBytes);
  if (-sums.spareBytes < LEAST_SHORTFALL_BYTES) return undefined;
  return wasteBytes + sums.spareBytes > Math.max(256 * MIB, 0.01 * sums.budgetBytes) ? { sums, wasteBytes } : undefined;
}
