/**
 * What Megatron-LM and Megatron Bridge say when a configuration breaks one of their rules, by the rule's id. Fragments are what does
 * not change from run to run; they are compared without white space, quotes and case, because versions word and wrap them differently.
 *
 * Read on Megatron-LM `main` (2026) and core 0.14 to 0.19, Megatron Bridge `main`; `[mem]` marks a wording whose source was not read.
 */

export interface ConstraintText {
  /** Id of the rule, e.g. `offload-pp`; several texts may break one rule. */
  readonly id: string;
  readonly texts: readonly string[];
  readonly exception: 'ValueError' | 'AssertionError' | 'NotImplementedError' | 'RuntimeError' | 'any';
  /** File and function upstream. */
  readonly source: string;
}

const TC = 'Megatron-LM megatron/core/transformer/transformer_config.py __post_init__';
const MPC = 'Megatron-LM megatron/core/model_parallel_config.py __post_init__';
const ARG = 'Megatron-LM megatron/training/arguments.py validate_args';
const DDPC = 'Megatron-LM megatron/core/distributed/distributed_data_parallel_config.py';
const OPTC = 'Megatron-LM megatron/core/optimizer/optimizer_config.py __post_init__, optimizer/__init__.py';
const CG = 'Megatron-LM megatron/core/transformer/cuda_graphs.py';
const MBC = 'Megatron Bridge src/megatron/bridge/training/config.py validate';
const MBO = 'Megatron Bridge src/megatron/bridge/training/comm_overlap.py';
const GPTP = 'Megatron Bridge src/megatron/bridge/models/gpt_provider.py';
const CKPT = 'Megatron-LM megatron/training/checkpointing.py';
const STATE = 'Megatron-LM megatron/core/parallel_state.py initialize_model_parallel';

const value = (id: string, source: string, ...texts: string[]): ConstraintText => ({
  id,
  texts,
  exception: 'ValueError',
  source,
});
const assertion = (id: string, source: string, ...texts: string[]): ConstraintText => ({
  id,
  texts,
  exception: 'AssertionError',
  source,
});
const any = (id: string, source: string, ...texts: string[]): ConstraintText => ({
  id,
  texts,
  exception: 'any',
  source,
});

