/**
 * Settings that follow from others, under the key that rules read: what frameworks do with a configuration at start.
 * Old spellings are migrated, switches that need others turn them on, sizes are computed. A derived setting has the
 * place of the explicit one. Upstream: Megatron-LM
 * `megatron/training/arguments.py` validate_args and `transformer_config.py` __post_init__; Bridge `training/config.py`
 * validate, `models/transformer_config.py` finalize and `training/comm_overlap.py` setup. `--checkpoint-activations` is
 * not included: Megatron-LM exits on it.
 */

import { isOfRecipe } from './defaults.js';
import type { ExplicitValue, RawFacts } from './facts.js';
import { stagesOfLayout } from './layout.js';
import { asList, asNumber } from './values.js';
import { compareVersions } from './versions.js';

type Settings = Map<string, ExplicitValue>;

/** What the running program printed of its objects is the outcome already. */
const OUTCOMES: ReadonlySet<string> = new Set(['log dump', 'log summary']);

const isTrue = (explicit: ExplicitValue | undefined): explicit is ExplicitValue =>
  explicit?.value != null && /^(?:true|1)$/i.test(explicit.value);

const isFalse = (explicit: ExplicitValue | undefined): boolean =>
  explicit?.value != null && /^(?:false|0)$/i.test(explicit.value);

const textOf = (settings: Settings, key: string): string | null => settings.get(key)?.value ?? null;

/** A number; `standard` if there is no explicit value, undefined if it is not a number. */
function sizeOf(settings: Settings, key: string, standard?: number): number | undefined {
  const text = settings.get(key)?.value;
  return text == null ? standard : (asNumber(text) ?? undefined);
}

/** The value follows from `from`, whose place it has. */
function follow(settings: Settings, key: string, value: string | null, from: ExplicitValue): void {
  settings.set(key, { ...from, value });
}

/** Like {@link follow}, but replaces an explicit value, unless the run itself printed the resulting one. */
function force(settings: Settings, key: string, value: string | null, from: ExplicitValue): void {
  const explicit = settings.get(key);
  if (explicit !== undefined && explicit.value !== null && OUTCOMES.has(explicit.origin)) return;
  if (explicit?.value !== value) follow(settings, key, value, from);
}

/** The settings in force with what follows from them. */
export function derived(facts: RawFacts): ReadonlyMap<string, ExplicitValue> {
  const settings: Settings = new Map(facts.settings);
  graphs(settings, facts);
  recompute(settings, facts);
  experts(settings);
  sizes(settings, facts);
  switch (facts.framework.name) {
    case 'megatron-lm':
      megatronLm(settings);
      break;
    case 'megatron-bridge':
      bridge(settings, facts);
      break;
    case 'nemo':
      nemo(settings);
      break;
    case null:
      break;
  }
  globalBatch(settings, facts);
  sharding(settings);
  expertTensorParallel(settings, facts);
  return settings;
}

/**
 * `enable_cuda_graph` and `external_cuda_graph` are older spellings of `cuda_graph_impl`, as is the module
 * `full_iteration`; the module `full` is not a module: an empty list means whole layers.
 */
function graphs(settings: Settings, { versions }: RawFacts): void {
  const [enabled, external] = [settings.get('enable_cuda_graph'), settings.get('external_cuda_graph')];
  const isOff = (): boolean => ['none', null].includes(textOf(settings, 'cuda_graph_impl'));
  if (isOff() && isTrue(external)) follow(settings, 'cuda_graph_impl', 'transformer_engine', external);
  else if (isOff() && isTrue(enabled)) follow(settings, 'cuda_graph_impl', 'local', enabled);
  const modules = settings.get('cuda_graph_modules');
  const named = modules === undefined ? null : asList(modules.value);
  if (modules === undefined || named === null) return;
  if (named.length === 1 && named[0] === 'full') follow(settings, 'cuda_graph_modules', '[]', modules);
  if (!named.includes('full_iteration')) return;
  const impl = settings.get('cuda_graph_impl');
  // Without an implementation the scope of older releases captured nothing. [mem] for the release that changed it.
  const core = versions.megatron_core ?? null;
  const isNew = /modules$/.test(modules.raw_key) || (core !== null && compareVersions(core, '0.19') >= 0);
  if (impl?.value !== 'local' && impl?.value !== 'full_iteration' && !(isOff() && isNew)) return;
  follow(settings, 'cuda_graph_impl', 'full_iteration', isOff() || impl === undefined ? modules : impl);
  const otherModules = named.filter((module) => module !== 'full_iteration');
  follow(settings, 'cuda_graph_modules', JSON.stringify(otherModules), modules);
}

