/** Kernels that any framework calls: flash-attn, xformers, apex, Liger, flash-linear-attention. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, trainerStep, VENV } from './sample-tails.js';

function llama(packages: string): readonly string[] {
  return [
    `forward ${packages}/transformers/models/llama/modeling_llama.py`,
    ...moduleCall(packages),
    `forward ${packages}/transformers/models/llama/modeling_llama.py`,
    ...moduleCall(packages),
    `forward ${packages}/transformers/models/llama/modeling_llama.py`,
    ...moduleCall(packages),
    ...trainerStep(packages),
  ];
}

/** Megatron and Transformer Engine call the same kernels and say better what for. */
const NOT_THEIRS = { file: ['megatron/**', 'transformer_engine/**'] };

export const KERNEL_LAYERS: readonly AttributionRule[] = [
  {
    id: 'kernels.loss',
    component: 'logits_loss',
    sub_component: 'loss',
    at: {
      file: [
        'liger_kernel/ops/cross_entropy.py',
        'liger_kernel/ops/fused_linear_cross_entropy.py',
        'liger_kernel/chunked_loss/*.py',
        'liger_kernel/transformers/*cross_entropy.py',
        'flash_attn/losses/cross_entropy.py',
        'flash_attn/ops/triton/cross_entropy.py',
        'apex/contrib/xentropy/*.py',
        'cut_cross_entropy/**',
        'fla/modules/*cross_entropy.py',
      ],
    },
    without: NOT_THEIRS,
    source:
      'liger_kernel/ops/fused_linear_cross_entropy.py fused_linear_cross_entropy_forward (excerpt); fla/modules/fused_linear_cross_entropy.py, flash-linear-attention 0.5.2; the others by their names (not read)',
    samples: [
      {
        frames: [
          `fused_linear_cross_entropy_forward ${CONDA}/liger_kernel/ops/fused_linear_cross_entropy.py`,
          `forward ${CONDA}/liger_kernel/ops/fused_linear_cross_entropy.py`,
          `decorate_fwd ${CONDA}/torch/amp/autocast_mode.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
          `forward ${CONDA}/liger_kernel/transformers/fused_linear_cross_entropy.py`,
          ...moduleCall(CONDA),
          `lce_forward ${CONDA}/liger_kernel/transformers/model/llama.py`,
          ...moduleCall(CONDA),
          ...trainerStep(CONDA),
        ],
        from: 'liger_kernel/ops/fused_linear_cross_entropy.py fused_linear_cross_entropy_forward (excerpt)',
      },
    ],
  },
  {
    id: 'kernels.attention',
    component: 'activation',
    sub_component: 'attention',
    at: [
      {
        file: [
          'flash_attn/*.py',
          'flash_attn_interface.py',
          'hopper/flash_attn_interface.py',
          'flash_attn_2_cuda.py',
          'flash_attn_3/**',
        ],
      },
      {
        file: [
          'xformers/ops/fmha/**',
          'xformers/components/attention/**',
          'sageattention/**',
          'torch/nn/attention/*.py',
          'torch/_higher_order_ops/flex_attention.py',
        ],
      },
      {
        file: [
          'apex/transformer/functional/fused_softmax.py',
          'apex/contrib/fmha/*.py',
          'apex/contrib/multihead_attn/*.py',
        ],
      },
      { file: ['fla/ops/**', 'fla/layers/*.py'] },
    ],
    without: NOT_THEIRS,
    source:
      'torch/nn/attention, torch 2.14.1 wheel; fla/ops, flash-linear-attention 0.5.2; flash_attn/flash_attn_interface.py, xformers/ops/fmha by their names (not read)',
    samples: [
      {
        frames: [
          `_flash_attn_forward ${VENV}/flash_attn/flash_attn_interface.py`,
          `forward ${VENV}/flash_attn/flash_attn_interface.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `flash_attn_func ${VENV}/flash_attn/flash_attn_interface.py`,
          `_flash_attention_forward ${VENV}/transformers/modeling_flash_attention_utils.py`,
          `flash_attention_forward ${VENV}/transformers/integrations/flash_attention.py`,
          ...llama(VENV),
        ],
        from: `transformers/modeling_flash_attention_utils.py _flash_attention_forward, transformers 5.17.0; flash_attn (not read)`,
      },
    ],
  },
  {
    id: 'kernels.norm',
    component: 'activation',
    sub_component: 'norm',
    at: {
      file: [
        'liger_kernel/ops/*norm.py',
        'apex/normalization/*.py',
        'apex/contrib/layer_norm/*.py',
        'flash_attn/ops/rms_norm.py',
        'flash_attn/ops/layer_norm.py',
        'flash_attn/ops/triton/layer_norm.py',
        'fla/modules/*norm*.py',
      ],
    },
    without: NOT_THEIRS,
    source:
      'fla/modules/layernorm.py, flash-linear-attention 0.5.2; liger_kernel/ops/rms_norm.py, apex/normalization/fused_layer_norm.py by their names (not read)',
    samples: [
      {
        frames: [
          `layer_norm_fwd ${DIST}/fla/modules/layernorm.py`,
          `forward ${DIST}/fla/modules/layernorm.py`,
          `wrapper ${DIST}/fla/utils.py`,
          `apply ${DIST}/torch/autograd/function.py`,
          `forward ${DIST}/fla/modules/layernorm.py`,
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: 'fla/modules/layernorm.py, flash-linear-attention 0.5.2',
      },
    ],
  },
  {
    id: 'kernels.mlp',
    component: 'activation',
    sub_component: 'mlp',
    at: {
      file: [
        'liger_kernel/ops/swiglu.py',
        'liger_kernel/ops/geglu.py',
        'xformers/ops/swiglu_op.py',
        'flash_attn/ops/activations.py',
        'flash_attn/modules/mlp.py',
        'fla/modules/mlp.py',
        'fla/modules/activations.py',
        'apex/mlp/*.py',
        'apex/fused_dense/*.py',
      ],
    },
    without: NOT_THEIRS,
    source: 'fla/modules/mlp.py, activations.py, flash-linear-attention 0.5.2; the others by their names (not read)',
    samples: [
      {
        frames: [
          `swiglu_fwd ${CONDA}/fla/modules/activations.py`,
          `forward ${CONDA}/fla/modules/activations.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
          `forward ${CONDA}/fla/modules/mlp.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'fla/modules/activations.py, flash-linear-attention 0.5.2',
      },
    ],
  },
  {
    id: 'kernels.rope',
    component: 'activation',
    sub_component: 'rope',
    at: {
      file: [
        'liger_kernel/ops/*rope.py',
        'flash_attn/ops/triton/rotary.py',
        'flash_attn/layers/rotary.py',
        'fla/modules/rotary.py',
      ],
    },
    without: NOT_THEIRS,
    source: 'fla/modules/rotary.py, flash-linear-attention 0.5.2; the others by their names (not read)',
    samples: [
      {
        frames: [
          `rotary_embedding_fwdbwd ${VENV}/fla/modules/rotary.py`,
          `forward ${VENV}/fla/modules/rotary.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `rotary_embedding ${VENV}/fla/modules/rotary.py`,
          `forward ${VENV}/fla/modules/rotary.py`,
          ...moduleCall(VENV),
          `forward ${VENV}/fla/layers/attn.py`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: 'fla/modules/rotary.py, flash-linear-attention 0.5.2',
      },
    ],
  },
  {
    id: 'kernels.ssm',
    component: 'activation',
    sub_component: 'ssm',
    at: { file: ['mamba_ssm/**', 'causal_conv1d/**', 'fla/modules/convolution.py', 'fla/modules/conv/**'] },
    without: NOT_THEIRS,
    source:
      'fla/modules/convolution.py, flash-linear-attention 0.5.2; mamba_ssm, causal_conv1d by their names (not read)',
    samples: [
      {
        frames: [
          `causal_conv1d_fn ${CONDA}/causal_conv1d/causal_conv1d_interface.py`,
          `forward ${CONDA}/mamba_ssm/modules/mamba2.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'mamba_ssm/modules/mamba2.py (not read)',
      },
    ],
  },
];
