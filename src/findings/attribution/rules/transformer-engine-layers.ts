/**
 * Layers of Transformer Engine 1.x and 2.x, as Megatron calls them and on their own.
 *
 * Its linear layers are in the stack of every activation of a Megatron model: what they allocate in forward is named by the layer that calls them, so these rules are a
 * list of their own for the last tier. In backward there is nothing above them but autograd, and only they can tell.
 */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import {
  ATTENTION,
  BLOCK,
  BRIDGE_GPT,
  GET_MODEL,
  GPT,
  RECOMPUTED_LAYER,
  source,
  submodule,
  TE_LAYERNORM_LINEAR,
  wheel,
} from './megatron-stacks.js';
import { FUSED_ADAM, LINEARS, MODULES, TE } from './transformer-engine-files.js';

const DPA = 'te/attention/dot_product_attention';
const ATTENTION_FILES = [
  `${TE}/attention/dot_product_attention/**`,
  `${TE}/attention/sparse_attention/**`,
  `${TE}/attention/linear_attention/**`,
  `${TE}/attention/multi_head_attention.py`,
  `${TE}/attention.py`,
  `${TE}/cpp_extensions/fused_attn.py`,
  `${TE}/softmax.py`,
];
/** Who makes quantised tensors that are no buffers of quantisation: weights at build, moments. */
const OTHER_TENSORS: readonly FramePattern[] = [
  { file: FUSED_ADAM },
  { file: MODULES, function: ['__init__', 'reset_parameters', 'register_parameter'] },
];
const FLASH = [
  '_flash_attn_forward flash_attn/flash_attn_interface.py',
  'forward flash_attn/flash_attn_interface.py',
  'apply',
  'flash_attn_func flash_attn/flash_attn_interface.py',
];
const DPA_CALL = ['call', 'forward core/extensions/transformer_engine.py', 'call', ...ATTENTION];

