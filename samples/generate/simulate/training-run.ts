/**
 * What one rank of a Megatron run allocates, in order: model, contiguous buffers, optimizer, then 1F1B steps with full recomputation and
 * micro-batches of varying length. Sizes follow from the model's shape; nothing is placed by hand, the allocator decides.
 */
import type { AllocatorStatistics } from '../../../src/allocator/statistics.js';
import { MIB } from '../../../src/model/units.js';
import { BACKWARD, BUFFERS, BUILD, FORWARD, OPTIMIZER, PIPELINE } from './call-sites.js';
import type { CallPath } from './code-line.js';
import { RankOutOfMemory, type RankProcess, type Tensor } from './rank-process.js';

export interface ModelShape {
  readonly layers: number;
  readonly hidden: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly queryGroups: number;
  readonly vocabulary: number;
}

export interface TrainingPlan {
  readonly shape: ModelShape;
  readonly pipelineStages: number;
  readonly dataParallel: number;
  /** Padded tokens per micro-batch: `lengths[iteration][data-parallel rank][micro-batch]`. */
  readonly lengths: readonly (readonly (readonly number[])[])[];
  /** Memory of the process outside the allocator once the communicators of the model build, and of the first step, exist. */
  readonly builtNonTorchBytes: number;
  readonly trainingNonTorchBytes: number;
}

/** A parameter in the order the modules register it. */
export interface Parameter {
  readonly name: string;
  readonly elements: number;
  readonly path: CallPath;
}

export interface IterationRecord {
  readonly startUs: number;
  readonly endUs: number;
  /** memory_stats right after the optimizer step. */
  readonly memory: AllocatorStatistics;
}

export interface RankRun {
  readonly process: RankProcess;
  readonly stage: number;
  readonly dataRank: number;
  readonly iterations: readonly IterationRecord[];
  /** Why it ended; null if all iterations completed. */
  readonly oom: RankOutOfMemory | null;
}

const BF16 = 2;
const FP32 = 4;
/** H100 cuBLAS workspace of Transformer Engine: 32 MiB plus 1 KiB (`get_cublas_workspace_size_bytes`). */
const CUBLAS_WORKSPACE_BYTES = 32 * MIB + 1024;

/** Bytes per token of the tensors of one layer, tensor parallelism 1. */
function tokenBytes(shape: ModelShape) {
  const headSize = shape.hidden / shape.heads;
  return {
    hidden: BF16 * shape.hidden,
    qkv: BF16 * headSize * (shape.heads + 2 * shape.queryGroups),
    fc1: BF16 * 2 * shape.feedForward,
    activation: BF16 * shape.feedForward,
    logits: BF16 * shape.vocabulary,
    lossLogits: FP32 * shape.vocabulary,
  };
}

export function stageParameters(shape: ModelShape, stage: number, stages: number): Parameter[] {
  const { hidden, feedForward, heads, queryGroups, vocabulary } = shape;
  const qkv = (hidden / heads) * (heads + 2 * queryGroups);
  const parameters: Parameter[] = [];
  const add = (name: string, elements: number, path: CallPath): void => {
    parameters.push({ name, elements, path });
  };
  if (stage === 0) add('module.embedding.word_embeddings.weight', vocabulary * hidden, BUILD.embedding);
  for (let layer = 0; layer < shape.layers / stages; layer += 1) {
    const prefix = `module.decoder.layers.${layer}`;
    add(`${prefix}.self_attention.linear_proj.weight`, hidden * hidden, BUILD.proj);
    add(`${prefix}.self_attention.linear_qkv.layer_norm_weight`, hidden, BUILD.qkvNorm);
    add(`${prefix}.self_attention.linear_qkv.weight`, hidden * qkv, BUILD.qkv);
    add(`${prefix}.mlp.linear_fc1.layer_norm_weight`, hidden, BUILD.fc1Norm);
    add(`${prefix}.mlp.linear_fc1.weight`, hidden * 2 * feedForward, BUILD.fc1);
    add(`${prefix}.mlp.linear_fc2.weight`, hidden * feedForward, BUILD.fc2);
  }
  if (stage === stages - 1) {
    add('module.decoder.final_layernorm.weight', hidden, BUILD.finalNorm);
    add('module.output_layer.weight', vocabulary * hidden, BUILD.outputLayer);
  }
  return parameters;
}

