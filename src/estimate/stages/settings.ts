/** The settings that only our own model reads, with Megatron-Core's defaults. Element sizes are bytes. */
import { MbfError } from '../../model/errors.js';
import type { EstimateInputs } from '../inputs.js';

/** Upstream: `TransformerConfig.__post_init__`, the modules that selective recompute knows. */
export const RECOMPUTE_MODULES = [
  'core_attn',
  'moe_act',
  'layernorm',
  'mla_up_proj',
  'mlp',
  'moe',
  'shared_experts',
] as const;
export type RecomputeModule = (typeof RECOMPUTE_MODULES)[number];

/** Known upstream, of architectures that this model does not have: their recompute changes nothing here. */
const OTHER_RECOMPUTE_MODULES = new Set(['gdn', 'gdn_norm_out', 'gdp_in_proj', 'gdp_qkv', 'mhc']);

/** Upstream: `TransformerConfig.offload_modules`. */
export const OFFLOAD_MODULES = [
  'attn_norm',
  'qkv_linear',
  'core_attn',
  'attn_proj',
  'mlp_norm',
  'expert_fc1',
  'moe_act',
] as const;
export type OffloadModule = (typeof OFFLOAD_MODULES)[number];
const OTHER_OFFLOAD_MODULES = new Set(['fused_group_mlp', 'gdp_qkv']);

export type Recompute =
  | { readonly kind: 'none' }
  | { readonly kind: 'selective'; readonly modules: ReadonlySet<RecomputeModule> }
  /**
   * Groups of `layers` layers keep one input each (uniform), or the first `layers` layers of a chunk keep theirs
   * (block).
   */
  | { readonly kind: 'full'; readonly method: 'uniform' | 'block'; readonly layers: number };

export type Sharding = 'none' | 'optim' | 'optim_grads' | 'optim_grads_params';

export interface Settings {
  /** Of a weight and of an activation: 2 for bf16 and fp16, 4 for fp32. */
  readonly elementBytes: 2 | 4;
  /** Linear layers compute in 8 bits and keep their inputs so. */
  readonly fp8: 'delayed' | 'tensorwise' | 'blockwise' | 'mxfp8' | null;
  /** Weights are held in 8 bits instead of being cast every step. */
  readonly fp8Weights: boolean;
  readonly gradBytes: 2 | 4;
  /** A master copy of the weights; 0 where the weights are fp32 themselves. */
  readonly masterBytes: number;
  readonly expAvgBytes: number;
  readonly expAvgSqBytes: number;
  /** The optimizer converts a sharded copy of the gradients to fp32 in its step. */
  readonly convertsGradients: boolean;
  readonly sharding: Sharding;
  /** Replicas over which a shard of the dense state is cut, and of the experts' state. */
  readonly denseShards: number;
  readonly expertShards: number;
  /** Part of the optimizer state that lives in host memory. */
  readonly optimizerOnHost: number;
  /** Layers whose activations go to host memory. */
  readonly layersOnHost: number;
  readonly offloadModules: ReadonlySet<OffloadModule>;
  readonly offloadFraction: number;
  readonly recompute: Recompute;
  /** Attention scores are kept: neither flash nor fused attention. */
  readonly keepsScores: boolean;
  /** Layers are Megatron-Core's own: tensors are saved and buffers held as its code does, not Transformer Engine's. */
  readonly isLocal: boolean;
  /** Query and key are rotated, which makes new tensors of both. */
  readonly hasRope: boolean;
  /** The rotation keeps its cosine and sine: it is not fused. */
  readonly keepsRopeTables: boolean;
  /** The softmax of unfused attention is one kernel; else it is torch's, with a mask of its own. */
  readonly fusesSoftmax: boolean;
  /** Of an element of torch's softmax. */
  readonly softmaxBytes: 2 | 4;
  /** The optimizer is torch's, whose step makes an fp32 copy of what it updates. */
  readonly torchOptimizer: boolean;
  readonly hasHiddenDropout: boolean;
  readonly hasAttentionDropout: boolean;
  /** Bytes per logit that are alive at once. */
  readonly logitBytes: 2 | 6;
  /** Rank of adapters on frozen weights; null = all weights train. */
  readonly loraRank: number | null;
  readonly loraTargets: ReadonlySet<string>;
  readonly assumed: readonly string[];
}

