/**
 * The run's configuration as Megatron Bridge keeps it: the tree of `ConfigContainer`, reduced to what concerns memory,
 * time and layout.
 */
import type { RunPlan } from '../run.js';
import { type ConfigTree, setKey } from './config-tree.js';
import { learningRate, minimumLearningRate } from './iteration-line.js';
import { float } from './python-text.js';
import { completedIterations, type RunFacts, vocabularyDivisor } from './run-facts.js';
import { dumpIteration } from './snapshot-names.js';

const CONFIG = 'megatron.bridge.training.config';

export function runConfig(facts: RunFacts): ConfigTree {
  const { plan, form } = facts;
  const tree: ConfigTree = {
    _target_: `${CONFIG}.ConfigContainer`,
    checkpoint: {
      _target_: `${CONFIG}.CheckpointConfig`,
      async_save: false,
      ckpt_format: 'torch_dist',
      fully_parallel_save: true,
      load: plan.saveInterval === null ? null : facts.checkpointDirectory,
      pretrained_checkpoint: facts.isFinetuning ? `/checkpoints/${plan.model.name}` : null,
      save: plan.saveInterval === null ? null : facts.checkpointDirectory,
      save_interval: plan.saveInterval,
    },
    comm_overlap: null,
    dataset: dataset(facts),
    ddp: {
      _target_: `${CONFIG}.DistributedDataParallelConfig`,
      average_in_collective: true,
      bucket_size: null,
      data_parallel_sharding_strategy: 'no_shard',
      grad_reduce_in_fp32: true,
      overlap_grad_reduce: true,
      overlap_param_gather: true,
      use_distributed_optimizer: true,
      use_megatron_fsdp: false,
    },
    dist: {
      _target_: `${CONFIG}.DistributedInitConfig`,
      distributed_backend: 'nccl',
      distributed_timeout_minutes: 10,
      use_decentralized_pg: false,
    },
    logger: {
      _target_: `${CONFIG}.LoggerConfig`,
      log_interval: 1,
      log_throughput: facts.logThroughput,
      save_config_filepath: '/nemo_run/run_config.yaml',
      tensorboard_dir: '/nemo_run/tensorboard',
      timing_log_level: facts.timingLogLevel,
    },
    mixed_precision: 'bf16_mixed',
    model: model(facts),
    optimizer: {
      _target_: `${CONFIG}.OptimizerConfig`,
      adam_beta1: 0.9,
      adam_beta2: 0.95,
      adam_eps: float(1e-8),
      bf16: true,
      clip_grad: float(1),
      lr: float(learningRate(facts)),
      min_lr: float(minimumLearningRate(facts)),
      optimizer: 'adam',
      optimizer_cpu_offload: false,
      use_distributed_optimizer: true,
      use_precision_aware_optimizer: false,
      weight_decay: 0.1,
    },
    peft: null,
    profiling: profiling(facts),
    rng: { _target_: `${CONFIG}.RNGConfig`, data_parallel_random_init: false, seed: 1234, te_rng_tracker: false },
    scheduler: { _target_: `${CONFIG}.SchedulerConfig`, lr_decay_style: 'cosine', lr_warmup_iters: 50 },
    tokenizer: {
      _target_: 'megatron.bridge.training.tokenizers.config.TokenizerConfig',
      tokenizer_model: `/models/${plan.model.name}`,
      tokenizer_type: 'HuggingFaceTokenizer',
    },
    train: {
      _target_: `${CONFIG}.TrainingConfig`,
      empty_unused_memory_level: 0,
      eval_interval: null,
      exit_interval: exitInterval(facts),
      global_batch_size: plan.globalBatchSize,
      manual_gc: false,
      micro_batch_size: plan.microBatchSize,
      train_iters: plan.trainIterations,
    },
  };
  // Bridge 0.6 keeps the recipe's environment with the others; what the launcher exports wins over it.
  if (form.configurationSummary) tree['env_vars'] = { ...plan.environment };
  for (const [key, value] of Object.entries(plan.configuration)) setKey(tree, key, value);
  return tree;
}

function dataset({ plan, isFinetuning }: RunFacts): ConfigTree {
  return isFinetuning
    ? {
        _target_: `${CONFIG}.FinetuningDatasetConfig`,
        dataset_root: '/data/instructions',
        num_workers: 2,
        packed_sequence_specs: null,
        seq_length: plan.sequenceLength,
      }
    : {
        _target_: `${CONFIG}.GPTDatasetConfig`,
        data_path: '/data/pretraining/shard_text_document',
        num_workers: 2,
        path_to_cache: '/data/cache',
        seq_length: plan.sequenceLength,
        split: '9999,8,2',
      };
}

