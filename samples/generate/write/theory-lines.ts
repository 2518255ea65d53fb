/**
 * The theoretical memory footprints that rank 0 prints, for dense models without latent attention. Upstream:
 * Megatron-LM `megatron/training/theoretical_memory_usage.py`, Megatron Bridge
 * `training/utils/theoretical_memory_utils.py`. What they print as MB is MiB.
 */
import { MIB } from '../../../src/model/units.js';
import type { RunPlan } from '../run.js';
import { fixed } from './python-text.js';
import { type FrameworkForm, microBatches } from './run-facts.js';

interface Footprint {
  readonly lines: readonly string[];
  readonly bytes: number;
}

/** SwiGLU: three matrices instead of two. */
const GATED = 3 / 2;

/** Elements of all layers, with `norms` elements of normalisation per layer and hidden unit. */
function layerElements(plan: RunPlan, norms: number): number {
  const { layers, hidden, feedForward, heads, queryGroups } = plan.model;
  const attention = 2 * hidden * hidden * (1 + queryGroups / heads);
  return layers * (attention + 2 * hidden * feedForward * GATED + norms * hidden);
}

/** fp32 gradient and bf16 weight stay whole, master weight and the two moments are cut over the data-parallel ranks. */
function bytesPerElement(plan: RunPlan): number {
  return 6 + 12 / plan.parallelism.data;
}

function mostLoadedShard(plan: RunPlan, blockElements: number): number {
  const { tensor, pipeline } = plan.parallelism;
  const embedding = plan.model.hidden * plan.model.vocabulary;
  return (blockElements / pipeline + embedding + (pipeline === 1 ? embedding : 0)) / tensor;
}

const billions = (elements: number, digits: number): string => fixed(elements / 1e9, digits);
const mebibytes = (bytes: number, digits = 2): string => fixed(bytes / MIB, digits);

/** Factor for micro-batches in flight, and the lines about it. */
function inFlight(plan: RunPlan): { readonly factor: number; readonly lines: readonly string[] } {
  const { pipeline, virtualPipeline } = plan.parallelism;
  if (virtualPipeline !== null) {
    const penalty = 1 + (pipeline - 1) / (pipeline * virtualPipeline);
    return {
      factor: penalty,
      lines: [
        `Memory penalty from interleaved schedule: ${fixed(penalty, 2)}`,
        `Number of in-flight microbatches: ${Math.ceil(penalty * pipeline)}`,
      ],
    };
  }
  if (pipeline === 1) return { factor: 1, lines: [] };
  const count = microBatches(plan);
  return {
    factor: Math.min(1, count / pipeline),
    lines: [`Number of in-flight microbatches: ${Math.min(count, pipeline)}`],
  };
}

/** Sequence parallelism and selective recomputation, the only case of the original formula. */
function activationWithSp(plan: RunPlan): Footprint {
  const { layers, hidden, feedForward, vocabulary } = plan.model;
  const { tensor, pipeline } = plan.parallelism;
  const tokens = plan.sequenceLength * plan.microBatchSize;
  const layer = tokens * hidden * (18 + 4 * (feedForward / hidden));
  const flight = inFlight(plan);
  let bytes = (layer * layers + 8 * tokens * pipeline + tokens * hidden * pipeline) * flight.factor;
  if (pipeline === 1) bytes += tokens * hidden * 4 * (1 + vocabulary / hidden);
  return {
    lines: [`Activation memory footprint per transformer layer: ${mebibytes(layer / tensor, 1)} MB`, ...flight.lines],
    bytes: bytes / tensor,
  };
}

