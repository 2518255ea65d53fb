/**
 * The runs a real population has: models, GPUs, ways to divide one over the other. A cause draws a plan from here and
 * then turns the knobs that make its cause true.
 */
import { GIB, MIB } from '../../../src/model/units.js';
import type { Framework, Gpu, ModelShape, Parallelism, RunPlan, TorchRelease } from '../run.js';
import { qkvWidth } from '../simulate/model-parameters.js';
import { between, chance, pick, type Random, wholeBetween } from '../simulate/random.js';
import type { OutsideMemory } from '../simulate/simulate-attempt.js';

const MODELS: readonly ModelShape[] = [
  shape('llama3-1b', 16, 2048, 8192, 32, 8, 128_256),
  shape('llama3-3b', 28, 3072, 8192, 24, 8, 128_256),
  shape('llama2-7b', 32, 4096, 11_008, 32, 32, 32_000),
  shape('qwen25-7b', 28, 3584, 18_944, 28, 4, 152_064),
  shape('llama3-8b', 32, 4096, 14_336, 32, 8, 128_256),
  shape('qwen3-8b', 36, 4096, 12_288, 32, 8, 151_936),
  shape('llama2-13b', 40, 5120, 13_824, 40, 40, 32_000),
  shape('qwen25-14b', 48, 5120, 13_824, 40, 8, 152_064),
  shape('qwen25-32b', 64, 5120, 27_648, 40, 8, 152_064),
  shape('llama3-70b', 80, 8192, 28_672, 64, 8, 128_256),
  shape('qwen25-72b', 80, 8192, 29_568, 64, 8, 152_064),
];

function shape(
  name: string,
  layers: number,
  hidden: number,
  feedForward: number,
  heads: number,
  queryGroups: number,
  vocabulary: number,
): ModelShape {
  return { name, layers, hidden, feedForward, heads, queryGroups, vocabulary };
}

/** Totals as cudaMemGetInfo reports them. */
const GPUS: readonly Gpu[] = [
  { name: 'NVIDIA A100-SXM4-40GB', totalBytes: 42_298_834_944, perNode: 8 },
  { name: 'NVIDIA A100-SXM4-80GB', totalBytes: 84_987_740_160, perNode: 8 },
  { name: 'NVIDIA H100 80GB HBM3', totalBytes: 84_942_979_072, perNode: 8 },
  { name: 'NVIDIA H200', totalBytes: 150_121_545_728, perNode: 8 },
];

/** One way to put a model on GPUs. */
interface Placement {
  readonly model: ModelShape;
  readonly gpu: Gpu;
  readonly parallelism: Parallelism;
  /** Weights, gradients and optimizer state of the heaviest stage over the device's total. */
  readonly stateShare: number;
}

const VIRTUAL_STAGES = [2, 3, 4, 5, 7] as const;

function* placements(): Generator<Placement> {
  for (const model of MODELS) {
    for (const tensor of [1, 2, 4, 8]) {
      if (model.queryGroups % tensor !== 0) continue;
      for (const pipeline of [1, 2, 4, 8]) {
        for (const data of [1, 2, 4, 8, 16]) {
          const world = tensor * pipeline * data;
          if (world < 4 || world > 32) continue;
          for (const virtualPipeline of [null, ...(pipeline > 1 ? VIRTUAL_STAGES : [])]) {
            const layers = model.layers / (pipeline * (virtualPipeline ?? 1));
            if (!Number.isInteger(layers)) continue;
            const sequenceParallel = tensor > 1;
            const parallelism = { tensor, pipeline, virtualPipeline, data, sequenceParallel };
            for (const gpu of GPUS) {
              const stateShare = stateBytes(model, parallelism) / gpu.totalBytes;
              yield { model, gpu, parallelism, stateShare };
            }
          }
        }
      }
    }
  }
}

let knownPlacements: readonly Placement[] | undefined;

/**
 * Weights, gradients and optimizer state of the heaviest stage: bf16 weights, fp32 gradients, three fp32 states over
 * the data ranks.
 */
function stateBytes(model: ModelShape, { tensor, pipeline, data }: Parallelism): number {
  const layer = (model.hidden * (model.hidden + qkvWidth(model) + 3 * model.feedForward)) / tensor + 2 * model.hidden;
  const vocabulary = (model.vocabulary / tensor) * model.hidden;
  const elements = (model.layers / pipeline) * layer + vocabulary * (pipeline === 1 ? 2 : 1);
  return elements * (6 + 12 / data);
}

