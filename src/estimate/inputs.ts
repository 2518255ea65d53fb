/** Inputs with every default filled in, as upstream fills them; what had to be taken for granted is listed. */
import { MbfError } from '../model/errors.js';
import type { GivenInputs, InputName } from './input-keys.js';
import { recipeInputs } from './mixed-precision.js';
import { padVocab } from './padded-vocab.js';
import { readLayout } from './pipeline-split.js';

/** Multi-latent attention; sizes per head except the ranks. */
export interface LatentAttention {
  /** Null: the query is projected in one step. */
  readonly qRank: number | null;
  readonly kvRank: number;
  readonly qkHeadDim: number;
  readonly positionDim: number;
  readonly vHeadDim: number;
}

/** Experts; null in {@link EstimateInputs.experts} for a dense model. */
export interface Experts {
  readonly count: number;
  readonly topk: number;
  readonly ffn: number;
  /** 0 = no shared expert. */
  readonly sharedFfn: number;
  readonly sharedGate: boolean;
  /** Width in which routed experts work; null = the hidden size. */
  readonly latent: number | null;
}

/**
 * What the formulas of both upstream projects and our own model read. Sizes are element counts; nothing here is bytes.
 */
export interface EstimateInputs {
  /** The given inputs, for what only one of the models reads. */
  readonly given: GivenInputs;
  readonly layers: number;
  readonly hidden: number;
  readonly ffn: number;
  readonly heads: number;
  /** Key-value heads; equal to `heads` without grouped queries. */
  readonly groups: number;
  readonly headDim: number;
  readonly seq: number;
  readonly microBatch: number;
  /** Columns of the embedding as Megatron-LM has it: always padded. */
  readonly paddedVocab: number;
  /** As Megatron Bridge has it: padded unless `should_pad_vocab` is false. */
  readonly bridgeVocab: number;
  readonly tied: boolean;
  readonly gated: boolean;
  /** Gated with silu: upstream counts a third projection only then. */
  readonly swiglu: boolean;
  readonly isRmsNorm: boolean;
  readonly biasLinear: boolean;
  readonly latentAttention: LatentAttention | null;
  readonly experts: Experts | null;
  /** One entry a layer, without MTP layers. */
  readonly isMoeLayer: readonly boolean[];
  readonly mtpLayers: number;
  readonly tp: number;
  readonly pp: number;
  /** Model chunks a stage; null = not interleaved, which is another schedule than 1. */
  readonly vpp: number | null;
  readonly cp: number;
  readonly ep: number;
  readonly etp: number;
  /** Without context parallelism: world = tp × pp × cp × dp. */
  readonly dp: number;
  readonly world: number;
  /** Micro-batches of one step; null = unknown. */
  readonly microBatches: number | null;
  readonly distributedOptimizer: boolean;
  readonly sequenceParallel: boolean;
  readonly recompute: 'full' | 'selective' | null;
  /** What was assumed and affects the figures, as sentences. */
  readonly assumed: readonly string[];
}

/** Without these there is nothing to compute. `vocab_size` may be given as `padded_vocab_size`. */
const REQUIRED: readonly InputName[] = [
  'num_layers',
  'hidden_size',
  'num_attention_heads',
  'seq_length',
  'mbs',
  'vocab_size',
];

/** Keys that every estimate needs; empty if none is missing. */
export function missingInputs(given: GivenInputs): InputName[] {
  const missing = REQUIRED.filter((name) => given[name] === undefined);
  const required = given.padded_vocab_size === undefined ? missing : missing.filter((name) => name !== 'vocab_size');
  return given.mla === true && given.kv_lora_rank === undefined ? [...required, 'kv_lora_rank'] : required;
}

