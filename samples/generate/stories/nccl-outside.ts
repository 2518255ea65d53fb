/**
 * Rank 0 runs out of memory because NCCL's buffers grow outside PyTorch, and Nsight Systems watched it. After every
 * step a callback gathers statistics to rank 0 over a process group that it makes anew and never destroys; each group's
 * buffers stay, most of them where all peers send to. NCCL takes them with cudaMalloc (`NCCL_CUMEM_ENABLE=0`), so the
 * profiler sees them.
 */
import { MIB } from '../../../src/model/units.js';
import { oomArithmetic, ranOutOfMemory } from '../causes/arithmetic.js';
import { gib } from '../causes/generated-cause.js';
import { ordinaryOutsideBytes } from '../causes/population.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import { profiledHooks } from '../simulate/profile/profiled-training.js';
import { Profiler } from '../simulate/profile/profiler.js';
import { between, createRandom, deriveSeed } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { microBatchCount, type RankContext, worldSize } from '../simulate/rank-context.js';
import {
  type AttemptOptions,
  type OutsideMemory,
  simulateAttempt,
  type Workload,
} from '../simulate/simulate-attempt.js';
import { LLAMA3_8B } from './llama3-8b.js';

const NAME = 'nccl-outside';
const FAILING = 0;
/** The last one is too much. */
const STEPS = 5;
/** CUDA context, modules, and what the driver keeps for itself. */
const CONTEXT_BYTES = 566 * MIB;
const CUBLAS_BYTES = 34 * MIB;
/** Of a communicator, whatever it connects to. */
const INIT_BYTES = [2 * MIB, 4 * MIB, 10 * MIB];
/** One connection with `NCCL_BUFFSIZE` of 32 MiB: the buffers of the three protocols. */
const CONNECTION_BYTES = 38 * MIB;
const CHANNELS = 8;

const PLAN: RunPlan = {
  name: 'llama3-8b-cpt-tp1pp4',
  seed: 0,
  framework: 'megatron-bridge',
  torch: '2.12',
  model: LLAMA3_8B,
  parallelism: { tensor: 1, pipeline: 4, virtualPipeline: null, data: 2, sequenceParallel: false },
  recompute: 'none',
  gpu: { name: 'NVIDIA H100 80GB HBM3', totalBytes: 84_942_979_072, perNode: 8 },
  sequenceLength: 10_240,
  microBatchSize: 1,
  globalBatchSize: 8,
  trainIterations: 200,
  saveInterval: null,
  environment: {
    CUDA_DEVICE_MAX_CONNECTIONS: '1',
    NCCL_BUFFSIZE: '33554432',
    NCCL_CUMEM_ENABLE: '0',
    NCCL_DEBUG: 'INFO',
    NCCL_MIN_P2P_NCHANNELS: String(CHANNELS),
    NCCL_NVLS_ENABLE: '0',
  },
  memoryFraction: null,
  profiledRanks: [FAILING],
  configuration: {},
  // 2026-07-07
  startUs: 1_783_412_643_000_000,
};

/** Documents of many lengths, packed; those of the last step fill the sequence. */
function workloadOf(plan: RunPlan): Workload {
  const random = createRandom(deriveSeed(NAME, plan.seed, 'documents'));
  const length = (step: number): number => {
    const fill = step === STEPS - 1 ? between(random, 0.95, 1) : between(random, 0.66, 0.76);
    return Math.ceil((fill * plan.sequenceLength) / 64) * 64;
  };
  return Array.from({ length: STEPS }, (_, step) =>
    Array.from({ length: plan.parallelism.data }, () =>
      Array.from({ length: microBatchCount(plan) }, () => length(step)),
    ),
  );
}

/** A communicator as one rank sees it. */
interface Communicator {
  /** The same on all its ranks. */
  readonly name: string;
  readonly size: number;
  readonly rank: number;
  /** Peers whose messages this rank receives: each has a buffer here for each channel. */
  readonly peers: number;
  /** The first collective, in which the connections are made. */
  readonly call: string;
}