/** What a cause asks of the plan it draws; everything left out varies. */
export interface PlanWishes {
  /** Model state of the heaviest stage over the device's total, from and to. */
  readonly stateShare?: readonly [number, number];
  readonly where?: (model: ModelShape, parallelism: Parallelism, gpu: Gpu) => boolean;
  readonly recompute?: readonly RunPlan['recompute'][];
  readonly torch?: readonly TorchRelease[];
  readonly frameworks?: readonly Framework[];
  /** Values of PYTORCH_CUDA_ALLOC_CONF to choose from; null: not set. */
  readonly allocConf?: readonly (string | null)[];
  readonly sequenceLengths?: readonly number[];
  /** Iterations the simulation will run: keeps the trace of one rank within its size. */
  readonly steps: number;
  readonly microBatchSizes?: readonly number[];
  /** Upper bound for the trace of one rank. Default 12,000 entries. */
  readonly traceEntries?: number;
}

/**
 * Trace entries of one layer and micro-batch: allocation, free and its completion of every tensor of both passes,
 * measured.
 */
function entriesPerLayer(recompute: RunPlan['recompute'], sequenceParallel: boolean): number {
  const tensors = 26 + (sequenceParallel ? 7 : 0) + (recompute === 'full' ? 14 : recompute === 'selective' ? 2 : 0);
  return 3 * tensors;
}

const RECOMPUTE: readonly RunPlan['recompute'][] = ['none', 'selective', 'full'];

/** Draws a whole plan; undefined where the wishes leave nothing. */
export function drawPlan(random: Random, seed: number, wishes: PlanWishes): RunPlan | undefined {
  knownPlacements ??= [...placements()];
  const { stateShare = [0.2, 0.7], steps, traceEntries = 12_000, where } = wishes;
  const recompute = pick(random, wishes.recompute ?? RECOMPUTE);
  const fits = knownPlacements.filter((placement) => {
    const { model, parallelism, gpu } = placement;
    if (placement.stateShare < stateShare[0] || placement.stateShare > stateShare[1]) return false;
    if (where !== undefined && !where(model, parallelism, gpu)) return false;
    const least = leastMicroBatches(parallelism) * (model.layers / parallelism.pipeline);
    return steps * least * entriesPerLayer(recompute, parallelism.sequenceParallel) <= traceEntries;
  });
  if (fits.length === 0) return undefined;
  // Models first, or the many ways to place a small one would crowd out the large ones.
  const model = pick(random, [...new Set(fits.map((placement) => placement.model))]);
  const ofModel = fits.filter((placement) => placement.model === model);
  // Virtual stages multiply the ways to place a model; a third of the runs use them where they can.
  const interleaved = ofModel.filter((placement) => placement.parallelism.virtualPipeline !== null);
  const plain = ofModel.filter((placement) => placement.parallelism.virtualPipeline === null);
  const virtual = interleaved.length > 0 && (plain.length === 0 || chance(random, 0.35));
  // Size by size, or the many small divisions of small models would crowd out the rest.
  const byTensor = narrowed(random, virtual ? interleaved : plain, ({ parallelism }) => parallelism.tensor);
  const byPipeline = narrowed(random, byTensor, ({ parallelism }) => parallelism.pipeline);
  const { gpu, parallelism } = pick(random, byPipeline);
  const perMicroBatch =
    entriesPerLayer(recompute, parallelism.sequenceParallel) * (model.layers / parallelism.pipeline);
  const most = Math.max(leastMicroBatches(parallelism), Math.floor(traceEntries / (steps * perMicroBatch)));
  const microBatches = drawMicroBatches(random, parallelism, Math.min(most, 8));
  const microBatchSize = pick(random, wishes.microBatchSizes ?? [1, 1, 1, 2, 2, 4]);
  const framework = pick(random, wishes.frameworks ?? (['megatron-bridge', 'megatron-bridge', 'megatron-lm'] as const));
  const torch = pick(random, wishes.torch ?? (['2.3', '2.6', '2.8', '2.8', '2.12'] as const));
  const sequenceLength = pick(random, wishes.sequenceLengths ?? [2048, 4096, 4096, 8192, 8192, 16_384]);
  const conf = pick(random, wishes.allocConf ?? [null, null, 'expandable_segments:True']);
  const trainIterations = pick(random, [50, 100, 500, 1000, 2000, 5000]);
  const world = parallelism.tensor * parallelism.pipeline * parallelism.data;
  const plan: RunPlan = {
    name: '',
    seed,
    framework,
    torch,
    model,
    parallelism,
    recompute,
    gpu: { ...gpu, perNode: world <= 4 ? 4 : 8 },
    sequenceLength,
    microBatchSize,
    globalBatchSize: microBatches * microBatchSize * parallelism.data,
    trainIterations,
    saveInterval: pick(
      random,
      [null, 10, 50, 100, 200].filter((interval) => interval === null || 5 * interval <= trainIterations),
    ),
    environment: drawEnvironment(random, parallelism, conf),
    memoryFraction: null,
    profiledRanks: [],
    configuration: {},
    startUs: (RELEASE_EPOCH[torch] + wholeBetween(random, 0, 10_000_000)) * 1_000_000,
  };
  return { ...plan, name: runName(random, plan) };
}