function activationWithoutSp(plan: RunPlan): Footprint {
  const { layers, hidden, vocabulary } = plan.model;
  const { tensor, pipeline } = plan.parallelism;
  const tokens = plan.sequenceLength * plan.microBatchSize;
  const layer = tokens * hidden * (10 + 24 / tensor);
  const flight = inFlight(plan);
  let bytes = (layer * layers + 8 * tokens * pipeline + tokens * hidden * pipeline) * flight.factor;
  if (pipeline === 1) bytes += 2 * ((tokens * vocabulary) / tensor + tokens * hidden);
  return {
    lines: [
      `Activation memory footprint per transformer layer (precise, without SP): ${mebibytes(layer, 1)} MB`,
      ...flight.lines,
    ],
    bytes: bytes * 1.05,
  };
}

function withActivation(weights: number, activation: number): string[] {
  return [
    `Theoretical memory footprints: weight and optimizer=${mebibytes(weights)} MB, activation=${mebibytes(activation)} MB, ` +
      `total=${mebibytes(weights + activation)} MB`,
    '',
  ];
}

function spFormulaHolds(plan: RunPlan): boolean {
  return plan.parallelism.sequenceParallel && plan.recompute === 'selective';
}

export function bridgeTheoryLines(plan: RunPlan): string[] {
  const { hidden, vocabulary } = plan.model;
  const block = layerElements(plan, 4) + 2 * hidden;
  const total = block + 2 * hidden * vocabulary;
  const shard = mostLoadedShard(plan, block);
  const weights = shard * bytesPerElement(plan);
  const lines = [
    `Number of dense and embedding parameters in billions: ${billions(total, 2)}`,
    `Total number of parameters in billions: ${billions(total, 2)}`,
    `Number of dense and embedding parameters in most loaded shard in billions: ${billions(shard, 4)}`,
  ];
  if (!spFormulaHolds(plan)) {
    return [...lines, `Theoretical memory footprints: weight and optimizer=${mebibytes(weights)} MB`];
  }
  const activation = activationWithSp(plan);
  return [...lines, ...activation.lines, ...withActivation(weights, activation.bytes)];
}

export function megatronLmTheoryLines(plan: RunPlan, form: FrameworkForm): string[] {
  const { hidden, vocabulary } = plan.model;
  const { tensor, pipeline } = plan.parallelism;
  // RMSNorm: one weight a hidden unit, twice a layer and once at the end.
  const norms = (2 * plan.model.layers + 1) * hidden;
  const block = layerElements(plan, 2) + hidden;
  const embedding = 2 * hidden * vocabulary;
  // Tensor parallelism does not divide the norms, which the formula learnt late.
  const shard = form.wholeNorms
    ? mostLoadedShard(plan, block - norms) + norms / pipeline
    : mostLoadedShard(plan, block);
  const weights = shard * bytesPerElement(plan);
  const active = (text: string): string[] => (form.activeParameters ? [text] : []);
  const lines = [
    `Number of parameters in transformer block in billions:  ${billions(block, 2)}`,
    ...active(`Number of active parameters in transformer block in billions:  ${billions(block, 2)}`),
    `Number of parameters in embedding layers in billions: ${billions(embedding, 2)}`,
    `Total number of parameters in billions: ${billions(block + embedding, 2)}`,
    ...active(`Total number of active parameters in billions: ${billions(block + embedding, 2)}`),
    `Number of parameters in most loaded shard in billions: ${billions(shard, 4)}`,
  ];
  if (pipeline > 1) {
    lines.push(`Number of parameters in other shards in billions: ${billions(block / (pipeline * tensor), 4)}`);
  }
  if (!spFormulaHolds(plan) && !form.activationWithoutSp) {
    return [...lines, `Theoretical memory footprints: weight and optimizer=${mebibytes(weights)} MB`];
  }
  const activation = spFormulaHolds(plan) ? activationWithSp(plan) : activationWithoutSp(plan);
  const which = spFormulaHolds(plan) ? 'compute_activation_memory with SP' : 'compute_activation_memory_without_sp';
  return [
    ...lines,
    ...(form.activationWithoutSp ? [which] : []),
    ...activation.lines,
    ...withActivation(weights, activation.bytes),
  ];
}
