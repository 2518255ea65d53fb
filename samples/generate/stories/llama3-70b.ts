/**
 * The published case: fine-tuning Llama 3 70B on 32 H100s, as five runs. Published are the layout, throughput,
 * peak memory and how each run ended; they are inputs here. What the simulation adds is a mechanism that leads there by
 * the allocator's own rules.
 *
 * Two things of real runs of this kind fragment the device. Before training, the unsharded tensors of a few layers are
 * held while a checkpoint is converted; their segments stay cached, and weights' copies, moments and activations settle
 * in them. And every model chunk's gradients are reduced with fp32 accumulation, through a buffer as large as the
 * chunk's gradients that must be one piece.
 */
import { GIB } from '../../../src/model/units.js';
import { holesIn, oomArithmetic, ranOutOfMemory } from '../causes/arithmetic.js';
import { gib } from '../causes/generated-cause.js';
import { StepDumps } from '../causes/healthy.js';
import type { GeneratedRun, Parallelism, RunPlan } from '../run.js';
import { at, BRIDGE, coreOf } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { describeState } from '../simulate/model-state.js';
import { between, createRandom, deriveSeed } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { microBatchCount, type RankContext } from '../simulate/rank-context.js';
import type { Tensor } from '../simulate/rank-process.js';
import { type AttemptOptions, simulateAttempt, type Workload } from '../simulate/simulate-attempt.js';

/** What was published of one run; GB are decimal, throughput is per GPU. */
interface Published {
  readonly parallelism: Parallelism;
  readonly allocConf: string | null;
  readonly peakGigabytes: number;
  /** Null where only the outcome was published. */
  readonly teraflops: number | null;
  /**
   * Rate of matrix products, TFLOP/s, at which the simulated run reaches it; without one, that of the run it is
   * compared with.
   */
  readonly sustainedTeraflops: number;
  readonly outcome: 'oom' | 'completed';
}

const EXPANDABLE = 'expandable_segments:True';
const layout = (tensor: number, pipeline: number, virtualPipeline: number, data: number): Parallelism => ({
  tensor,
  pipeline,
  virtualPipeline,
  data,
  sequenceParallel: true,
});

export const PUBLISHED = {
  'llama3-70b-fragmentation': {
    parallelism: layout(4, 4, 5, 2),
    allocConf: null,
    peakGigabytes: 58.8,
    teraflops: 704,
    sustainedTeraflops: 877.1155,
    outcome: 'oom',
  },
  'llama3-70b-expandable': {
    parallelism: layout(4, 4, 5, 2),
    allocConf: EXPANDABLE,
    peakGigabytes: 59,
    teraflops: 704,
    sustainedTeraflops: 876.5034,
    outcome: 'completed',
  },
  'llama3-70b-vpp10': {
    parallelism: layout(4, 4, 10, 2),
    allocConf: EXPANDABLE,
    peakGigabytes: 60.2,
    teraflops: null,
    sustainedTeraflops: 876.5034,
    outcome: 'completed',
  },
  'llama3-70b-pp8': {
    parallelism: layout(4, 8, 5, 1),
    allocConf: null,
    peakGigabytes: 53.2,
    teraflops: 668,
    sustainedTeraflops: 883.9127,
    outcome: 'completed',
  },
  'llama3-70b-tp8': {
    parallelism: layout(8, 4, 5, 1),
    allocConf: null,
    peakGigabytes: 50.2,
    teraflops: 508.7,
    sustainedTeraflops: 661.4194,
    outcome: 'completed',
  },
} as const satisfies Record<string, Published>;
export type Llama70bRun = keyof typeof PUBLISHED;

/** The golden value the published deviations refer to. */
export const GOLDEN_TERAFLOPS = 709.93;

const MODEL = {
  name: 'llama3-70b',
  layers: 80,
  hidden: 8192,
  feedForward: 28_672,
  heads: 64,
  queryGroups: 8,
  vocabulary: 128_256,
};
const GPU = { name: 'NVIDIA H100 80GB HBM3', totalBytes: 84_942_979_072, perNode: 8 };
const SEQUENCE_LENGTH = 4096;
/** Micro-batches hold packed documents and are filled to between this part of the sequence length and all of it. */
const LEAST_FILL = 0.82;
const MOST_FILL = 1;
const ITERATIONS = 6;
/** Context and communicators: rank 0 also holds what the job's control traffic uses. Ordinary figures for 32 GPUs. */
const OUTSIDE = { contextBytes: 0.55e9, builtBytes: 2.4e9, trainingBytes: 3.3e9 };
const RANK_0_EXTRA_BYTES = 0.9e9;

