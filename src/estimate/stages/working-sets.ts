/**
 * What is alive only for a moment: the logits and their loss, the gradients inside one layer's backward pass, buffers
 * of the experts' exchange.
 */
import type { EstimateInputs } from '../inputs.js';
import type { StageActivations } from './activations.js';
import { type Amount, between, exactly, NOTHING, type Part, part } from './amount.js';
import type { Stage } from './layout.js';
import { localGroups } from './parameters.js';
import { tokenSizes } from './saved-tensors.js';
import type { Settings } from './settings.js';

/**
 * Logits of one micro-batch on the last stage. The output layer gives them in 16 bits; the loss makes an fp32 copy and
 * then works in place: the copy becomes the softmax, and the softmax its own gradient. Transformer Engine's fused loss
 * writes the gradient over the logits themselves. Losses that do neither (label smoothing, a wrapper that upcasts
 * first) hold 2 + 4 + 4 bytes, the upper bound. Upstream: Megatron-Core `tensor_parallel/cross_entropy.py`; Transformer
 * Engine `pytorch/cross_entropy.py`.
 */
export function logitParts(inputs: EstimateInputs, settings: Settings): Part[] {
  const { tokens } = tokenSizes(inputs);
  const logits = (tokens * inputs.paddedVocab) / inputs.tp;
  const each = settings.logitBytes;
  const most = each === 2 ? 6 : 10;
  const parts = [
    part(
      'logits_loss',
      'logits and loss',
      between(each * logits, each * logits, most * logits),
      each === 2
        ? '2 bytes a logit: fused loss of Transformer Engine'
        : '2 bytes a logit and 4 for its softmax, which becomes its gradient in place',
    ),
  ];
  if (inputs.mtpLayers > 0) {
    const kept = each === 2 ? 2 : 4;
    parts.push(
      part(
        'logits_loss',
        'losses of MTP depths',
        exactly(inputs.mtpLayers * kept * logits),
        `${kept} bytes a logit of each depth until its backward pass`,
      ),
    );
  }
  return parts;
}

/**
 * What the backward pass of a layer needs at its most beyond what was held before it: gradients and what a
 * compiler does not fuse, less the saved tensors that are freed by then. The layers after it are done.
 */
export function backwardParts(
  inputs: EstimateInputs,
  settings: Settings,
  { lastChunk }: StageActivations,
  stage: Stage,
): Part[] {
  let freed = 0;
  let most: Amount = NOTHING;
  for (const { isMoe, activations } of lastChunk.toReversed()) {
    const { mlpBytes, kept, input } = activations;
    const mlp = isMoe ? expertGradients(inputs, settings) : mlpGradients(inputs, settings);
    const attention = less(attentionGradients(inputs, settings), mlpBytes);
    for (const needed of [mlp, attention]) if (needed.bytes - freed > most.bytes) most = less(needed, freed);
    freed += settings.recompute.kind === 'full' ? input.bytes : kept.bytes;
  }
  const { sequenceTokens } = tokenSizes(inputs);
  // The gradient of the layer's output is in a receive buffer where another stage made it.
  const stream = stage.isLast ? settings.elementBytes * sequenceTokens * inputs.hidden : 0;
  const parts = [
    part(
      'activation',
      'gradients inside a layer',
      { bytes: most.bytes + stream, low: most.low / 2, high: most.high + stream },
      'of the module with the most, less its saved tensors that are freed by then',
    ),
  ];
  if (stage.isFirst && stage.isLast && inputs.tied)
    parts.push(
      part(
        'activation',
        'gradient of the tied embedding',
        exactly((settings.elementBytes * inputs.hidden * inputs.paddedVocab) / inputs.tp),
        'the output layer’s, kept until the embedding adds its own',
      ),
    );
  return parts;
}

/** The output layer's backward pass: gradients of 16-bit logits, of its input, and of its weights. */
export function outputLayerParts(inputs: EstimateInputs, { elementBytes, logitBytes }: Settings): Part[] {
  const { hidden, paddedVocab, tp } = inputs;
  const { tokens, sequenceTokens } = tokenSizes(inputs);
  const bytes = elementBytes * (hidden * (tokens + sequenceTokens) + (hidden * paddedVocab) / tp);
  const logits = (Math.min(logitBytes, elementBytes) * tokens * paddedVocab) / tp;
  return [
    part('logits_loss', 'gradient of the logits', exactly(logits), `${elementBytes} bytes a logit`),
    part('activation', 'gradients of the output layer', exactly(bytes), 'of its input and of its weights'),
  ];
}

function less({ bytes, low, high }: Amount, taken: number): Amount {
  return { bytes: Math.max(0, bytes - taken), low: Math.max(0, low - taken), high: Math.max(0, high - taken) };
}

/**
 * Of three moments the largest: the backward pass of fc2 (the gathered gradient of its output, those of its input and
 * weights); of the activation, after fc2 has freed its own input; of fc1. Upstream: `tensor_parallel/layers.py`,
 * `fusions/fused_bias_swiglu.py`, whose steps need the upper bound where nothing compiles them into one.
 */