export const TRANSFORMER_ENGINE_LAYERS: readonly AttributionRule[] = [
  {
    id: 'te.context-parallel-attention',
    component: 'activation',
    sub_component: 'attention_context_parallel',
    at: [
      { file: [`${TE}/attention/dot_product_attention/context_parallel*.py`] },
      {
        file: `${TE}/attention.py`,
        function: [
          'attn_forward_func_with_cp',
          'flash_attn_p2p_communicate',
          'flash_attn_a2a_communicate',
          'get_seq_chunk_ids_for_reordering*',
        ],
      },
    ],
    // In the single file of 1.x the names of methods alone do not tell the classes apart.
    without: { file: `${TE}/attention.py`, function: 'FlashAttention.__init__' },
    source:
      'TransformerEngine pytorch/attention/dot_product_attention/backends.py calls attn_forward_func_with_cp (006b336)',
    samples: [
      {
        frames: source(
          'fused_attn_fwd te/cpp_extensions/fused_attn.py',
          'cp_p2p_fwd_fused_attn te/attention/dot_product_attention/context_parallel.py',
          'forward te/attention/dot_product_attention/context_parallel.py',
          'apply',
          'attn_forward_func_with_cp te/attention/dot_product_attention/context_parallel.py',
          `forward ${DPA}/backends.py`,
          'call',
          `forward ${DPA}/dot_product_attention.py`,
          DPA_CALL,
        ),
        phase: 'forward',
        from: 'TransformerEngine pytorch/attention/dot_product_attention/backends.py attn_forward_func_with_cp (006b336); context_parallel.py AttnFuncWithCPAndKVP2P.forward (not read)',
      },
      {
        frames: submodule(
          'AttnFuncWithCPAndKVP2P.backward te/attention/dot_product_attention/context_parallel.py',
          'BackwardCFunction.apply torch/autograd/function.py',
        ),
        phase: 'backward',
        from: 'TransformerEngine pytorch/attention/dot_product_attention/context_parallel.py AttnFuncWithCPAndKVP2P.backward (not read)',
      },
    ],
  },
  {
    id: 'te.attention-core',
    component: 'activation',
    sub_component: 'attention_core',
    at: [{ file: ATTENTION_FILES }, { file: ['flash_attn/**', 'flash_attn_3/**', 'flash_attn_interface.py'] }],
    within: { file: ATTENTION_FILES },
    without: { file: `${TE}/attention/dot_product_attention/context_parallel*.py` },
    source:
      'TransformerEngine pytorch/attention/dot_product_attention/backends.py FlashAttention.forward, FusedAttention.forward (006b336)',
    samples: [
      {
        frames: source(
          FLASH,
          `forward ${DPA}/backends.py`,
          'call',
          `forward ${DPA}/dot_product_attention.py`,
          DPA_CALL,
        ),
        phase: 'forward',
        from: 'TransformerEngine pytorch/attention/dot_product_attention/backends.py FlashAttention.forward (006b336)',
      },
      {
        frames: wheel(
          'fused_attn_fwd te/cpp_extensions/fused_attn.py',
          'forward te/attention.py',
          'apply',
          'forward te/attention.py',
          'call',
          'forward te/attention.py',
          DPA_CALL,
        ),
        from: 'TransformerEngine pytorch/attention.py FusedAttnFunc.forward (1.x, one file; not read)',
      },
      {
        frames: submodule(
          'fused_attn_fwd te/cpp_extensions/fused_attn.py',
          `FusedAttnFunc.forward ${DPA}/backends.py`,
          'apply',
          `FusedAttention.forward ${DPA}/backends.py`,
          'call',
          `DotProductAttention.forward ${DPA}/dot_product_attention.py`,
          'call',
          'TEDotProductAttention.forward core/extensions/transformer_engine.py',
          'call',
          'Attention.forward core/transformer/attention.py',
          'call',
          '_forward_attention core/transformer/transformer_layer.py',
          RECOMPUTED_LAYER,
        ),
        component: 'recompute',
        phase: 'backward',
        from: 'TransformerEngine pytorch/attention/dot_product_attention/backends.py FusedAttention.forward (006b336; this part not read); Megatron-LM core/tensor_parallel/random.py (004bfb5)',
      },
    ],
  },
  {
    id: 'te.attention-core-call',
    component: 'activation',
    sub_component: 'attention_core',
    at: { file: ATTENTION_FILES },
    without: [
      { file: ATTENTION_FILES, function: '__init__' },
      { file: `${TE}/attention/dot_product_attention/context_parallel*.py` },
    ],
    source: 'TransformerEngine pytorch/attention/dot_product_attention/backends.py FusedAttnFunc.backward (006b336)',
    samples: [
      {
        frames: source(`backward ${DPA}/backends.py`, 'apply'),
        phase: 'backward',
        from: 'TransformerEngine pytorch/attention/dot_product_attention/backends.py FusedAttnFunc.backward (006b336; this part not read)',
      },
      {
        frames: source(`forward ${DPA}/dot_product_attention.py`, DPA_CALL),
        from: 'TransformerEngine pytorch/attention/dot_product_attention/dot_product_attention.py DotProductAttention.forward',
      },
    ],
  },
  {
    id: 'te.layernorm',
    component: 'activation',
    sub_component: 'layernorm',
    at: [
      { file: `${TE}/module/_common.py`, function: ['apply_normalization', '_apply_normalization'] },
      {
        file: [
          `${TE}/module/layernorm.py`,
          `${TE}/module/rmsnorm.py`,
          `${TE}/ops/basic/layer_norm.py`,
          `${TE}/ops/basic/rmsnorm.py`,
          `${TE}/ops/basic/l2normalization.py`,
          `${TE}/cpp_extensions/normalization.py`,
        ],
      },
    ],
    source: 'TransformerEngine pytorch/module/_common.py apply_normalization, ops/basic/rmsnorm.py (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'apply_normalization te/module/_common.py',
          TE_LAYERNORM_LINEAR,
          'get_query_key_value_tensors core/transformer/attention.py',
          ATTENTION,
        ),
        phase: 'forward',
        from: 'TransformerEngine pytorch/module/_common.py apply_normalization (not read)',
      },
      {
        frames: submodule(
          'op_forward te/ops/basic/rmsnorm.py',
          'fuser_forward te/ops/op.py',
          'forward te/ops/fuser.py',
          'apply',
          '__call__ te/ops/fuser.py',
          'forward te/ops/op.py',
          'call',
          'forward core/transformer/transformer_layer.py',
          BLOCK,
        ),
        from: 'TransformerEngine pytorch/ops/basic/rmsnorm.py RMSNorm.op_forward (not read)',
      },
    ],
  },
  {
    id: 'te.layernorm-mlp',
    component: 'activation',
    sub_component: 'mlp',
    at: [
      {
        file: [
          `${TE}/module/layernorm_mlp.py`,
          `${TE}/module/selective_layernorm_mlp.py`,
          `${TE}/ops/fused/*grouped_mlp*.py`,
        ],
        function: ['forward', '_forward', 'fuser_forward'],
      },
    ],
    source: 'TransformerEngine pytorch/module/layernorm_mlp.py _LayerNormMLP.forward (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'general_gemm te/cpp_extensions/gemm.py',
          'forward te/module/layernorm_mlp.py',
          'apply',
          'forward te/module/layernorm_mlp.py',
          'call',
          '_forward_mlp core/transformer/transformer_layer.py',
          'forward core/transformer/transformer_layer.py',
          BLOCK,
        ),
        from: 'TransformerEngine pytorch/module/layernorm_mlp.py _LayerNormMLP.forward (not read)',
      },
    ],
  },
  {
    // Gradients of activations, and of weights where they are not added to main_grad at once.
    id: 'te.linear-backward',
    component: 'activation',
    sub_component: 'activation_gradient',
    at: {
      file: [
        ...LINEARS,
        `${TE}/module/layernorm_mlp.py`,
        `${TE}/module/grouped_linear.py`,
        `${TE}/ops/**`,
        `${TE}/module/base.py`,
      ],
      function: [
        'backward',
        'op_backward',
        'fuser_backward',
        'grad_output_preprocess',
        '_*_backward*',
        'backward_dw',
        'wgrad_gemm',
      ],
    },
    source:
      'TransformerEngine pytorch/module/linear.py _Linear.backward (0004dbd), grouped_linear.py _GroupedLinear.backward (0069563)',
    samples: [
      {
        frames: source('general_gemm te/cpp_extensions/gemm.py', 'backward te/module/linear.py', 'apply'),
        phase: 'backward',
        from: 'TransformerEngine pytorch/module/linear.py _Linear.backward (0004dbd)',
      },
      {
        frames: submodule(
          '_GroupedLinear.backward te/module/grouped_linear.py',
          'apply',
          '_engine_run_backward torch/autograd/graph.py',
          'backward torch/autograd/__init__.py',
          'CheckpointFunction.backward core/tensor_parallel/random.py',
          'apply',
        ),
        component: 'activation',
        phase: 'backward',
        from: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.backward (0069563); Megatron-LM core/tensor_parallel/random.py CheckpointFunction.backward (004bfb5)',
      },
    ],
  },
  {
    id: 'te.cross-entropy',
    component: 'logits_loss',
    sub_component: 'cross_entropy',
    at: { file: [`${TE}/cross_entropy.py`, `${TE}/triton/cross_entropy.py`, `${TE}/cutedsl/linear_cross_entropy*.py`] },
    source: 'TransformerEngine pytorch/cross_entropy.py CrossEntropyFunction (02965d2)',
    samples: [
      {
        frames: source(
          'cross_entropy_forward te/triton/cross_entropy.py',
          'forward te/cross_entropy.py',
          'apply',
          'te_parallel_cross_entropy core/extensions/transformer_engine.py',
          'compute_language_model_loss core/models/common/language_module/language_module.py',
          '_postprocess core/models/gpt/gpt_model.py',
          GPT,
        ),
        phase: 'forward',
        from: 'TransformerEngine pytorch/cross_entropy.py CrossEntropyFunction.forward (02965d2); Megatron-LM language_module.py (00c2c0a)',
      },
      {
        frames: submodule(
          'CrossEntropyFunction.forward te/cross_entropy.py',
          'apply',
          'te_parallel_cross_entropy core/extensions/transformer_engine.py',
          'compute_language_model_loss core/models/common/language_module/language_module.py',
          '_postprocess core/models/gpt/gpt_model.py',
          BRIDGE_GPT,
        ),
        from: 'TransformerEngine pytorch/cross_entropy.py CrossEntropyFunction.forward (02965d2)',
      },
    ],
  },
  {
    id: 'te.recompute',
    component: 'recompute',
    sub_component: 'checkpoint',
    at: {
      file: `${TE}/distributed.py`,
      function: ['_CheckpointFunction.backward', 'CheckpointFunction.backward', 'unpack_hook', 'recompute_fn'],
    },
    source: 'TransformerEngine pytorch/distributed.py CheckpointFunction (0143a5e), _CheckpointFunction',
    samples: [
      {
        frames: source('gather_split_1d_tensor te/distributed.py', 'backward te/distributed.py', 'apply'),
        phase: 'backward',
        from: 'TransformerEngine pytorch/distributed.py CheckpointFunction.backward (0143a5e; this part not read)',
      },
    ],
  },
  {
    id: 'te.checkpoint-input',
    component: 'activation',
    sub_component: 'checkpoint_input',
    at: { file: `${TE}/distributed.py`, function: 'split_tensor_into_1d_equal_chunks' },
    source: 'TransformerEngine pytorch/distributed.py CheckpointFunction.forward (0143a5e; also megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'split_tensor_into_1d_equal_chunks te/distributed.py',
          'forward te/distributed.py',
          'apply',
          'checkpoint te/distributed.py',
          'te_checkpoint core/extensions/transformer_engine.py',
          'checkpoint_handler core/transformer/transformer_block.py',
          '_checkpointed_forward core/transformer/transformer_block.py',
          'forward core/transformer/transformer_block.py',
          'call',
          GPT,
        ),
        from: 'TransformerEngine pytorch/distributed.py CheckpointFunction.forward (0143a5e; this part not read)',
      },
    ],
  },
];

