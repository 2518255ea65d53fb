/**
 * A notebook takes the last device of the node while training runs there, and grows. The container's torch is
 * too old to name other processes in its message, and memory was not recorded: only who watched the node can tell.
 * nvidia-smi did, once a second, and the last rank wrote TensorBoard.
 */
import { GIB, MIB } from '../../../src/model/units.js';
import { oomArithmetic, ranOutOfMemory } from '../causes/arithmetic.js';
import { gib } from '../causes/generated-cause.js';
import { ordinaryOutsideBytes } from '../causes/population.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import type { OtherProcess } from '../simulate/device-moment.js';
import { between, createRandom, deriveSeed } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { microBatchCount, type RankContext, setOtherProcesses } from '../simulate/rank-context.js';
import { type AttemptOptions, simulateAttempt, type Workload } from '../simulate/simulate-attempt.js';
import { LLAMA3_8B } from './llama3-8b.js';

/** Not the name of the cause, whose runs are drawn. */
const NAME = 'other-process-watched';
/** The last rank, which writes TensorBoard, on the last device, which the owner of the notebook took for idle. */
const FAILING = 7;
/** The last one is too much. */
const STEPS = 9;

const PLAN: RunPlan = {
  name: 'llama3-8b-sft-tp2pp4',
  seed: 0,
  framework: 'megatron-lm',
  torch: '2.0',
  model: LLAMA3_8B,
  parallelism: { tensor: 2, pipeline: 4, virtualPipeline: null, data: 1, sequenceParallel: true },
  recompute: 'none',
  gpu: { name: 'NVIDIA A100-SXM4-40GB', totalBytes: 42_298_834_944, perNode: 8 },
  sequenceLength: 6144,
  microBatchSize: 1,
  globalBatchSize: 16,
  trainIterations: 500,
  saveInterval: null,
  environment: { CUDA_DEVICE_MAX_CONNECTIONS: '1', NCCL_NVLS_ENABLE: '0' },
  memoryFraction: null,
  profiledRanks: [],
  configuration: {
    variable_seq_lengths: true,
    tensorboard_dir: '/workspace/tensorboard',
    log_memory_to_tensorboard: true,
    log_timers_to_tensorboard: true,
  },
  // 2024-11-12, by the clock on the cluster's wall.
  startUs: 1_731_420_151_380_000,
};

/** CUDA context and modules; then the communicators of tensor, pipeline and data parallelism. */
const OUTSIDE = { contextBytes: 486 * MIB, builtBytes: 742 * MIB, trainingBytes: 1_078 * MIB };

const NOTEBOOK: Pick<OtherProcess, 'pid' | 'name'> = { pid: 2_714_093, name: '/home/mlops/envs/eda/bin/python3' };
/**
 * What the notebook holds from so many seconds after the start of training on: a context, a 7B model shard by shard,
 * prompts.
 */
const NOTEBOOK_BYTES: readonly (readonly [seconds: number, bytes: number])[] = [
  [4.1, 422 * MIB],
  [8.6, 422 * MIB + 4.6 * GIB],
  [10.9, 422 * MIB + 9.2 * GIB],
  [12.7, 422 * MIB + 12.6 * GIB],
  [15.8, 422 * MIB + 13.3 * GIB],
  [17.4, 422 * MIB + 14.1 * GIB],
];

/** Packed documents: early ones fill a good half of the sequence, those of the last step all of it. */
function workloadOf(plan: RunPlan): Workload {
  const random = createRandom(deriveSeed(NAME, plan.seed, 'documents'));
  const unit = 64 * plan.parallelism.tensor;
  const length = (step: number): number => {
    const fill = step === STEPS - 1 ? between(random, 0.97, 1) : between(random, 0.46, 0.49);
    return Math.ceil((fill * plan.sequenceLength) / unit) * unit;
  };
  return Array.from({ length: STEPS }, (_, step) =>
    Array.from({ length: plan.parallelism.data }, () =>
      Array.from({ length: microBatchCount(plan) }, () => length(step)),
    ),
  );
}

