/** One transformer layer of one micro-batch: what its passes allocate, keep and free. */
import { MIB } from '../../../src/model/units.js';
import type { LayerForwardSites } from './call-sites/index.js';
import type { CallPath } from './code-line.js';
import { isAmpere } from './gpu-kind.js';
import type { LayerModule } from './hooks.js';
import type { RankContext } from './rank-context.js';
import type { Tensor } from './rank-process.js';

/** What backward needs of a layer besides its input, which belongs to its maker. */
export interface SavedLayer {
  readonly inputNorm: Tensor;
  readonly qkv: Tensor;
  readonly rotary: Tensor;
  readonly attention: Tensor;
  readonly attentionStatistics: Tensor;
  readonly residual: Tensor;
  readonly mlpNorm: Tensor;
  readonly fc1: Tensor;
  readonly activation: Tensor;
}

/**
 * Transformer Engine's cuBLAS workspace (`get_cublas_workspace_size_bytes`): 32 MiB from Hopper on, plus 1 KiB of
 * flags; 4 MiB before.
 */
function workspaceBytes(rank: RankContext): number {
  return isAmpere(rank.plan.gpu) ? 4 * MIB : 32 * MIB + 1024;
}

/**
 * Runs the forward pass and returns the output. `keep`: what backward will need stays allocated and is returned; else
 * it is freed as soon as nothing in this pass uses it.
 */
export function forwardLayer(
  rank: RankContext,
  tokens: number,
  sites: LayerForwardSites,
  us: number,
  keep: boolean,
  afterModule: (module: LayerModule) => void = () => {},
): { readonly output: Tensor; readonly saved: SavedLayer | null } {
  const { process, sizes } = rank;
  const { sequenceParallel } = rank.plan.parallelism;
  const make = (bytesPerToken: number, path: CallPath): Tensor => process.malloc(tokens * bytesPerToken, path);
  const drop = (tensor: Tensor): void => {
    if (!keep) process.free(tensor);
  };
  /** A column-parallel linear layer: with sequence parallelism its input is gathered for the product. */
  const column = (outputBytes: number, path: CallPath, gather: CallPath): Tensor => {
    const gathered = sequenceParallel ? make(sizes.wholeHidden, gather) : null;
    const output = make(outputBytes, path);
    if (gathered !== null) process.free(gathered);
    return output;
  };
  /**
   * A row-parallel one: the product covers the whole sequence, of which sequence parallelism leaves this rank its part.
   */
  const row = (path: CallPath, scatter: CallPath): Tensor => {
    const whole = make(sizes.wholeHidden, path);
    if (!sequenceParallel) return whole;
    const part = make(sizes.hidden, scatter);
    process.free(whole);
    return part;
  };

  const inputNorm = make(sizes.hidden, sites.inputNorm);
  const qkv = column(sizes.qkv, sites.qkv, sites.qkvGather);
  afterModule('linear_qkv');
  drop(inputNorm);
  if (!rank.persistent.has('te_workspace')) {
    rank.persistent.set('te_workspace', process.malloc(workspaceBytes(rank), sites.workspace));
  }
  const rotary = make(sizes.rotary, sites.rotary);
  const attention = make(sizes.attention, sites.attention);
  const attentionStatistics = make(sizes.attentionStatistics, sites.attention);
  afterModule('core_attention');
  drop(qkv);
  drop(rotary);
  drop(attentionStatistics);
  process.pass(us * 0.4);
  const projected = row(sites.proj, sites.projScatter);
  afterModule('linear_proj');
  drop(attention);
  const residual = make(sizes.hidden, sites.attentionResidual);
  process.free(projected);
  const mlpNorm = make(sizes.hidden, sites.mlpNorm);
  const fc1 = column(sizes.fc1, sites.fc1, sites.fc1Gather);
  afterModule('linear_fc1');
  drop(mlpNorm);
  const activation = make(sizes.activation, sites.activation);
  afterModule('activation_func');
  drop(fc1);
  const reduced = row(sites.fc2, sites.fc2Scatter);
  afterModule('linear_fc2');
  drop(activation);
  process.pass(us * 0.6);
  const output = make(sizes.hidden, sites.mlpResidual);
  process.free(reduced);
  drop(residual);
  const saved = keep
    ? { inputNorm, qkv, rotary, attention, attentionStatistics, residual, mlpNorm, fc1, activation }
    : null;
  return { output, saved };
}

/** Consumes the layer's saved tensors and the gradient of its output; returns the gradient of its input. */
export function backwardLayer(
  rank: RankContext,
  tokens: number,
  saved: SavedLayer,
  gradient: Tensor,
  us: number,
): Tensor {
  const { process, sizes } = rank;
  const { sequenceParallel } = rank.plan.parallelism;
  const sites = rank.sites.layerBackward;
  const make = (bytesPerToken: number, path: CallPath): Tensor => process.malloc(tokens * bytesPerToken, path);
  const gathered = (path: CallPath): Tensor | null => (sequenceParallel ? make(sizes.wholeHidden, path) : null);
  const release = (...tensors: readonly (Tensor | null)[]): void => {
    for (const tensor of tensors) if (tensor !== null) process.free(tensor);
  };

  const wholeGradient = gathered(sites.fc2Gather);
  const activationGradient = make(sizes.activation, sites.fc2);
  release(wholeGradient, saved.activation);
  const fc1Gradient = make(sizes.fc1, sites.activation);
  release(activationGradient, saved.fc1);
  const fc1Input = gathered(sites.fc1Gather);
  process.pass(us * 0.6);
  const mlpNormGradient = make(sizes.wholeHidden, sites.fc1);
  release(fc1Gradient, fc1Input, saved.mlpNorm);
  const residualGradient = make(sizes.hidden, sites.mlpNorm);
  release(mlpNormGradient, saved.residual, gradient);

  const wholeResidual = gathered(sites.projGather);
  const attentionGradient = make(sizes.attention, sites.proj);
  release(wholeResidual);
  const recomputed =
    rank.plan.recompute === 'selective'
      ? [make(sizes.attention, sites.attentionRecompute), make(sizes.attentionStatistics, sites.attentionRecompute)]
      : [];
  const splitGradient = make(sizes.qkv, sites.attention);
  release(attentionGradient, saved.attention, saved.attentionStatistics, ...recomputed);
  const qkvGradient = make(sizes.qkv, sites.native);
  release(splitGradient, saved.rotary, saved.qkv);
  const qkvInput = gathered(sites.qkvGather);
  process.pass(us * 0.4);
  const inputNormGradient = make(sizes.wholeHidden, sites.qkv);
  release(qkvGradient, qkvInput, saved.inputNorm);
  const inputGradient = make(sizes.hidden, sites.inputNorm);
  release(inputNormGradient, residualGradient);
  return inputGradient;
}
