/** Megatron Bridge and NeMo: steps, adapters, conversion of weights. The model below them is Megatron-Core's. */
import type { AttributionRule } from '../match/rule.js';
import { BRIDGE_FORWARD_STEP, BRIDGE_SETUP, BRIDGE_STEP, GET_OPTIMIZER, submodule, wheel } from './megatron-stacks.js';

const STEPS = [
  'bridge/training/*_step.py',
  'bridge/training/utils/*.py',
  'bridge/training/vlm_step.py',
  'bridge/diffusion/**',
];
const NEMO_STEP = [
  'training_step nemo/lightning/megatron_parallel.py',
  'forward_step nemo/lightning/megatron_parallel.py',
  'wrapped_forward_step_func nemo/lightning/megatron_parallel.py',
  'forward_step core/pipeline_parallel/schedules.py',
  'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
  '__call__ nemo/lightning/megatron_parallel.py',
  '_step nemo/lightning/megatron_parallel.py',
  'training_step nemo/lightning/megatron_parallel.py',
  'training_step nemo/lightning/pytorch/strategies/megatron_strategy.py',
];
const ADAPTER_FILES = [
  'bridge/peft/*.py',
  'nemo/collections/llm/peft/*.py',
  'nemo/lightning/pytorch/callbacks/peft.py',
];