/** The notebook's part, as far as time has come; looked at wherever the simulation lets somebody look. */
function notebook(): RankHooks {
  let startUs: number | null = null;
  let taken = 0;
  const look = (rank: RankContext): void => {
    if (rank.position.rank !== FAILING) return;
    startUs ??= rank.process.now();
    const seconds = (rank.process.now() - startUs) / 1e6;
    const due = NOTEBOOK_BYTES.filter(([from]) => from <= seconds).length;
    if (due === taken) return;
    taken = due;
    const bytes = Math.floor(NOTEBOOK_BYTES[due - 1]![1] / MIB) * MIB;
    if (!setOtherProcesses(rank, [{ ...NOTEBOOK, bytes }])) throw new Error(`${NAME}: no room for the notebook`);
  };
  return {
    beforeIteration: look,
    beforeForward: look,
    afterForwardLayer: look,
    beforeBackward: look,
    afterBackwardLayer: look,
    beforeOptimizer: look,
    afterIteration: look,
  };
}

function simulate(plan: RunPlan, more: Pick<AttemptOptions, 'hooks' | 'watches' | 'ranks'>) {
  return simulateAttempt({
    plan,
    firstIteration: 0,
    workload: workloadOf(plan),
    conditions: () => ({ outside: OUTSIDE, otherProcesses: [] }),
    records: () => false,
    ...more,
  });
}

export function buildOtherProcess(seed: number): GeneratedRun {
  const plan: RunPlan = { ...PLAN, seed };
  const attempt = simulate(plan, { hooks: notebook(), watches: true });
  const failed = attempt.ranks.filter(({ ending }) => ending.kind !== 'stopped');
  const [rank] = failed;
  if (rank === undefined || failed.length > 1 || rank.rank !== FAILING || !ranOutOfMemory(rank))
    throw new Error(`${NAME}: seed ${seed} fails on ${failed.map((item) => item.rank).join(', ') || 'no rank'}`);
  if (rank.iterations.length !== STEPS - 1)
    throw new Error(`${NAME}: seed ${seed} fails after ${rank.iterations.length} steps`);
  const alone = simulate(plan, { ranks: [FAILING] }).ranks[0]!;
  const sums = oomArithmetic(rank.ending.report);
  const ordinary = ordinaryOutsideBytes(plan.gpu.totalBytes);
  if (alone.ending.kind !== 'completed' || sums.liveBytes + sums.requestBytes > plan.gpu.totalBytes - ordinary)
    throw new Error(`${NAME}: seed ${seed} does not fit without the notebook either`);
  const foreign = rank.ending.otherProcesses.reduce((sum, { bytes }) => sum + bytes, 0);
  const stepBytes = alone.process.allocator.statistics.allocatedBytes.peak;
  if (stepBytes < sums.budgetBytes) throw new Error(`${NAME}: seed ${seed} may be fragmentation`);
  return {
    causeName: NAME,
    seed,
    attempts: [attempt],
    snapshots: [],
    monitors: { utcOffsetMinutes: 60, stampsLines: true, firstSampleUs: 420_000 },
    truth: {
      cause: 'external_pressure',
      detail: 'other_process',
      isOom: true,
      firstFailingRank: FAILING,
      because:
        `A notebook held ${gib(foreign)} of the device of rank ${FAILING}, which came to need ${gib(stepBytes)} in a step of long documents; ` +
        `${gib(sums.budgetBytes)} were left. Alone on the device the rank completes the same steps.`,
      numbers: {
        other_process_bytes: foreign,
        outside_bytes: sums.outsideBytes,
        ordinary_outside_bytes: ordinary,
        reserved_bytes: sums.reservedBytes,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        step_peak_bytes: stepBytes,
        budget_bytes: sums.budgetBytes,
      },
    },
  };
}
