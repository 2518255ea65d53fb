/**
 * Megatron-LM's arguments: what `pretrain_gpt.py` prints at its start, and the flags that make them so. The selection
 * is that of the dense GPT of these runs. Upstream: `megatron/training/arguments.py`.
 */
import { learningRate, minimumLearningRate } from './iteration-line.js';
import { bare, float, type PyLiteral, pythonFloat, str } from './python-text.js';
import { exitInterval, profileEnd } from './run-config.js';
import { type RunFacts, vocabularyDivisor, worldSize } from './run-facts.js';

export interface Argument {
  readonly name: string;
  readonly value: PyLiteral;
  /** How the launch script sets it; null where it keeps its default or follows from others. */
  readonly flag: string | null;
}

const HEADER = '------------------------ arguments ------------------------';
const FOOTER = '-------------------- end of arguments ---------------------';
const NAME_WIDTH = 48;

/**
 * Prints exactly as `_print_args` does: two spaces, name, dots up to column 48, value; sorted without regard to case.
 */
export function argumentDump(facts: RunFacts): string {
  const lines = megatronLmArguments(facts).map(
    ({ name, value }) => `  ${name} ${'.'.repeat(Math.max(0, NAME_WIDTH - name.length))} ${str(value)}`,
  );
  const key = (line: string): string => line.toLowerCase();
  lines.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  return [HEADER, ...lines, FOOTER].join('\n');
}

/** The flags of the launch script, in the order of the list. */
export function launchFlags(facts: RunFacts): string[] {
  return megatronLmArguments(facts).flatMap(({ flag }) => (flag === null ? [] : [flag]));
}

export function megatronLmArguments(facts: RunFacts): Argument[] {
  const known = new Map<string, Argument>();
  for (const argument of [...fromPlan(facts), ...defaults(facts)]) {
    if (!known.has(argument.name)) known.set(argument.name, argument);
  }
  // The story's own keys win. A section before the name is the other framework's habit.
  for (const [key, value] of Object.entries(facts.plan.configuration)) {
    const name = key.split('.').at(-1)!;
    const list = typeof value === 'string' && /^\[.*\]$/.test(value);
    known.set(name, { name, value: list ? bare(value) : value, flag: flagFor(name, value) });
  }
  return [...known.values()];
}