export const BRIDGE_OWNERS: readonly AttributionRule[] = [
  {
    id: 'bridge.batch',
    component: 'input',
    sub_component: 'batch',
    at: [
      {
        file: STEPS,
        function: [
          'get_batch',
          'get_batch_from_iterator',
          'get_batch_on_this_tp_rank',
          '_partition_packed_batch_for_cp',
          'pad_*',
          'get_packed_seq_params',
          'get_thd_cp_partition_indices',
        ],
      },
      { file: ['bridge/data/**', 'bridge/training/global_batch_packing.py'] },
    ],
    source: 'Megatron Bridge training/gpt_step.py get_batch_from_iterator, _partition_packed_batch_for_cp (021ba66)',
    samples: [
      {
        frames: submodule(
          'get_batch_from_iterator bridge/training/gpt_step.py',
          'get_batch bridge/training/gpt_step.py',
          BRIDGE_FORWARD_STEP,
        ),
        phase: 'forward',
        from: 'Megatron Bridge training/gpt_step.py get_batch_from_iterator (021ba66)',
      },
      {
        frames: submodule(
          '_partition_packed_batch_for_cp bridge/training/gpt_step.py',
          'get_batch bridge/training/gpt_step.py',
          BRIDGE_FORWARD_STEP,
        ),
        from: 'Megatron Bridge training/gpt_step.py _partition_packed_batch_for_cp (021ba66)',
      },
    ],
  },
  {
    id: 'bridge.adapter-parameters',
    component: 'parameter',
    sub_component: 'adapter',
    at: { function: ['__init__', '_init_adapter', '_initialize_affine_weight_gpu', 'reset_parameters'] },
    within: { file: ADAPTER_FILES },
    phase: 'model_build',
    source:
      'Megatron Bridge peft/utils.py ParallelLinearAdapter.__init__ (0361921), peft/lora_layers.py TELinearAdapter._init_adapter (0191fc5)',
    samples: [
      {
        frames: submodule(
          '_initialize_affine_weight_gpu core/tensor_parallel/layers.py',
          '__init__ core/tensor_parallel/layers.py',
          '__init__ bridge/peft/utils.py',
          'transform bridge/peft/lora.py',
          'map bridge/peft/walk_utils.py',
          '__call__ bridge/peft/base.py',
          'peft_pre_wrap_hook bridge/training/setup.py',
          'get_model bridge/models/model_provider.py',
          '_build_distributed_model bridge/training/setup.py',
          BRIDGE_SETUP,
        ),
        phase: 'model_build',
        from: 'Megatron Bridge peft/utils.py ParallelLinearAdapter.__init__ (0361921); training/setup.py _create_peft_pre_wrap_hook (004b734)',
      },
      {
        frames: submodule(
          '__init__ torch/nn/modules/linear.py',
          '_init_adapter bridge/peft/lora_layers.py',
          '__init__ bridge/peft/lora_layers.py',
          'transform bridge/peft/lora.py',
          '__call__ bridge/peft/base.py',
          BRIDGE_SETUP,
        ),
        from: 'Megatron Bridge peft/lora_layers.py TELinearAdapter._init_adapter (0191fc5)',
      },
    ],
  },
  {
    // Gathered and scattered pieces on their way: the model's own weights are there already.
    id: 'bridge.conversion',
    component: 'checkpoint',
    sub_component: 'weight_conversion',
    at: {
      file: [
        'bridge/models/conversion/**',
        'bridge/training/model_load_save.py',
        'bridge/models/hf_pretrained/**',
        'nemo/lightning/io/**',
      ],
    },
    without: {
      file: ['bridge/models/model_provider.py', 'bridge/models/common/**'],
      function: ['get_model', 'provide_distributed_model', 'build_distributed_models'],
    },
    source:
      'Megatron Bridge models/conversion/param_mapping.py broadcast_from_pp_rank (0215fee), model_bridge.py (001b789)',
    samples: [
      {
        frames: submodule(
          'broadcast_from_pp_rank bridge/models/conversion/param_mapping.py',
          'megatron_to_hf bridge/models/conversion/param_mapping.py',
          'stream_weights_megatron_to_hf bridge/models/conversion/model_bridge.py',
          'save_hf_weights bridge/models/conversion/auto_bridge.py',
          'export_ckpt bridge/models/conversion/auto_bridge.py',
          '<module> examples/conversion/convert_checkpoints.py',
        ),
        from: 'Megatron Bridge models/conversion/param_mapping.py MegatronParamMapping.broadcast_from_pp_rank (0215fee)',
      },
      {
        frames: submodule(
          '_broadcast_shared_embeddings bridge/models/conversion/model_bridge.py',
          'load_weights_hf_to_megatron bridge/models/conversion/model_bridge.py',
          'load_hf_weights bridge/models/conversion/auto_bridge.py',
          '<module> examples/conversion/hf_megatron_roundtrip_multi_gpu.py',
        ),
        from: 'Megatron Bridge models/conversion/model_bridge.py _broadcast_shared_embeddings (001b789)',
      },
    ],
  },
  {
    id: 'bridge.checkpoint',
    component: 'checkpoint',
    sub_component: 'staging',
    at: [
      {
        file: [
          'bridge/training/checkpointing.py',
          'bridge/training/post_training/checkpointing.py',
          'bridge/training/utils/checkpoint_utils.py',
          'bridge/training/utils/mcore_checkpointing.py',
        ],
      },
      {
        file: [
          'nemo/lightning/ckpt_utils.py',
          'nemo/utils/callbacks/dist_ckpt_io.py',
          'nemo/lightning/pytorch/local_ckpt.py',
        ],
      },
    ],
    without: [
      { file: ['core/optimizer/**', 'transformer_engine/pytorch/optimizers/**'] },
      { file: 'core/dist_checkpointing/**' },
    ],
    source: 'Megatron Bridge training/checkpointing.py save_checkpoint (013da21)',
    samples: [
      {
        frames: submodule(
          '_generate_model_state_dict bridge/training/checkpointing.py',
          'save_checkpoint bridge/training/checkpointing.py',
          'save_checkpoint_and_time bridge/training/train.py',
          'train bridge/training/train.py',
          '_pretrain bridge/training/pretrain.py',
        ),
        phase: 'checkpoint_save',
        from: 'Megatron Bridge training/checkpointing.py save_checkpoint (013da21); training/train.py save_checkpoint_and_time (006430a)',
      },
      {
        frames: submodule(
          '_load_checkpoint_from_path bridge/training/checkpointing.py',
          'load_checkpoint bridge/training/checkpointing.py',
          BRIDGE_SETUP,
        ),
        phase: 'checkpoint_load',
        from: 'Megatron Bridge training/checkpointing.py load_checkpoint (013da21)',
      },
    ],
  },
  {
    id: 'bridge.mxfp8-param-copy',
    component: 'fp8_buffer',
    sub_component: 'param_copy',
    at: {
      file: ['bridge/training/train.py', 'megatron/training/training.py'],
      function: ['_handle_mxfp8_param_buffer_copy', 'copy_main_params_to_param_buffer'],
    },
    source: 'Megatron Bridge training/train.py train_step calls _handle_mxfp8_param_buffer_copy (006430a)',
    samples: [
      {
        frames: submodule('_handle_mxfp8_param_buffer_copy bridge/training/train.py', BRIDGE_STEP),
        from: 'Megatron Bridge training/train.py _handle_mxfp8_param_buffer_copy (006430a)',
      },
    ],
  },
  {
    id: 'nemo.batch',
    component: 'input',
    sub_component: 'batch',
    at: [
      {
        file: 'nemo/collections/**',
        function: ['*_data_step', 'get_batch_on_this_context_parallel_rank', 'get_packed_seq_params'],
      },
      { file: 'nemo/lightning/megatron_parallel.py', function: 'data_step' },
    ],
    source:
      'NeMo nemo/collections/llm/gpt/model/base.py gpt_data_step, get_batch_on_this_context_parallel_rank (0175f4c)',
    samples: [
      {
        frames: wheel(
          '<dictcomp> nemo/collections/llm/gpt/model/base.py',
          'gpt_data_step nemo/collections/llm/gpt/model/base.py',
          'data_step nemo/collections/llm/gpt/model/base.py',
          NEMO_STEP,
        ),
        phase: 'forward',
        from: 'NeMo nemo/collections/llm/gpt/model/base.py gpt_data_step (0175f4c)',
      },
      {
        frames: wheel(
          'get_batch_on_this_context_parallel_rank nemo/collections/llm/gpt/model/base.py',
          'gpt_data_step nemo/collections/llm/gpt/model/base.py',
          'data_step nemo/collections/llm/gpt/model/base.py',
          NEMO_STEP,
        ),
        from: 'NeMo nemo/collections/llm/gpt/model/base.py get_batch_on_this_context_parallel_rank (0175f4c)',
      },
    ],
  },
  {
    id: 'nemo.optimizer-build',
    component: 'optimizer_state',
    sub_component: 'optimizer_build',
    at: {
      file: [
        'nemo/lightning/pytorch/optim/megatron.py',
        'nemo/lightning/_strategy_lib.py',
        'nemo/core/optim/mcore_optim.py',
      ],
      function: ['optimizers', 'setup_megatron_optimizer', 'reload_model_params', 'sharded_state_dict'],
    },
    phase: 'optimizer_build',
    source: 'NeMo nemo/lightning/_strategy_lib.py setup_megatron_optimizer (from memory)',
    samples: [
      {
        frames: wheel(
          GET_OPTIMIZER.slice(0, 2),
          'setup_megatron_optimizer nemo/lightning/_strategy_lib.py',
          'optimizers nemo/lightning/pytorch/optim/megatron.py',
          '__call__ nemo/lightning/pytorch/optim/base.py',
          'setup_optimizers nemo/lightning/pytorch/strategies/megatron_strategy.py',
        ),
        from: 'NeMo nemo/lightning/_strategy_lib.py setup_megatron_optimizer (not read)',
      },
    ],
  },
];

