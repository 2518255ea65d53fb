/** Another process holds a good part of one device: a leftover of a killed job, a notebook, an inference server. */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import type { OtherProcess } from '../simulate/device-moment.js';
import { between, chance, createRandom, deriveSeed, pick, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { positionOf, setOtherProcesses, worldSize } from '../simulate/rank-context.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { fitPlan, runAlone } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan, ordinaryOutsideBytes } from './population.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, type Pattern, variedPattern } from './workload.js';

const NAME = 'other-process';

export const otherProcess: GeneratedCause = {
  name: NAME,
  title: "another process holds memory of a rank's device",
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 3);
  // There from the start, or started while the run was under way; decided by the seed alone, since the first is easier
  // to make.
  const arrivesAt = createRandom(deriveSeed(NAME, seed))() < 0.45 ? steps - 1 : null;
  const drawn = drawPlan(random, draw, { stateShare: [0.15, 0.6], steps });
  if (drawn === undefined) return undefined;
  const pattern =
    arrivesAt !== null
      ? longAtTheEnd(random, drawn, steps)
      : chance(random, 0.3)
        ? variedPattern(drawn, steps, random)
        : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.4, 0.85] });
  if (fit === undefined) return undefined;
  const { plan: fitted, budgetBytes } = fit;
  const victim = wholeBetween(random, 0, worldSize(drawn) - 1);
  const { stage, node, device } = positionOf(drawn, victim);
  // One device, or now and then the whole node: a job that was never cleaned up.
  const wholeNode = chance(random, 0.2);
  const isHit = (rank: number): boolean => rank === victim || (wholeNode && positionOf(drawn, rank).node === node);
  const need = fit.needs.find((candidate) => candidate.stage === stage)!.peakBytes.at(-1)!;
  const left = need * between(random, arrivesAt === null ? 0.3 : 0.7, 0.96);
  const foreign = Math.floor((budgetBytes - left) / MIB) * MIB;
  if (foreign < 1.3 * ordinaryOutsideBytes(drawn.gpu.totalBytes)) return undefined;
  const processes = splitProcesses(random, foreign);
  const hooks: RankHooks =
    arrivesAt === null
      ? {}
      : {
          beforeIteration: (rank, { step }) => {
            if (step === arrivesAt && isHit(rank.position.rank)) setOtherProcesses(rank, processes);
          },
        };
  if (runAlone(fit, victim).ending.kind !== 'completed') return undefined;
  const plan: RunPlan = {
    ...fitted,
    profiledRanks: drawProfiledRanks(random, fitted, chance(random, 0.75) ? [victim] : [0]),
  };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    hooks,
    conditions: (rank) => ({
      outside: fit.outside,
      otherProcesses: isHit(rank) && arrivesAt === null ? processes : [],
    }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first) || !isHit(first.rank)) return undefined;
  const sums = oomArithmetic(first.ending.report);
  const ordinary = ordinaryOutsideBytes(plan.gpu.totalBytes);
  const held = first.ending.otherProcesses.reduce((sum, process) => sum + process.bytes, 0);
  // With the device to itself, even with much outside PyTorch, the request is served.
  if (sums.liveBytes + sums.requestBytes > plan.gpu.totalBytes - ordinary) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'external_pressure',
      detail: 'other_process',
      because:
        `Device ${device} of node ${node} had ${gib(held)} held by ${processes.length === 1 ? 'another process' : 'other processes'}; ` +
        `rank ${first.rank} with ${gib(sums.liveBytes)} live and ${gib(sums.requestBytes)} asked completes the same steps without that.`,
      numbers: {
        other_process_bytes: held,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        budget_bytes: sums.budgetBytes,
        outside_bytes: sums.outsideBytes,
        ordinary_outside_bytes: ordinary,
      },
    },
  });
}

function splitProcesses(random: Random, bytes: number): OtherProcess[] {
  const pid = wholeBetween(random, 12_000, 3_900_000);
  if (chance(random, 0.75)) return [{ pid, bytes }];
  const part = Math.floor((bytes * pick(random, [0.25, 0.4, 0.5])) / MIB) * MIB;
  return [
    { pid, bytes: part },
    { pid: pid + wholeBetween(random, 3, 4000), bytes: bytes - part },
  ];
}

/** Short sequences, whose caches leave space on the device, before the long ones. */
function longAtTheEnd(random: Random, plan: RunPlan, steps: number): Pattern {
  const early = variedPattern(plan, steps, random, 0.1, 0.4);
  return early.map((ranks, step) => (step < steps - 1 ? ranks : ranks.map((lengths) => lengths.map(() => 1))));
}