/** Throws MBF1001 for keys that contradict each other so that no size follows from them. */
export function completeInputs(explicitInputs: GivenInputs): EstimateInputs {
  const assumed: string[] = [];
  const given = withRecipe(explicitInputs);
  const need = (name: 'num_layers' | 'hidden_size' | 'num_attention_heads' | 'seq_length' | 'mbs'): number => {
    const value = given[name];
    if (value === undefined) throw new MbfError('MBF1001', `the configuration does not set ${name}`);
    return value;
  };
  const layers = need('num_layers');
  const hidden = need('hidden_size');
  const heads = need('num_attention_heads');
  const gated = given.gated_linear_unit ?? given.swiglu ?? false;
  const activation = given.activation_func?.toLowerCase();
  const swiglu = gated && (given.swiglu === true || activation === undefined || /silu|swi(?:sh|glu)/.test(activation));
  if (gated && given.swiglu !== true && activation === undefined)
    assumed.push('The gated activation is assumed to be silu: activation_func is unknown.');
  const sizes = parallelSizes(given, assumed);
  const ffn = given.ffn_hidden_size ?? defaultFfn(hidden, swiglu, assumed);
  const experts = expertsOf(given, ffn);
  return {
    given,
    layers,
    hidden,
    ffn,
    heads,
    // Megatron-LM prints num_query_groups 1, its default, for a model without grouped queries.
    groups: given.group_query_attention === false ? heads : (given.num_query_groups ?? heads),
    headDim: given.kv_channels ?? wholeHeads(hidden, heads),
    seq: need('seq_length'),
    microBatch: need('mbs'),
    ...vocabularies(given, sizes.tp),
    tied: given.share_embeddings_and_output_weights ?? true,
    gated,
    swiglu,
    isRmsNorm: given.normalization?.toLowerCase() === 'rmsnorm',
    biasLinear: given.add_bias_linear ?? true,
    latentAttention: given.mla === true ? latentAttentionOf(given) : null,
    experts,
    isMoeLayer: moeLayers(given, layers, experts !== null),
    mtpLayers: given.mtp_num_layers ?? 0,
    ...sizes,
    vpp: virtualStages(given, layers, sizes.pp),
    microBatches: microBatchesOf(given, sizes.dp),
    distributedOptimizer: given.dist_opt ?? false,
    sequenceParallel: given.sequence_parallel ?? false,
    recompute: recomputeOf(given),
    assumed,
  };
}

/** A named precision recipe in its fields' place, which it overwrites. */
function withRecipe(given: GivenInputs): GivenInputs {
  return { ...given, ...recipeInputs(given.mixed_precision) };
}

/** Megatron-LM `arguments.py`: 4h, or 8h/3 rounded down to a multiple of 64 with SwiGLU. */
function defaultFfn(hidden: number, swiglu: boolean, assumed: string[]): number {
  const ffn = swiglu ? Math.floor((hidden * 4 * 2) / 3 / 64) * 64 : 4 * hidden;
  assumed.push(`ffn_hidden_size is unknown; Megatron-LM's default for this hidden size is ${ffn}.`);
  return ffn;
}

function wholeHeads(hidden: number, heads: number): number {
  if (hidden % heads !== 0)
    throw new MbfError(
      'MBF1001',
      `hidden_size ${hidden} is not a multiple of num_attention_heads ${heads}, and kv_channels is unknown`,
    );
  return hidden / heads;
}

function parallelSizes(
  given: GivenInputs,
  assumed: string[],
): Pick<EstimateInputs, 'tp' | 'pp' | 'cp' | 'ep' | 'etp' | 'dp' | 'world'> {
  const tp = given.tp ?? 1;
  const pp = given.pp ?? 1;
  const cp = given.cp ?? 1;
  const ofModel = tp * pp * cp;
  if (given.dp === undefined && given.world !== undefined && given.world % ofModel !== 0)
    throw new MbfError('MBF1001', `world ${given.world} is not a multiple of tp × pp × cp = ${ofModel}`);
  if (given.dp === undefined && given.world === undefined)
    assumed.push('dp and world are unknown: one data-parallel replica is assumed.');
  const dp = given.dp ?? (given.world === undefined ? 1 : given.world / ofModel);
  const ep = given.ep ?? 1;
  // `ModelParallelConfig.__post_init__`: experts are cut like the rest of the model unless set explicitly.
  return { tp, pp, cp, ep, etp: given.etp ?? tp, dp, world: given.world ?? ofModel * dp };
}

function vocabularies(given: GivenInputs, tp: number): Pick<EstimateInputs, 'paddedVocab' | 'bridgeVocab'> {
  const size = given.vocab_size ?? given.padded_vocab_size ?? 0;
  if (size === 0) throw new MbfError('MBF1001', 'the configuration does not set vocab_size');
  const padded = given.vocab_size === undefined ? size : padVocab(size, given.make_vocab_size_divisible_by ?? 128, tp);
  const pads = given.should_pad_vocab ?? true;
  return { paddedVocab: given.padded_vocab_size ?? (pads ? padded : size), bridgeVocab: pads ? padded : size };
}

function latentAttentionOf(given: GivenInputs): LatentAttention {
  if (given.kv_lora_rank === undefined) throw new MbfError('MBF1001', 'mla needs kv_lora_rank');
  // Defaults of `MLATransformerConfig` and Megatron-LM's arguments, which agree on these three.
  return {
    qRank: given.q_lora_rank ?? null,
    kvRank: given.kv_lora_rank,
    qkHeadDim: given.qk_head_dim ?? 128,
    positionDim: given.qk_pos_emb_head_dim ?? 64,
    vHeadDim: given.v_head_dim ?? 128,
  };
}