/** Below the layers: what a linear layer or a quantizer allocates where no layer claims it. Belongs into the generic tier. */
export const TRANSFORMER_ENGINE_GENERIC: readonly AttributionRule[] = [
  {
    id: 'te.quantized-tensor',
    component: 'fp8_buffer',
    sub_component: 'quantized_tensor',
    at: {
      file: [`${TE}/tensor/**`, `${TE}/float8_tensor.py`, `${TE}/custom_recipes/**`, `${TE}/cpp_extensions/cast.py`],
    },
    without: OTHER_TENSORS,
    source:
      'TransformerEngine pytorch/optimizers/fused_adam.py quantizer.make_empty (04912bf); pytorch/tensor/*_tensor.py (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'make_empty te/tensor/float8_tensor.py',
          'quantize te/tensor/quantized_tensor.py',
          '<module> examples/quantize.py',
        ),
        from: 'TransformerEngine pytorch/tensor/float8_tensor.py Float8Quantizer.make_empty (04912bf)',
      },
    ],
  },
  {
    id: 'te.grouped-linear',
    component: 'activation',
    sub_component: 'moe_experts',
    at: { file: [`${TE}/module/grouped_linear.py`, `${TE}/ops/basic/grouped_linear.py`] },
    source: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.forward (0069563)',
    samples: [
      {
        frames: source(
          'forward te/module/grouped_linear.py',
          'apply',
          'forward te/module/grouped_linear.py',
          'call',
          'forward my_model/experts.py',
          'call',
          GET_MODEL.slice(-1),
        ),
        from: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.forward (0069563)',
      },
    ],
  },
  {
    id: 'te.linear',
    component: 'activation',
    sub_component: 'linear',
    at: {
      file: [
        ...LINEARS,
        `${TE}/module/_common.py`,
        `${TE}/module/base.py`,
        `${TE}/cpp_extensions/**`,
        `${TE}/ops/**`,
        `${TE}/transformer.py`,
        `${TE}/jit.py`,
        `${TE}/distributed.py`,
      ],
    },
    source:
      'TransformerEngine pytorch/module/linear.py _Linear.forward (0004dbd), cpp_extensions/gemm.py general_gemm (012983d)',
    samples: [
      {
        frames: source(
          'general_gemm te/cpp_extensions/gemm.py',
          'forward te/module/linear.py',
          'apply',
          'forward te/module/linear.py',
          'call',
          'forward my_model/projector.py',
          'call',
          '<module> train.py',
        ),
        from: 'TransformerEngine pytorch/cpp_extensions/gemm.py general_gemm (012983d)',
      },
    ],
  },
];