/**
 * Selective recompute without a list of modules recomputes the core of attention; `--recompute-activations` is
 * selective.
 */
function recompute(settings: Settings, { framework }: RawFacts): void {
  const activations = settings.get('recompute_activations');
  const isFree = textOf(settings, 'recompute_granularity') === null || framework.name === 'megatron-lm';
  if (isTrue(activations) && isFree) follow(settings, 'recompute_granularity', 'selective', activations);
  const layer = settings.get('moe_layer_recompute');
  if (isTrue(layer) && ['selective', null].includes(textOf(settings, 'recompute_granularity'))) {
    const modules = asList(textOf(settings, 'recompute_modules')) ?? ['core_attn'];
    follow(settings, 'recompute_granularity', 'selective', layer);
    if (!modules.includes('moe')) follow(settings, 'recompute_modules', JSON.stringify([...modules, 'moe']), layer);
  }
  const granularity = settings.get('recompute_granularity');
  if (granularity?.value === 'selective' && textOf(settings, 'recompute_modules') === null)
    follow(settings, 'recompute_modules', '["core_attn"]', granularity);
}

/** No experts is a dense model. */
function experts(settings: Settings): void {
  const count = settings.get('num_moe_experts');
  if (count !== undefined && asNumber(count.value) === 0) follow(settings, 'num_moe_experts', null, count);
}

/** Data parallelism follows from the world size; virtual stages from how many there are, or from the layers of one. */
function sizes(settings: Settings, facts: RawFacts): void {
  if (textOf(settings, 'virtual_pipeline_model_parallel_size') === null) virtualStages(settings);
  const world = settings.get('world_size');
  if (settings.has('data_parallel_size') || world === undefined || isOfRecipe(facts)) return;
  const parts = ['tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'].map((key) =>
    sizeOf(settings, key, 1),
  );
  const dp = parts.reduce<number>((otherModules, size) => otherModules / (size ?? Number.NaN), Number(world.value));
  if (Number.isSafeInteger(dp) && dp > 0) follow(settings, 'data_parallel_size', String(dp), world);
}

function virtualStages(settings: Settings): void {
  const stages = settings.get('num_virtual_stages_per_pipeline_rank');
  if (stages?.value != null) {
    // One chunk per rank means no interleaving.
    follow(settings, 'virtual_pipeline_model_parallel_size', stages.value === '1' ? null : stages.value, stages);
    return;
  }
  const from = settings.get('num_layers_per_virtual_pipeline_stage');
  const each = sizeOf(settings, 'num_layers_per_virtual_pipeline_stage');
  const pp = sizeOf(settings, 'pipeline_model_parallel_size');
  const layers = sizeOf(settings, 'num_layers');
  if (from === undefined || !each || !pp || !layers) return;
  // Embedding and loss count as a layer each where they are asked to.
  const extra = ['account_for_embedding_in_pipeline_split', 'account_for_loss_in_pipeline_split'].filter((key) =>
    isTrue(settings.get(key)),
  ).length;
  const chunks = (layers + extra) / (pp * each);
  if (Number.isSafeInteger(chunks))
    follow(settings, 'virtual_pipeline_model_parallel_size', chunks === 1 ? null : String(chunks), from);
}

/** Without a global batch there is one microbatch a step; NeMo has a sampler of its own. */
function globalBatch(settings: Settings, { framework }: RawFacts): void {
  if (framework.name === null || framework.name === 'nemo' || textOf(settings, 'global_batch_size') !== null) return;
  const micro = settings.get('micro_batch_size');
  const size = (sizeOf(settings, 'micro_batch_size') ?? 0) * (sizeOf(settings, 'data_parallel_size') ?? 0);
  if (micro !== undefined && Number.isSafeInteger(size) && size > 0)
    follow(settings, 'global_batch_size', String(size), micro);
}

/** User buffers need the double buffers of Megatron-FSDP, which are turned on with them. */
function sharding(settings: Settings): void {
  const buffers = settings.get('nccl_ub');
  if (isTrue(settings.get('use_megatron_fsdp')) && isTrue(buffers))
    follow(settings, 'fsdp_double_buffer', 'True', buffers);
}

/**
 * Tensor parallelism of the experts defaults to that of the model; in Bridge experts with expert parallelism have none.
 */
function expertTensorParallel(settings: Settings, { framework, versions }: RawFacts): void {
  if (textOf(settings, 'expert_tensor_parallel_size') !== null) return;
  const tp = settings.get('tensor_model_parallel_size');
  const ep = settings.get('expert_model_parallel_size');
  const release = versions.megatron_bridge ?? null;
  const isOne = framework.name === 'megatron-bridge' && (release === null || compareVersions(release, '0.6') >= 0);
  if (isOne && ep !== undefined && (asNumber(ep.value) ?? 1) > 1)
    follow(settings, 'expert_tensor_parallel_size', '1', ep);
  else if (tp?.value != null) follow(settings, 'expert_tensor_parallel_size', tp.value, tp);
}