function expertsOf(given: GivenInputs, ffn: number): Experts | null {
  const count = given.num_moe_experts ?? 0;
  if (count === 0) return null;
  return {
    count,
    topk: given.moe_router_topk ?? 2,
    ffn: given.moe_ffn_hidden_size ?? ffn,
    sharedFfn: given.moe_shared_expert_intermediate_size ?? 0,
    sharedGate: given.moe_shared_expert_gate ?? false,
    latent: given.moe_latent_size ?? null,
  };
}

function moeLayers(given: GivenInputs, layers: number, hasExperts: boolean): readonly boolean[] {
  if (!hasExperts) return new Array<boolean>(layers).fill(false);
  const frequency = given.moe_layer_freq ?? 1;
  if (typeof frequency === 'number') return Array.from({ length: layers }, (_, layer) => layer % frequency === 0);
  if (frequency.length !== layers)
    throw new MbfError('MBF1001', `moe_layer_freq has ${frequency.length} entries for ${layers} layers`);
  return frequency.map((layer) => layer === 1);
}

function virtualStages(given: GivenInputs, modelLayers: number, pp: number): number | null {
  const chunks =
    given.pipeline_model_parallel_layout === undefined ? null : readLayout(given.pipeline_model_parallel_layout);
  // A layout determines the number of chunks.
  if (chunks !== null && chunks.length % pp === 0) return chunks.length === pp ? null : chunks.length / pp;
  if (given.vpp !== undefined) return given.vpp;
  const layers =
    modelLayers +
    (given.account_for_embedding_in_pipeline_split === true ? 1 : 0) +
    (given.account_for_loss_in_pipeline_split === true ? 1 : 0);
  const each = given.num_layers_per_virtual_pipeline_stage;
  if (each === undefined) return null;
  if (layers % (pp * each) !== 0)
    throw new MbfError(
      'MBF1001',
      `num_layers ${layers} is not a multiple of pp × num_layers_per_virtual_pipeline_stage = ${pp * each}`,
    );
  return layers / (pp * each);
}

function microBatchesOf(given: GivenInputs, dp: number): number | null {
  if (given.num_microbatches !== undefined) return given.num_microbatches;
  if (given.global_batch_size === undefined || given.mbs === undefined) return null;
  const each = given.mbs * dp;
  if (given.global_batch_size % each !== 0)
    throw new MbfError(
      'MBF1001',
      `global_batch_size ${given.global_batch_size} is not a multiple of mbs × dp = ${each}`,
    );
  return given.global_batch_size / each;
}

function recomputeOf(given: GivenInputs): EstimateInputs['recompute'] {
  const granularity = given.recompute_granularity;
  if (granularity === undefined) return null;
  if (granularity !== 'full' && granularity !== 'selective')
    throw new MbfError('MBF1001', `recompute_granularity ${JSON.stringify(granularity)} is neither full nor selective`);
  return granularity;
}

/**
 * Sizes that a change of another key makes stale, unless they are set again: the padding follows TP, the micro-batches
 * follow DP, …
 */
const FOLLOWS: Readonly<Partial<Record<InputName, readonly InputName[]>>> = {
  padded_vocab_size: ['vocab_size', 'tp', 'make_vocab_size_divisible_by'],
  num_microbatches: ['global_batch_size', 'mbs', 'dp', 'tp', 'pp', 'cp', 'world'],
  dp: ['world', 'tp', 'pp', 'cp'],
  world: ['dp'],
};

/**
 * Inputs with changes on top. What followed from a changed size is computed again: more tensor parallelism on the same
 * GPUs leaves fewer replicas, and fewer replicas more micro-batches of the same global batch.
 */
export function changeInputs(given: GivenInputs, changes: GivenInputs, cleared: ReadonlySet<InputName>): GivenInputs {
  const changed = new Set([...(Object.keys(changes) as InputName[]), ...cleared]);
  const before = completeInputs(given);
  // The recipe first: a change of one of its fields is a change, not overwritten again.
  const { mixed_precision: _, ...fields } = withRecipe(given);
  const kept: Partial<Record<InputName, unknown>> = { ...fields };
  kept.world ??= before.world;
  if (before.microBatches !== null) kept.global_batch_size ??= before.microBatches * before.microBatch * before.dp;
  for (const [name, sources] of Object.entries(FOLLOWS) as [InputName, readonly InputName[]][]) {
    // A vocabulary that is only known padded cannot be padded anew.
    if (name === 'padded_vocab_size' && given.vocab_size === undefined && !changed.has('vocab_size')) continue;
    if (sources.some((source) => changed.has(source))) delete kept[name];
  }
  for (const name of cleared) delete kept[name];
  return { ...(kept as GivenInputs), ...changes };
}
