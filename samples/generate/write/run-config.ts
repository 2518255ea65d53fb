/** The run's configuration as Megatron Bridge prints and saves it (`ConfigContainer` as YAML), reduced to what concerns memory. */
import { MAX_TOKENS, MICRO_BATCHES, type Scenario } from '../scenario.js';

export const TRAIN_ITERATIONS = 500;
export const SNAPSHOT_PATH = '/nemo_run/snapshots/snapshot.pickle';

export function globalBatchSize(scenario: Scenario): number {
  return MICRO_BATCHES * scenario.plan.dataParallel;
}

export function runConfig(scenario: Scenario): string {
  const { shape, pipelineStages } = scenario.plan;
  const profiled = scenario.failed.map((run) => run.process.rank);
  return `_target_: megatron.bridge.training.config.ConfigContainer
checkpoint:
  _target_: megatron.bridge.training.config.CheckpointConfig
  ckpt_format: torch_dist
  pretrained_checkpoint: /checkpoints/llama3-8b
  save: null
  save_interval: 200
comm_overlap: null
dataset:
  _target_: megatron.bridge.training.config.FinetuningDatasetConfig
  dataset_root: /data/long-instructions
  packed_sequence_specs: null
  pad_to_max_length: false
  seed: ${scenario.seed}
  seq_length: ${MAX_TOKENS}
ddp:
  _target_: megatron.bridge.training.config.DistributedDataParallelConfig
  average_in_collective: true
  bucket_size: null
  grad_reduce_in_fp32: true
  overlap_grad_reduce: true
  overlap_param_gather: true
  use_distributed_optimizer: true
  use_megatron_fsdp: false
dist:
  _target_: megatron.bridge.training.config.DistributedInitConfig
  distributed_backend: nccl
  distributed_timeout_minutes: 10
env_vars:
  CUDA_DEVICE_MAX_CONNECTIONS: "1"
  NCCL_NVLS_ENABLE: "0"
  TORCH_NCCL_AVOID_RECORD_STREAMS: "1"
logger:
  _target_: megatron.bridge.training.config.LoggerConfig
  log_interval: 1
  log_throughput: true
mixed_precision: bf16_mixed
model:
  _target_: megatron.bridge.models.llama.llama_provider.Llama3ModelProvider8B
  context_parallel_size: 1
  cross_entropy_loss_fusion: false
  ffn_hidden_size: ${shape.feedForward}
  fp8: null
  gradient_accumulation_fusion: true
  hidden_size: ${shape.hidden}
  num_attention_heads: ${shape.heads}
  num_layers: ${shape.layers}
  num_query_groups: ${shape.queryGroups}
  pipeline_model_parallel_size: ${pipelineStages}
  recompute_granularity: full
  recompute_method: uniform
  recompute_num_layers: 1
  seq_length: ${MAX_TOKENS}
  sequence_parallel: false
  share_embeddings_and_output_weights: false
  tensor_model_parallel_size: 1
  variable_seq_lengths: true
  virtual_pipeline_model_parallel_size: null
  vocab_size: ${shape.vocabulary}
optimizer:
  _target_: megatron.bridge.training.config.OptimizerConfig
  adam_beta1: 0.9
  adam_beta2: 0.95
  bf16: true
  lr: 5.0e-06
  optimizer: adam
  optimizer_cpu_offload: false
  use_distributed_optimizer: true
  use_precision_aware_optimizer: false
peft: null
profiling:
  _target_: megatron.bridge.training.config.ProfilingConfig
  memory_snapshot_path: ${SNAPSHOT_PATH}
  profile_ranks: [${profiled.join(', ')}]
  profile_step_end: 12
  profile_step_start: 10
  record_memory_history: true
train:
  _target_: megatron.bridge.training.config.TrainingConfig
  empty_unused_memory_level: 0
  global_batch_size: ${globalBatchSize(scenario)}
  manual_gc: false
  micro_batch_size: 1
  train_iters: ${TRAIN_ITERATIONS}
`;
}
