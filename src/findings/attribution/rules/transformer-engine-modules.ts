/** What Transformer Engine's modules keep and exchange: weights, FP8 state, gathered inputs, offloaded activations. */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import {
  BLOCK,
  BUILD_LAYERS,
  FORWARD_MLP,
  MLP,
  source,
  submodule,
  TE_LAYERNORM_LINEAR,
  TE_LINEAR,
  wheel,
} from './megatron-stacks.js';
import { MODULES, TE } from './transformer-engine-files.js';

const DPA = 'te/attention/dot_product_attention';
const ADAPTERS: FramePattern = { file: ['bridge/peft/**', 'llm/peft/**'] };

export const MODULE_OWNERS: readonly AttributionRule[] = [
  {
    id: 'te.parameters',
    component: 'parameter',
    sub_component: 'te_module',
    at: {
      file: MODULES,
      function: ['__init__', 'reset_parameters', 'register_parameter', 'reset_layer_norm_parameters'],
    },
    without: [ADAPTERS, { file: MODULES, function: ['forward', 'backward'] }],
    phase: 'model_build',
    source:
      'TransformerEngine pytorch/module/base.py TransformerEngineBaseModule (fecb10b), linear.py, layernorm_linear.py __init__',
    samples: [
      {
        frames: source(
          '__init__ te/module/layernorm_linear.py',
          '__init__ core/extensions/transformer_engine.py',
          'build_module core/transformer/spec_utils.py',
          '__init__ core/transformer/attention.py',
          BUILD_LAYERS,
        ),
        lifetime: 'resident',
        phase: 'model_build',
        from: 'TransformerEngine pytorch/module/layernorm_linear.py LayerNormLinear.__init__ (not read); Megatron-LM core/transformer/attention.py SelfAttention.__init__ (f41b4fd)',
      },
      {
        // FP8 primary weights are made by a quantizer.
        frames: submodule(
          'make_empty te/tensor/float8_tensor.py',
          'quantize te/tensor/quantized_tensor.py',
          'reset_parameters te/module/base.py',
          'reset_parameters te/module/linear.py',
          '__init__ te/module/linear.py',
          '__init__ core/extensions/transformer_engine.py',
          'build_module core/transformer/spec_utils.py',
          '__init__ core/transformer/mlp.py',
          BUILD_LAYERS,
        ),
        from: 'TransformerEngine pytorch/module/base.py reset_parameters (not read at 2.x), linear.py Linear.__init__ (0004dbd)',
      },
      {
        // The weights of the experts.
        frames: wheel(
          '__init__ te/module/grouped_linear.py',
          '__init__ core/extensions/transformer_engine.py',
          '__init__ core/transformer/moe/experts.py',
          '__init__ core/transformer/moe/moe_layer.py',
          BUILD_LAYERS,
        ),
        from: 'TransformerEngine pytorch/module/grouped_linear.py GroupedLinear.__init__ (0069563)',
      },
    ],
  },
  {
    id: 'te.fp8-weight',
    component: 'fp8_buffer',
    sub_component: 'weight_workspace',
    at: {
      file: [`${TE}/module/base.py`, `${TE}/fp8.py`, `${TE}/quantization.py`],
      function: [
        'quantize_weight',
        'get_weight_workspace',
        'get_fp8_workspace',
        'get_fp8_weights_empty_tensors',
        'set_fp8_weights',
        '_update_weight_quantizers',
        '_get_weight_workspace',
      ],
    },
    source:
      'TransformerEngine pytorch/module/grouped_linear.py calls get_weight_workspace (0069563); base.py quantize_weight (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'make_empty te/tensor/mxfp8_tensor.py',
          'quantize te/tensor/quantized_tensor.py',
          'get_weight_workspace te/module/base.py',
          'forward te/module/grouped_linear.py',
          'apply',
          'forward te/module/grouped_linear.py',
          'call',
          'forward core/extensions/transformer_engine.py',
          'call',
          'forward core/transformer/moe/experts.py',
          'call',
          BLOCK,
        ),
        from: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.forward (0069563)',
      },
      {
        frames: submodule(
          'quantize_weight te/module/base.py',
          TE_LINEAR,
          'forward core/transformer/mlp.py',
          'call',
          FORWARD_MLP,
        ),
        from: 'TransformerEngine pytorch/module/base.py quantize_weight (not read; megatron.md 5.2)',
      },
    ],
  },
  {
    // Saved activations are transposed as well, in backward; those of weights stay.
    id: 'te.fp8-transpose-cache',
    component: 'fp8_buffer',
    sub_component: 'weight_transpose',
    at: { file: `${TE}/tensor/**`, function: ['_create_transpose', 'transpose_2d'] },
    when: { lifetime: 'resident' },
    source: 'TransformerEngine pytorch/module/linear.py _Linear.backward calls weight.transpose with a cache (0004dbd)',
    samples: [
      {
        frames: source(
          '_create_transpose te/tensor/storage/float8_tensor_storage.py',
          'update_usage te/tensor/float8_tensor.py',
          TE_LINEAR,
          MLP,
        ),
        lifetime: 'resident',
        from: 'TransformerEngine pytorch/tensor/storage/float8_tensor_storage.py _create_transpose (not read)',
      },
    ],
  },
  {
    id: 'te.fp8-weight-transpose',
    component: 'fp8_buffer',
    sub_component: 'weight_transpose',
    at: {
      file: 'megatron/core/fp8_utils.py',
      function: ['post_all_gather_processing', '_post_all_gather_processing_impl'],
    },
    source:
      'Megatron-LM core/distributed/param_and_grad_buffer.py finish_param_sync calls post_all_gather_processing (0011998)',
    samples: [
      {
        frames: source(
          '_create_transpose te/tensor/storage/float8_tensor_storage.py',
          '_post_all_gather_processing_impl core/fp8_utils.py',
          'post_all_gather_processing core/fp8_utils.py',
          'finish_param_sync core/distributed/param_and_grad_buffer.py',
          'hook core/distributed/distributed_data_parallel.py',
          'inner torch/nn/modules/module.py',
          BLOCK,
        ),
        phase: 'param_gather',
        from: 'Megatron-LM core/distributed/param_and_grad_buffer.py finish_param_sync (0011998)',
      },
    ],
  },
  {
    id: 'te.fp8-scaling-state',
    component: 'fp8_buffer',
    sub_component: 'amax_history',
    at: [
      {
        file: `${TE}/module/base.py`,
        function: [
          'set_meta_tensor',
          'init_fp8_meta_tensors',
          'adjust_amax_history_length',
          'get_fp8_meta_tensors',
          'init_fp8_metadata',
          'set_extra_state',
          'get_extra_state',
        ],
      },
      { file: [`${TE}/fp8.py`, `${TE}/quantization.py`] },
      {
        file: 'core/transformer/cuda_graphs.py',
        function: ['save_fp8_tensors', 'restore_fp8_tensors', '_set_skip_fp8_weight_update_tensor'],
      },
    ],
    source: 'TransformerEngine pytorch/module/base.py set_meta_tensor (0004dbd, fecb10b)',
    samples: [
      {
        frames: wheel(
          'set_meta_tensor te/module/base.py',
          'init_fp8_meta_tensors te/module/base.py',
          'fp8_init te/module/base.py',
          'prepare_forward te/module/base.py',
          'forward te/module/linear.py',
          'call',
          'forward core/extensions/transformer_engine.py',
          'call',
          MLP,
        ),
        from: 'TransformerEngine pytorch/module/base.py TransformerEngineBaseModule.set_meta_tensor (0004dbd)',
      },
      {
        frames: source('reduce_and_update_fp8_tensors te/fp8.py', 'backward te/module/grouped_linear.py', 'apply'),
        phase: 'backward',
        from: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.backward (0069563)',
      },
    ],
  },
  {
    id: 'te.sequence-gather',
    component: 'communication',
    sub_component: 'tp_gather',
    at: {
      file: `${TE}/distributed.py`,
      function: [
        'gather_along_first_dim',
        'gather_along_last_dim',
        '_all_gather_*',
        '_start_all_gather_*',
        '_fsdp_gather_tensors',
      ],
    },
    source: 'TransformerEngine pytorch/distributed.py gather_along_first_dim (0143a5e)',
    samples: [
      {
        frames: source('gather_along_first_dim te/distributed.py', TE_LAYERNORM_LINEAR, MLP),
        phase: 'forward',
        from: 'TransformerEngine pytorch/distributed.py gather_along_first_dim (0143a5e), linear.py _Linear.forward (0004dbd)',
      },
      {
        frames: submodule(
          '_all_gather_mxfp8 te/distributed.py',
          'gather_along_first_dim te/distributed.py',
          '_Linear.backward te/module/linear.py',
          'BackwardCFunction.apply torch/autograd/function.py',
        ),
        phase: 'backward',
        from: 'TransformerEngine pytorch/module/linear.py _Linear.backward (0004dbd)',
      },
    ],
  },
  {
    id: 'te.activation-offload',
    component: 'offload_buffer',
    sub_component: 'activation_reload',
    at: {
      file: `${TE}/cpu_offload*.py`,
      function: [
        'reload',
        'offload',
        'start_reload',
        'start_offload',
        'bulk_reload_group',
        'bulk_offload_group',
        'tensor_pop',
        'tensor_push',
        'on_group_commit_*',
        'create_prefetch_buffer',
        'tensor_group_process_*',
        'copy_to_cuda_if_needed',
      ],
    },
    source:
      'TransformerEngine pytorch/cpu_offload.py OffloadableLayerState.start_reload (stored file 7123289549), SynchronizedGroupOffloadHandler.reload (stored file 163856280)',
    samples: [
      {
        frames: source('start_reload te/cpu_offload.py', 'bwd_step te/cpu_offload.py', 'hook te/cpu_offload.py'),
        phase: 'backward',
        from: 'TransformerEngine pytorch/cpu_offload.py OffloadableLayerState.start_reload (stored file 7123289549)',
      },
      {
        frames: wheel(
          'reload te/cpu_offload.py',
          'bulk_reload_group te/cpu_offload.py',
          'on_group_commit_backward te/cpu_offload.py',
          'backward te/cpu_offload.py',
          'apply',
        ),
        phase: 'backward',
        from: 'TransformerEngine pytorch/cpu_offload.py AsyncDoubleBufferGroupOffloadHandler.bulk_reload_group (stored file 163856280)',
      },
    ],
  },
  {
    id: 'te.permutation',
    component: 'moe_dispatch',
    sub_component: 'permute',
    at: {
      file: [
        `${TE}/permutation.py`,
        `${TE}/triton/permutation.py`,
        `${TE}/module/permutation.py`,
        `${TE}/ep.py`,
        `${TE}/ops/basic/dispatch.py`,
        `${TE}/ops/basic/combine.py`,
      ],
    },
    source: 'TransformerEngine pytorch/permutation.py moe_permute (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'permute_with_mask_map te/triton/permutation.py',
          'forward te/permutation.py',
          'apply',
          'moe_permute_with_probs te/permutation.py',
          'permute core/transformer/moe/moe_utils.py',
          'dispatch_preprocess core/transformer/moe/token_dispatcher.py',
          'router_and_preprocess core/transformer/moe/moe_layer.py',
          'custom_forward core/transformer/moe/moe_layer.py',
          'forward core/transformer/moe/moe_layer.py',
          'call',
          BLOCK,
        ),
        from: 'TransformerEngine pytorch/permutation.py _moe_permute_mask_map.forward (not read); Megatron-LM token_dispatcher.py dispatch_preprocess (0014f13)',
      },
    ],
  },
  {
    id: 'te.kv-cache',
    component: 'kv_cache',
    sub_component: 'kv_cache',
    at: { file: `${TE}/attention/inference.py` },
    source: 'TransformerEngine pytorch/attention/inference.py InferenceParams (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'allocate_memory te/attention/inference.py',
          'allocate_memory te/attention/inference.py',
          `forward ${DPA}/dot_product_attention.py`,
          'call',
          'forward te/attention/multi_head_attention.py',
          'call',
        ),
        from: 'TransformerEngine pytorch/attention/inference.py InferenceParams.allocate_memory (not read)',
      },
    ],
  },
];