/**
 * `validate_args` and `core_transformer_config_from_args` of Megatron-LM; DDP's settings are from `training.py`
 * get_model.
 */
function megatronLm(settings: Settings): void {
  layoutStages(settings);
  noSequenceParallel(settings, sizeOf(settings, 'tensor_model_parallel_size', 1));
  const offloaded = settings.get('cpu_offloading_num_layers');
  if (offloaded !== undefined && (asNumber(offloaded.value) ?? 0) > 0)
    force(settings, 'cpu_offloading', 'True', offloaded);
  const impl = settings.get('cuda_graph_impl');
  const onEngine =
    impl?.value === 'transformer_engine' || (textOf(settings, 'transformer_impl') ?? 'transformer_engine') !== 'local';
  if (impl?.value != null && impl.value !== 'none' && onEngine) force(settings, 'use_te_rng_tracker', 'True', impl);
  const rotary = settings.get('use_rotary_position_embeddings');
  if (isTrue(rotary)) force(settings, 'position_embedding_type', 'rope', rotary);
  const gather = settings.get('fp8_param_gather');
  if (gather !== undefined) force(settings, 'fp8_param', gather.value, gather);
  halfPrecision(settings);
}

/**
 * Gradients are accumulated and reduced in fp32 with bf16 unless that is switched off; the parameters' type is also
 * what stages send each other.
 */
function halfPrecision(settings: Settings): void {
  const [bf16, fp16] = [settings.get('bf16'), settings.get('fp16')];
  const half = isTrue(bf16) ? bf16 : isTrue(fp16) ? fp16 : undefined;
  const type = half === undefined ? 'float32' : half === bf16 ? 'bfloat16' : 'float16';
  if (half !== undefined) force(settings, 'params_dtype', type, half);
  const from = half ?? settings.get('pipeline_model_parallel_size');
  if (from !== undefined) force(settings, 'pipeline_dtype', type, from);
  if (isTrue(fp16) && (sizeOf(settings, 'loss_scale', 0) ?? 0) === 0)
    force(settings, 'check_for_nan_in_loss_and_grad', 'False', fp16);
  if (isTrue(bf16)) {
    const narrow = settings.get('grad_reduce_in_bf16');
    const grads = textOf(settings, 'main_grads_dtype');
    if (isTrue(narrow)) force(settings, 'accumulate_allreduce_grads_in_fp32', 'False', narrow);
    else if (grads === null || /^(?:fp|float)32$/.test(grads))
      force(settings, 'accumulate_allreduce_grads_in_fp32', 'True', bf16);
  }
  const reduced = settings.get('accumulate_allreduce_grads_in_fp32');
  if (reduced?.value != null) force(settings, 'grad_reduce_in_fp32', reduced.value, reduced);
}

/** Virtual stages follow from how many stages a layout has. */
function layoutStages(settings: Settings): void {
  const layout = settings.get('pipeline_model_parallel_layout');
  const written = layout?.value == null ? null : stagesOfLayout(layout.value);
  if (layout === undefined || written === null) return;
  const stages = written.length / (sizeOf(settings, 'pipeline_model_parallel_size', 1) ?? Number.NaN);
  if (Number.isSafeInteger(stages))
    force(settings, 'virtual_pipeline_model_parallel_size', stages === 1 ? null : String(stages), layout);
}

/** Sequence parallelism is taken back without tensor parallelism. */
function noSequenceParallel(settings: Settings, tp: number | undefined): void {
  const sequence = settings.get('sequence_parallel');
  if (isTrue(sequence) && tp !== undefined && tp <= 1) force(settings, 'sequence_parallel', 'False', sequence);
}

/** `ConfigContainer.validate`, `TransformerConfig.finalize` and `CommOverlapConfig.setup` of Megatron Bridge. */
function bridge(settings: Settings, facts: RawFacts): void {
  overlap(settings);
  // Releases between those that were read are taken for the older one; without a version it is the newest.
  const release = facts.versions.megatron_bridge ?? null;
  const isSince = (version: string): boolean => release === null || compareVersions(release, version) >= 0;
  if (isSince('0.6')) noSequenceParallel(settings, sizeOf(settings, 'tensor_model_parallel_size'));
  const pp = settings.get('pipeline_model_parallel_size');
  const isPiped = pp !== undefined && (asNumber(pp.value) ?? 1) > 1;
  if (isSince('0.2') && isPiped && textOf(settings, 'pipeline_dtype') === null) {
    const half = [settings.get('bf16'), settings.get('fp16')].findIndex(isTrue);
    const type = textOf(settings, 'params_dtype') ?? ['bfloat16', 'float16'][half] ?? 'float32';
    follow(settings, 'pipeline_dtype', type, pp);
  }
  const fsdp = settings.get('use_megatron_fsdp');
  if (!isTrue(fsdp)) return;
  if (textOf(settings, 'megatron_fsdp_version') === '2') secondFsdp(settings, fsdp);
  else firstFsdp(settings, fsdp);
}

