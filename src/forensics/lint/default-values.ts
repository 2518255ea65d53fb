/** The defaults themselves; see `defaults.ts`. */
import type { Default } from './defaults.js';

const MPC = 'Megatron-LM megatron/core/model_parallel_config.py ModelParallelConfig';
const TC = 'Megatron-LM megatron/core/transformer/transformer_config.py TransformerConfig';
const DDPC = 'Megatron-LM megatron/core/distributed/distributed_data_parallel_config.py DistributedDataParallelConfig';
const OPTC = 'Megatron-LM megatron/core/optimizer/optimizer_config.py OptimizerConfig';

const of = (source: string, values: Readonly<Record<string, string | null>>): Default[] =>
  Object.entries(values).map(([key, value]) => ({ key, value, source }));

export const DEFAULTS: readonly Default[] = [
  ...of(MPC, {
    tensor_model_parallel_size: '1',
    pipeline_model_parallel_size: '1',
    virtual_pipeline_model_parallel_size: null,
    context_parallel_size: '1',
    expert_model_parallel_size: '1',
    sequence_parallel: 'False',
    hierarchical_context_parallel_sizes: null,
    pipeline_dtype: null,
    cpu_offloading: 'False',
    cpu_offloading_num_layers: '0',
    cpu_offloading_activations: 'True',
    cpu_offloading_weights: 'False',
    cpu_offloading_double_buffering: 'False',
    overlap_p2p_comm: 'False',
  }),
  ...of(TC, {
    recompute_granularity: null,
    recompute_method: null,
    recompute_num_layers: null,
    recompute_modules: null,
    distribute_saved_activations: null,
    num_moe_experts: null,
    multi_latent_attention: 'False',
    transformer_impl: 'transformer_engine',
    fine_grained_activation_offloading: 'False',
    offload_modules: '[]',
    cuda_graph_impl: 'none',
    cuda_graph_modules: null,
    moe_shared_expert_overlap: 'False',
    moe_grouped_gemm: 'False',
  }),
  ...of(DDPC, {
    nccl_ub: 'False',
    use_megatron_fsdp: 'False',
    overlap_grad_reduce: 'False',
    overlap_param_gather: 'False',
  }),
  ...of(OPTC, {
    optimizer: 'adam',
    use_distributed_optimizer: 'False',
    use_precision_aware_optimizer: 'False',
    optimizer_cpu_offload: 'False',
    optimizer_offload_fraction: '0.0',
    decoupled_weight_decay: 'True',
  }),
];