function planOf(name: Llama70bRun, seed: number): RunPlan {
  const { parallelism, allocConf, sustainedTeraflops } = PUBLISHED[name];
  return {
    name,
    seed,
    framework: 'megatron-bridge',
    torch: '2.8',
    model: MODEL,
    parallelism,
    recompute: 'selective',
    gpu: GPU,
    sequenceLength: SEQUENCE_LENGTH,
    microBatchSize: 1,
    globalBatchSize: 32,
    trainIterations: 50,
    saveInterval: null,
    sustainedTeraflops,
    environment: {
      CUDA_DEVICE_MAX_CONNECTIONS: '1',
      NVTE_FWD_LAYERNORM_SM_MARGIN: '16',
      ...(allocConf === null ? {} : { PYTORCH_CUDA_ALLOC_CONF: allocConf }),
    },
    memoryFraction: null,
    profiledRanks: [0],
    configuration: {
      'ddp.grad_reduce_in_fp32': false,
      'ddp.reduce_scatter_with_fp32_accumulation': true,
      mixed_precision: 'bf16_with_fp8_current_scaling_mixed',
    },
    // 2025-11-18, one run after the other.
    startUs: 1_763_457_124_000_000 + Object.keys(PUBLISHED).indexOf(name) * 5_400_000_000,
  };
}

/** All runs train on the same documents: the same draw for every layout. */
function workloadOf(plan: RunPlan): Workload {
  const random = createRandom(deriveSeed('llama3-70b', plan.seed, 'documents'));
  const unit = 64 * plan.parallelism.tensor;
  return Array.from({ length: ITERATIONS }, () => {
    const lengths = Array.from({ length: plan.globalBatchSize }, () => {
      const fill = between(random, LEAST_FILL, MOST_FILL);
      return Math.ceil((fill * SEQUENCE_LENGTH) / unit) * unit;
    });
    const each = microBatchCount(plan);
    return Array.from({ length: plan.parallelism.data }, (_, rank) => lengths.slice(rank * each, (rank + 1) * each));
  });
}

const core = coreOf('megatron-bridge');

/** Megatron Bridge's import: the unsharded tensors of some layers are on the device until their shards are cut. */
function conversionPath(rank: RankContext): CallPath {
  return [
    at('hf_to_megatron', `${BRIDGE}models/conversion/param_mapping.py`, 958, 'merged = torch.cat([gate, up], dim=0)'),
    at(
      'load_weights_hf_to_megatron',
      `${BRIDGE}models/conversion/model_bridge.py`,
      527,
      'converted_weights = task.mapping.hf_to_megatron(hf_weights, task.megatron_module)',
    ),
    at(
      'load_hf_weights',
      `${BRIDGE}models/conversion/auto_bridge.py`,
      388,
      'self._model_bridge.load_weights_hf_to_megatron(pre_trained, model)',
    ),
    ...rank.sites.outer.distributedWrap.slice(2),
  ];
}

/** fp32, as the checkpoint is: query, key and value; projection; gate and up; down. */
const LAYER_TENSORS_BYTES = [8192 * 10_240, 8192 * 8192, 8192 * 57_344, 28_672 * 8192].map((elements) => elements * 4);

/** Holds converted layers up to `bytes`, then drops them all. */
function convert(rank: RankContext, bytes: number): void {
  const path = conversionPath(rank);
  const held: Tensor[] = [];
  let left = bytes;
  for (let i = 0; left > 0; i += 1) {
    const size = Math.min(left, LAYER_TENSORS_BYTES[i % LAYER_TENSORS_BYTES.length]!);
    held.push(rank.process.malloc(size, path));
    left -= size;
    rank.process.pass(90_000);
  }
  for (const tensor of held) rank.process.free(tensor);
}

