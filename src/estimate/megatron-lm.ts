/**
 * Megatron-LM's estimate, operation by operation, so that its floats come out equal to the last bit.
 * Upstream: `megatron/training/theoretical_memory_usage.py` at d98e8a6 (2026-08-22); the printed figure depends on the
 * version: experts were divided by TP before 2026-05-14, latent experts wrong before 2026-06-15, and only SP with
 * selective recompute had activations before 2025-08-26.
 */
import { MbfError } from '../model/errors.js';
import type { EstimateInputs, LatentAttention } from './inputs.js';
import { fixed, fixedWithBlank } from './python-numbers.js';
import {
  bytesPerParameter,
  PRINTED_MB,
  printedMb,
  scheduleFactor,
  type UpstreamEstimate,
  usesSequenceParallelFormula,
} from './upstream.js';

/** Parameters of one layer by how a rank holds them: cut by TP, whole on every rank, or cut by EP × ETP. */
interface LayerParameters {
  readonly cut: number;
  readonly whole: number;
  readonly expert: number;
  /** Of the experts', those one token passes. */
  readonly activeExpert: number;
  readonly total: number;
}

export function estimateMegatronLm(inputs: EstimateInputs): UpstreamEstimate {
  const parameters = countParameters(inputs);
  const weightAndOptimizer = weightAndOptimizerBytes(inputs, parameters);
  const sequenceParallel = sequenceParallelActivation(inputs);
  const others = otherActivation(inputs);
  const withSp = usesSequenceParallelFormula(inputs);
  const activationBytes = withSp ? sequenceParallel : others;
  // Upstream adds the two figures in MiB, which rounds otherwise than adding bytes.
  const total = weightAndOptimizer / PRINTED_MB + activationBytes / PRINTED_MB;
  return {
    modelState: [{ name: 'weight and optimizer', bytes: weightAndOptimizer }],
    activationBytes,
    assumptions: [
      'bf16 weights, fp32 main gradients, fp32 master weights and Adam moments: 18 bytes a parameter, or 6 and 12 sharded over data parallelism without context parallelism.',
      'Activations of the first pipeline stage, by the dense FFN width, undivided by context parallelism.',
      withSp
        ? 'Activation formula for sequence parallelism with selective recompute.'
        : 'Activation formula without sequence parallelism: no recompute is modelled, 5 % is added for temporaries.',
    ],
    lines: [
      ...parameterLines(inputs, parameters),
      withSp ? 'compute_activation_memory with SP' : 'compute_activation_memory_without_sp',
      withSp
        ? `Activation memory footprint per transformer layer: ${fixed(sequenceParallelLayer(inputs) / PRINTED_MB / inputs.tp, 1)} MB`
        : `Activation memory footprint per transformer layer (precise, without SP): ${fixed(otherLayer(inputs) / PRINTED_MB, 1)} MB`,
      ...scheduleFactor(inputs).lines,
      `Theoretical memory footprints: weight and optimizer=${printedMb(weightAndOptimizer)}, activation=${printedMb(activationBytes)}, total=${fixed(total, 2)} MB`,
    ],
    figures: {
      parameters_on_most_loaded_shard: parameters.mostLoaded,
      activation_bytes_sp_formula: sequenceParallel,
      activation_bytes_no_sp_formula: others,
    },
  };
}

interface Parameters {
  readonly block: number;
  readonly activeBlock: number;
  readonly mtp: number;
  readonly embeddings: number;
  readonly cutOnShard: number;
  readonly wholeOnShard: number;
  readonly expertOnShard: number;
  readonly mostLoaded: number;
  /** On the other pipeline stages; null without any. */
  readonly others: number | null;
}

/** Query, key, value and output projections of one layer. */
function attentionParameters(inputs: EstimateInputs, norm: number): number {
  const { hidden, heads, groups, latentAttention } = inputs;
  if (latentAttention !== null) return latentParameters(latentAttention, hidden, heads, norm);
  const ratio = (inputs.headDim * heads) / hidden;
  return 2 * hidden * hidden * ((1 + groups / heads) * ratio);
}

