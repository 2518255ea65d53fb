/**
 * What one layer keeps of one micro-batch from its forward to its backward pass, tensor by tensor, on one rank. For a
 * dense layer with LayerNorm, GELU, dropout, full heads and unfused attention it is Table 2 of
 * https://arxiv.org/abs/2205.05198: s·b·h·(10 + 24/t + 5·a·s/(h·t)), and with sequence parallelism s·b·h/t·(34 +
 * 5·a·s/h). Every entry says which recompute module drops it and which offload module moves it.
 */
import type { EstimateInputs, LatentAttention } from '../inputs.js';
import { type Amount, between, exactly } from './amount.js';
import { localGroups } from './parameters.js';
import type { OffloadModule, RecomputeModule, Settings } from './settings.js';

export interface SavedTensor extends Amount {
  readonly name: string;
  readonly droppedBy: readonly RecomputeModule[];
  readonly offload: OffloadModule | null;
  /** Depends on how tokens are routed. */
  readonly isRouted: boolean;
  /** Of the second half of the layer, whose backward pass comes first. */
  readonly isOfMlp: boolean;
}

interface Marks {
  readonly drop?: readonly RecomputeModule[];
  readonly offload?: OffloadModule;
  readonly isRouted?: boolean;
}

function saved(name: string, amount: Amount, { drop = [], offload, isRouted = false }: Marks = {}): SavedTensor {
  return { name, ...amount, droppedBy: drop, offload: offload ?? null, isRouted, isOfMlp: false };
}

/** Sizes that several formulas share, in elements. */
export interface TokenSizes {
  /** Tokens of a micro-batch on this context-parallel rank. */
  readonly tokens: number;
  /** The same in the part that sequence parallelism cuts too. */
  readonly sequenceTokens: number;
  /** Tokens that a rank's experts work on, each counted once for every expert of it; balanced. */
  readonly expertTokens: number;
  /** The least and the most of them, relative: a capacity that is padded to leaves no doubt. */
  readonly imbalance: { readonly low: number; readonly high: number };
}

/**
 * How far one rank's share of tokens may be above an even one without a capacity: an allowance, not a measurement. On
 * the golden MoE run of Megatron-LM the peak still grows by 4 % from the second step to the fiftieth while nothing but
 * the routing changes.
 */
const MOST_IMBALANCE = 1.5;

export function tokenSizes({
  seq,
  microBatch,
  cp,
  tp,
  sequenceParallel,
  etp,
  experts,
  given,
}: EstimateInputs): TokenSizes {
  const tokens = (seq * microBatch) / cp;
  const sequenceTokens = sequenceParallel ? tokens / tp : tokens;
  const capacity = given.moe_expert_capacity_factor;
  const isPadded = given.moe_pad_expert_input_to_capacity === true && capacity !== undefined;
  const most = capacity === undefined ? MOST_IMBALANCE : Math.min(MOST_IMBALANCE, Math.max(1, capacity));
  return {
    tokens,
    sequenceTokens,
    // A token goes to `topk` experts wherever they are; a rank receives as many as it sends, times the ranks that share
    // an expert's columns.
    expertTokens: sequenceTokens * (experts?.topk ?? 0) * etp * (isPadded ? capacity : 1),
    imbalance: isPadded ? { low: 1, high: 1 } : { low: 1, high: most },
  };
}

export function layerTensors(inputs: EstimateInputs, settings: Settings, isMoe: boolean): readonly SavedTensor[] {
  const { hidden } = inputs;
  const { sequenceTokens } = tokenSizes(inputs);
  const width = settings.elementBytes;
  const linearInput = inputBytes(settings);
  const stream = exactly(width * sequenceTokens * hidden);
  const mask = settings.hasHiddenDropout ? [saved('dropout mask', exactly(sequenceTokens * hidden))] : [];
  return [
    saved('layer input', stream, { offload: 'attn_norm' }),
    ...attentionTensors(inputs, settings),
    ...mask,
    ...[
      saved('input of the second norm', stream, { offload: 'mlp_norm' }),
      saved('output of the second norm', exactly(linearInput * sequenceTokens * hidden), {
        drop: isMoe ? ['layernorm'] : ['layernorm', 'mlp'],
      }),
      ...(isMoe ? moeTensors(inputs, settings) : mlpTensors(inputs, settings, inputs.ffn, ['mlp'])),
      ...mask,
    ].map((tensor) => ({ ...tensor, isOfMlp: true })),
  ];
}