const gradientReady: CallPath = [
  at(
    'start_grad_sync',
    `${core}distributed/param_and_grad_buffer.py`,
    412,
    'self.grad_reduce_handle = dist_reduce_scatter_func(',
  ),
  at('register_grad_ready', `${core}distributed/param_and_grad_buffer.py`, 518, 'self.start_grad_sync()'),
  at(
    'register_grad_ready',
    `${core}distributed/param_and_grad_buffer.py`,
    1043,
    'bucket_group.register_grad_ready(param)',
  ),
  at(
    'hook',
    `${core}distributed/distributed_data_parallel.py`,
    461,
    'self.param_to_bucket_group[param].register_grad_ready(param)',
  ),
];
const ACCUMULATION = `${core}distributed/reduce_scatter_with_fp32_accumulation.py`;
const allToAllPath: CallPath = [
  at(
    'reduce_scatter_with_fp32_accumulation',
    ACCUMULATION,
    74,
    'all_to_all_output_tensor = torch.empty_like(input_tensor)',
  ),
  ...gradientReady,
];
const sumPath: CallPath = [
  at('wait', ACCUMULATION, 32, 'output_tensor_in_fp32 = torch.sum('),
  at('reduce_scatter_with_fp32_accumulation', ACCUMULATION, 92, 'reduce_scatter_handle.wait()'),
  ...gradientReady,
];

/**
 * Per gradient bucket, when its chunk's last backward pass is over: an all-to-all buffer as large as the bucket, summed
 * up in fp32 at once, and held by the work handle to the end of the iteration. With a single data-parallel rank there
 * is nothing to reduce.
 */
function reduceGradients(plan: RunPlan): RankHooks {
  const lastMicroBatch = microBatchCount(plan) - 1;
  const { data } = plan.parallelism;
  if (data === 1) return {};
  const handles = new Map<number, Tensor[]>();
  return {
    afterBackward: (rank, { chunk, microBatch }) => {
      if (microBatch !== lastMicroBatch) return;
      const { process, position } = rank;
      const held = handles.get(position.rank) ?? [];
      handles.set(position.rank, held);
      rank.outerTraceback = rank.sites.training.schedule.backwardStep;
      for (const { elements } of chunkBuckets(rank, chunk)) {
        held.push(process.malloc(elements * 2, allToAllPath));
        const sum = process.malloc((elements / data) * 4, sumPath);
        process.pass(800);
        process.free(sum);
      }
      rank.outerTraceback = [];
    },
    beforeOptimizer: ({ process, position }) => {
      for (const tensor of handles.get(position.rank) ?? []) process.free(tensor);
      handles.delete(position.rank);
    },
  };
}

const knownBuckets = new Map<string, readonly (readonly { readonly elements: number }[])[]>();

function chunkBuckets(rank: RankContext, chunk: number): readonly { readonly elements: number }[] {
  const { stage, dataRank } = rank.position;
  const key = `${rank.plan.name} ${stage} ${dataRank}`;
  let buckets = knownBuckets.get(key);
  if (buckets === undefined) {
    buckets = describeState(rank).chunks.map((described) => described.buckets);
    knownBuckets.set(key, buckets);
  }
  return buckets[chunk]!;
}

const UNLIMITED_BYTES = 2 ** 43;

function outsideOf(rank: number) {
  const extra = rank === 0 ? RANK_0_EXTRA_BYTES : 0;
  return { outside: { ...OUTSIDE, trainingBytes: OUTSIDE.trainingBytes + extra }, otherProcesses: [] };
}

/** What rank 0 alone does on a device without limit. */
function alone(options: Pick<AttemptOptions, 'plan' | 'workload' | 'hooks'>) {
  const { ranks } = simulateAttempt({
    ...options,
    firstIteration: 0,
    conditions: outsideOf,
    ranks: [0],
    deviceBytes: UNLIMITED_BYTES,
    records: () => false,
  });
  return ranks[0]!;
}

/** Conversion buffers that bring the highest live bytes before training to the published figure. */
function conversionBytes(plan: RunPlan, published: Published): number {
  const built = alone({ plan, workload: [] }).process.allocator.statistics.allocatedBytes;
  const bytes = Math.floor((published.peakGigabytes * 1e9 - built.current) / 512) * 512;
  if (bytes <= 0) throw new Error(`${plan.name}: the model alone needs more than was published`);
  return bytes;
}

