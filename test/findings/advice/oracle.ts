/**
 * The hard constraints of the guides and of Megatron-Core, stated a second time and in another way than the rules of
 * `src`: plain code over plain values, nothing imported. Written from the guides' tables and the catalogue of
 * upstream's checks, and where those leave a doubt from Megatron-Core's own source, so that the advice can be held
 * against it. An answer is true (broken), false (kept) or null (one or the other, by something that is unknown).
 */

type Tri = boolean | null;
export type Config = Readonly<Record<string, unknown>>;
export type Env = Readonly<Record<string, string>>;
/** `torch`, `core`, `te`; a missing one is unknown. */
export type Versions = Readonly<Record<string, string>>;
export interface Gpu {
  /** CUDA compute capability; null: unknown. */
  readonly capability: number | null;
}
/** What else decides which checks run. */
export interface About {
  readonly framework: 'megatron-lm' | 'megatron-bridge' | 'nemo' | null;
  /** False where nothing tells any variable, so that a missing one may be set all the same. */
  readonly envKnown: boolean;
}

const both = (...parts: Tri[]): Tri => (parts.includes(false) ? false : parts.includes(null) ? null : true);
const either = (...parts: Tri[]): Tri => (parts.includes(true) ? true : parts.includes(null) ? null : false);
const no = (part: Tri): Tri => (part === null ? null : !part);

/** Numbers of a version as one: 0.16.1 → 16.001, 2.11 → 2011. What follows the numbers is left out. */
function numberOf(version: string): number {
  const [major = 0, minor = 0, patch = 0] = (/^\d+(?:\.\d+){0,2}/.exec(version)?.[0] ?? '').split('.').map(Number);
  return 1000 * major + minor + patch / 1000;
}

/** `[from, to)`; null where the version is unknown. */
function within(version: string | undefined, from: string, to?: string): Tri {
  if (version === undefined) return null;
  const at = numberOf(version);
  return at >= numberOf(from) && (to === undefined || at < numberOf(to));
}

/**
 * What the fields are where nobody sets them: `None`, `False`, 0 and sizes of 1 wherever the references say nothing
 * else. Said otherwise: activations are what layer-level offload moves, decoupled weight decay is AdamW's, the
 * transformer is Transformer Engine's, warm-up of graphs is 3 steps, NaN checks are on, checkpoints are torch_dist, the
 * flexible dispatcher is DeepEP's.
 */
const DEFAULTS: Config = {
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 1,
  context_parallel_size: 1,
  expert_model_parallel_size: 1,
  cuda_graph_impl: 'none',
  cuda_graph_warmup_steps: 3,
  transformer_impl: 'transformer_engine',
  optimizer: 'adam',
  decoupled_weight_decay: true,
  check_for_nan_in_loss_and_grad: true,
  ckpt_format: 'torch_dist',
  fp8_recipe: 'delayed',
  moe_token_dispatcher_type: 'allgather',
  moe_flex_dispatcher_backend: 'deepep',
  cpu_offloading_num_layers: 0,
  optimizer_offload_fraction: 0,
  hidden_dropout: 0.1,
  attention_dropout: 0.1,
};

const RECOMPUTABLE =
  'core_attn moe_act layernorm mla_up_proj mlp moe shared_experts gdn_norm_out gdp_in_proj gdp_qkv mhc'.split(' ');
const OFFLOADABLE =
  'attn_norm qkv_linear core_attn attn_proj mlp_norm expert_fc1 moe_act fused_group_mlp gdp_qkv'.split(' ');
const INSIDE_EXPERTS = ['expert_fc1', 'moe_act', 'fused_group_mlp'];
const HALF_STATES = ['main_grads_dtype', 'main_params_dtype', 'exp_avg_dtype', 'exp_avg_sq_dtype'];