function model({ plan, form }: RunFacts): ConfigTree {
  const { model: shape, parallelism } = plan;
  return {
    _target_: providerClass(shape.name),
    apply_rope_fusion: true,
    attention_dropout: float(0),
    context_parallel_size: 1,
    cpu_offloading: false,
    cross_entropy_loss_fusion: false,
    ...(form.configurationSummary ? { cuda_graph_impl: 'none' } : { enable_cuda_graph: false }),
    expert_model_parallel_size: 1,
    ffn_hidden_size: shape.feedForward,
    fp8: null,
    gated_linear_unit: true,
    gradient_accumulation_fusion: true,
    hidden_dropout: float(0),
    hidden_size: shape.hidden,
    kv_channels: shape.hidden / shape.heads,
    make_vocab_size_divisible_by: vocabularyDivisor(plan),
    normalization: 'RMSNorm',
    num_attention_heads: shape.heads,
    num_layers: shape.layers,
    num_query_groups: shape.queryGroups,
    pipeline_dtype: parallelism.pipeline > 1 ? 'torch.bfloat16' : null,
    pipeline_model_parallel_size: parallelism.pipeline,
    recompute_granularity: plan.recompute === 'none' ? null : plan.recompute,
    recompute_method: plan.recompute === 'full' ? 'uniform' : null,
    recompute_modules: plan.recompute === 'selective' ? ['core_attn'] : null,
    recompute_num_layers: plan.recompute === 'full' ? 1 : null,
    seq_length: plan.sequenceLength,
    sequence_parallel: parallelism.sequenceParallel,
    share_embeddings_and_output_weights: false,
    tensor_model_parallel_size: parallelism.tensor,
    transformer_impl: 'transformer_engine',
    virtual_pipeline_model_parallel_size: parallelism.virtualPipeline,
    vocab_size: shape.vocabulary,
  };
}

/** Bridge has a class for every published size of a family; other shapes use the general one. */
function providerClass(name: string): string {
  const llama = /^llama(3|31|3\.1)-(\d+)b/i.exec(name);
  if (llama !== null) {
    const version = llama[1]!.replace('.', '');
    return `megatron.bridge.models.llama.llama_provider.Llama${version}ModelProvider${llama[2]}B`;
  }
  const qwen = /^qwen(2|25|3)-(\d+)b/i.exec(name);
  if (qwen !== null) return `megatron.bridge.models.qwen.qwen_provider.Qwen${qwen[1]}ModelProvider${qwen[2]}B`;
  return 'megatron.bridge.models.gpt_provider.GPTModelProvider';
}

function profiling(facts: RunFacts): ConfigTree | null {
  const { plan } = facts;
  if (plan.profiledRanks.length === 0) return null;
  return {
    _target_: `${CONFIG}.ProfilingConfig`,
    memory_snapshot_path: facts.snapshotPath,
    profile_ranks: [...plan.profiledRanks],
    profile_step_end: profileEnd(facts),
    profile_step_start: Math.max(1, profileEnd(facts) - 2),
    record_memory_history: true,
    use_nsys_profiler: false,
    use_pytorch_profiler: false,
  };
}

/** The default of both frameworks. */
const PROFILE_STEP_END = 12;

/** The step after which a step dump was written; where none was, one that the run did not reach. */
export function profileEnd(facts: RunFacts): number {
  const { attempts, snapshots } = facts.run;
  const dumped = snapshots.find(({ trigger }) => trigger === 'step');
  if (dumped !== undefined) return dumpIteration(facts, dumped);
  const reached = Math.max(...attempts.map((attempt) => attempt.firstIteration + completedIterations(attempt)));
  return Math.max(PROFILE_STEP_END, reached + 10);
}

/** A run that ended in good health was asked to stop there. */
export function exitInterval(facts: RunFacts): number | null {
  const last = facts.run.attempts.at(-1)!;
  if (!last.ranks.every(({ ending }) => ending.kind === 'completed')) return null;
  return last.firstIteration + completedIterations(last);
}

/** Sections and keys in the order of the file, flattened: `model.hidden_size`. */
export function planOverrides(plan: RunPlan): string[] {
  const { parallelism } = plan;
  const pairs: readonly (readonly [string, string | number | boolean | null])[] = [
    ['model.tensor_model_parallel_size', parallelism.tensor],
    ['model.pipeline_model_parallel_size', parallelism.pipeline],
    ['model.virtual_pipeline_model_parallel_size', parallelism.virtualPipeline],
    ['model.sequence_parallel', parallelism.sequenceParallel],
    ['model.seq_length', plan.sequenceLength],
    ['dataset.seq_length', plan.sequenceLength],
    ['model.recompute_granularity', plan.recompute === 'none' ? null : plan.recompute],
    ['train.train_iters', plan.trainIterations],
    ['train.global_batch_size', plan.globalBatchSize],
    ['train.micro_batch_size', plan.microBatchSize],
    ...Object.entries(plan.configuration),
  ];
  return pairs.map(([key, value]) => `${key}=${value === null ? 'null' : String(value)}`);
}
