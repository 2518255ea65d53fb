/** Which parameters each rank holds, and how data-parallel ranks divide them. */
import type { ModelShape, NamedParameter, Parallelism, RunPlan } from '../run.js';
import type { BuildSites } from './call-sites/index.js';
import type { CallPath } from './code-line.js';

/** A parameter in the order the modules register it. */
export interface Parameter extends NamedParameter {
  readonly path: CallPath;
}

/** Elements per token of the query, key and value projection, all heads. */
export function qkvWidth(model: ModelShape): number {
  return (model.hidden / model.heads) * (model.heads + 2 * model.queryGroups);
}

export function chunksPerStage(parallelism: Parallelism): number {
  return parallelism.virtualPipeline ?? 1;
}

export function layersPerChunk(plan: RunPlan): number {
  const { pipeline } = plan.parallelism;
  const layers = plan.model.layers / (pipeline * chunksPerStage(plan.parallelism));
  if (!Number.isInteger(layers))
    throw new Error(`${plan.model.layers} layers do not divide into the pipeline's chunks`);
  return layers;
}

/** The embedding is in the first chunk of the first stage, the output layer in the last chunk of the last. */
export function chunkParameters(plan: RunPlan, stage: number, chunk: number, sites: BuildSites): Parameter[] {
  const { model, parallelism } = plan;
  const { tensor, pipeline } = parallelism;
  const { hidden, feedForward } = model;
  const vocabulary = model.vocabulary / tensor;
  const parameters: Parameter[] = [];
  const add = (name: string, elements: number, path: CallPath): void => {
    parameters.push({ name: `module.${name}`, elements, path });
  };
  if (stage === 0 && chunk === 0) add('embedding.word_embeddings.weight', vocabulary * hidden, sites.embedding);
  for (let layer = 0; layer < layersPerChunk(plan); layer += 1) {
    const prefix = `decoder.layers.${layer}`;
    add(`${prefix}.self_attention.linear_proj.weight`, (hidden * hidden) / tensor, sites.proj);
    add(`${prefix}.self_attention.linear_qkv.layer_norm_weight`, hidden, sites.qkvNorm);
    add(`${prefix}.self_attention.linear_qkv.weight`, (hidden * qkvWidth(model)) / tensor, sites.qkv);
    add(`${prefix}.mlp.linear_fc1.layer_norm_weight`, hidden, sites.fc1Norm);
    add(`${prefix}.mlp.linear_fc1.weight`, (hidden * 2 * feedForward) / tensor, sites.fc1);
    add(`${prefix}.mlp.linear_fc2.weight`, (hidden * feedForward) / tensor, sites.fc2);
  }
  if (stage === pipeline - 1 && chunk === chunksPerStage(parallelism) - 1) {
    add('decoder.final_layernorm.weight', hidden, sites.finalNorm);
    add('output_layer.weight', vocabulary * hidden, sites.outputLayer);
  }
  return parameters;
}

export interface Bucket {
  /** With their place in the bucket. */
  readonly parameters: readonly { readonly parameter: NamedParameter; readonly offset: number }[];
  /** Padded elements. */
  readonly elements: number;
}

/** Every parameter begins at a multiple of this many elements. */
const PARAMETER_ALIGNMENT = 64;

/**
 * The contiguous buffer of a chunk, in buckets: parameters in reverse order, a bucket closed once it holds max(40 M, 1
 * M × data-parallel size) elements, on later pipeline stages one bucket for all; ends padded so that all data-parallel
 * ranks own equal, aligned parts. Upstream: Megatron-LM `_ParamAndGradBuffer.__init__` and
 * `DistributedDataParallel.__init__`.
 */
export function gradientBuckets(
  parameters: readonly NamedParameter[],
  dataParallel: number,
  isFirstOfPipeline: boolean,
): Bucket[] {
  const limit = isFirstOfPipeline ? Math.max(40_000_000, 1_000_000 * dataParallel) : Number.POSITIVE_INFINITY;
  const endAlignment = leastCommonMultiple(dataParallel, 128);
  const buckets: Bucket[] = [];
  let placed: { parameter: NamedParameter; offset: number }[] = [];
  let end = 0;
  const close = (): void => {
    if (placed.length > 0) buckets.push({ parameters: placed, elements: Math.ceil(end / endAlignment) * endAlignment });
    placed = [];
    end = 0;
  };
  for (const parameter of parameters.toReversed()) {
    const offset = Math.ceil(end / PARAMETER_ALIGNMENT) * PARAMETER_ALIGNMENT;
    placed.push({ parameter, offset });
    end = offset + parameter.elements;
    if (end >= limit) close();
  }
  close();
  return buckets;
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}

/**
 * The parts of parameters whose optimizer state this data-parallel rank owns, in elements: an equal cut of every
 * bucket.
 */
export function ownedShards(buckets: readonly Bucket[], dataRank: number, dataParallel: number): number[] {
  const shards: number[] = [];
  for (const { parameters, elements } of buckets) {
    const from = (elements / dataParallel) * dataRank;
    const to = (elements / dataParallel) * (dataRank + 1);
    for (const { parameter, offset } of parameters) {
      const owned = Math.min(to, offset + parameter.elements) - Math.max(from, offset);
      if (owned > 0) shards.push(owned);
    }
  }
  return shards;
}