function mlpGradients(inputs: EstimateInputs, { elementBytes }: Settings): Amount {
  const { ffn, gated, hidden, tp, sequenceParallel } = inputs;
  const { tokens, sequenceTokens } = tokenSizes(inputs);
  const wide = (elementBytes * tokens * ffn) / tp;
  const factor = gated ? 2 : 1;
  const stream = elementBytes * tokens * hidden;
  const weights = (elementBytes * hidden * ffn) / tp;
  const isGathered = sequenceParallel && tp > 1;
  const fc2 = (isGathered ? stream : 0) + wide + weights;
  const activation = factor * wide;
  const scattered = isGathered ? elementBytes * sequenceTokens * hidden : 0;
  const fc1 = stream + scattered + factor * weights - wide;
  const bytes = Math.max(fc2, activation, fc1);
  return between(bytes, bytes, Math.max(bytes, 2 * factor * wide));
}

/** Less the attention's own output, which its projection has freed. */
function attentionGradients(inputs: EstimateInputs, settings: Settings): Amount {
  const { heads, headDim, hidden, tp, seq, cp, latentAttention: mla } = inputs;
  const { tokens } = tokenSizes(inputs);
  const width = settings.elementBytes;
  const qk = mla === null ? headDim : mla.qkHeadDim + mla.positionDim;
  const v = mla?.vHeadDim ?? headDim;
  const keys = mla === null ? localGroups(inputs) : heads / tp;
  const projections = width * tokens * ((heads * (qk + v)) / tp + keys * (qk + v)) + 2 * width * tokens * hidden;
  if (!settings.keepsScores) return exactly(projections + (4 * tokens * heads * qk) / tp);
  const scores = (heads * tokens * (seq / cp)) / tp;
  // One kernel writes the gradient over what comes in; torch's softmax and its mask make one each.
  const core = settings.fusesSoftmax ? 2 * width * scores : (width + 2 * settings.softmaxBytes) * scores;
  return exactly(core + (width * tokens * heads * v) / tp);
}

function expertGradients(inputs: EstimateInputs, { elementBytes }: Settings): Amount {
  const { experts, gated, hidden, etp } = inputs;
  const { expertTokens, imbalance } = tokenSizes(inputs);
  const bytes =
    elementBytes * expertTokens * ((experts!.ffn * (gated ? 3 : 2)) / etp + 2 * (experts!.latent ?? hidden));
  return between(bytes * imbalance.low, bytes, bytes * imbalance.high);
}

/** Tokens on their way to their experts and back: what is sent and what has arrived, of one layer. */
export function dispatchParts(inputs: EstimateInputs, { elementBytes }: Settings): Part[] {
  const { experts, hidden } = inputs;
  if (experts === null) return [];
  const { expertTokens, imbalance } = tokenSizes(inputs);
  const bytes = 2 * elementBytes * expertTokens * (experts.latent ?? hidden);
  return [
    part(
      'moe_dispatch',
      'send and receive buffers',
      between((bytes * imbalance.low) / 2, bytes, bytes * imbalance.high),
      `${experts.topk} copies of a token sent and received, of one layer, tokens evenly spread`,
    ),
  ];
}

/**
 * Between pipeline stages: a gradient that has arrived; interleaved, two activations ahead of their pass too. Upstream:
 * Megatron-Core `pipeline_parallel/schedules.py`.
 */
export function receiveParts(inputs: EstimateInputs, settings: Settings, stage: Stage): Part[] {
  const messages = (stage.isLast && inputs.vpp === null ? 0 : 1) + (inputs.vpp === null ? 0 : 2);
  if (inputs.pp === 1 || messages === 0) return [];
  return [
    part(
      'communication',
      'pipeline receive buffers',
      exactly(messages * messageBytes(inputs, settings)),
      inputs.vpp === null ? 'one gradient' : 'one gradient, and two activations ahead of their pass',
    ),
  ];
}

function messageBytes(inputs: EstimateInputs, { elementBytes }: Settings): number {
  return elementBytes * tokenSizes(inputs).sequenceTokens * inputs.hidden;
}

/**
 * What the schedule leaves behind until the next step: of every chunk with an input from another stage the last input
 * and its gradient.
 */
export function leftMessageParts(inputs: EstimateInputs, settings: Settings, stage: Stage): Part[] {
  const chunks = stage.chunks.length - (stage.isFirst ? 1 : 0);
  if (inputs.pp === 1 || chunks === 0) return [];
  const bytes = 2 * chunks * messageBytes(inputs, settings);
  return [
    part(
      'communication',
      'last messages of the step',
      between(0, bytes, bytes),
      'an input and a gradient of each chunk',
    ),
  ];
}

/**
 * What Megatron-Core's own layers reuse and never give back: one buffer for gathered sequences or for scores, whichever
 * is larger, and the angles of each chunk's rotary embedding. Upstream: `GlobalMemoryBuffer.get_tensor`,
 * `RotaryEmbedding.get_emb`.
 */
export function reusedParts(inputs: EstimateInputs, settings: Settings, stage: Stage): Part[] {
  const { hidden, heads, headDim, tp, seq, cp, sequenceParallel, latentAttention, given } = inputs;
  const { tokens } = tokenSizes(inputs);
  const gathered = sequenceParallel && tp > 1 ? tokens * hidden : 0;
  const scores = settings.keepsScores ? (heads * tokens * (seq / cp)) / tp : 0;
  const bytes = settings.isLocal ? settings.elementBytes * Math.max(gathered, scores) : 0;
  const rotated = latentAttention?.positionDim ?? headDim * (given.rotary_percent ?? 1);
  const angles = settings.hasRope ? 4 * seq * rotated * stage.chunks.length : 0;
  return [
    part('communication', 'reused buffer', exactly(bytes), 'for gathered sequences, or for scores'),
    part('activation', 'angles of the rotary embedding', exactly(angles), '4 bytes a position and rotated dimension'),
  ].filter((one) => one.bytes > 0);
}