export interface Bucket {
  readonly parameters: readonly Parameter[];
  readonly elements: number;
}

/**
 * Gradient buckets: parameters in reverse order, a bucket closed at max(40 M, 1 M × data-parallel size) elements; the embedding and the
 * output layer stand alone. Upstream: `_ParamAndGradBuffer` and `DistributedDataParallelConfig.bucket_size` of Megatron-LM.
 */
export function gradientBuckets(parameters: readonly Parameter[], dataParallel: number): Bucket[] {
  const limit = Math.max(40_000_000, 1_000_000 * dataParallel);
  const buckets: Bucket[] = [];
  let open: Parameter[] = [];
  const size = (): number => open.reduce((sum, parameter) => sum + parameter.elements, 0);
  const close = (): void => {
    if (open.length > 0) buckets.push({ parameters: open, elements: size() });
    open = [];
  };
  for (const parameter of parameters.toReversed()) {
    const alone = /word_embeddings|output_layer/.test(parameter.name);
    if (alone) close();
    open.push(parameter);
    if (alone || size() >= limit) close();
  }
  close();
  return buckets;
}

/** The parts of parameters whose optimizer state this data-parallel rank owns, in elements: an equal cut of every bucket. */
function ownedShards(buckets: readonly Bucket[], dataRank: number, dataParallel: number): number[] {
  const shards: number[] = [];
  for (const { parameters, elements } of buckets) {
    const from = Math.ceil((elements * dataRank) / dataParallel);
    const to = Math.ceil((elements * (dataRank + 1)) / dataParallel);
    let offset = 0;
    for (const parameter of parameters) {
      const owned = Math.min(to, offset + parameter.elements) - Math.max(from, offset);
      if (owned > 0) shards.push(owned);
      offset += parameter.elements;
    }
  }
  return shards;
}

/** Microseconds one layer's forward takes on an H100, about 450 TFLOP/s: linear layers plus causal attention. */
function layerUs(shape: ModelShape, tokens: number): number {
  const linear = 2 * shape.hidden * (2.5 * shape.hidden + 3 * shape.feedForward);
  return (tokens * (linear + 2 * tokens * shape.hidden)) / 450e6;
}

function logitsUs(shape: ModelShape, tokens: number): number {
  return (tokens * 2 * shape.hidden * shape.vocabulary) / 450e6;
}

/** How long one iteration takes: the slowest data-parallel rank, plus the pipeline bubble and the optimizer. */
export function iterationUs(plan: TrainingPlan, iteration: number): number {
  const { shape, pipelineStages } = plan;
  const work = (tokens: number): number =>
    (4 * shape.layers * layerUs(shape, tokens)) / pipelineStages + 3 * logitsUs(shape, tokens);
  const slowest = Math.max(
    ...plan.lengths[iteration]!.map((microBatches) => {
      const total = microBatches.reduce((sum, tokens) => sum + work(tokens), 0);
      return total + (pipelineStages - 1) * Math.max(...microBatches.map(work));
    }),
  );
  return Math.round(slowest + 400_000);
}

/** Runs one rank until the plan ends or an allocation fails. */
export function runRank(process: RankProcess, plan: TrainingPlan, stage: number, dataRank: number): RankRun {
  const iterations: IterationRecord[] = [];
  try {
    const train = buildRank(process, plan, stage, dataRank);
    for (let iteration = 0; iteration < plan.lengths.length; iteration += 1) {
      const startUs = process.now();
      train(plan.lengths[iteration]![dataRank]!);
      process.waitUntil(startUs + iterationUs(plan, iteration));
      iterations.push({ startUs, endUs: process.now(), memory: structuredClone(process.allocator.statistics) });
    }
    return { process, stage, dataRank, iterations, oom: null };
  } catch (error) {
    if (!(error instanceof RankOutOfMemory)) throw error;
    return { process, stage, dataRank, iterations, oom: error };
  }
}

