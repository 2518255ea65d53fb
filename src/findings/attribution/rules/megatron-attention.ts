/** Forward pass of Megatron-Core's attention. */
import type { AttributionRule } from '../match/rule.js';
import {
  ATTENTION,
  BLOCK,
  CHECKPOINT_FILE,
  GPT,
  GPT_MODEL_FILE,
  LINEAR_FILE,
  RECOMPUTED_LAYER,
  source,
  submodule,
  TE_LAYERNORM_LINEAR,
  TE_LINEAR,
  wheel,
} from './megatron-stacks.js';

export const ATTENTION_LAYERS: readonly AttributionRule[] = [
  {
    id: 'mcore.rotary-embedding',
    component: 'activation',
    sub_component: 'rotary_embedding',
    at: [
      {
        file: [
          'core/models/common/embeddings/*rotary_pos_embedding.py',
          'core/models/common/embeddings/rope_utils.py',
          'core/fusions/fused_mla_yarn_rope_apply.py',
          'core/fusions/fused_mrope.py',
        ],
      },
    ],
    source: `Megatron-LM core/models/common/embeddings/rotary_pos_embedding.py; ${GPT_MODEL_FILE} _preprocess (007562f)`,
    samples: [
      {
        frames: source(
          'get_freqs_non_repeated core/models/common/embeddings/rotary_pos_embedding.py',
          'forward core/models/common/embeddings/rotary_pos_embedding.py',
          'call',
          `_preprocess ${GPT_MODEL_FILE}`,
          GPT,
        ),
        from: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._preprocess calls rotary_pos_emb (007562f)`,
      },
      {
        frames: submodule(
          '_apply_rotary_pos_emb_bshd core/models/common/embeddings/rope_utils.py',
          'apply_rotary_pos_emb core/models/common/embeddings/rope_utils.py',
          ATTENTION,
        ),
        from: 'Megatron-LM core/transformer/attention.py Attention.forward calls apply_rotary_pos_emb (f41b4fd)',
      },
    ],
  },
  {
    id: 'mcore.attention-core',
    component: 'activation',
    sub_component: 'attention_core',
    at: {
      file: [
        'core/transformer/dot_product_attention.py',
        'core/transformer/dot_product_attention_context_parallel.py',
        'core/transformer/core_attention.py',
        'core/fusions/fused_softmax.py',
        'core/transformer/experimental_attention_variant/**',
      ],
    },
    source: 'Megatron-LM core/transformer/dot_product_attention.py, core/fusions/fused_softmax.py (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'forward core/fusions/fused_softmax.py',
          'apply',
          'forward_fused_softmax core/fusions/fused_softmax.py',
          'forward core/fusions/fused_softmax.py',
          'call',
          'forward core/transformer/dot_product_attention.py',
          'call',
          ATTENTION,
        ),
        phase: 'forward',
        from: 'Megatron-LM core/transformer/dot_product_attention.py DotProductAttention.forward (not read); core/transformer/attention.py (f41b4fd)',
      },
      {
        // Selective recomputation of the core attention.
        frames: wheel(
          'forward core/transformer/dot_product_attention.py',
          'call',
          'custom_forward core/transformer/attention.py',
          `backward ${CHECKPOINT_FILE}`,
          'apply',
        ),
        component: 'recompute',
        phase: 'backward',
        from: `Megatron-LM core/transformer/attention.py _checkpointed_attention_forward (f41b4fd); ${CHECKPOINT_FILE} CheckpointFunction.backward (004bfb5)`,
      },
    ],
  },
  {
    id: 'mcore.attention-qkv',
    component: 'activation',
    sub_component: 'attention_qkv',
    at: {
      file: ['core/transformer/attention.py', 'core/transformer/attention_*.py'],
      function: ['get_query_key_value_tensors', 'get_query_key_value*'],
    },
    source: 'Megatron-LM core/transformer/attention.py SelfAttention.get_query_key_value_tensors (f41b4fd)',
    samples: [
      {
        frames: source(TE_LAYERNORM_LINEAR, 'get_query_key_value_tensors core/transformer/attention.py', ATTENTION),
        phase: 'forward',
        from: 'Megatron-LM core/transformer/attention.py SelfAttention.get_query_key_value_tensors (f41b4fd); TransformerEngine pytorch/module/layernorm_linear.py',
      },
      {
        frames: submodule(
          'general_gemm te/cpp_extensions/gemm.py',
          'forward te/module/layernorm_linear.py',
          TE_LAYERNORM_LINEAR.slice(1),
          'get_query_key_value_tensors core/transformer/attention.py',
          'forward core/transformer/attention.py',
          'call',
          '_forward_attention core/transformer/transformer_layer.py',
          RECOMPUTED_LAYER,
        ),
        component: 'recompute',
        phase: 'backward',
        from: `Megatron-LM ${CHECKPOINT_FILE} CheckpointFunction.backward (004bfb5); TransformerEngine pytorch/cpp_extensions/gemm.py general_gemm (012983d)`,
      },
    ],
  },
  {
    id: 'mcore.attention-mla',
    component: 'activation',
    sub_component: 'attention_mla',
    at: { file: 'core/transformer/multi_latent_attention.py' },
    source:
      'Megatron-LM core/transformer/multi_latent_attention.py MLASelfAttention.get_query_key_value_tensors, _qkv_down_projection (003b4ce)',
    samples: [
      {
        frames: source(
          TE_LINEAR,
          '_qkv_down_projection core/transformer/multi_latent_attention.py',
          'get_query_key_value_tensors core/transformer/multi_latent_attention.py',
          'forward core/transformer/multi_latent_attention.py',
          'call',
          '_forward_attention core/transformer/transformer_layer.py',
          'forward core/transformer/transformer_layer.py',
          BLOCK,
        ),
        from: 'Megatron-LM core/transformer/multi_latent_attention.py _qkv_down_projection (003b4ce)',
      },
      {
        frames: submodule(
          TE_LINEAR,
          'qkv_up_proj_and_rope_apply core/transformer/multi_latent_attention.py',
          `_recompute ${CHECKPOINT_FILE}`,
        ),
        component: 'recompute',
        phase: 'backward',
        from: `Megatron-LM core/transformer/multi_latent_attention.py recompute_up_proj (003b4ce); ${CHECKPOINT_FILE} CheckpointWithoutOutput._recompute (004bfb5)`,
      },
    ],
  },
  {
    id: 'mcore.attention-linear',
    component: 'activation',
    sub_component: 'attention_linear',
    at: [
      { file: ['core/transformer/attention.py', 'core/transformer/attention_*.py'] },
      { file: 'core/transformer/transformer_layer.py', function: '_forward_attention' },
    ],
    source: 'Megatron-LM core/transformer/attention.py Attention.forward (f41b4fd)',
    samples: [
      {
        frames: source(TE_LINEAR, ATTENTION),
        phase: 'forward',
        from: 'Megatron-LM core/transformer/attention.py Attention.forward, linear_proj (f41b4fd); TransformerEngine pytorch/module/linear.py (0004dbd)',
      },
      {
        frames: wheel(
          '_reduce_scatter_along_first_dim core/tensor_parallel/mappings.py',
          'forward core/tensor_parallel/mappings.py',
          'apply',
          'reduce_scatter_to_sequence_parallel_region core/tensor_parallel/mappings.py',
          `forward ${LINEAR_FILE}`,
          'call',
          ATTENTION,
        ),
        from: `Megatron-LM core/tensor_parallel/mappings.py (00caa53), ${LINEAR_FILE} RowParallelLinear.forward (000c4ac)`,
      },
    ],
  },
];