/** Every constraint by id: true where this configuration breaks it. */
function judge(config: Config, env: Env, versions: Versions, gpu: Gpu, about: About): Record<string, Tri> {
  const get = (key: string): unknown => (config[key] === undefined ? (DEFAULTS[key] ?? null) : config[key]);
  const on = (key: string): boolean => get(key) === true;
  const set = (key: string): boolean => get(key) !== null;
  const size = (key: string): number => Number(get(key) ?? 0);
  const names = (key: string): string[] => (Array.isArray(get(key)) ? (get(key) as unknown[]).map(String) : []);
  const is = (name: About['framework']): Tri => (about.framework === null ? null : about.framework === name);
  const [lm, bridge] = [is('megatron-lm'), is('megatron-bridge')];
  const checked = either(lm, bridge);
  const { torch, core, te } = versions;
  const variable = (name: string, value: string): Tri =>
    env[name] === undefined ? (about.envKnown ? false : null) : env[name] === value;

  // ---- sizes
  const [tp, pp, cp, ep] = [
    size('tensor_model_parallel_size'),
    size('pipeline_model_parallel_size'),
    size('context_parallel_size'),
    size('expert_model_parallel_size'),
  ];
  const etp = set('expert_tensor_parallel_size') ? size('expert_tensor_parallel_size') : tp;
  const vpp = size('virtual_pipeline_model_parallel_size');
  const [world, mbs, gbs] = [size('world_size'), size('micro_batch_size'), size('global_batch_size')];
  const [layers, heads, seq] = [size('num_layers'), size('num_attention_heads'), size('seq_length')];
  const groups = set('num_query_groups') ? size('num_query_groups') : heads;
  const experts = size('num_moe_experts');
  const moe = experts > 0;
  const dense = config['moe_layer_freq'];
  const hasDense = !moe || (Array.isArray(dense) && dense.includes(0));

  // ---- recompute
  const full = get('recompute_granularity') === 'full';
  const selective = get('recompute_granularity') === 'selective';
  const recomputed = !selective ? [] : get('recompute_modules') === null ? ['core_attn'] : names('recompute_modules');
  const again = (name: string): boolean => recomputed.includes(name);

  // ---- graphs; the scope full_iteration of `local` is how it was spelt before it became an implementation
  const captured = names('cuda_graph_modules');
  const spelt = String(get('cuda_graph_impl'));
  const graphs = spelt === 'local' && captured.includes('full_iteration') ? 'full_iteration' : spelt;
  const anyGraphs = graphs !== 'none';
  const complete = captured.length === 0;
  const graphed = (part: string): boolean =>
    anyGraphs && (graphs === 'full_iteration' || complete || captured.includes(part));

  // ---- data parallelism
  const fsdp = on('use_megatron_fsdp');
  const fsdp2 = on('use_torch_fsdp2');
  const anyFsdp = fsdp || fsdp2;
  // Megatron-FSDP switches the distributed optimizer on by itself.
  const sharded = on('use_distributed_optimizer') || fsdp;
  const aware = on('use_precision_aware_optimizer');
  const eight = set('fp8') && get('fp8') !== false;
  const recipe = String(get('fp8_recipe'));

  // ---- allocator: upstream looks at this one name only, and for these very letters
  const alloc = env['PYTORCH_CUDA_ALLOC_CONF'] ?? '';
  const unknownAlloc = !about.envKnown && env['PYTORCH_CUDA_ALLOC_CONF'] === undefined;
  const expands: Tri = unknownAlloc ? null : alloc.includes('expandable_segments:True');
  const expandsToken: Tri = unknownAlloc ? null : alloc.split(',').some((t) => t.trim() === 'expandable_segments:True');
  const registers = no(variable('NCCL_GRAPH_REGISTER', '0'));
  const below = (limit: number): Tri => (gpu.capability === null ? null : gpu.capability < limit);

  // ---- layer-level and fine-grained offload
  const offload = on('cpu_offloading');
  const fine = on('fine_grained_activation_offloading');
  const moved = names('offload_modules');
  const inside = moved.some((name) => INSIDE_EXPERTS.includes(name));
  const hosted = on('optimizer_cpu_offload');
  const overlapExperts = on('overlap_moe_expert_parallel_comm');

  // ---- stages
  const [first, last] = [size('num_layers_in_first_pipeline_stage'), size('num_layers_in_last_pipeline_stage')];
  const accounted =
    Number(on('account_for_embedding_in_pipeline_split')) + Number(on('account_for_loss_in_pipeline_split'));
  const laidOut = set('pipeline_model_parallel_layout');
  const middleStages = pp - Number(first > 0) - Number(last > 0);
  const middleLayers = layers + accounted - first - last;
  const perStage = middleStages > 0 ? middleLayers / middleStages : 0;
  const stages = [perStage, first, last].filter((count) => count > 0);

  const replicas = world / (tp * pp * cp);
  // Micro-batches of a step; 0 where they are not known.
  const steps =
    world > 0 && gbs > 0 && mbs > 0 && Number.isInteger(gbs / (mbs * replicas)) ? gbs / (mbs * replicas) : 0;

  const packed = size('packed_sequence_size') > 0;
  const comm = Array.isArray(get('cp_comm_type')) ? names('cp_comm_type') : [String(get('cp_comm_type'))];
  const levels = (get('hierarchical_context_parallel_sizes') as number[] | null) ?? [];

  return {
    // ---- layer-level offload
    'offload-pp': offload && pp > 1,
    'offload-layers': offload && (size('cpu_offloading_num_layers') < 0 || size('cpu_offloading_num_layers') >= layers),
    'offload-recompute': offload && set('recompute_granularity'),
    // Graphs of whole iterations are allowed on the main branch after 0.19; 0.19 itself is taken for allowed too, which
    // no reference says.
    'offload-graphs': both(offload && anyGraphs, graphs === 'full_iteration' ? within(core, '0', '0.19') : true),
    'offload-fine': both(offload && fine, either(within(core, '0.16'), core === undefined)),
    // ---- fine-grained offload
    'fine-te': fine && get('transformer_impl') !== 'transformer_engine',
    'fine-te-env': both(fine, checked, no(variable('NVTE_CPU_OFFLOAD_V1', '1')), within(te, '2.10')),
    'fine-modules': fine && (moved.length === 0 || moved.some((name) => !OFFLOADABLE.includes(name))),
    'fine-attnproj': fine && moved.includes('attn_proj') && !moved.includes('core_attn'),
    'fine-moe-recompute': fine && again('moe') && inside,
    'fine-mhc': fine && again('mhc'),
    'fine-fused':
      fine &&
      moved.includes('fused_group_mlp') &&
      (!on('use_transformer_engine_op_fuser') || moved.includes('expert_fc1') || moved.includes('moe_act')),
    'fine-graphs':
      fine &&
      anyGraphs &&
      ((graphs === 'local' && !(captured.length > 0 && moved.every((name) => INSIDE_EXPERTS.includes(name)))) ||
        captured.includes('moe') ||
        size('cuda_graph_warmup_steps') <= 0 ||
        (graphs === 'full_iteration' && !(set('max_inflight_offloads') && size('max_inflight_offloads') >= 0))),
    'fine-numbers':
      fine &&
      ((set('activation_offload_fraction') &&
        !(size('activation_offload_fraction') >= 0 && size('activation_offload_fraction') <= 1)) ||
        size('min_offloaded_tensor_size') < 0 ||
        size('delta_offload_bytes_across_pp_ranks') < 0),
    stash:
      on('moe_paged_stash') &&
      (offload ||
        !set('moe_expert_rank_capacity_factor') ||
        (fine && moved.some((name) => INSIDE_EXPERTS.includes(name)))),
    // ---- recompute
    'rc-gran': set('recompute_granularity') && !full && !selective,
    'rc-method': full && !['block', 'uniform'].includes(String(get('recompute_method'))),
    // More than a stage has are taken for all of them.
    'rc-layers': (full && size('recompute_num_layers') < 1) || (selective && set('recompute_num_layers')),
    'rc-sel-method': both(lm, selective && set('recompute_method')),
    'rc-modules': recomputed.some((name) => !RECOMPUTABLE.includes(name)),
    'rc-moeact': again('moe_act') && !on('moe_grouped_gemm'),
    'rc-mla': again('mla_up_proj') && !on('multi_latent_attention'),
    'rc-shared': again('shared_experts') && on('moe_shared_expert_overlap'),
    'rc-fp8': both(
      eight && (again('moe_act') || again('layernorm')),
      either(recipe === 'delayed', no(within(te, '2.6'))),
    ),
    'rc-dist-sp': either(
      on('distribute_saved_activations') && on('sequence_parallel') && (full || selective),
      both(lm, on('distribute_saved_activations') && (tp < 2 || !full || !set('recompute_method'))),
    ),
    'rc-moe-layer': on('moe_layer_recompute') && full,
    'rc-ep-overlap': overlapExperts && (full || set('recompute_method') || set('recompute_num_layers') || again('moe')),
    'ep-overlap-misc': either(
      overlapExperts &&
        (ep < 2 ||
          !['alltoall', 'flex'].includes(String(get('moe_token_dispatcher_type'))) ||
          !(on('bf16') || on('fp16')) ||
          (pp > 1 && vpp < 2) ||
          on('moe_shared_expert_overlap') ||
          (graphs === 'transformer_engine' && (captured.includes('moe') || captured.includes('mlp'))) ||
          size('mtp_num_layers') > 1),
      both(overlapExperts, no(within(torch, '2.6'))),
    ),
    // ---- graphs
    // 0.15 had selective recompute only with graphs of attention.
    'graph-full-rc':
      (anyGraphs && full && graphs !== 'full_iteration') ||
      (anyGraphs &&
        selective &&
        within(core, '0.15', '0.16') === true &&
        !(graphs === 'transformer_engine' && captured.includes('attn'))),
    'graph-moe-rc': graphs === 'transformer_engine' && again('moe') && captured.includes('moe_router'),
    'graph-dropout-rc':
      (size('attention_dropout') !== 0 && again('core_attn') && graphed('attn')) ||
      (size('hidden_dropout') !== 0 && ((again('mlp') && graphed('mlp')) || (again('moe') && graphed('moe')))) ||
      (set('moe_input_jitter_eps') && again('moe') && graphed('moe')),
    'graph-moe':
      anyGraphs &&
      ((captured.includes('moe') && captured.includes('moe_router')) ||
        (captured.includes('moe_preprocess') && !captured.includes('moe_router')) ||
        (captured.includes('moe') && !(set('moe_expert_capacity_factor') && on('moe_pad_expert_input_to_capacity'))) ||
        (captured.includes('moe_preprocess') &&
          get('moe_token_dispatcher_type') === 'alltoall' &&
          moe &&
          !on('moe_pad_expert_input_to_capacity') &&
          (set('moe_expert_capacity_factor') || on('moe_router_padding_for_fp8'))) ||
        (captured.includes('mlp') && !hasDense)),
    'graph-nan': both(checked, graphs === 'full_iteration' && on('check_for_nan_in_loss_and_grad')),
    'graph-rng': both(bridge, anyGraphs && !on('use_te_rng_tracker')),
    // 0.14 and 0.15 refuse the pair whatever NCCL_GRAPH_REGISTER is, under an id of its own; of what was before, no
    // reference tells.
    'graph-nccl-te': both(
      graphs === 'transformer_engine',
      expands,
      registers,
      either(within(core, '0.16'), within(core, '0', '0.14') && null),
    ),
    'graph-nccl-local': both(graphs === 'local', expands, registers, below(10), within(core, '0.16', '0.19')),
    'graph-expand-old': both(anyGraphs, expands, within(core, '0.14', '0.16')),
    'graph-wgrad': both(
      on('delay_wgrad_compute') && anyGraphs,
      either(no(within(te, '2.12')), !on('gradient_accumulation_fusion') || on('add_qkv_bias')),
    ),
    'graph-packing': both(
      bridge,
      packed &&
        anyGraphs &&
        (!on('pad_to_max_length') || ((complete || captured.includes('attn')) && !on('pad_cu_seqlens'))),
    ),
    // ---- user buffers
    // What torch can do counts since May 2026 only: a release known to be older refuses the pair as ever.
    'ub-expand': both(
      on('nccl_ub'),
      expandsToken,
      either(no(within(torch, '2.11')), within(core, '0', '0.17') === true),
    ),
    'ub-manual': both(checked, on('fsdp_manual_registration') && !(fsdp && on('nccl_ub'))),
    // ---- FSDP
    'fsdp-conn': both(anyFsdp, variable('CUDA_DEVICE_MAX_CONNECTIONS', '1')),
    'tp-conn': both(
      lm,
      (tp > 1 || cp > 1) && !anyFsdp && !overlapExperts,
      below(10),
      no(variable('CUDA_DEVICE_MAX_CONNECTIONS', '1')),
    ),
    'fsdp-ckpt': both(checked, fsdp && (set('save') || set('load')) && get('ckpt_format') !== 'fsdp_dtensor'),
    fsdp2:
      fsdp2 &&
      (pp > 1 ||
        ep > 1 ||
        on('use_distributed_optimizer') ||
        on('gradient_accumulation_fusion') ||
        on('fp16') ||
        on('share_embeddings_and_output_weights') ||
        !['torch_dist', 'torch_dcp'].includes(String(get('ckpt_format')))),
    'fsdp-both': fsdp && fsdp2,
    'fsdp-v2': both(
      bridge,
      fsdp &&
        size('megatron_fsdp_version') === 2 &&
        (!on('bf16') ||
          tp * pp * cp * ep > 1 ||
          moe ||
          vpp > 1 ||
          size('clip_grad') > 0 ||
          aware ||
          hosted ||
          offload ||
          fine ||
          eight ||
          anyGraphs),
    ),
    // ---- optimizer
    'do-pao': aware && (!sharded || !String(get('optimizer')).includes('adam')),
    'do-dtypes':
      !aware && HALF_STATES.some((key) => set(key) && !/^(?:torch\.)?(?:fp32|float32)$/.test(String(get(key)))),
    'oo-pao': both(lm, hosted && !aware),
    'oo-fp8': both(lm, hosted && on('fp8_param_gather') && recipe !== 'delayed'),
    'oo-wd': hosted && !on('decoupled_weight_decay'),
    'oo-wrap': on('optimizer_skip_megatron_wrapping') && (hosted || aware),
    'oo-fraction': hosted && !(size('optimizer_offload_fraction') >= 0 && size('optimizer_offload_fraction') <= 1),
    // The guides: optimizer offload requires the distributed optimizer.
    'oo-dist': hosted && !sharded,
    apg: both(
      checked,
      on('overlap_param_gather') &&
        (!(sharded || fsdp2 || get('optimizer') === 'dist_muon') || !on('overlap_grad_reduce')),
    ),
    fp8pg: on('fp8_param_gather') && !(sharded || fsdp2),
    'mx-reuse': either(
      // Megatron-FSDP switches the shared buffer off by itself.
      both(
        bridge,
        recipe === 'mxfp8' && eight && on('fp8_param_gather') && !on('reuse_grad_buf_for_mxfp8_param_ag') && !fsdp,
      ),
      on('reuse_grad_buf_for_mxfp8_param_ag') && !on('fp8_param_gather') && !fsdp,
    ),
    // ---- layout
    'sp-tp': on('sequence_parallel') && tp < 2,
    // Megatron-LM's command line gives the data type of the pipeline from that of the parameters.
    'pp-dtype': both(no(lm), pp > 1 && !set('pipeline_dtype')),
    'pp-div': !laidOut && pp > 1 && !Number.isInteger(perStage),
    'vpp-div': !laidOut && vpp > 1 && stages.some((count) => count % vpp !== 0),
    'vpp-pp': either(vpp > 1 && pp < 2, both(lm, vpp > 1 && pp === 2 && get('overlap_p2p_comm') === false)),
    'vpp-two':
      Number(set('num_layers_per_virtual_pipeline_stage')) +
        Number(set('num_virtual_stages_per_pipeline_rank')) +
        Number(laidOut) >
      1,
    'embed-split': accounted > 0 && (first > 0 || last > 0),
    // Before 0.16 the groups had to be divided as well.
    'heads-tp': heads % tp !== 0 || (groups % tp !== 0 && (tp % groups !== 0 || within(core, '0', '0.16') === true)),
    'te-cross-entropy': both(
      lm,
      on('cross_entropy_loss_fusion') && get('cross_entropy_fusion_impl') === 'te',
      within(core, '0.18.2'),
    ),
    // Groups of as many micro-batches as stages; the last may be smaller only if it has as many.
    'vpp-microbatches':
      vpp > 1 &&
      steps > 0 &&
      (steps < pp || (steps % pp !== 0 && (within(core, '0', '0.10') === true || steps % pp < pp))),
    'cp-seq': cp > 1 && seq % (2 * cp) !== 0,
    'cp-a2a-heads': cp > 1 && comm.includes('a2a') && (heads / tp) % cp !== 0,
    // Only Bridge asserts it; elsewhere training is broken in silence, which is worse.
    hcp: cp > 1 && comm.includes('a2a+p2p') && (levels.length === 0 || levels.reduce((a, b) => a * b, 1) !== cp),
    // Packs are made for fine-tuning.
    'cp-sft': both(
      bridge,
      packed && cp > 1 && !(on('calculate_per_token_loss') && get('average_in_collective') === false),
    ),
    'pack-mbs': both(bridge, (packed && mbs > 1) || (on('packed_sequence') && mbs === 1)),
    // ---- experts
    'moe-cap':
      on('moe_pad_expert_input_to_capacity') &&
      (!set('moe_expert_capacity_factor') ||
        on('moe_enable_deepep') ||
        (get('moe_token_dispatcher_type') === 'flex' && get('moe_flex_dispatcher_backend') === 'deepep')),
    'moe-ep': (!moe && ep > 1) || (moe && experts % ep !== 0),
    // ---- sizes that have to divide
    'world-layout': world > 0 && world % (tp * pp * cp) !== 0,
    'world-experts': world > 0 && moe && world % (etp * ep * pp) !== 0,
    'batch-split': world > 0 && gbs > 0 && mbs > 0 && gbs % (mbs * (world / (tp * pp * cp))) !== 0,
  };
}

const KNOWN: About = { framework: 'megatron-lm', envKnown: true };

function idsOf(answer: Tri, judged: Record<string, Tri>): string[] {
  return Object.entries(judged)
    .filter(([, value]) => value === answer)
    .map(([id]) => id);
}

/** Ids of the constraints that a configuration is known to break. */
export function violations(config: Config, env: Env, versions: Versions, gpu: Gpu, about: About = KNOWN): string[] {
  return idsOf(true, judge(config, env, versions, gpu, about));
}

/** Ids of the constraints that it breaks or keeps by something that is unknown. */
export function possibleViolations(
  config: Config,
  env: Env,
  versions: Versions,
  gpu: Gpu,
  about: About = KNOWN,
): string[] {
  return idsOf(null, judge(config, env, versions, gpu, about));
}

/** Every constraint there is. */
export const CONSTRAINTS: readonly string[] = Object.keys(judge({}, {}, {}, { capability: null }, KNOWN));