export const CONSTRAINT_TEXTS: readonly ConstraintText[] = [
  // CPU offloading.
  value('offload-pp', TC, 'Currently there is no support for Pipeline parallelism with CPU offloading'),
  value('offload-layers', TC, 'CPU offloading can be done only for layers less than'),
  value('offload-recompute', TC, 'CPU offloading does not work when activation recomputation is enabled'),
  any('offload-graphs', TC, 'CUDA graphs not supported with CPU offloading', 'Cudagraphs not supported'),
  // Fine-grained activation offloading.
  assertion('offload-fine', TC, 'fine_grained_activation_offloading cannot be enabled with cpu_offloading'),
  any(
    'fine-te',
    `${ARG}; ${MBC}`,
    'Fine-grained activation offloading is only supported with transformer_engine implementation',
  ),
  any('fine-te-env', `${ARG}; ${MBC}`, 'should be set to 1 to avoid offloading weights'),
  assertion('fine-modules', TC, 'Invalid choices for offload_modules'),
  value('fine-attnproj', TC, 'attn_proj cannot be set to offload_modules alone without core_attn'),
  assertion('fine-moe-recompute', TC, 'while recomputing the entire MoE layer'),
  any('fine-mhc', TC, "'mhc' in recompute_modules is incompatible with offload_modules"),
  value(
    'fine-fused',
    TC,
    'fused_group_mlp requires use_transformer_engine_op_fuser',
    'fused_group_mlp offloads the whole fused grouped MLP',
  ),
  assertion(
    'fine-graphs',
    TC,
    'fine-grained activation offloading with cuda_graph_impl=',
    'fine-grained activation offloading is only supported with transformer_engine CUDA graph implementation',
    'Token-drop MoE is temporarily not supported with activation offloading',
    'cuda_graph_warmup_steps must be greater than 0 when enabling fine-grained activation offloading',
    'fine_grained_offloading_max_inflight_offloads must be',
  ),
  assertion(
    'fine-numbers',
    TC,
    'min_offloaded_tensor_size must be non-negative',
    'activation_offload_fraction must be in range',
    'delta_offload_bytes_across_pp_ranks must be non-negative',
  ),
  any(
    'stash',
    TC,
    'moe_paged_stash cannot be enabled with cpu_offloading',
    'moe_paged_stash requires moe_expert_rank_capacity_factor',
    'When moe_paged_stash is enabled, offload_modules must not include',
  ),
  // Recompute.
  value(
    'rc-gran',
    TC,
    'When using recompute_granuarlity:',
    'must be "full"or "selective"',
    'must be "full" or "selective"',
  ),
  value('rc-method', TC, 'recompute_method must be "block" or "uniform"', 'must be "block" or "uniform"'),
  value('rc-layers', TC, 'recompute_num_layers must be between', 'recompute_num_layers must be None.'),
  assertion('rc-sel-method', ARG, 'recompute method is not yet supported for selective'),
  assertion('rc-modules', TC, 'Invalid choices for recompute_modules'),
  value('rc-moeact', TC, 'moe_act in recompute_modules is only supported with moe_grouped_gemm'),
  value('rc-mla', TC, 'mla_up_proj in recompute_modules is only supported with'),
  value(
    'rc-gdn',
    TC,
    'gdn_norm_out in recompute_modules is only supported with',
    'gdn in recompute_modules is only supported with',
    "'gdn' and 'gdn_norm_out' in recompute_modules cannot be used together",
  ),
  value('rc-shared', TC, 'shared_experts recompute cannot work with --moe-shared-expert-overlap'),
  value(
    'rc-fp8',
    TC,
    'Delayed scaling does not support moe_act and layernorm recompute',
    'moe_act and layernorm recompute for fp8 needs',
  ),
  value('rc-dist-sp', TC, 'must be false when sequence parallel is enabled'),
  assertion(
    'rc-dist-tp',
    ARG,
    'can distribute recomputed activations only across tensor model parallel groups',
    'distributed recompute activations is only application to full recompute granularity',
    'for distributed recompute activations to work you need to use a recompute method',
  ),
  value('rc-moe-layer', TC, 'Do not set --moe-layer-recompute with full recompute granularity'),
  // Before its neighbour, whose text is the tail of these.
  any(
    'ep-overlap-misc',
    `${TC}; ${MBO}`,
    'overlap_moe_expert_parallel_comm is only supported with',
    'overlap_moe_expert_parallel_comm is supported with',
    'overlap_moe_expert_parallel_comm does not support',
    'A2A Overlap encounters hang issue',
    'If enabling EP A2A overlap, virtual_pipeline_model_parallel_size must be specified',
    'disable moe_shared_expert_overlap when enabling overlap_moe_expert_parallel_comm',
    'MTP layernum only supports 1 when enabling overlap_moe_expert_parallel_comm',
    'MTP supports at most one layer when enabling overlap_moe_expert_parallel_comm',
  ),
  assertion(
    'rc-ep-overlap',
    `${TC}; ${MBO}`,
    'when enabling overlap_moe_expert_parallel_comm',
    'overlap_moe_expert_parallel_comm full recompute',
    'recompute_num_layers must be None with overlap_moe_expert_parallel_comm',
  ),
  value(
    'rc-mhc',
    TC,
    "'mhc' in recompute_modules requires",
    "'mhc' and 'mlp' in recompute_modules cannot be used together",
    'mhc_recompute_layer_num must be a positive integer',
    'mHC recompute with',
    'mHC recompute is not supported with',
  ),
  // CUDA graphs.
  assertion(
    'graph-full-rc',
    `${TC}; ${ARG}`,
    'full recompute is only supported with full iteration CUDA graph',
    'recompute_granularity must not be full when CUDA Graphs are enabled',
  ),
  assertion('graph-moe-rc', TC, 'moe recompute is not supported with moe_router CUDA graph'),
  assertion(
    'graph-dropout-rc',
    TC,
    'attention dropout is not supported with graphed attention recomputation',
    'hidden dropout is not supported with graphed MLP/MoE recomputation',
    'moe_input_jitter_eps is not supported with graphed moe recomputation',
  ),
  assertion(
    'graph-moe',
    TC,
    'must not contain both moe and moe_router',
    'moe_preprocess cuda graph is only supported with moe_router',
    'moe cuda graph is only supported for MoE',
    'mlp cuda graph is only supported for dense layers',
    'moe cuda graph is only supported with drop-padding MoE',
    'moe_preprocess cuda graph is not supported when',
  ),
  assertion(
    'graph-nan',
    `${MBC}; ${ARG}`,
    'check_for_nan_in_loss must be disabled when using full_iteration CUDA graph',
    '--no-check-for-nan-in-loss-and-grad should be set with full_iteration CUDA graph',
  ),
  assertion(
    'graph-rng',
    `${GPTP}; ${CG}`,
    "Transformer engine's RNG tracker is required for cudagraphs",
    'RNG tracker does not support cudagraphs',
  ),
  // Core 0.16 to 0.18 say the same of `cuda_graph_impl=local` (`graph-nccl-local`). Both texts speak of illegal memory access and are assertions about the configuration.
  assertion(
    'graph-nccl-te',
    `${CG}; ${ARG}`,
    'Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph',
  ),
  assertion('graph-expand-old', `${CG}; ${ARG}`, 'expandable_segments:True may not be safe when using CUDA Graphs'),
  assertion(
    'graph-wgrad',
    `${ARG}; ${MBO}`,
    'CUDA graph with delay_wgrad_compute',
    'when enabling delay_wgrad_compute',
    'Delaying wgrad compute is only supported with',
    'delay_wgrad_compute is only supported with',
  ),
  value(
    'graph-packing',
    MBC,
    'CUDA graphs with packed sequences',
    'pad_cu_seqlens',
    'CUDA graph accepts only Tensor inputs',
  ),
  any(
    'graph-impl',
    `${TC}; ${CG}`,
    'Invalid cuda graph implementation',
    'cuda_graph_modules must be empty when',
    'cuda_graph_scope and cuda_graph_modules cannot be set together',
    'full scope cannot be used with other scopes',
    'Do not use enable_cuda_graph or external_cuda_graph with cuda_graph_impl',
    'Do not use --enable-cuda-graph or --external-cuda-graph with',
    'external_cuda_graph cannot be enabled at the same time',
    'cuda_graph_dynamic_microbatches is only supported with',
    '--moe-pad-experts-for-cuda-graph-inference must be set when',
  ),
  // NCCL user buffers, FSDP.
  value(
    'ub-expand',
    `${DDPC}; Megatron-FSDP's copy`,
    'expandable_segments:True is currently not supported with nccl_ub',
  ),
  any(
    'uvm-expand',
    'Megatron-LM megatron/core/inference/unified_memory.py [mem]',
    'unified memory is not compatible with expandable_segments',
    'expandable_segments is not compatible with unified memory',
  ),
  assertion('ub-manual', `${ARG}; ${MBC}`, 'FSDP manual registration is only supported with'),
  assertion(
    'fsdp-conn',
    `${ARG}; ${MBC}`,
    'FSDP always requires CUDA_DEVICE_MAX_CONNECTIONS value large than one',
    'FSDP requires CUDA_DEVICE_MAX_CONNECTIONS',
    'requires CUDA_DEVICE_MAX_CONNECTIONS > 1 or unset',
  ),
  assertion(
    'tp-conn',
    ARG,
    'context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1',
    'Using async gradient all reduce requires setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1',
    'sequence parallelism requires setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1',
  ),
  assertion(
    'fsdp-ckpt',
    `${ARG}; ${MBC}`,
    'Megatron FSDP only supports fsdp_dtensor checkpoint format',
    'Megatron-FSDP requires the fsdp_dtensor',
    'fsdp_dtensor checkpoint format only supports Megatron FSDP',
    '--ckpt-format fsdp_dtensor is only tested with Megatron FSDP',
  ),
  assertion(
    'fsdp2',
    ARG,
    '--use-torch-fsdp2 is not supported with',
    '--use-torch-fsdp2 not supported with',
    '--use-torch-fsdp2 requires',
    'FSDP2 requires PyTorch >= 2.4.0',
    '--ckpt-format torch_dcp is',
  ),
  value(
    'fsdp-both',
    MBC,
    'Using use_megatron_fsdp and use_torch_fsdp2 at the same time is not supported',
    'use_megatron_fsdp and use_torch_fsdp2 are mutually exclusive',
  ),
  any(
    'fsdp-v2',
    MBC,
    'Megatron FSDP v2 does not support',
    'Megatron-FSDP v2 does not support',
    'Megatron FSDP v2 only supports',
    'Megatron-FSDP v2 only supports',
    'Megatron FSDP v2 requires',
    'Megatron-FSDP v2 requires',
  ),
  assertion(
    'fsdp-mapping',
    MBC,
    'use_tp_pp_dp_mapping is not supported with Megatron FSDP',
    'is not supported with optim_grads_params',
  ),
  // Optimizer.
  any(
    'do-pao',
    OPTC,
    'precision-aware optimizer only supported with',
    'use-precision-aware-optimizer only supported with',
    'use_precision_aware_optimizer only supported with',
    'only supported with distributed optimizer',
    "doesn't support --use-precision-aware-optimizer",
    '--use-precision-aware-optimizer requires FusedAdam',
  ),
  assertion(
    'do-dtypes',
    OPTC,
    'can only be fp32 when not using precision-aware optimizer',
    '--main-grads-dtype can only be fp32 when',
  ),
  assertion(
    'oo-pao',
    ARG,
    'The optimizer cpu offload must be used in conjunction with `--use-precision-aware-optimizer`',
  ),
  assertion('oo-fp8', ARG, 'the optimizer cpu offload must be used in conjunction with `--fp8-recipe delayed`'),
  assertion(
    'oo-wd',
    OPTC,
    'CPU offloading only supported with decoupled_weight_decay',
    'CPU offloading is only supported with decoupled_weight_decay',
  ),
  value('oo-wrap', OPTC, 'skip_megatron_wrapping'),
  assertion(
    'apg',
    ARG,
    '--overlap-param-gather only supported with',
    'Must use --overlap-param-gather with --overlap-grad-reduce',
    '--overlap-param-gather-with-optimizer-step',
  ),
  assertion('fp8pg', ARG, '--fp8-param-gather only supported with'),
  assertion(
    'mx-reuse',
    `${MBC}; ${DDPC}`,
    'reuse_grad_buf_for_mxfp8_param_ag must be',
    'reuse_grad_buf_for_mxfp8_param_ag is only supported',
    '--reuse-grad-buf-for-mxfp8-param-ag',
  ),
  assertion('muon', ARG, 'Muon optimizer does not support', 'Muon optimizer supports torch and torch_dist'),
  // Parallel sizes.
  any(
    'sp-tp',
    MPC,
    'Can not use sequence paralllelism without tensor parallelism',
    'Cannot use sequence parallelism without tensor parallelism',
    'Can not use sequence parallelism without tensor parallelism',
  ),
  value(
    'pp-dtype',
    MPC,
    'When using pipeline parallelism, pipeline_dtype must be specified',
    'pipeline_dtype must be specified',
  ),
  any(
    'pp-div',
    `${TC}; ${ARG}`,
    'should be divisible by the pipeline-model-parallel size',
    'must be divisible pipeline model parallel size',
    'must be divisible by middle pipeline_model_parallel_size',
    'must be divisible bythe middle pipeline model parallel size',
    'must be divisible by pipeline_model_parallel_size',
    'middle PP stages available',
    'pipeline stage must be larger than 0',
    'in_first_pipeline_stage must be larger than 0',
    'in_last_pipeline_stage must be larger than 0',
    'The length of pipeline_model_parallel_layout must be divisible',
  ),
  any(
    'vpp-div',
    `${TC}; ${MBC}`,
    'must be divisible by virtual pipelineparallel degree',
    'must be divisible by virtual pipeline parallel degree',
    'must be divisible by virtual_pipeline_model_parallel_size',
    'must be divisible number of layers per virtual pipeline stage',
    'Make sure the number of model chunks is the same across all pipeline stages',
  ),
  assertion(
    'vpp-pp',
    ARG,
    'When interleaved schedule is used',
    'pipeline-model-parallel size should be greater than 1 with interleaved schedule',
    'please use --num-virtual-stages-per-pipeline-rank to specify',
  ),
  assertion(
    'vpp-two',
    ARG,
    'No more than one of the following arguments can be set at the same time',
    '--num-layers-per-virtual-pipeline-stage and --num-virtual-stages-per-pipeline-rank cannot be set at the same time',
  ),
  any(
    'pp-layout',
    TC,
    'pipeline_model_parallel_layout cannot be set with other pipeline layout arguments',
    'virtual_pipeline_model_parallel_size conflicts with pipeline_model_parallel_layout',
  ),
  value('embed-split', TC, 'cannot be set at the same time with account_for_embedding_in_pipeline_split'),
  any(
    'heads-tp',
    TC,
    'must be a multiple of tensor_model_parallel_size',
    'must be divisible by tensor_model_parallel_size',
    'must be a multiple of num_attention_heads',
    'num_query_groups must divide',
  ),
  assertion(
    'cp-seq',
    `${MBC}; ${ARG}`,
    'Sequence length must be divisible by 2 * context parallel size',
    'seq-length should be a multiple of 2 * context-parallel-size',
  ),
  assertion('cp-sft', MBC, 'When finetuning with CP>1'),
  assertion(
    'hcp',
    `${MBC}; ${ARG}`,
    'hierarchical-context-parallel-sizes must be set when a2a+p2p',
    'hierarchical_context_parallel_sizes must be set',
    'Hybrid context parallelism not supported',
    'Hybrid context parallelism must be',
    'Hybrid context parallelism only supported',
  ),
  any(
    'world-div',
    `${STATE}; ${MBC}`,
    'is not divisible by total_model_size',
    'is not divisible by tensor_model_parallel_size',
    'is not divisible by the total model parallel size',
    'world_size is not divisible by',
    'is not divisible by expert_tensor_model_pipeline_parallel size',
  ),
  any(
    'batch-div',
    'Megatron-LM megatron/core/num_microbatches_calculator.py',
    'is not divisible by micro batch size',
    'global batch size is not divisible by',
    'is not divisible by pipeline-parallel size when using interleaved schedule',
  ),
  any(
    'pack-mbs',
    MBC,
    'Micro batch size should be 1 when training with packed sequence',
    'micro_batch_size should be greater than 1 when using pack_sequences_in_batch',
    'micro_batch_size must be 1 when using sequence packing',
  ),
  // Mixture of experts.
  value(
    'moe-cap',
    TC,
    'moe_expert_capacity_factor must be set to use moe_pad_expert_input_to_capacity',
    'moe_expert_capacity_factor only works with',
    'does not support moe_pad_expert_input_to_capacity',
    'moe_expert_rank_capacity_factor requires',
    'moe_expert_rank_capacity_factor with the',
  ),
  any(
    'moe-dispatcher',
    TC,
    'backend is only supported with flex token dispatcher',
    'Only one backend is supported for flex token dispatcher',
    'only works with alltoall or flex token dispatcher',
    'please use alltoall dispatcher instead',
    'is not supported on this GPU',
    'DeepEP is supported for',
    'HybridEP is supported for',
  ),
  any(
    'moe-experts',
    `${TC}; ${ARG}`,
    'Number of experts should be a multiple of expert model parallel_size',
    'num_experts must be non None to use expert model parallelism',
    'num_moe_experts must be non',
    'num_moe_experts must be non None to use expert-parallel',
    'moe_ffn_hidden_size is set but num_moe_experts is None',
  ),
  any(
    'moe-router',
    TC,
    'Please use --moe-router-pre-softmax when topk is 1',
    'moe_router_num_groups must be specified',
    'should be divisible by moe_router_num_groups',
    'Expert bias for aux-loss-free routing only supports',
    'moe_aux_loss_coeff must be a list of the same length',
    'fp8/fp4 must be specified when moe_router_padding_for_quantization',
  ),
  any(
    'moe-grouped',
    TC,
    'moe_single_grouped_weight',
    'moe_single_grouped_bias',
    'Unsupported compute capability for GroupedGEMM kernels',
    'Bias in Moe is only supported when ETP==1',
    'use_mok_megakernel',
  ),
  // The rest of the argument checks.
  assertion(
    'prof',
    MBC,
    'Exactly one of pytorch or nsys profiler',
    'profile_step_end must be',
    'profile_step_start must be',
  ),
  assertion('memint', ARG, 'args.log_memory_interval % args.log_interval', 'log_memory_interval must be'),
  assertion(
    'pa-bf16',
    MBC,
    'must be set when model.bf16=True and use_precision_aware_optimizer',
    'must be set when model.fp16=True and use_precision_aware_optimizer',
    'optimizer.bf16 and optimizer.fp16 must both be False',
  ),
  any(
    'dsv4-pp',
    TC,
    'enable_hyper_connections is not supported with',
    'enable_mhc is not supported with',
    'HyperConnections do not support',
  ),
  any(
    'precision',
    `${MBC}; ${ARG}`,
    'cannot have both bf16=True and fp16=True',
    '--fp4-format and --fp8-format cannot be used simultaneously',
    '--fp4-param-gather must be used together with',
    'lm cross entropy in fp16 only support',
    'residual connection in fp32 only supported',
  ),
  any(
    'te-version',
    `${TC}; ${ARG}`,
    'requires Transformer Engine >=',
    'is only supported with TE >=',
    'requires TE version >=',
    'but your version is',
    'Please install TE >=',
  ),
  any(
    'bias-fusion',
    TC,
    'When bias_activation_fusion is True',
    'bias_activation_fusion and use_te_activation_func cannot be both true',
    'apply_rope_fusion is not available',
    'rotary_interleaved does not work with',
  ),
  assertion(
    'arg-deprecated',
    ARG,
    'argument is no longer valid',
    'is no longer valid, use',
    'is deprecated, use --position-embedding-type',
  ),
  assertion('arg-missing', ARG, 'argument is None', 'either num-layers or encoder-num-layers should be specified'),
  assertion(
    'arg-iters',
    `${ARG}; ${MBC}`,
    'expected iteration-based',
    'expected sample-based',
    'expected no batch-size rampup',
    'can only specify one of lr-warmup-fraction',
    'Can only specify one of lr_warmup_fraction',
    'Use lr_decay_samples for sample-based',
    'Use lr_warmup_samples for sample-based',
    'Use lr_decay_iters for iteration-based',
    'Use lr_warmup_iters for iteration-based',
    'lr_decay_steps must be > 0',
  ),
  any(
    'arg-overlap',
    ARG,
    'overlap can happen only when sequence parallelism is enabled',
    'overlap_grad_reduce is only supported with',
  ),
  any(
    'arg-context',
    `${ARG}; ${MBC}`,
    'must be greater than or equal to seq_length',
    'Please ensure sequence length configuration in model config and dataset config match',
    'Context parallelism is not supported in legacy models',
  ),
  any(
    'arg-data',
    ARG,
    'A single data source must be provided in training mode',
    'FIM extra tokens should be specified',
  ),
  any(
    'arg-deterministic',
    `${ARG}; ${MBC}`,
    'Flash attention can not be used in deterministic mode',
    'Cross Entropy Fusion is currently not deterministic',
    'NCCL_ALGO must be one of',
  ),
  any('arg-mtp', `${ARG}`, 'Multi-Token Prediction (MTP) is not supported', 'does not support Multi-Token Prediction'),
  any(
    'arg-checkpoint',
    `${ARG}; ${MBC}; ${CKPT}`,
    'async_save is only supported with',
    '--load-main-params-from-ckpt must be used with',
    'Tried to use local checkpointing without specifying',
    '--replication requires',
    'PEFT requires a pretrained checkpoint path',
    'Gloo process groups are not supported when use_decentralized_pg',
    'When using upcycling, the --save option must be specified',
    'is only supported with distributed checkpointing',
  ),
  any(
    'arg-fusion',
    MBC,
    'Gradient accumulation fusion is not supported with ModelOpt',
    'ColumnParallelLinear was called with gradient_accumulation_fusion set to True but the custom CUDA extension',
  ),
  // What a checkpoint was made with does not fit what is asked for now.
  any(
    'ckpt-mismatch',
    `${CKPT}; megatron/core/optimizer_param_scheduler.py`,
    'value from checkpoint',
    'class input value and checkpoint',
    'class input value',
    'and checkpointvalue',
    'is not equal to the input argument value',
    'Loading checkpoint with different',
  ),
];

const squash = (text: string): string => text.replace(/[\s'"`\u2018\u2019\u201c\u201d]+/g, '').toLowerCase();

const SQUASHED: readonly { readonly constraint: ConstraintText; readonly texts: readonly string[] }[] =
  CONSTRAINT_TEXTS.map((constraint) => ({ constraint, texts: constraint.texts.map(squash) }));

/** Most characters of a message that are looked at. */
const MOST_CHARS = 4000;

/** The rule whose text a message is; `message` without the exception's class. */
export function constraintOf(message: string): ConstraintText | null {
  const text = squash(message.slice(0, MOST_CHARS));
  for (const { constraint, texts } of SQUASHED) {
    if (texts.some((fragment) => text.includes(fragment))) return constraint;
  }
  return null;
}
