/** Where rules are asserted upstream. */
export const TC = 'Megatron-LM megatron/core/transformer/transformer_config.py __post_init__';
export const MPC = 'Megatron-LM megatron/core/model_parallel_config.py __post_init__';
export const ARG = 'Megatron-LM megatron/training/arguments.py validate_args';
export const DDPC = 'Megatron-LM megatron/core/distributed/distributed_data_parallel_config.py';
export const OPTC = 'Megatron-LM megatron/core/optimizer/optimizer_config.py __post_init__, optimizer/__init__.py';
export const CG = 'Megatron-LM megatron/core/transformer/cuda_graphs.py';
export const MBC = 'Megatron Bridge src/megatron/bridge/training/config.py validate';
export const MBO = 'Megatron Bridge src/megatron/bridge/training/comm_overlap.py';
export const GPTP = 'Megatron Bridge src/megatron/bridge/models/gpt_provider.py';