function flagFor(name: string, value: string | number | boolean | null): string | null {
  const flag = `--${name.replaceAll('_', '-')}`;
  if (value === null || value === false) return null;
  if (value === true) return flag;
  const words =
    typeof value === 'string'
      ? value
          .replace(/^\[(.*)\]$/, '$1')
          .replaceAll(/[,']\s*/g, ' ')
          .trim()
      : value;
  return `${flag} ${words}`;
}

/** Set on the command line with the value they print. */
function set(name: string, value: string | number): Argument {
  return { name, value, flag: flagFor(name, value) };
}

function setFloat(name: string, value: number): Argument {
  return { name, value: float(value), flag: `--${name.replaceAll('_', '-')} ${pythonFloat(value)}` };
}

function on(name: string, flag = `--${name.replaceAll('_', '-')}`): Argument {
  return { name, value: true, flag };
}

function derived(name: string, value: PyLiteral): Argument {
  return { name, value, flag: null };
}

function fromPlan(facts: RunFacts): Argument[] {
  const { plan } = facts;
  const { model, parallelism, recompute } = plan;
  const virtual = parallelism.virtualPipeline;
  const layersPerChunk = virtual === null ? null : model.layers / parallelism.pipeline / virtual;
  const exit = exitInterval(facts);
  const profiled = plan.profiledRanks;
  return [
    on('use_mcore_models'),
    set('num_layers', model.layers),
    set('hidden_size', model.hidden),
    set('ffn_hidden_size', model.feedForward),
    set('num_attention_heads', model.heads),
    on('group_query_attention'),
    set('num_query_groups', model.queryGroups),
    set('seq_length', plan.sequenceLength),
    set('max_position_embeddings', plan.sequenceLength),
    set('position_embedding_type', 'rope'),
    set('rotary_base', 500_000),
    on('swiglu'),
    set('normalization', 'RMSNorm'),
    on('untie_embeddings_and_output_weights'),
    { name: 'add_bias_linear', value: false, flag: '--disable-bias-linear' },
    setFloat('attention_dropout', 0),
    setFloat('hidden_dropout', 0),
    set('make_vocab_size_divisible_by', vocabularyDivisor(plan)),
    set('tokenizer_type', 'HuggingFaceTokenizer'),
    set('tokenizer_model', `/models/${model.name}`),
    {
      name: 'data_path',
      value: ['/data/pretraining/shard_text_document'],
      flag: '--data-path /data/pretraining/shard_text_document',
    },
    { name: 'split', value: '99,1,0', flag: '--split 99,1,0' },
    set('tensor_model_parallel_size', parallelism.tensor),
    set('pipeline_model_parallel_size', parallelism.pipeline),
    ...(layersPerChunk === null ? [] : [set('num_layers_per_virtual_pipeline_stage', layersPerChunk)]),
    derived('virtual_pipeline_model_parallel_size', virtual),
    ...(parallelism.sequenceParallel ? [on('sequence_parallel')] : []),
    on('use_distributed_optimizer'),
    on('overlap_grad_reduce'),
    on('overlap_param_gather'),
    on('bf16'),
    set('micro_batch_size', plan.microBatchSize),
    set('global_batch_size', plan.globalBatchSize),
    set('train_iters', plan.trainIterations),
    setFloat('lr', learningRate(facts)),
    setFloat('min_lr', minimumLearningRate(facts)),
    set('lr_decay_style', 'cosine'),
    set('lr_warmup_iters', 50),
    setFloat('weight_decay', 0.1),
    setFloat('clip_grad', 1),
    setFloat('adam_beta1', 0.9),
    setFloat('adam_beta2', 0.95),
    ...(recompute === 'none' ? [] : [set('recompute_granularity', recompute)]),
    ...(recompute === 'full' ? [set('recompute_method', 'uniform'), set('recompute_num_layers', 1)] : []),
    { name: 'transformer_impl', value: 'transformer_engine', flag: '--transformer-impl transformer_engine' },
    set('log_interval', 1),
    ...(facts.logThroughput ? [on('log_throughput')] : []),
    ...(facts.timingLogLevel === 0 ? [] : [set('timing_log_level', facts.timingLogLevel)]),
    ...(exit === null ? [] : [set('exit_interval', exit)]),
    ...(plan.saveInterval === null
      ? []
      : [
          set('save', facts.checkpointDirectory),
          set('load', facts.checkpointDirectory),
          set('save_interval', plan.saveInterval),
          set('ckpt_format', 'torch_dist'),
        ]),
    ...(profiled.length === 0
      ? []
      : [
          on('record_memory_history'),
          set('memory_snapshot_path', facts.snapshotPath),
          { name: 'profile_ranks', value: [...profiled], flag: `--profile-ranks ${profiled.join(' ')}` },
          set('profile_step_end', profileEnd(facts)),
        ]),
    set('distributed_timeout_minutes', 10),
    derived('data_parallel_size', parallelism.data),
    derived('world_size', worldSize(plan)),
    derived('padded_vocab_size', model.vocabulary),
    derived('kv_channels', model.hidden / model.heads),
    derived('encoder_num_layers', model.layers),
    derived('encoder_seq_length', plan.sequenceLength),
  ];
}

/** What is in every dump of that time; the first mention of a name counts, so these only fill gaps. */
function defaults({ plan }: RunFacts): Argument[] {
  const values: Readonly<Record<string, PyLiteral>> = {
    accumulate_allreduce_grads_in_fp32: true,
    adam_eps: float(1e-8),
    add_position_embedding: true,
    add_qkv_bias: false,
    adlr_autoresume: false,
    align_grad_reduce: true,
    apply_layernorm_1p: false,
    apply_query_key_layer_scaling: false,
    apply_residual_connection_post_layernorm: false,
    apply_rope_fusion: true,
    async_save: null,
    attention_backend: bare('AttnBackend.auto'),
    attention_softmax_in_fp32: false,
    barrier_with_L1_time: true,
    bias_dropout_fusion: true,
    bias_gelu_fusion: false,
    bias_swiglu_fusion: true,
    calculate_per_token_loss: false,
    check_for_nan_in_loss_and_grad: true,
    ckpt_format: 'torch_dist',
    ckpt_fully_parallel_load: false,
    ckpt_fully_parallel_save: true,
    consumed_train_samples: 0,
    consumed_valid_samples: 0,
    context_parallel_size: 1,
    cp_comm_type: ['p2p'],
    create_attention_mask_in_dataloader: true,
    cross_entropy_loss_fusion: false,
    dataloader_type: 'single',
    ddp_average_in_collective: false,
    ddp_bucket_size: null,
    decoder_first_pipeline_num_layers: null,
    decoder_last_pipeline_num_layers: null,
    decrease_batch_size_if_needed: false,
    defer_embedding_wgrad_compute: false,
    deterministic_mode: false,
    distribute_saved_activations: false,
    distributed_backend: 'nccl',
    empty_unused_memory_level: 0,
    eval_interval: 1000,
    eval_iters: 0,
    exit_duration_in_mins: null,
    exit_interval: null,
    exit_signal_handler: false,
    expert_model_parallel_size: 1,
    expert_tensor_parallel_size: plan.parallelism.tensor,
    finetune: false,
    fp16: false,
    fp32_residual_connection: false,
    fp8: null,
    fp8_param_gather: false,
    gradient_accumulation_fusion: true,
    hierarchical_context_parallel_sizes: null,
    init_method_std: 0.02,
    initial_loss_scale: 4294967296,
    iteration: 0,
    lazy_mpu_init: null,
    load: null,
    local_rank: 0,
    log_loss_scale_to_tensorboard: true,
    log_memory_to_tensorboard: false,
    log_num_zeros_in_grad: false,
    log_params_norm: false,
    log_progress: false,
    log_straggler: false,
    log_throughput: false,
    log_timers_to_tensorboard: false,
    loss_scale: null,
    lr_decay_iters: null,
    manual_gc: false,
    manual_gc_interval: 0,
    masked_softmax_fusion: true,
    memory_snapshot_path: 'snapshot.pickle',
    mmap_bin_files: true,
    mock_data: false,
    mtp_num_layers: null,
    multi_latent_attention: false,
    no_load_optim: null,
    no_load_rng: null,
    norm_epsilon: float(1e-5),
    num_distributed_optimizer_instances: 1,
    num_experts: null,
    num_layers_per_virtual_pipeline_stage: null,
    num_workers: 2,
    optimizer: 'adam',
    optimizer_cpu_offload: false,
    overlap_p2p_comm: plan.parallelism.virtualPipeline !== null,
    override_opt_param_scheduler: false,
    params_dtype: bare('torch.bfloat16'),
    perform_initialization: true,
    profile: false,
    profile_ranks: [0],
    profile_step_end: 12,
    profile_step_start: 10,
    qk_layernorm: false,
    rank: 0,
    recompute_granularity: null,
    recompute_method: null,
    recompute_num_layers: null,
    record_memory_history: false,
    rerun_mode: plan.torch === '2.12' ? 'validate_results' : 'disabled',
    rotary_percent: float(1),
    save: null,
    save_interval: null,
    scatter_gather_tensors_in_pipeline: true,
    seed: 1234,
    sequence_parallel: false,
    skip_train: false,
    squared_relu: false,
    tensorboard_dir: null,
    timing_log_level: 0,
    timing_log_option: 'minmax',
    tp_comm_overlap: false,
    train_samples: null,
    use_cpu_initialization: null,
    use_flash_attn: false,
    use_precision_aware_optimizer: false,
    use_torch_fsdp2: false,
    use_tp_pp_dp_mapping: false,
    variable_seq_lengths: false,
    vocab_size: null,
    yaml_cfg: null,
    ...(plan.torch === '2.12'
      ? { cpu_offloading_num_layers: 0, cuda_graph_impl: 'none', cuda_graph_warmup_steps: 3, log_memory_interval: null }
      : { enable_cuda_graph: false, external_cuda_graph: false }),
  };
  return Object.entries(values).map(([name, value]) => derived(name, value));
}
