/**
 * What is alive only for a moment: the logits and their loss, the gradients inside one layer's backward pass, buffers
 * of the experts' exchange.
 */
import type { EstimateInputs } from '../inputs.js';
import { type Amount, between, exactly, NOTHING, type Part, part } from './amount.js';
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

/** Gradients alive at once in the backward pass of one layer: those of its widest module. */
export function backwardParts(inputs: EstimateInputs, settings: Settings, hasDense: boolean, hasMoe: boolean): Part[] {
  const candidates = [attentionGradients(inputs, settings)];
  if (hasDense) candidates.push(mlpGradients(inputs, settings));
  if (hasMoe) candidates.push(expertGradients(inputs, settings));
  const widest = candidates.reduce((a, b) => (b.bytes > a.bytes ? b : a), NOTHING);
  return [
    part(
      'temporary',
      'gradients inside a layer',
      { bytes: widest.bytes, low: widest.low / 2, high: widest.high },
      'of the module with the most, as its saved tensors are freed one by one',
    ),
  ];
}

function mlpGradients(inputs: EstimateInputs, { elementBytes }: Settings): Amount {
  const { ffn, gated, hidden, tp } = inputs;
  const { tokens } = tokenSizes(inputs);
  // Gradients of fc2's input and of fc1's output; fc1's gathered input and its gradient.
  return exactly(elementBytes * ((tokens * ffn * (gated ? 3 : 2)) / tp + 2 * tokens * hidden));
}

function attentionGradients(inputs: EstimateInputs, settings: Settings): Amount {
  const { heads, headDim, hidden, tp, seq, cp, latentAttention: mla } = inputs;
  const { tokens } = tokenSizes(inputs);
  const width = settings.elementBytes;
  const qk = mla === null ? headDim : mla.qkHeadDim + mla.positionDim;
  const v = mla?.vHeadDim ?? headDim;
  const keys = mla === null ? localGroups(inputs) : heads / tp;
  const projections = width * tokens * ((heads * (qk + v)) / tp + keys * (qk + v)) + 2 * width * tokens * hidden;
  // Unfused, the gradients of the softmax and of the scores; fused, an fp32 accumulator of the query's.
  const core = settings.keepsScores ? (2 * width * heads * tokens * (seq / cp)) / tp : (4 * tokens * heads * qk) / tp;
  return exactly(projections + core);
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

/** Between pipeline stages: an activation that arrives for the next pass, and a gradient. */
export function receiveParts(inputs: EstimateInputs, { elementBytes }: Settings): Part[] {
  if (inputs.pp === 1) return [];
  const message = elementBytes * tokenSizes(inputs).sequenceTokens * inputs.hidden;
  return [part('communication', 'pipeline receive buffers', exactly(2 * message), 'one activation and one gradient')];
}