export const BRIDGE_LAYERS: readonly AttributionRule[] = [
  {
    // The wrapped linear layer keeps the name its caller gives it.
    id: 'bridge.adapter',
    component: 'activation',
    sub_component: 'adapter',
    at: { file: ADAPTER_FILES },
    without: { file: 'peft/adapter_wrapper.py', function: 'base_linear_forward' },
    source:
      'Megatron Bridge peft/lora_layers.py LoRALinear.forward (0191fc5), peft/utils.py ParallelLinearAdapter.forward (0361921)',
    samples: [
      {
        frames: submodule(
          'forward core/tensor_parallel/layers.py',
          'apply',
          'linear_with_grad_accumulation_and_async_allreduce core/tensor_parallel/layers.py',
          'forward core/tensor_parallel/layers.py',
          'call',
          'forward bridge/peft/utils.py',
          'call',
          'forward bridge/peft/lora_layers.py',
          'call',
          'get_query_key_value_tensors core/transformer/attention.py',
          'forward core/transformer/attention.py',
          'call',
          'forward core/transformer/transformer_layer.py',
          'call',
          'forward core/transformer/transformer_block.py',
          'call',
          BRIDGE_FORWARD_STEP,
        ),
        phase: 'forward',
        from: 'Megatron Bridge peft/utils.py ParallelLinearAdapter.forward (0361921), peft/lora_layers.py LoRALinear.forward (0191fc5)',
      },
      {
        frames: submodule(
          'forward bridge/peft/lora_layers.py',
          'call',
          'forward core/transformer/mlp.py',
          'call',
          BRIDGE_FORWARD_STEP,
        ),
        from: 'Megatron Bridge peft/lora_layers.py LoRALinear.forward adds both outputs (0191fc5)',
      },
    ],
  },
  {
    id: 'bridge.loss',
    component: 'logits_loss',
    sub_component: 'loss_reduction',
    at: [
      { file: ['bridge/training/losses.py', 'bridge/training/post_training/distillation.py'] },
      { file: STEPS, function: ['loss_func', '_create_loss_function', 'masked_next_token_loss'] },
    ],
    source: 'Megatron Bridge training/losses.py masked_next_token_loss, as gpt_step.py imports it (021ba66)',
    samples: [
      {
        frames: submodule(
          'masked_next_token_loss bridge/training/losses.py',
          'forward_step core/pipeline_parallel/schedules.py',
          'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
          BRIDGE_STEP,
        ),
        phase: 'forward',
        from: 'Megatron Bridge training/losses.py masked_next_token_loss (021ba66 of gpt_step.py)',
      },
    ],
  },
  {
    id: 'nemo.loss',
    component: 'logits_loss',
    sub_component: 'loss_reduction',
    at: {
      file: 'nemo/lightning/megatron_parallel.py',
      function: ['MaskedTokenLossReduction.forward', 'masked_token_loss', 'masked_token_loss_context_parallel'],
    },
    without: [{ file: ['megatron/core/models/**', 'nemo/collections/**', 'core/distributed/**'] }],
    source: 'NeMo nemo/lightning/megatron_parallel.py MaskedTokenLossReduction.forward (0140f5c)',
    samples: [
      {
        frames: wheel(
          'masked_token_loss nemo/lightning/megatron_parallel.py',
          'forward nemo/lightning/megatron_parallel.py',
          'call',
          'forward_step core/pipeline_parallel/schedules.py',
          'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
        ),
        phase: 'forward',
        from: 'NeMo nemo/lightning/megatron_parallel.py MaskedTokenLossReduction.forward (0140f5c)',
      },
    ],
  },
];