function latentParameters(mla: LatentAttention, hidden: number, heads: number, norm: number): number {
  const perHead = heads * (mla.qkHeadDim + mla.positionDim);
  const query = mla.qRank === null ? hidden * perHead : mla.qRank * (hidden + perHead + norm);
  return (
    query +
    mla.kvRank * (hidden + heads * (mla.qkHeadDim + mla.vHeadDim) + norm) +
    hidden * mla.positionDim +
    heads * mla.vHeadDim * hidden
  );
}

function countParameters(inputs: EstimateInputs): Parameters {
  const { hidden, pp, tp, experts } = inputs;
  const norm = inputs.isRmsNorm ? 1 : 2;
  const gatedFactor = inputs.swiglu ? 3 / 2 : 1;
  const attention = attentionParameters(inputs, norm);
  const denseMlp = 2 * hidden * inputs.ffn * gatedFactor;
  const layerNorms = 2 * hidden * norm;
  const dense: LayerParameters = {
    cut: attention + denseMlp,
    whole: layerNorms,
    expert: 0,
    activeExpert: 0,
    total: attention + denseMlp + layerNorms,
  };
  const moe = experts === null ? dense : moeParameters(inputs, attention, layerNorms, gatedFactor);
  const moeLayers = inputs.isMoeLayer.filter(Boolean).length;
  const denseLayers = inputs.layers - moeLayers;
  const mtpIsMoe = inputs.isMoeLayer.at(-1) === true;
  const mtpMoe = mtpIsMoe ? inputs.mtpLayers : 0;
  const mtpDense = mtpIsMoe ? 0 : inputs.mtpLayers;
  const finalNorm = norm * hidden;
  const embedding = hidden * inputs.paddedVocab;
  const activeMoe = moe.total - moe.expert + moe.activeExpert;

  const cut = dense.cut * denseLayers + moe.cut * moeLayers;
  const whole = dense.whole * denseLayers + moe.whole * moeLayers + finalNorm;
  const expert = moe.expert * moeLayers;
  const cutOnShard = (cut / pp + (dense.cut * mtpDense + moe.cut * mtpMoe) + embedding) / tp;
  const wholeOnShard = whole / pp + (dense.whole * mtpDense + moe.whole * mtpMoe);
  const expertOnShard = (expert / pp + moe.expert * mtpMoe) / (inputs.etp * inputs.ep);
  const isUntiedAlone = !inputs.tied && pp === 1;
  const output = isUntiedAlone ? embedding / tp : 0;
  return {
    block: dense.total * denseLayers + moe.total * moeLayers + finalNorm,
    activeBlock: dense.total * denseLayers + activeMoe * moeLayers + finalNorm,
    mtp: dense.total * mtpDense + moe.total * mtpMoe,
    embeddings: inputs.tied ? embedding : 2 * embedding,
    cutOnShard: cutOnShard + output,
    wholeOnShard,
    expertOnShard,
    mostLoaded: cutOnShard + wholeOnShard + expertOnShard + output,
    others: pp > 1 ? cut / (pp * tp) + whole / pp + expert / (pp * inputs.etp * inputs.ep) : null,
  };
}

function moeParameters(
  { hidden, experts, biasLinear }: EstimateInputs,
  attention: number,
  layerNorms: number,
  gatedFactor: number,
): LayerParameters {
  const { count, topk, ffn, sharedFfn, sharedGate, latent } = experts!;
  const shared = 2 * hidden * sharedFfn * gatedFactor;
  const width = latent ?? hidden;
  const routed = 2 * width * ffn * count * gatedFactor;
  const projections = latent === null ? 0 : 2 * hidden * latent;
  const router = hidden * count + (biasLinear ? count : 0);
  const gate = sharedFfn > 0 && sharedGate ? hidden : 0;
  return {
    cut: attention + shared,
    whole: layerNorms + projections + router + gate,
    expert: routed,
    activeExpert: 2 * width * ffn * topk * gatedFactor,
    total: attention + shared + routed + projections + layerNorms + router + gate,
  };
}