function growNonTorch(process: RankProcess, bytes: number): void {
  if (!process.driver.setNonTorchBytes(bytes)) throw new Error(`rank ${process.rank}: no room for communicators`);
}

/** Model, buffers and optimizer; returns the function that trains one iteration on the given micro-batch lengths. */
function buildRank(
  process: RankProcess,
  plan: TrainingPlan,
  stage: number,
  dataRank: number,
): (lengths: readonly number[]) => void {
  const parameters = stageParameters(plan.shape, stage, plan.pipelineStages);
  const buckets = gradientBuckets(parameters, plan.dataParallel);
  const shards = ownedShards(buckets, dataRank, plan.dataParallel);
  const elements = parameters.reduce((sum, parameter) => sum + parameter.elements, 0);

  const weights = parameters.map((parameter) => {
    process.pass(900 + parameter.elements / 1e4);
    return process.malloc(parameter.elements * BF16, parameter.path);
  });
  process.malloc(elements * BF16, BUFFERS.parameters);
  process.malloc(elements * FP32, BUFFERS.gradients);
  // The module's own weights are copied into the buffer, last registered first, and dropped.
  for (const weight of weights.toReversed()) process.free(weight);
  growNonTorch(process, plan.builtNonTorchBytes);
  process.pass(2_000_000);
  for (const shard of shards) process.malloc(shard * FP32, BUFFERS.mainParameters);
  process.pass(8_000_000);

  let firstStep = true;
  return (lengths) => {
    trainMicroBatches(process, plan, stage, lengths, firstStep);
    optimizerStep(process, shards, firstStep);
    firstStep = false;
  };
}

interface InFlight {
  readonly tokens: number;
  /** Inputs of the layers, kept for the recomputation; the first one is what the previous stage sent, or the embedding. */
  readonly inputs: Tensor[];
  readonly batch: readonly Tensor[];
  /** Output sent on; its storage is released once sent, as `deallocate_pipeline_outputs` does. */
  readonly lossLogits: Tensor | null;
  readonly loss: Tensor | null;
}

