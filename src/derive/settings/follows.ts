/** Settings that follow from others. */

/** The settings from which Megatron computes a setting: once they change, its old value no longer holds. */
export const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  data_parallel_size: [
    'world_size',
    'tensor_model_parallel_size',
    'pipeline_model_parallel_size',
    'context_parallel_size',
  ],
  num_microbatches: [
    'world_size',
    'tensor_model_parallel_size',
    'pipeline_model_parallel_size',
    'context_parallel_size',
    'micro_batch_size',
  ],
  num_layers_per_virtual_pipeline_stage: ['virtual_pipeline_model_parallel_size'],
  num_virtual_stages_per_pipeline_rank: ['virtual_pipeline_model_parallel_size'],
  recompute_activations: ['recompute_granularity'],
  enable_cuda_graph: ['cuda_graph_impl'],
  external_cuda_graph: ['cuda_graph_impl'],
};

/**
 * Settings whose difference between two runs is explained by a difference of others. Beyond {@link FOLLOWS}: what a
 * user adapts to a new value, or what Megatron fills in where it is not set.
 */
export const EXPLAINED_BY: Readonly<Record<string, readonly string[]>> = {
  ...FOLLOWS,
  make_vocab_size_divisible_by: ['tensor_model_parallel_size'],
  padded_vocab_size: ['tensor_model_parallel_size'],
  num_layers_per_virtual_pipeline_stage: ['virtual_pipeline_model_parallel_size', 'pipeline_model_parallel_size'],
  cuda_graph_scope: ['cuda_graph_impl', 'cuda_graph_modules'],
  pipeline_dtype: ['pipeline_model_parallel_size'],
};