/** Those that share one value of `key`, each value being as likely as the others. */
function narrowed<T>(random: Random, items: readonly T[], key: (item: T) => number): T[] {
  const value = pick(random, [...new Set(items.map(key))]);
  return items.filter((item) => key(item) === value);
}

/** When a torch release had become common, Unix seconds; runs with it are in the four months after. */
const RELEASE_EPOCH: Readonly<Record<TorchRelease, number>> = {
  '2.0': 1_684_000_000,
  '2.3': 1_716_000_000,
  '2.6': 1_739_600_000,
  '2.8': 1_756_800_000,
  '2.12': 1_779_000_000,
};

/**
 * The interleaved schedule needs a multiple of the pipeline size; fewer than the pipeline has stages would leave it
 * mostly idle.
 */
function leastMicroBatches({ pipeline, virtualPipeline }: Parallelism): number {
  return virtualPipeline === null ? Math.max(2, Math.ceil(pipeline / 2)) : pipeline;
}

function drawMicroBatches(random: Random, parallelism: Parallelism, most: number): number {
  const least = leastMicroBatches(parallelism);
  const unit = parallelism.virtualPipeline === null ? 1 : parallelism.pipeline;
  const choices: number[] = [];
  for (let count = least; count <= Math.max(least, most); count += unit) choices.push(count);
  return pick(random, choices);
}

function drawEnvironment(random: Random, parallelism: Parallelism, conf: string | null): Record<string, string> {
  const environment: Record<string, string> = {};
  if (parallelism.tensor > 1 || chance(random, 0.5)) environment['CUDA_DEVICE_MAX_CONNECTIONS'] = '1';
  if (chance(random, 0.6)) environment['NCCL_NVLS_ENABLE'] = '0';
  if (chance(random, 0.6)) environment['TORCH_NCCL_AVOID_RECORD_STREAMS'] = '1';
  if (chance(random, 0.3)) environment['NVTE_FUSED_ATTN'] = '1';
  if (chance(random, 0.4)) environment['NCCL_DEBUG'] = pick(random, ['WARN', 'INFO']);
  if (conf !== null) environment['PYTORCH_CUDA_ALLOC_CONF'] = conf;
  return environment;
}

function runName(random: Random, plan: RunPlan): string {
  const { tensor, pipeline } = plan.parallelism;
  const kind = pick(random, ['pretrain', 'sft', 'cpt', 'longctx']);
  return `${plan.model.name}-${kind}-tp${tensor}pp${pipeline}-${String(wholeBetween(random, 10_000, 99_999))}`;
}

/** Everything of a process outside PyTorch, within what is ordinary on such a device. */
export function drawOutside(random: Random, plan: RunPlan): OutsideMemory {
  const context = between(random, 440, 620) * MIB;
  // Every further group brings communicators of its own.
  const groups = 1 + Number(plan.parallelism.tensor > 1) + Number(plan.parallelism.pipeline > 1);
  const share = between(random, 0.004, 0.008) * groups * plan.gpu.totalBytes;
  const training = Math.min(context + share, ordinaryOutsideBytes(plan.gpu.totalBytes) * 0.9);
  return {
    contextBytes: Math.round(context / MIB) * MIB,
    builtBytes: Math.round((context + (training - context) * between(random, 0.3, 0.6)) / MIB) * MIB,
    trainingBytes: Math.round(training / MIB) * MIB,
  };
}

/** The most that is ordinary outside PyTorch: 2 GiB, or a twentieth of a large device. */
export function ordinaryOutsideBytes(totalBytes: number): number {
  return Math.max(2 * GIB, totalBytes * 0.05);
}