/** One forward-backward pass in the order of `forward_backward_pipelining_without_interleaving`. */
function trainMicroBatches(
  process: RankProcess,
  plan: TrainingPlan,
  stage: number,
  lengths: readonly number[],
  firstStep: boolean,
): void {
  const last = stage === plan.pipelineStages - 1;
  const size = tokenBytes(plan.shape);
  const layers = plan.shape.layers / plan.pipelineStages;
  let workspaceMissing = firstStep;

  const forwardLayer = (tokens: number, us: number): Tensor => {
    const qkv = process.malloc(tokens * size.qkv, FORWARD.qkv);
    if (workspaceMissing) {
      process.malloc(CUBLAS_WORKSPACE_BYTES, FORWARD.workspace);
      workspaceMissing = false;
    }
    const attention = process.malloc(tokens * size.hidden, FORWARD.attention);
    process.free(qkv);
    const residual = process.malloc(tokens * size.hidden, FORWARD.attentionResidual);
    process.free(attention);
    process.pass(us * 0.4);
    const fc1 = process.malloc(tokens * size.fc1, FORWARD.fc1);
    const activation = process.malloc(tokens * size.activation, FORWARD.activation);
    process.free(fc1);
    const output = process.malloc(tokens * size.hidden, FORWARD.output);
    process.free(activation);
    process.free(residual);
    process.pass(us * 0.6);
    return output;
  };

  const forward = (tokens: number): InFlight => {
    const batch = [8, 8, 8, 4].map((bytes) => process.malloc(tokens * bytes, FORWARD.batch));
    const inputs = [process.malloc(tokens * size.hidden, stage === 0 ? FORWARD.embedding : PIPELINE.receiveForward)];
    const us = layerUs(plan.shape, tokens);
    for (let layer = 0; layer < layers; layer += 1) inputs.push(forwardLayer(tokens, us));
    if (!last) {
      // The output is sent to the next stage; only the inputs stay.
      process.free(inputs.pop()!);
      return { tokens, inputs, batch, lossLogits: null, loss: null };
    }
    const normed = process.malloc(tokens * size.hidden, FORWARD.finalNorm);
    inputs.push(normed);
    process.pass(logitsUs(plan.shape, tokens));
    const logits = process.malloc(tokens * size.logits, FORWARD.logits);
    const lossLogits = process.malloc(tokens * size.lossLogits, FORWARD.lossLogits);
    const loss = process.malloc(tokens * FP32, FORWARD.loss);
    process.free(logits);
    return { tokens, inputs, batch, lossLogits, loss };
  };

  const backwardLayer = (tokens: number, us: number, gradient: Tensor): Tensor => {
    const paths = BACKWARD.recompute;
    process.pass(us);
    const qkv = process.malloc(tokens * size.qkv, paths.qkv);
    const attention = process.malloc(tokens * size.hidden, paths.attention);
    const residual = process.malloc(tokens * size.hidden, paths.attentionResidual);
    const fc1 = process.malloc(tokens * size.fc1, paths.fc1);
    const activation = process.malloc(tokens * size.activation, paths.activation);
    process.pass(2 * us);
    const activationGradient = process.malloc(tokens * size.activation, BACKWARD.fc2);
    process.free(activation);
    const fc1Gradient = process.malloc(tokens * size.fc1, BACKWARD.swiglu);
    process.free(activationGradient);
    process.free(fc1);
    const residualGradient = process.malloc(tokens * size.hidden, BACKWARD.fc1);
    process.free(fc1Gradient);
    process.free(residual);
    const qkvGradient = process.malloc(tokens * size.qkv, BACKWARD.attention);
    process.free(attention);
    process.free(qkv);
    const inputGradient = process.malloc(tokens * size.hidden, BACKWARD.qkv);
    process.free(qkvGradient);
    process.free(residualGradient);
    process.free(gradient);
    return inputGradient;
  };

  const backward = ({ tokens, inputs, batch, lossLogits, loss }: InFlight): void => {
    let gradient: Tensor;
    if (lossLogits !== null && loss !== null) {
      // The saved softmax becomes the gradient in place; its conversion to bf16 is a native autograd node.
      const logitsGradient = process.malloc(tokens * size.logits, BACKWARD.native);
      process.free(lossLogits);
      process.pass(2 * logitsUs(plan.shape, tokens));
      gradient = process.malloc(tokens * size.hidden, BACKWARD.outputLayer);
      process.free(logitsGradient);
      process.free(loss);
      process.free(inputs.pop()!);
      process.free(inputs.pop()!);
    } else {
      gradient = process.malloc(tokens * size.hidden, PIPELINE.receiveBackward);
    }
    const us = layerUs(plan.shape, tokens);
    while (inputs.length > 0) {
      gradient = backwardLayer(tokens, us, gradient);
      process.free(inputs.pop()!);
    }
    process.free(gradient);
    for (const tensor of batch) process.free(tensor);
  };

  const inFlight: InFlight[] = [];
  const warmUp = Math.min(plan.pipelineStages - stage - 1, lengths.length);
  for (const tokens of lengths) {
    inFlight.push(forward(tokens));
    if (firstStep && inFlight.length === 1) growNonTorch(process, plan.trainingNonTorchBytes);
    if (inFlight.length > warmUp) backward(inFlight.shift()!);
  }
  for (const microBatch of inFlight) backward(microBatch);
}

/** The moments are born in the first step and stay. */
function optimizerStep(process: RankProcess, shards: readonly number[], firstStep: boolean): void {
  const norm = process.malloc(FP32, OPTIMIZER.gradNorm);
  process.pass(30_000);
  process.free(norm);
  process.annotations.push({ stage: 'START', name: 'Optimizer.step#FusedAdam.step', timeUs: process.now() });
  if (firstStep) {
    for (const shard of shards) {
      process.malloc(shard * FP32, OPTIMIZER.expAvg);
      process.malloc(shard * FP32, OPTIMIZER.expAvgSq);
    }
  }
  process.pass(45_000);
  process.annotations.push({ stage: 'END', name: 'Optimizer.step#FusedAdam.step', timeUs: process.now() });
}