const DTYPE_BYTES: Readonly<Record<string, number>> = {
  fp32: 4,
  float32: 4,
  float: 4,
  bf16: 2,
  bfloat16: 2,
  fp16: 2,
  float16: 2,
  half: 2,
  fp8: 1,
  uint8: 1,
  float8_e4m3fn: 1,
};

function dtypeBytes(key: string, word: string | undefined, usual: number): number {
  if (word === undefined) return usual;
  const bytes = DTYPE_BYTES[word.replace(/^torch\./, '').toLowerCase()];
  if (bytes === undefined)
    throw new MbfError('MBF1001', `${key} ${JSON.stringify(word)} is not a data type that an estimate knows`);
  return bytes;
}

export function settingsOf(inputs: EstimateInputs): Settings {
  const { given } = inputs;
  const assumed: string[] = [];
  const isFp32 = given.bf16 !== true && given.fp16 !== true && dtypeBytes('params_dtype', given.params_dtype, 2) === 4;
  if (given.bf16 === undefined && given.fp16 === undefined && given.params_dtype === undefined)
    assumed.push('Weights and activations are assumed to be bf16: the precision is unknown.');
  const elementBytes = isFp32 ? 4 : 2;
  const fp8 = fp8Recipe(inputs);
  const gradBytes = gradientBytes(inputs, isFp32, assumed);
  const shards = shardCounts(inputs);
  const optimizer = optimizerBytes(inputs, isFp32, assumed);
  const attention = attentionKind(inputs, assumed);
  const lora = loraOf(inputs);
  return {
    elementBytes,
    fp8,
    fp8Weights: fp8 !== null && (given.fp8_param_gather ?? given.fp8_param ?? false),
    gradBytes,
    ...optimizer,
    convertsGradients: gradBytes === 2 && given.use_precision_aware_optimizer !== true,
    ...shards,
    optimizerOnHost: given.optimizer_cpu_offload === true ? (given.optimizer_offload_fraction ?? 1) : 0,
    layersOnHost: given.cpu_offloading === true ? (given.cpu_offloading_num_layers ?? 0) : 0,
    offloadModules: offloadedModules(inputs),
    offloadFraction: given.activation_offload_fraction ?? 1,
    recompute: recomputeOf(inputs, assumed),
    keepsScores: attention,
    ...layerKind(inputs, elementBytes),
    torchOptimizer: given.use_torch_optimizer === true,
    hasHiddenDropout: (given.hidden_dropout ?? 0) > 0,
    hasAttentionDropout: (given.attention_dropout ?? 0) > 0,
    logitBytes: given.cross_entropy_loss_fusion === true && given.cross_entropy_fusion_impl === 'te' ? 2 : 6,
    ...lora,
    assumed,
  };
}

function fp8Recipe({ given }: EstimateInputs): Settings['fp8'] {
  if (given.fp8 === undefined || given.fp8 === 'false' || given.fp8 === 'False') return null;
  const recipe = given.fp8_recipe?.toLowerCase() ?? 'delayed';
  if (recipe === 'delayed' || recipe === 'tensorwise' || recipe === 'blockwise' || recipe === 'mxfp8') return recipe;
  throw new MbfError(
    'MBF1001',
    `invalid fp8_recipe ${JSON.stringify(recipe)}; expected one of delayed, tensorwise, blockwise, mxfp8`,
  );
}

/**
 * Megatron-LM reduces in fp32 when it trains in bf16 (`arguments.py`), Bridge's bf16 recipes too; fp16 gradients stay
 * fp16.
 */
function gradientBytes({ given }: EstimateInputs, isFp32: boolean, assumed: string[]): 2 | 4 {
  const explicitReduce = given.grad_reduce_in_fp32 ?? given.accumulate_allreduce_grads_in_fp32;
  if (isFp32) return 4;
  if (explicitReduce === undefined && given.fp16 !== true)
    assumed.push('Gradients are assumed to be fp32, the default of bf16 training: grad_reduce_in_fp32 is unknown.');
  return (explicitReduce ?? given.fp16 !== true) ? 4 : 2;
}

