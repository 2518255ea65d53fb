/**
 * Saving gathers the optimizer's state of all data-parallel ranks on one device: training fits, the checkpoint does
 * not.
 */
import type { GeneratedRun, RunPlan } from '../run.js';
import { describeState } from '../simulate/model-state.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import type { RankContext, RankHooks } from '../simulate/rank-context.js';
import type { Tensor } from '../simulate/rank-process.js';
import { BF16, FP32 } from '../simulate/tensor-sizes.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { capacityNumbers, LEAST_SHORTFALL_BYTES } from './capacity.js';
import { fitPlan, ranksOf, runAlone } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { search } from './search.js';
import { rankAt } from './trial.js';
import { fixedPattern, variedPattern } from './workload.js';

const NAME = 'checkpoint-save-spike';

export const checkpointSaveSpike: GeneratedCause = {
  name: NAME,
  title: 'saving a checkpoint gathers more on one device than training leaves free',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/**
 * Bytes per parameter of a stage on the gathering rank: three fp32 states in whole, and one more while it is received.
 */
const GATHERED_BYTES = 4 * FP32;

/**
 * `get_parameter_state_dp_zero` over NCCL: data rank 0 receives every bucket of every state; the whole stays until it
 * is written.
 */
const GATHERING: RankHooks = {
  atCheckpoint: (rank) => {
    const { buckets } = describeState(rank);
    const { data } = rank.plan.parallelism;
    const path = rank.sites.optimizer.checkpointGather;
    const whole: Tensor[] = [];
    for (let state = 0; state < 3; state += 1) {
      for (const { elements } of buckets) gather(rank, elements, data, path, whole);
    }
    rank.process.pass(2_000_000);
    for (const tensor of whole) rank.process.free(tensor);
  },
};

function gather(
  rank: RankContext,
  elements: number,
  data: number,
  path: RankContext['sites']['optimizer']['checkpointGather'],
  whole: Tensor[],
): void {
  const { process } = rank;
  if (rank.position.dataRank !== 0) {
    process.free(process.malloc((elements / data) * FP32, path));
    return;
  }
  const received = Array.from({ length: data }, () => process.malloc((elements / data) * FP32, path));
  process.annotate('nccl:gather', () => process.pass(elements / 2e4));
  whole.push(process.malloc(elements * FP32, path));
  for (const tensor of received) process.free(tensor);
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 5);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.2, 0.7],
    steps,
    where: (_, { data }) => data > 1,
  });
  if (drawn === undefined) return undefined;
  const pattern = chance(random, 0.4) ? variedPattern(drawn, steps, random) : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.5, 0.9] });
  if (fit === undefined) return undefined;
  // What rests between steps is weights, gradients and this rank's part of the states.
  const bytesPerParameter = BF16 + FP32 + (3 * FP32) / drawn.parallelism.data;
  const spiking = fit.needs.filter(({ restingBytes }) => {
    return restingBytes * (1 + GATHERED_BYTES / bytesPerParameter) > 1.02 * fit.budgetBytes;
  });
  if (spiking.length === 0) return undefined;
  // At its interval, or because the run is over.
  const last = chance(random, 0.4);
  const firstIteration = chance(random, 0.6) ? 0 : steps * wholeBetween(random, 1, 40);
  const suspects = chance(random, 0.85) ? spiking.map(({ rank }) => rank) : ranksOf(drawn, 0);
  const plan: RunPlan = {
    ...fit.plan,
    saveInterval: last ? 1000 : steps,
    trainIterations: firstIteration + (last ? steps : Math.max(fit.plan.trainIterations, 10 * steps)),
    configuration: { 'checkpoint.ckpt_format': 'torch', 'checkpoint.fully_parallel_save': false },
    profiledRanks: drawProfiledRanks(random, drawn, suspects),
  };
  const alone = spiking.map(({ stage }) =>
    runAlone({ ...fit, plan: { ...plan, saveInterval: null } }, rankAt(plan, stage)),
  );
  if (alone.some(({ ending }) => ending.kind !== 'completed')) return undefined;
  const attempts = launches(random, {
    plan,
    firstIteration,
    workload: fit.workload,
    hooks: GATHERING,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first) || first.iterations.length !== steps) return undefined;
  const sums = oomArithmetic(first.ending.report);
  if (-sums.spareBytes < LEAST_SHORTFALL_BYTES) return undefined;
  const memory = first.iterations.at(-1)!.memory.allocatedBytes;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'capacity',
      detail: 'transient_spike',
      because:
        `Training never had more than ${gib(memory.peak)} live on rank ${first.rank} and rests at ${gib(memory.current)}; saving gathered the ` +
        `optimizer's state there until ${gib(sums.liveBytes)} were live and ${gib(sums.requestBytes)} more asked of ${gib(sums.budgetBytes)}.`,
      numbers: {
        ...capacityNumbers(sums),
        training_peak_bytes: memory.peak,
        resting_bytes: memory.current,
        gathered_bytes: sums.liveBytes - memory.current + sums.requestBytes,
      },
    },
  });
}