function connect(rank: RankContext, profiler: Profiler, { name, size, rank: own, peers, call }: Communicator): void {
  const { process, position } = rank;
  const { device } = position;
  profiler.begin('ncclCommInitRankConfig', process.now(), 'NCCL');
  process.pass(1_300);
  for (const bytes of INIT_BYTES) profiler.as('main', 'nccl_init', () => take(rank, bytes));
  process.pass(400);
  profiler.end(process.now());
  const bus = (0x1b + device * 0x10).toString(16);
  const handle = (0x5a00_0000_0000 + Math.floor(rank.random() * 2 ** 32) * 16).toString(16);
  const id = deriveSeed(NAME, name).toString(16).padStart(8, '0');
  rank.addLine(
    `{host}:{pid}:{pid} [${device}] NCCL INFO ncclCommInitRankConfig comm 0x${handle} rank ${own} nranks ${size} cudaDev ${device} ` +
      `nvmlDev ${device} busId ${bus}000 commId 0x${id}${id.slice(0, 7)} - Init COMPLETE`,
  );
  profiler.begin(call, process.now(), 'NCCL');
  process.pass(30);
  for (let connection = 0; connection < peers * CHANNELS; connection += 1) {
    // A third by the calling thread, the others by NCCL's service thread, which the caller waits for.
    if (connection % 3 === 0) profiler.as('main', 'nccl_connect', () => take(rank, CONNECTION_BYTES));
    else profiler.as('nccl_service', 'nccl_proxy', () => take(rank, CONNECTION_BYTES));
  }
  process.pass(200);
  profiler.end(process.now());
}

/** cudaMalloc past PyTorch's allocator, of memory that stays. */
function take({ process }: RankContext, bytes: number): void {
  if (process.driver.malloc(bytes) === null) throw new Error(`${NAME}: rank ${process.rank} has no room for NCCL`);
}

/** What takes memory outside PyTorch, when. `gathers`: whether the callback is there. */
function outsideMemory(profilerOf: (rank: RankContext) => Profiler, gathers: boolean): RankHooks {
  return {
    afterBuild: (rank) => {
      const { plan, position } = rank;
      const { rank: own, dataRank, stage } = position;
      const size = worldSize(plan);
      connect(rank, profilerOf(rank), { name: 'world', size, rank: own, peers: 1, call: 'ncclAllReduce' });
      connect(rank, profilerOf(rank), {
        name: `data ${stage}`,
        size: plan.parallelism.data,
        rank: dataRank,
        peers: 1,
        call: 'ncclBroadcast',
      });
    },
    afterModule: (rank, { step, microBatch, layer }, module) => {
      if (step + microBatch + layer > 0 || module !== 'linear_qkv') return;
      const { process } = rank;
      const profiler = profilerOf(rank);
      const startUs = process.now();
      process.pass(260);
      profiler.as('main', 'cublas', () => take(rank, CUBLAS_BYTES));
      process.pass(90);
      profiler.cublas('cublasCreate_v2', startUs, process.now());
    },
    afterForward: (rank, { step, microBatch }) => {
      if (step + microBatch > 0) return;
      const { plan, position } = rank;
      const { pipeline } = plan.parallelism;
      const isAtEnd = position.stage === 0 || position.stage === pipeline - 1;
      connect(rank, profilerOf(rank), {
        name: `pipeline ${position.dataRank}`,
        size: pipeline,
        rank: position.stage,
        peers: isAtEnd ? 1 : 2,
        call: 'ncclGroupEnd',
      });
    },
    afterIteration: (rank, { iteration }) => {
      if (!gathers) return;
      const size = worldSize(rank.plan);
      const own = rank.position.rank;
      const peers = own === FAILING ? size - 1 : 1;
      connect(rank, profilerOf(rank), {
        name: `statistics ${iteration}`,
        size,
        rank: own,
        peers,
        call: 'ncclGroupEnd',
      });
    },
  };
}