/** Linear layers keep their input for the weight's gradient: in 8 bits where they compute so. */
function inputBytes({ fp8, elementBytes }: Settings): number {
  return fp8 === null ? elementBytes : 1;
}

function attentionTensors(inputs: EstimateInputs, settings: Settings): SavedTensor[] {
  const { heads, headDim, hidden, tp, latentAttention: mla } = inputs;
  const { tokens, sequenceTokens } = tokenSizes(inputs);
  const width = settings.elementBytes;
  const normed = saved('output of the first norm', exactly(inputBytes(settings) * sequenceTokens * hidden), {
    drop: ['layernorm'],
    offload: 'qkv_linear',
  });
  const out = (width * tokens * heads * (mla?.vHeadDim ?? headDim)) / tp;
  const projections = mla === null ? projectedTensors(inputs, settings) : latentTensors(inputs, mla, settings);
  return [normed, ...projections, ...ropeTables(inputs, settings), ...coreTensors(inputs, settings, out)];
}

/**
 * Query, key and value leave their projection as one tensor. Transformer Engine makes of a rotated key and a value
 * that is still a part of it three tensors (`get_qkv_layout`). Without it the value stays a part and keeps the
 * projection's output, in addition to the new tensors that rotation, norms and a change of layout make of query and
 * key. Unfused attention repeats the keys and values of grouped queries for every head, and keeps only these copies.
 * Upstream: Megatron-Core `transformer/attention.py`, `models/common/embeddings/rope_utils.py`,
 * `transformer/dot_product_attention.py`.
 */
function projectedTensors(inputs: EstimateInputs, settings: Settings): SavedTensor[] {
  const { heads, headDim, tp, given } = inputs;
  const { tokens } = tokenSizes(inputs);
  const groups = localGroups(inputs);
  const query = (settings.elementBytes * tokens * heads * headDim) / tp;
  const key = settings.elementBytes * tokens * groups * headDim;
  const kept = (name: string, amount: Amount): SavedTensor => saved(name, amount, { offload: 'core_attn' });
  if (!settings.isLocal)
    // Layout changes before attention may leave a second copy of each.
    return [kept('query', doubted(query)), kept('key and value', doubted(2 * key))];
  const isGrouped = heads / tp > groups;
  const hasNorms = given.qk_layernorm === true;
  // Heads of several groups are not next to each other in the projection's output.
  const regroups = isGrouped && groups > 1;
  const together = kept('query, key and value together', between(key, query + 2 * key, query + 3 * key));
  const newQuery =
    settings.hasRope || hasNorms || regroups ? [kept('query made new', between(query, query, 2 * query))] : [];
  const newKey = settings.hasRope || hasNorms ? [kept('key made new', between(key, key, 2 * key))] : [];
  const normed = hasNorms && regroups ? [kept('input of the query’s norm', exactly(query))] : [];
  if (!settings.keepsScores || !isGrouped) return [together, ...normed, ...newQuery, ...newKey];
  const repeated = exactly(2 * query);
  const { recompute } = settings;
  if (recompute.kind === 'selective' && recompute.modules.has('core_attn'))
    return [
      together,
      ...normed,
      ...newQuery,
      ...newKey,
      saved('key and value for every head', repeated, { drop: ['core_attn'] }),
    ];
  const keepsProjection = newQuery.length === 0 || hasNorms;
  return [
    ...(keepsProjection ? [together] : []),
    ...normed,
    ...newQuery,
    kept('key and value for every head', repeated),
  ];
}

/** Cosine and sine for the query, and again for the key, as the rotation multiplies by them. */
function ropeTables({ seq, cp, headDim, latentAttention, given }: EstimateInputs, settings: Settings): SavedTensor[] {
  if (!settings.keepsRopeTables) return [];
  const rotated = latentAttention?.positionDim ?? headDim * (given.rotary_percent ?? 1);
  const bytes = 4 * settings.elementBytes * (seq / cp) * rotated;
  return [saved('cosine and sine of the rotary embedding', exactly(bytes))];
}

function doubted(bytes: number): Amount {
  return between(bytes, bytes, 2 * bytes);
}

/**
 * Compressed query and keys are small and whole on every rank unless the sequence is cut; what is projected up from
 * them is as wide as full heads.
 */
