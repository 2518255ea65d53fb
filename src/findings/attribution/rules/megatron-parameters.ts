/** Weights of Megatron-Core's modules, at model build. */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { BRIDGE_SETUP, BUILD_LAYERS, GET_MODEL, source, submodule, wheel } from './megatron-stacks.js';

const LINEAR = 'core/tensor_parallel/layers.py';
const GPT_MODEL = 'core/models/gpt/gpt_model.py';
const LANGUAGE_MODULE = 'core/models/common/language_module/language_module.py';
/** Functions that make weights; adapters are told apart. */
const WEIGHTS = ['__init__', '_initialize_affine_weight_gpu', '_initialize_affine_weight_cpu'];
const ADAPTERS: FramePattern = { file: ['bridge/peft/**', 'llm/peft/**'] };

export const PARAMETER_OWNERS: readonly AttributionRule[] = [
  {
    id: 'mcore.embedding-parameters',
    component: 'parameter',
    sub_component: 'embedding',
    at: { file: LINEAR, function: WEIGHTS },
    within: { file: 'core/models/common/embeddings/**', function: '__init__' },
    without: ADAPTERS,
    phase: 'model_build',
    source: `Megatron-LM ${LINEAR} VocabParallelEmbedding.__init__ (megatron.md 5.2)`,
    samples: [
      {
        frames: source(
          `__init__ ${LINEAR}`,
          '__init__ core/models/common/embeddings/language_model_embedding.py',
          `__init__ ${GPT_MODEL}`,
          'model_provider pretrain_gpt.py',
          GET_MODEL,
        ),
        lifetime: 'resident',
        phase: 'model_build',
        from: `Megatron-LM ${LINEAR} VocabParallelEmbedding.__init__ (not read); ${GPT_MODEL} __init__ (007562f)`,
      },
    ],
  },
  {
    id: 'mcore.linear-parameters',
    component: 'parameter',
    sub_component: 'linear',
    at: { file: LINEAR, function: WEIGHTS },
    without: ADAPTERS,
    phase: 'model_build',
    source: `Megatron-LM ${LINEAR} ColumnParallelLinear.__init__, RowParallelLinear.__init__ (000c4ac)`,
    samples: [
      {
        frames: source(`__init__ ${LINEAR}`, `__init__ ${GPT_MODEL}`, 'model_provider pretrain_gpt.py', GET_MODEL),
        from: `Megatron-LM ${GPT_MODEL} GPTModel.__init__, output layer (007562f)`,
      },
      {
        frames: wheel(
          `_initialize_affine_weight_gpu ${LINEAR}`,
          `__init__ ${LINEAR}`,
          'build_module core/transformer/spec_utils.py',
          '__init__ core/transformer/attention.py',
          '__init__ core/transformer/attention.py',
          BUILD_LAYERS,
        ),
        from: 'Megatron-LM core/transformer/attention.py SelfAttention.__init__ (f41b4fd)',
      },
    ],
  },
  {
    id: 'mcore.moe-parameters',
    component: 'parameter',
    sub_component: 'moe',
    at: {
      file: [
        'transformer/moe/router.py',
        'transformer/moe/experts.py',
        'transformer/moe/shared_experts.py',
        'transformer/moe/moe_layer.py',
        'transformer/moe/grouped_mlp.py',
      ],
      function: ['__init__', 'reset_parameters', '_reset_parameters', '_maintain_float32_expert_bias'],
    },
    without: ADAPTERS,
    phase: 'model_build',
    source: 'Megatron-LM core/transformer/moe/experts.py GroupedMLP.__init__ (00358e5), router.py (005742f)',
    samples: [
      {
        frames: source(
          '__init__ core/transformer/moe/router.py',
          '__init__ core/transformer/moe/router.py',
          '__init__ core/transformer/moe/moe_layer.py',
          'build_module core/transformer/spec_utils.py',
          BUILD_LAYERS.slice(1),
        ),
        from: 'Megatron-LM core/transformer/moe/router.py Router.__init__ (005742f)',
      },
      {
        frames: wheel(
          '__init__ core/transformer/moe/experts.py',
          '__init__ core/transformer/moe/moe_layer.py',
          BUILD_LAYERS,
        ),
        from: 'Megatron-LM core/transformer/moe/experts.py GroupedMLP.__init__ (00358e5)',
      },
    ],
  },
  {
    // Float16Module casts the model after it was built: these are the weights that stay.
    id: 'mcore.half-precision-parameters',
    component: 'parameter',
    sub_component: 'half_precision_cast',
    at: { file: 'core/transformer/module.py', function: '__init__' },
    through: { file: 'torch/nn/modules/module.py', function: ['_apply', 'half', 'bfloat16'] },
    phase: 'model_build',
    source: 'Megatron-LM core/transformer/module.py Float16Module.__init__ (from memory)',
    samples: [
      {
        frames: source(
          '<lambda> torch/nn/modules/module.py',
          '_apply torch/nn/modules/module.py',
          '_apply torch/nn/modules/module.py',
          'bfloat16 torch/nn/modules/module.py',
          '__init__ core/transformer/module.py',
          GET_MODEL,
        ),
        from: 'Megatron-LM core/transformer/module.py Float16Module.__init__ (not read)',
      },
    ],
  },
  {
    id: 'mcore.ssm-parameters',
    component: 'parameter',
    sub_component: 'ssm',
    at: { file: 'megatron/core/ssm/**', function: ['__init__', 'reset_parameters'] },
    without: ADAPTERS,
    phase: 'model_build',
    source: 'Megatron-LM core/ssm/mamba_mixer.py MambaMixer.__init__ (00bebb4)',
    samples: [
      {
        frames: source(
          '__init__ core/ssm/mamba_mixer.py',
          'build_module core/transformer/spec_utils.py',
          '__init__ core/ssm/mamba_layer.py',
          'build_module core/transformer/spec_utils.py',
          '__init__ core/ssm/mamba_block.py',
          '__init__ core/models/mamba/mamba_model.py',
          'model_provider pretrain_mamba.py',
          GET_MODEL,
        ),
        from: 'Megatron-LM core/ssm/mamba_mixer.py MambaMixer.__init__ (00bebb4)',
      },
    ],
  },
  {
    id: 'mcore.module-parameters',
    component: 'parameter',
    sub_component: 'module',
    at: {
      file: [
        'megatron/core/transformer/**',
        'megatron/core/models/**',
        'megatron/core/fusions/**',
        'megatron/core/extensions/**',
      ],
      function: ['__init__', 'reset_parameters', '_reset_parameters', 'setup_embeddings_and_output_layer'],
    },
    without: [ADAPTERS, { file: ['core/transformer/cuda_graphs.py', 'transformer/moe/token_dispatcher.py'] }],
    phase: 'model_build',
    source:
      'Megatron-LM core/fusions/fused_layer_norm.py, core/models/common/embeddings/*.py __init__ (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          '__init__ core/fusions/fused_layer_norm.py',
          'build_module core/transformer/spec_utils.py',
          BUILD_LAYERS.slice(1),
        ),
        from: 'Megatron-LM core/fusions/fused_layer_norm.py FusedLayerNorm.__init__ (not read)',
      },
      {
        frames: wheel(
          `setup_embeddings_and_output_layer ${LANGUAGE_MODULE}`,
          `__init__ ${GPT_MODEL}`,
          'model_provider pretrain_gpt.py',
          GET_MODEL,
        ),
        from: `Megatron-LM ${LANGUAGE_MODULE} setup_embeddings_and_output_layer (00c2c0a)`,
      },
    ],
  },
  {
    id: 'mcore.model-build',
    component: 'parameter',
    sub_component: 'model_build',
    at: [
      { file: 'megatron/training/training.py', function: 'get_model' },
      { file: 'bridge/models/*.py', function: ['get_model', 'provide_distributed_model', 'build_distributed_models'] },
    ],
    phase: 'model_build',
    source:
      'Megatron-LM training/training.py get_model; Megatron Bridge training/setup.py _build_distributed_model (004b734)',
    samples: [
      {
        frames: source(
          '<lambda> torch/nn/modules/module.py',
          '_apply torch/nn/modules/module.py',
          'cuda torch/nn/modules/module.py',
          GET_MODEL,
        ),
        phase: 'model_build',
        from: 'Megatron-LM training/training.py get_model moves the model to the device (not read)',
      },
      {
        frames: submodule(
          '_apply torch/nn/modules/module.py',
          'cuda torch/nn/modules/module.py',
          'get_model bridge/models/model_provider.py',
          'provide_distributed_model bridge/models/model_provider.py',
          '_build_distributed_model bridge/training/setup.py',
          BRIDGE_SETUP,
        ),
        from: 'Megatron Bridge training/setup.py _build_distributed_model (004b734); models/model_provider.py (not read)',
      },
    ],
  },
];