const OUTSIDE: OutsideMemory = {
  contextBytes: CONTEXT_BYTES,
  builtBytes: CONTEXT_BYTES,
  trainingBytes: CONTEXT_BYTES,
};

function simulate(plan: RunPlan, more: Pick<AttemptOptions, 'hooks' | 'observer' | 'ranks'>) {
  return simulateAttempt({
    plan,
    firstIteration: 0,
    workload: workloadOf(plan),
    conditions: () => ({ outside: OUTSIDE, otherProcesses: [] }),
    ...more,
  });
}

export function buildNcclOutside(seed: number): GeneratedRun {
  const plan: RunPlan = { ...PLAN, seed };
  const profiler = new Profiler();
  // What the others do is noted, too, and never read.
  const unread = new Profiler();
  const profilerOf = ({ position }: RankContext): Profiler => (position.rank === FAILING ? profiler : unread);
  const attempt = simulate(plan, {
    hooks: profiledHooks(FAILING, profiler, outsideMemory(profilerOf, true)),
    observer: (rank) => (rank === FAILING ? profiler.observer : undefined),
  });
  const failed = attempt.ranks.filter(({ ending }) => ending.kind !== 'stopped');
  const [rank] = failed;
  if (rank === undefined || failed.length > 1 || rank.rank !== FAILING || !ranOutOfMemory(rank))
    throw new Error(`${NAME}: seed ${seed} fails on ${failed.map((item) => item.rank).join(', ') || 'no rank'}`);
  if (rank.iterations.length !== STEPS - 1)
    throw new Error(`${NAME}: seed ${seed} fails after ${rank.iterations.length} steps`);
  const alone = simulate(plan, { hooks: outsideMemory(() => unread, false), ranks: [FAILING] }).ranks[0]!;
  const sums = oomArithmetic(rank.ending.report);
  const ordinary = ordinaryOutsideBytes(plan.gpu.totalBytes);
  if (alone.ending.kind !== 'completed' || sums.liveBytes + sums.requestBytes > plan.gpu.totalBytes - ordinary)
    throw new Error(`${NAME}: seed ${seed} does not fit without the callback either`);
  // What the step would have come to need: no setting of the allocator could have found that beside NCCL.
  const stepBytes = alone.process.allocator.statistics.allocatedBytes.peak;
  if (stepBytes < sums.budgetBytes) throw new Error(`${NAME}: seed ${seed} may be fragmentation`);
  const perStep = INIT_BYTES.reduce((sum, bytes) => sum + bytes, (worldSize(plan) - 1) * CHANNELS * CONNECTION_BYTES);
  return {
    causeName: NAME,
    seed,
    attempts: [attempt],
    snapshots: [{ attempt: 0, rank: FAILING, trigger: 'oom' }],
    profiles: [{ attempt: 0, rank: FAILING, recording: profiler.recording(), unseenBytes: CONTEXT_BYTES }],
    truth: {
      cause: 'external_pressure',
      detail: 'nccl',
      isOom: true,
      firstFailingRank: FAILING,
      because:
        `${gib(sums.outsideBytes)} of rank ${FAILING}'s device were NCCL's and the context's, ordinary are at most ${gib(ordinary)}; PyTorch found no room. ` +
        `NCCL took ${gib(perStep)} more after every step. Without that the same steps complete, with ${gib(stepBytes)} live at their highest.`,
      numbers: {
        outside_bytes: sums.outsideBytes,
        ordinary_outside_bytes: ordinary,
        nccl_bytes_per_step: perStep,
        reserved_bytes: sums.reservedBytes,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        step_peak_bytes: stepBytes,
        budget_bytes: sums.budgetBytes,
      },
    },
  };
}