/** Of all iterations but the first, which also sets up communicators. */
function steadyTeraflops(iterations: readonly { readonly teraflopsPerGpu: number }[]): number {
  const steady = iterations.slice(1);
  return steady.reduce((sum, iteration) => sum + iteration.teraflopsPerGpu, 0) / steady.length;
}

export function buildLlama70b(name: Llama70bRun, seed: number): GeneratedRun {
  const published: Published = PUBLISHED[name];
  const plan = planOf(name, seed);
  const converted = conversionBytes(plan, published);
  const dumps = new StepDumps(ITERATIONS - 2);
  const attempt = simulateAttempt({
    plan,
    firstIteration: 0,
    workload: workloadOf(plan),
    conditions: outsideOf,
    hooks: {
      ...reduceGradients(plan),
      afterBuild: (rank) => convert(rank, converted),
      ...(published.outcome === 'completed' ? { afterIteration: dumps.hook } : {}),
    },
  });
  const first = attempt.ranks[0]!;
  const teraflops = steadyTeraflops(first.iterations);
  if (published.teraflops !== null && Math.abs(teraflops / published.teraflops - 1) > 1e-3)
    throw new Error(`${name}: ${teraflops} TFLOP/s were reached instead of ${published.teraflops}`);
  const printed = first.iterations[0]?.memory.allocatedBytes.peak;
  if (printed === undefined || Math.abs(printed / 1e9 - published.peakGigabytes) > 0.05)
    throw new Error(`${name}: the first iteration peaks at ${printed} bytes instead of ${published.peakGigabytes} GB`);
  const numbers = {
    published_peak_bytes: published.peakGigabytes * 1e9,
    printed_peak_bytes: printed,
    steady_teraflops_per_gpu: teraflops,
    golden_teraflops_per_gpu: GOLDEN_TERAFLOPS,
  };
  const failed = attempt.ranks.filter(({ ending }) => ending.kind !== 'completed' && ending.kind !== 'stopped');
  if (published.outcome === 'completed') {
    if (failed.length > 0) throw new Error(`${name}: rank ${failed[0]!.rank} failed, but the published run did not`);
    const peak = Math.max(...attempt.ranks.map(({ process }) => process.allocator.statistics.allocatedBytes.peak));
    return {
      causeName: name,
      seed,
      attempts: [attempt],
      snapshots: dumps.snapshots([attempt]),
      truth: {
        cause: 'not_oom',
        detail: null,
        isOom: false,
        firstFailingRank: null,
        because: `All 32 ranks completed ${ITERATIONS} iterations; the highest live memory of any rank was ${gib(peak)}.`,
        numbers: { ...numbers, peak_live_bytes: peak },
      },
    };
  }
  const [rank] = failed;
  if (rank === undefined || failed.length > 1 || rank.rank !== 0 || !ranOutOfMemory(rank))
    throw new Error(`${name}: seed ${seed} fails on ${failed.map((item) => item.rank).join(', ') || 'no rank'}`);
  if (rank.iterations.length < 2) throw new Error(`${name}: seed ${seed} fails before two iterations are complete`);
  const sums = oomArithmetic(rank.ending.report);
  const holes = holesIn(rank.process.allocator.snapshot(), () => true);
  if (sums.spareBytes < 8 * GIB || holes.largestBytes >= sums.requestBytes)
    throw new Error(`${name}: seed ${seed} is not clearly fragmentation`);
  return {
    causeName: name,
    seed,
    attempts: [attempt],
    snapshots: [{ attempt: 0, rank: 0, trigger: 'oom' }],
    truth: {
      cause: 'fragmentation',
      detail: 'split_remainder',
      isOom: true,
      firstFailingRank: 0,
      because:
        `On rank 0 ${gib(sums.liveBytes)} were live and ${gib(sums.requestBytes)} were asked, ${gib(sums.spareBytes)} less than the ` +
        `${gib(sums.budgetBytes)} the process could have; ${gib(holes.totalBytes)} were free in ${holes.count} holes, the largest ${gib(holes.largestBytes)}.`,
      numbers: {
        ...numbers,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        budget_bytes: sums.budgetBytes,
        spare_bytes: sums.spareBytes,
        free_in_reserve_bytes: holes.totalBytes,
        largest_hole_bytes: holes.largestBytes,
        outside_bytes: sums.outsideBytes,
      },
    },
  };
}