function parameterLines(inputs: EstimateInputs, p: Parameters): string[] {
  const billions = (count: number, digits: number): string => fixed(count / 1e9, digits);
  const total = p.block + p.mtp + p.embeddings;
  const active = p.activeBlock + p.mtp + p.embeddings;
  return [
    `Number of parameters in transformer block in billions: ${fixedWithBlank(p.block / 1e9, 2)}`,
    `Number of active parameters in transformer block in billions: ${fixedWithBlank(p.activeBlock / 1e9, 2)}`,
    ...(inputs.given.mtp_num_layers === undefined
      ? []
      : [`Number of parameters in mtp block in billions: ${fixedWithBlank(p.mtp / 1e9, 2)}`]),
    `Number of parameters in embedding layers in billions: ${billions(p.embeddings, 2)}`,
    `Total number of parameters in billions: ${billions(total, 2)}`,
    `Total number of active parameters in billions: ${billions(active, 2)}`,
    `Number of parameters in most loaded shard in billions: ${billions(p.mostLoaded, 4)}`,
    ...(p.others === null ? [] : [`Number of parameters in other shards in billions: ${billions(p.others, 4)}`]),
  ];
}

function weightAndOptimizerBytes(inputs: EstimateInputs, p: Parameters): number {
  const ofExperts = inputs.etp * inputs.ep * inputs.pp;
  const expertShards = Math.floor(inputs.world / ofExperts);
  // Upstream divides by it and fails.
  if (expertShards === 0 && inputs.distributedOptimizer)
    throw new MbfError('MBF1001', `world ${inputs.world} is less than etp × ep × pp = ${ofExperts}`);
  return (
    (p.cutOnShard + p.wholeOnShard) * bytesPerParameter(inputs.distributedOptimizer, inputs.dp) +
    p.expertOnShard * bytesPerParameter(inputs.distributedOptimizer, expertShards)
  );
}

function sequenceParallelLayer({ seq, microBatch, hidden, ffn }: EstimateInputs): number {
  return seq * microBatch * hidden * (18 + 4 * (ffn / hidden));
}

/** Token ids (8 bytes each) and the embedding's dropout, of as many micro-batches as there are stages. */
function withEmbedding({ seq, microBatch, hidden, pp }: EstimateInputs, layers: number): number {
  return layers + 8 * seq * microBatch * pp + seq * microBatch * hidden * pp;
}

/** `compute_activation_memory`: Table 2 of https://arxiv.org/abs/2205.05198. */
function sequenceParallelActivation(inputs: EstimateInputs): number {
  const { seq, microBatch, hidden, tp } = inputs;
  let bytes = withEmbedding(inputs, sequenceParallelLayer(inputs) * inputs.layers);
  bytes *= scheduleFactor(inputs).factor;
  // Input of the output layer, and the logits.
  if (inputs.pp === 1) bytes += seq * microBatch * hidden * 4 * (1 + inputs.paddedVocab / hidden);
  return bytes / tp;
}

function otherLayer({ seq, microBatch, hidden, tp }: EstimateInputs): number {
  return seq * microBatch * hidden * (10 + 24 / tp);
}

/** `compute_activation_memory_without_sp`. */
function otherActivation(inputs: EstimateInputs): number {
  const { seq, microBatch, hidden, tp } = inputs;
  let bytes = withEmbedding(inputs, otherLayer(inputs) * inputs.layers);
  bytes *= scheduleFactor(inputs).factor;
  if (inputs.pp === 1) bytes += ((seq * microBatch * inputs.paddedVocab) / tp + seq * microBatch * hidden) * 2;
  return bytes * 1.05;
}
