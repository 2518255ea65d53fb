/** What lives as long as the process: weights, gradients, optimizer state. */
import type { Bucket } from './model-parameters.js';
import { chunkParameters, chunksPerStage, gradientBuckets, ownedShards, type Parameter } from './model-parameters.js';
import type { RankContext } from './rank-context.js';
import { BF16, FP32 } from './tensor-sizes.js';

export interface ModelState {
  /** Of all chunks, in the order the modules register them. */
  readonly parameters: readonly Parameter[];
  readonly buckets: readonly Bucket[];
  /** Optimizer state this rank owns, in elements per tensor. */
  readonly shards: readonly number[];
  /** How many of them have their moments on the device; those of the rest are on the host. */
  readonly momentsOnDevice: number;
}

/** How long a checkpoint takes to load and the datasets to build, µs. */
const BUILD_US = { wrap: 2_000_000, optimizer: 1_200_000, checkpointAndData: 8_000_000 };

export function describeState(rank: Pick<RankContext, 'plan' | 'position' | 'sites'>): ModelState & {
  readonly chunks: readonly { readonly parameters: readonly Parameter[]; readonly buckets: readonly Bucket[] }[];
} {
  const { plan, position, sites } = rank;
  const { data } = plan.parallelism;
  const chunks = Array.from({ length: chunksPerStage(plan.parallelism) }, (_, chunk) => {
    const parameters = chunkParameters(plan, position.stage, chunk, sites.build);
    // Gradients of later stages and chunks are reduced off the critical path: one bucket.
    return { parameters, buckets: gradientBuckets(parameters, data, position.stage === 0 && chunk === 0) };
  });
  const buckets = chunks.flatMap((chunk) => chunk.buckets);
  const shards = ownedShards(buckets, position.dataRank, data);
  return {
    chunks,
    parameters: chunks.flatMap((chunk) => chunk.parameters),
    buckets,
    shards,
    momentsOnDevice: Math.round(shards.length * (1 - offloadedFraction(plan))),
  };
}

/**
 * `optimizer_offload_fraction` of Megatron's HybridDeviceOptimizer: the part of Adam's moments that lives on the host.
 */
function offloadedFraction({ configuration }: RankContext['plan']): number {
  if (configuration['optimizer.optimizer_cpu_offload'] !== true) return 0;
  return Number(configuration['optimizer.optimizer_offload_fraction'] ?? 0);
}

/**
 * Modules, contiguous buffers, optimizer: everything before the first batch. `wrapped` runs once the communicators
 * exist.
 */
export function buildModelState(rank: RankContext, wrapped: () => void): ModelState {
  const { process, sites, plan } = rank;
  const state = describeState(rank);
  const weights = state.chunks.map(({ parameters }) =>
    parameters.map((parameter) => {
      process.pass(900 + parameter.elements / 1e4);
      return process.malloc(parameter.elements * BF16, parameter.path);
    }),
  );
  for (const [chunk, { buckets }] of state.chunks.entries()) {
    const elements = buckets.reduce((sum, bucket) => sum + bucket.elements, 0);
    process.malloc(elements * BF16, sites.build.parameterBuffer);
    const gradientBytes = plan.configuration['ddp.grad_reduce_in_fp32'] === false ? BF16 : FP32;
    process.malloc(elements * gradientBytes, sites.build.gradientBuffer);
    // The module's own weights are copied into the buffer, last registered first, and dropped.
    for (const weight of weights[chunk]!.toReversed()) process.free(weight);
  }
  wrapped();
  process.pass(BUILD_US.wrap);
  for (const shard of state.shards) process.malloc(shard * FP32, sites.build.mainParameters);
  process.pass(BUILD_US.optimizer + BUILD_US.checkpointAndData);
  return state;
}

/** The moments are born in the first step and stay. */
export function optimizerStep(rank: RankContext, state: ModelState, firstStep: boolean): void {
  const { process, sites, plan } = rank;
  if (plan.parallelism.sequenceParallel && plan.parallelism.tensor > 1) {
    const norms = state.parameters.filter((parameter) => /norm/.test(parameter.name));
    const elements = norms.reduce((sum, parameter) => sum + parameter.elements, 0);
    const flat = process.malloc(elements * FP32, sites.optimizer.normGradients);
    process.annotate('nccl:all_reduce', () => process.pass(900));
    process.free(flat);
  }
  process.annotate('nccl:_reduce_scatter_base', () => process.pass(2_500));
  const norm = process.malloc(FP32, sites.optimizer.gradientNorm);
  process.pass(9_000);
  process.free(norm);
  process.annotate('Optimizer.step#FusedAdam.step', () => {
    if (firstStep) {
      for (const shard of state.shards.slice(0, state.momentsOnDevice)) {
        process.malloc(shard * FP32, sites.optimizer.expAvg);
        process.malloc(shard * FP32, sites.optimizer.expAvgSq);
      }
    }
    process.pass(14_000);
  });
  process.annotate('nccl:_all_gather_base', () => process.pass(2_500));
}