function latentTensors(inputs: EstimateInputs, mla: LatentAttention, settings: Settings): SavedTensor[] {
  const { heads, tp } = inputs;
  const { tokens, sequenceTokens } = tokenSizes(inputs);
  const width = settings.elementBytes;
  const qk = (heads * (mla.qkHeadDim + mla.positionDim)) / tp;
  const compressed = (rank: number): Amount => exactly((width + inputBytes(settings)) * sequenceTokens * rank);
  return [
    ...(mla.qRank === null ? [] : [saved('compressed query and its norm', compressed(mla.qRank))]),
    saved('compressed key and value and their norm', compressed(mla.kvRank + mla.positionDim)),
    saved('query', doubted(width * tokens * qk), { drop: ['mla_up_proj'], offload: 'core_attn' }),
    saved('key', doubted(width * tokens * qk), { drop: ['mla_up_proj'], offload: 'core_attn' }),
    // A view into the up projection's output, which it keeps alive with the keys in it.
    saved(
      'value',
      between(
        (width * tokens * heads * mla.vHeadDim) / tp,
        (width * tokens * heads * (mla.qkHeadDim + mla.vHeadDim)) / tp,
        (width * tokens * heads * (mla.qkHeadDim + 2 * mla.vHeadDim)) / tp,
      ),
      { drop: ['mla_up_proj'], offload: 'core_attn' },
    ),
  ];
}

function coreTensors(inputs: EstimateInputs, settings: Settings, out: number): SavedTensor[] {
  const { heads, tp, cp, seq } = inputs;
  const { tokens } = tokenSizes(inputs);
  const width = settings.elementBytes;
  const kept = (name: string, amount: Amount): SavedTensor =>
    saved(name, amount, { drop: ['core_attn'], offload: 'core_attn' });
  const projectionInput = saved('attention output', doubted(settings.fp8 === null ? out : out / width), {
    offload: 'attn_proj',
  });
  if (settings.keepsScores) {
    const scores = (heads * tokens * (seq / cp)) / tp;
    const { fusesSoftmax, softmaxBytes } = settings;
    const softmax = fusesSoftmax ? width : softmaxBytes;
    return [
      kept('softmax of the scores', exactly(softmax * scores)),
      ...(settings.hasAttentionDropout
        ? [kept('dropout of the scores and its mask', exactly((width + 1) * scores))]
        : softmax > width
          ? [kept('softmax of the scores in 16 bits', exactly(width * scores))]
          : []),
      ...(settings.isLocal && !fusesSoftmax ? [kept('causal mask', exactly((seq / cp) ** 2))] : []),
      projectionInput,
    ];
  }
  return [
    // One fp32 number a token and head: flash attention's log-sum-exp.
    kept('softmax statistics', exactly((4 * tokens * heads) / tp)),
    // In 16 bits the kernel's output is the projection's input; in 8 bits the projection keeps a copy.
    ...(settings.fp8 === null ? [] : [kept('attention output in 16 bits', exactly(out))]),
    projectionInput,
  ];
}

function mlpTensors(
  inputs: EstimateInputs,
  settings: Settings,
  ffn: number,
  drop: readonly RecomputeModule[],
): SavedTensor[] {
  const { tp, gated } = inputs;
  const { tokens } = tokenSizes(inputs);
  return [
    saved('output of fc1', exactly((settings.elementBytes * tokens * ffn * (gated ? 2 : 1)) / tp), { drop }),
    saved('activation, input of fc2', exactly((inputBytes(settings) * tokens * ffn) / tp), { drop }),
  ];
}

function moeTensors(inputs: EstimateInputs, settings: Settings): SavedTensor[] {
  const { hidden, gated, etp } = inputs;
  const experts = inputs.experts!;
  const { sequenceTokens, expertTokens, imbalance } = tokenSizes(inputs);
  const routed = (bytes: number): Amount => between(bytes * imbalance.low, bytes, bytes * imbalance.high);
  const width = settings.elementBytes;
  return [
    // Router logits and probabilities, fp32 a token and expert.
    saved('router', exactly(2 * 4 * sequenceTokens * experts.count), { drop: ['moe'] }),
    saved('tokens of the experts', routed(inputBytes(settings) * expertTokens * (experts.latent ?? hidden)), {
      drop: ['moe'],
      offload: 'expert_fc1',
      isRouted: true,
    }),
    saved('output of the experts’ fc1', routed((width * expertTokens * experts.ffn * (gated ? 2 : 1)) / etp), {
      drop: ['moe'],
      offload: 'moe_act',
      isRouted: true,
    }),
    saved('activation of the experts', routed((inputBytes(settings) * expertTokens * experts.ffn) / etp), {
      drop: ['moe', 'moe_act'],
      isRouted: true,
    }),
    ...(experts.sharedFfn > 0 ? mlpTensors(inputs, settings, experts.sharedFfn, ['moe', 'shared_experts']) : []),
  ];
}