/** Megatron-FSDP always has a distributed optimizer. */
function firstFsdp(settings: Settings, fsdp: ExplicitValue): void {
  force(settings, 'use_distributed_optimizer', 'True', fsdp);
  if (isTrue(settings.get('average_in_collective')) && !isTrue(settings.get('disable_symmetric_registration')))
    force(settings, 'average_in_collective', 'False', fsdp);
  if (isTrue(settings.get('reuse_grad_buf_for_mxfp8_param_ag')))
    force(settings, 'reuse_grad_buf_for_mxfp8_param_ag', 'False', fsdp);
  const buffers = settings.get('nccl_ub');
  if (isTrue(buffers)) force(settings, 'fsdp_manual_registration', 'True', buffers);
}

/** Its second version has an optimizer of its own, and shards everything. */
function secondFsdp(settings: Settings, fsdp: ExplicitValue): void {
  force(settings, 'data_parallel_sharding_strategy', 'optim_grads_params', fsdp);
  for (const key of [
    'use_distributed_optimizer',
    'overlap_grad_reduce',
    'overlap_param_gather',
    'overlap_param_gather_with_optimizer_step',
    'gradient_accumulation_fusion',
  ])
    force(settings, key, 'False', fsdp);
}

/** Elements of a bucket where the section sets none. */
const BUCKET_ELEMENTS = 128 * 1024 * 1024;

/** The section `comm_overlap` overwrites the fields of model, DDP and optimizer, also where it sets no value itself. */
function overlap(settings: Settings): void {
  const section = [...settings.values()].find(({ raw_key, value }) => isOfSection(raw_key) && value !== null);
  if (section === undefined) return;
  const set = (key: string, value: string | null): void => {
    const explicit = settings.get(key);
    if (explicit === undefined || !isOfSection(explicit.raw_key)) force(settings, key, value, section);
  };
  const [tp, pp, vpp, dp] = ['tensor', 'pipeline', 'virtual_pipeline', 'data'].map((part) =>
    sizeOf(
      settings,
      part === 'data' ? 'data_parallel_size' : `${part}_model_parallel_size`,
      part === 'data' ? undefined : 1,
    ),
  );
  const tensor = settings.get('tp_comm_overlap');
  if (isTrue(tensor) && (tp === 1 || isFalse(settings.get('sequence_parallel'))))
    force(settings, 'tp_comm_overlap', 'False', tensor);
  const isInterleaved = (pp ?? 1) > 1 && (vpp ?? 1) > 1;
  set('overlap_p2p_comm', isInterleaved ? 'True' : 'False');
  set('batch_p2p_comm', (pp ?? 1) > 1 && !isInterleaved ? 'True' : 'False');
  if (dp === undefined || !isTrue(settings.get('use_distributed_optimizer'))) return;
  set('overlap_grad_reduce', dp > 1 ? 'True' : 'False');
  set('overlap_param_gather', dp > 1 ? 'True' : 'False');
  set('align_param_gather', dp > 1 && isInterleaved ? 'True' : 'False');
  set('bucket_size', dp > 1 ? String(BUCKET_ELEMENTS) : null);
}

const isOfSection = (rawKey: string): boolean => /(?:^|\.)comm_overlap\./.test(rawKey);

/**
 * `strategy.fsdp` names the implementation. `llm.pretrain` and `llm.finetune` check the strategy of the trainer before
 * they build the model (NeMo nemo/collections/llm/api.py _validate_config).
 */
function nemo(settings: Settings): void {
  if (/(?:^|\.)strategy\./.test(settings.get('sequence_parallel')?.raw_key ?? ''))
    noSequenceParallel(settings, sizeOf(settings, 'tensor_model_parallel_size', 1));
  const fsdp = settings.get('strategy.fsdp');
  if (fsdp?.value === 'pytorch') force(settings, 'use_torch_fsdp2', 'True', fsdp);
  else if (fsdp?.value === 'megatron') force(settings, 'use_megatron_fsdp', 'True', fsdp);
}