function shardCounts(inputs: EstimateInputs): Pick<Settings, 'sharding' | 'denseShards' | 'expertShards'> {
  const { given, dp, cp, world, etp, ep, pp } = inputs;
  const instances = given.num_distributed_optimizer_instances ?? 1;
  const denseShards = Math.max(1, (dp * cp) / instances);
  const expertShards = Math.max(1, Math.floor(world / (etp * ep * pp)) / instances);
  return { sharding: shardingOf(inputs), denseShards, expertShards };
}

function shardingOf({ given, distributedOptimizer }: EstimateInputs): Sharding {
  if (given.use_torch_fsdp2 === true) return 'optim_grads_params';
  if (given.use_megatron_fsdp === true) {
    // Default of `DistributedDataParallelConfig`.
    const strategy = given.data_parallel_sharding_strategy ?? 'no_shard';
    if (strategy === 'optim' || strategy === 'optim_grads' || strategy === 'optim_grads_params') return strategy;
    if (strategy !== 'no_shard')
      throw new MbfError('MBF1001', `data_parallel_sharding_strategy ${JSON.stringify(strategy)} is unknown`);
  }
  return distributedOptimizer ? 'optim' : 'none';
}

/** Upstream: `OptimizerConfig`. Without a precision-aware optimizer every state is fp32. */
function optimizerBytes(
  { given }: EstimateInputs,
  isFp32: boolean,
  assumed: string[],
): Pick<Settings, 'masterBytes' | 'expAvgBytes' | 'expAvgSqBytes'> {
  const name = given.optimizer?.toLowerCase() ?? 'adam';
  if (name === 'sgd') return { masterBytes: isFp32 ? 0 : 4, expAvgBytes: 4, expAvgSqBytes: 0 };
  if (name.includes('muon')) {
    assumed.push('Muon keeps one moment: as if every weight were a matrix; embeddings and norms have two of Adam.');
    return { masterBytes: isFp32 ? 0 : 4, expAvgBytes: 4, expAvgSqBytes: 0 };
  }
  if (!/adam|^$/.test(name)) assumed.push(`The optimizer ${name} is taken for one with Adam's two moments.`);
  if (given.use_precision_aware_optimizer !== true)
    return { masterBytes: isFp32 ? 0 : 4, expAvgBytes: 4, expAvgSqBytes: 4 };
  const master = dtypeBytes('main_params_dtype', given.main_params_dtype, 4);
  const holdsRemainders = master === 4 && given.fp16 !== true && (given.store_param_remainders ?? true);
  if (holdsRemainders)
    assumed.push('The precision-aware optimizer keeps 16-bit remainders with bf16 weights: store_param_remainders.');
  return {
    masterBytes: isFp32 ? 0 : holdsRemainders ? 2 : master,
    expAvgBytes: dtypeBytes('exp_avg_dtype', given.exp_avg_dtype, 4),
    expAvgSqBytes: dtypeBytes('exp_avg_sq_dtype', given.exp_avg_sq_dtype, 4),
  };
}

/** Whether attention scores of s × s are kept. */
function attentionKind({ given }: EstimateInputs, assumed: string[]): boolean {
  const backend = given.attention_backend?.toLowerCase().replace(/^attnbackend\./, '');
  if (isLocal(given) && given.spec !== undefined && backend !== 'unfused' && backend !== 'local')
    assumed.push(
      'A layer specification of the user’s own is taken for one with flash attention: the local implementation alone would keep the scores.',
    );
  else if (backend === undefined && given.use_flash_attn === undefined && !isLocal(given))
    assumed.push(
      'Flash or fused attention is assumed: attention_backend is unknown. Otherwise scores would be kept too.',
    );
  return backend === 'unfused' || backend === 'local' || (isLocal(given) && given.spec === undefined);
}

/** A specification of the user may contain another attention; the layers around it are still those of the core. */
function isLocal({ transformer_impl: implementation }: EstimateInputs['given']): boolean {
  return implementation?.toLowerCase() === 'local';
}

