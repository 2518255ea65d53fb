/** How long the parts of a step take: floating-point operations over the rate a GPU of that kind sustains. */
import type { ModelShape, RunPlan } from '../run.js';
import { isAmpere } from './gpu-kind.js';
import { chunksPerStage, layersPerChunk, qkvWidth } from './model-parameters.js';

/**
 * Operations of one layer's forward pass over `tokens` tokens in sequences of `sequence`, causal attention, all
 * tensor-parallel ranks.
 */
function layerFlops(model: ModelShape, tokens: number, sequence: number): number {
  const { hidden, feedForward } = model;
  const weights = hidden * (hidden + qkvWidth(model) + 3 * feedForward);
  return 2 * tokens * (weights + sequence * hidden);
}

function outputFlops(plan: RunPlan, tokens: number): number {
  return 2 * tokens * plan.model.hidden * plan.model.vocabulary;
}

/**
 * Model operations, forward and backward, of `tokens` tokens: what Megatron divides by the step time. Recomputation
 * does not count.
 */
export function trainingFlops(plan: RunPlan, tokens: number, sequence: number): number {
  return 3 * (plan.model.layers * layerFlops(plan.model, tokens, sequence) + outputFlops(plan, tokens));
}

/** Operations per µs that matrix products reach inside a step, bf16. */
function sustainedFlopsPerUs(plan: RunPlan): number {
  if (plan.sustainedTeraflops !== undefined) return plan.sustainedTeraflops * 1e6;
  const [peak, part] = isAmpere(plan.gpu) ? [312e6, 0.62] : [989e6, 0.55];
  // Tensor parallelism cuts the products small and waits for NVLink.
  return peak * part * (1 - 0.05 * Math.log2(plan.parallelism.tensor));
}

export interface ChunkTime {
  readonly layerUs: number;
  readonly outputUs: number;
  readonly forwardUs: number;
  readonly backwardUs: number;
}

/** One micro-batch through one model chunk. */
export function chunkTime(plan: RunPlan, stage: number, chunk: number, tokens: number): ChunkTime {
  const { tensor, pipeline } = plan.parallelism;
  const rate = sustainedFlopsPerUs(plan) * tensor;
  const sequence = tokens / plan.microBatchSize;
  const layerUs = layerFlops(plan.model, tokens, sequence) / rate;
  const hasOutput = stage === pipeline - 1 && chunk === chunksPerStage(plan.parallelism) - 1;
  const outputUs = hasOutput ? outputFlops(plan, tokens) / rate : 0;
  const layers = layersPerChunk(plan) * layerUs;
  const recomputed = plan.recompute === 'full' ? 1 : plan.recompute === 'selective' ? 0.08 : 0;
  return {
    layerUs,
    outputUs,
    forwardUs: layers + outputUs,
    backwardUs: (2 + recomputed) * layers + 2 * outputUs,
  };
}
