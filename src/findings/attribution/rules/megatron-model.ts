/** Forward pass of Megatron-Core's models but for attention, experts and loss; recomputation. */
import type { AttributionRule } from '../match/rule.js';
import { EXPERT_FILES } from './megatron-moe.js';
import {
  BLOCK,
  BRIDGE_GPT,
  CHECKPOINT_FILE,
  COLUMN_PARALLEL,
  FORWARD_MLP,
  FORWARD_STEP,
  GPT,
  GPT_MODEL_FILE,
  LINEAR_FILE,
  MLP,
  MTP_FILE,
  RECOMPUTE,
  RECOMPUTED_LAYER,
  source,
  submodule,
  TE_LAYERNORM_LINEAR,
  TE_LINEAR,
  wheel,
} from './megatron-stacks.js';

export const MODEL_LAYERS: readonly AttributionRule[] = [
  {
    id: 'mcore.embedding',
    component: 'activation',
    sub_component: 'embedding',
    at: [
      { file: 'core/models/common/embeddings/language_model_embedding.py' },
      { file: 'megatron/core/models/**', function: '_preprocess' },
    ],
    source: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._preprocess (007562f)`,
    samples: [
      {
        frames: source(
          'embedding torch/nn/functional.py',
          `forward ${LINEAR_FILE}`,
          'call',
          'forward core/models/common/embeddings/language_model_embedding.py',
          'call',
          `_preprocess ${GPT_MODEL_FILE}`,
          GPT,
        ),
        phase: 'forward',
        from: `Megatron-LM ${GPT_MODEL_FILE} GPTModel._preprocess (007562f)`,
      },
      {
        frames: wheel(
          '_reduce_scatter_along_first_dim core/tensor_parallel/mappings.py',
          'forward core/tensor_parallel/mappings.py',
          'apply',
          'reduce_scatter_to_sequence_parallel_region core/tensor_parallel/mappings.py',
          `forward ${LINEAR_FILE}`,
          'call',
          'forward core/models/common/embeddings/language_model_embedding.py',
          'call',
          GPT,
        ),
        from: 'Megatron-LM core/tensor_parallel/mappings.py reduce_scatter_to_sequence_parallel_region (00caa53), called by VocabParallelEmbedding.forward',
      },
    ],
  },
  {
    id: 'mcore.mlp',
    component: 'activation',
    sub_component: 'mlp',
    at: [
      {
        file: [
          'core/transformer/mlp.py',
          'core/fusions/fused_bias_swiglu.py',
          'core/fusions/fused_bias_geglu.py',
          'core/fusions/fused_bias_gelu.py',
          'core/fusions/fused_weighted_squared_relu.py',
        ],
      },
      { file: 'core/transformer/transformer_layer.py', function: '_forward_mlp' },
    ],
    without: EXPERT_FILES,
    source: 'Megatron-LM core/transformer/mlp.py MLP.forward, core/transformer/transformer_layer.py _forward_mlp',
    samples: [
      {
        frames: source(
          'forward core/fusions/fused_bias_swiglu.py',
          'apply',
          'bias_swiglu_impl core/fusions/fused_bias_swiglu.py',
          MLP,
        ),
        phase: 'forward',
        from: 'Megatron-LM core/fusions/fused_bias_swiglu.py bias_swiglu_impl, as shared_experts.py calls it (0065cf8)',
      },
      {
        frames: submodule(
          TE_LAYERNORM_LINEAR,
          'forward core/transformer/mlp.py',
          'call',
          '_forward_mlp core/transformer/transformer_layer.py',
          RECOMPUTED_LAYER,
        ),
        component: 'recompute',
        from: `Megatron-LM ${CHECKPOINT_FILE} CheckpointFunction.backward (004bfb5); core/transformer/transformer_layer.py _forward_mlp`,
      },
      {
        // Backward inside a reentrant checkpoint is no recomputation.
        frames: source(
          'backward core/fusions/fused_bias_swiglu.py',
          'apply',
          '_engine_run_backward torch/autograd/graph.py',
          'backward torch/autograd/__init__.py',
          RECOMPUTE.slice(1),
        ),
        component: 'activation',
        phase: 'backward',
        from: `Megatron-LM ${CHECKPOINT_FILE} CheckpointFunction.backward calls torch.autograd.backward (004bfb5)`,
      },
    ],
  },
  {
    id: 'mcore.layernorm',
    component: 'activation',
    sub_component: 'layernorm',
    at: {
      file: [
        'core/fusions/fused_layer_norm.py',
        'core/transformer/torch_norm.py',
        'core/transformer/torch_layer_norm.py',
        'core/fusions/fused_add_rmsnorm.py',
        'core/fusions/fused_rms_norm.py',
        'apex/normalization/**',
        'apex/contrib/layer_norm/**',
      ],
    },
    source: 'Megatron-LM core/fusions/fused_layer_norm.py FusedLayerNorm.forward (megatron.md 5.2)',
    samples: [
      {
        frames: wheel(
          'forward apex/contrib/layer_norm/layer_norm.py',
          'apply',
          '_fast_layer_norm apex/contrib/layer_norm/layer_norm.py',
          'forward core/fusions/fused_layer_norm.py',
          'call',
          'forward core/transformer/transformer_layer.py',
          BLOCK,
        ),
        from: 'Megatron-LM core/fusions/fused_layer_norm.py FusedLayerNorm.forward (not read)',
      },
    ],
  },
  {
    id: 'mcore.bias-dropout',
    component: 'activation',
    sub_component: 'bias_dropout_add',
    at: [
      { file: 'core/fusions/fused_bias_dropout.py' },
      { file: 'core/transformer/transformer_layer.py', function: '_forward_post_mlp' },
    ],
    source: 'Megatron-LM core/transformer/transformer_layer.py _forward_post_mlp calls mlp_bda (stored file 414702042)',
    samples: [
      {
        frames: source(
          'bias_dropout_add_fused_train core/fusions/fused_bias_dropout.py',
          '_forward_post_mlp core/transformer/transformer_layer.py',
          FORWARD_MLP,
        ),
        phase: 'forward',
        from: 'Megatron-LM core/transformer/transformer_layer.py _forward_post_mlp (stored file 414702042)',
      },
      {
        frames: wheel(
          '_bias_dropout_add_func core/fusions/fused_bias_dropout.py',
          'bias_dropout_add_fused_train core/fusions/fused_bias_dropout.py',
          'forward core/transformer/transformer_layer.py',
          BLOCK,
        ),
        from: 'Megatron-LM core/transformer/transformer_layer.py forward (009c601)',
      },
    ],
  },
  {
    // A hybrid stack holds attention and MLP layers too; on its own it has no more than the residual stream.
    id: 'mcore.hybrid-block',
    component: 'activation',
    sub_component: 'transformer_layer',
    at: { file: ['core/ssm/mamba_block.py', 'core/ssm/mlp_layer.py', 'core/models/hybrid/**', 'core/models/mamba/**'] },
    source: 'Megatron-LM core/ssm/mamba_block.py MambaStack.forward (from memory)',
    samples: [
      {
        frames: source(
          'forward core/ssm/mamba_block.py',
          'call',
          'forward core/models/mamba/mamba_model.py',
          'call',
          'forward core/transformer/module.py',
          'call',
          FORWARD_STEP,
        ),
        from: 'Megatron-LM core/ssm/mamba_block.py MambaStack.forward (not read)',
      },
    ],
  },
  {
    id: 'mcore.ssm',
    component: 'activation',
    sub_component: 'ssm',
    at: { file: 'megatron/core/ssm/**' },
    source: 'Megatron-LM core/ssm/mamba_mixer.py MambaMixer.forward, _ssm_training (00bebb4)',
    samples: [
      {
        frames: source(
          '_ssm_training core/ssm/mamba_mixer.py',
          'forward core/ssm/mamba_mixer.py',
          'call',
          'forward core/ssm/mamba_layer.py',
          'call',
          'forward core/ssm/mamba_block.py',
          'call',
          'forward core/models/mamba/mamba_model.py',
          'call',
          FORWARD_STEP,
        ),
        from: 'Megatron-LM core/ssm/mamba_mixer.py MambaMixer._ssm_training (00bebb4)',
      },
      {
        frames: submodule(
          TE_LAYERNORM_LINEAR,
          'forward core/ssm/mamba_mixer.py',
          'call',
          'forward core/ssm/mamba_layer.py',
          'call',
          'forward core/ssm/mamba_block.py',
          'call',
          BRIDGE_GPT,
        ),
        from: 'Megatron-LM core/ssm/mamba_mixer.py MambaMixer.forward, in_proj (00bebb4)',
      },
    ],
  },
  {
    id: 'mcore.mtp',
    component: 'activation',
    sub_component: 'mtp',
    at: { file: MTP_FILE },
    source: `Megatron-LM ${MTP_FILE} MultiTokenPredictionLayer (00611e6)`,
    samples: [
      {
        frames: submodule(
          TE_LINEAR,
          `_concat_embeddings ${MTP_FILE}`,
          `_proj_and_transformer_layer ${MTP_FILE}`,
          `forward ${MTP_FILE}`,
          'call',
          `forward ${MTP_FILE}`,
          'call',
          `_postprocess ${GPT_MODEL_FILE}`,
          BRIDGE_GPT,
        ),
        from: `Megatron-LM ${MTP_FILE} MultiTokenPredictionLayer.forward (00611e6; this part not read)`,
      },
    ],
  },
  {
    id: 'mcore.recompute',
    component: 'recompute',
    sub_component: 'checkpoint',
    at: [
      { file: CHECKPOINT_FILE, function: ['CheckpointFunction.backward', '_recompute', '_unified_recompute_hook'] },
      { file: 'core/transformer/transformer_block.py', function: 'custom_forward' },
    ],
    without: { file: CHECKPOINT_FILE, function: 'CheckpointFunction.forward' },
    source: `Megatron-LM ${CHECKPOINT_FILE} CheckpointFunction.backward, CheckpointWithoutOutput._recompute (004bfb5)`,
    samples: [
      {
        // The output's storage, which was given up in the forward pass.
        frames: source(`_recompute ${CHECKPOINT_FILE}`),
        phase: 'backward',
        from: `Megatron-LM ${CHECKPOINT_FILE} CheckpointWithoutOutput._recompute (004bfb5)`,
      },
      {
        frames: submodule(
          'detach_variable torch/utils/checkpoint.py',
          `CheckpointFunction.backward ${CHECKPOINT_FILE}`,
          'apply',
        ),
        phase: 'backward',
        from: `Megatron-LM ${CHECKPOINT_FILE} CheckpointFunction.backward (004bfb5)`,
      },
    ],
  },
  {
    id: 'mcore.linear-backward',
    component: 'activation',
    sub_component: 'activation_gradient',
    at: {
      file: LINEAR_FILE,
      function: ['LinearWithGradAccumulationAndAsyncCommunication.backward', 'prepare_input_tensors_for_wgrad_compute'],
    },
    source: `Megatron-LM ${LINEAR_FILE} LinearWithGradAccumulationAndAsyncCommunication.backward (000c4ac)`,
    samples: [
      {
        frames: source(`backward ${LINEAR_FILE}`, 'decorate_bwd torch/amp/autocast_mode.py', 'apply'),
        phase: 'backward',
        from: `Megatron-LM ${LINEAR_FILE} LinearWithGradAccumulationAndAsyncCommunication.backward (000c4ac)`,
      },
    ],
  },
  {
    id: 'mcore.transformer-layer',
    component: 'activation',
    sub_component: 'transformer_layer',
    at: [
      {
        file: [
          'core/transformer/transformer_layer.py',
          'core/transformer/transformer_block.py',
          'core/transformer/hyper_connection.py',
          'core/fusions/fused_mhc_kernels.py',
        ],
      },
      { file: 'core/models/common/model_chunk_schedule_plan.py' },
    ],
    without: { function: '__init__' },
    source:
      'Megatron-LM core/transformer/transformer_block.py TransformerBlock.forward, transformer_layer.py (stored file 414702042)',
    samples: [
      {
        frames: source('forward core/transformer/transformer_layer.py', BLOCK),
        phase: 'forward',
        from: 'Megatron-LM core/transformer/transformer_layer.py TransformerLayer.forward (009c601)',
      },
    ],
  },
  {
    id: 'mcore.model-forward',
    component: 'activation',
    sub_component: 'model',
    // A folder of that name is common: only below Megatron's.
    at: { file: 'megatron/core/models/**' },
    without: { function: '__init__' },
    source: `Megatron-LM ${GPT_MODEL_FILE} GPTModel.forward (007562f)`,
    samples: [
      {
        frames: source(
          'forward core/models/vision/clip_vit_model.py',
          'call',
          'forward core/models/multimodal/llava_model.py',
          'call',
          FORWARD_STEP,
        ),
        from: 'Megatron-LM core/models/vision/clip_vit_model.py CLIPViTModel.forward (not read)',
      },
    ],
  },
];

/** For what no layer claims: the tier below them. */
export const MODEL_GENERIC: readonly AttributionRule[] = [
  {
    id: 'mcore.linear',
    component: 'activation',
    sub_component: 'linear',
    at: { file: [LINEAR_FILE, 'core/tensor_parallel/inference_layers.py', 'core/extensions/transformer_engine.py'] },
    source: `Megatron-LM ${LINEAR_FILE} ColumnParallelLinear.forward (000c4ac)`,
    samples: [
      {
        frames: source(COLUMN_PARALLEL, 'forward examples/multimodal/projector.py', 'call', FORWARD_STEP),
        from: `Megatron-LM ${LINEAR_FILE} LinearWithGradAccumulationAndAsyncCommunication.forward (000c4ac)`,
      },
    ],
  },
];