/** Sequences up to this length have the fused kernel. Upstream: `FusedScaleMaskSoftmax.is_kernel_available`. */
const FUSED_SOFTMAX_MOST = 4096;

function layerKind(
  { given, seq, heads, tp, microBatch, latentAttention }: EstimateInputs,
  elementBytes: 2 | 4,
): Pick<Settings, 'isLocal' | 'hasRope' | 'keepsRopeTables' | 'fusesSoftmax' | 'softmaxBytes'> {
  const local = isLocal(given);
  const embedding = given.position_embedding_type?.toLowerCase();
  // Latent attention always rotates the part of its heads that is there for positions.
  const hasRope = latentAttention !== null || embedding === 'rope' || embedding === 'yarn' || embedding === 'mrope';
  const fits = elementBytes === 2 && seq > 16 && seq <= FUSED_SOFTMAX_MOST && seq % 4 === 0;
  const inFp32 = given.attention_softmax_in_fp32 === true || given.apply_query_key_layer_scaling === true;
  return {
    isLocal: local,
    hasRope,
    keepsRopeTables: hasRope && !(given.apply_rope_fusion ?? !local),
    fusesSoftmax: !local || ((given.masked_softmax_fusion ?? true) && fits && ((microBatch * heads) / tp) % 4 === 0),
    softmaxBytes: inFp32 ? 4 : elementBytes,
  };
}

function offloadedModules({ given }: EstimateInputs): ReadonlySet<OffloadModule> {
  if (given.fine_grained_activation_offloading !== true) return new Set();
  const modules = given.offload_modules ?? [];
  const unknown = modules.find(
    (name) => !(OFFLOAD_MODULES as readonly string[]).includes(name) && !OTHER_OFFLOAD_MODULES.has(name),
  );
  if (unknown !== undefined) throw new MbfError('MBF1001', `offload_modules has no ${JSON.stringify(unknown)}`);
  return new Set(OFFLOAD_MODULES.filter((name) => modules.includes(name)));
}

function recomputeOf(inputs: EstimateInputs, assumed: string[]): Recompute {
  const { given, layers, pp, vpp } = inputs;
  if (inputs.recompute === null) return { kind: 'none' };
  if (inputs.recompute === 'full') {
    const method = given.recompute_method ?? 'uniform';
    if (method !== 'uniform' && method !== 'block')
      throw new MbfError('MBF1001', `recompute_method ${JSON.stringify(method)} is neither uniform nor block`);
    if (given.recompute_method === undefined || given.recompute_num_layers === undefined)
      assumed.push('Full recompute is assumed to be uniform, one layer at a time, where method or number is unknown.');
    const most = Math.ceil(layers / (pp * (vpp ?? 1)));
    return { kind: 'full', method, layers: Math.min(given.recompute_num_layers ?? 1, most) };
  }
  // None means core attention alone; an empty list means nothing (`TransformerConfig.__post_init__`).
  const named = given.recompute_modules ?? ['core_attn'];
  const unknown = named.find(
    (name) => !(RECOMPUTE_MODULES as readonly string[]).includes(name) && !OTHER_RECOMPUTE_MODULES.has(name),
  );
  if (unknown !== undefined) throw new MbfError('MBF1001', `recompute_modules has no ${JSON.stringify(unknown)}`);
  return { kind: 'selective', modules: new Set(RECOMPUTE_MODULES.filter((name) => named.includes(name))) };
}

/** Megatron Bridge's `LoRA`: its default targets are the four projections of a layer. */
function loraOf({ given }: EstimateInputs): Pick<Settings, 'loraRank' | 'loraTargets'> {
  const scheme = given.peft_scheme?.toLowerCase();
  const isOn = given.lora_rank !== undefined || (scheme !== undefined && /lora|dora/.test(scheme));
  const targets = given.lora_target_modules ?? ['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2'];
  // Default rank of Bridge's `LoRA.dim`.
  return {
    loraRank: isOn ? (given.lora_rank ?? 32) : null,
    loraTargets: new Set(targets.map((target) => target.split('.').at(-1) ?? target)),
  };
}
