/**
 * Layers of transformers, peft and bitsandbytes. torch records bare function names, so that a modeling file's frames are all called `forward`: one that has another
 * modeling frame further out is a layer; one that stands alone is the model with its head, and what it makes itself are logits. That order of the list tells them apart.
 */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { ADAPTER_LAYERS } from './hugging-face-adapters.js';
import { fromHead, fromLayer, fromModel, MODEL, MODELING } from './hugging-face-stacks.js';
import { CONDA, DIST, moduleCall, SCRIPT, trainerStep, VENV } from './sample-tails.js';

const BOTH = 'transformers 4.57.6 and 5.17.0';
const TRANSFORMERS = 'transformers 5.17.0';
/** A layer that is run again for backward has no model further out. */
const CHECKPOINT: FramePattern = {
  file: ['torch/utils/checkpoint.py', 'deepspeed/runtime/activation_checkpointing/checkpointing.py'],
};

/** A compiled model is one graph below its own `forward`, layers and all. */
const COMPILED: FramePattern = { file: ['torchinductor_*/**', 'torch/_inductor/output_code.py'] };

function fsdp1(packages: string): readonly string[] {
  return [`forward ${packages}/torch/distributed/fsdp/fully_sharded_data_parallel.py`, ...moduleCall(packages)];
}

/** What a reentrant or saved-tensor checkpoint's second forward has above the layer: nothing of the trainer, which waits on another thread. */
function recompute(packages: string): readonly string[] {
  return [`recompute_fn ${packages}/torch/utils/checkpoint.py`, `unpack_hook ${packages}/torch/utils/checkpoint.py`];
}

export const TRANSFORMERS_LAYERS: readonly AttributionRule[] = [
  {
    id: 'hf.loss',
    component: 'logits_loss',
    sub_component: 'loss',
    at: [
      { file: 'transformers/loss/*.py' },
      { file: 'transformers/trainer_pt_utils.py', function: '__call__' },
      { file: 'accelerate/utils/operations.py', function: ['_convert_to_fp32', 'convert_to_fp32'] },
      {
        file: ['trl/trainer/*.py', 'trl/experimental/**'],
        function: ['selective_log_softmax', 'entropy_from_logits', '_get_per_token_logps*', 'dpo_loss', 'kto_loss'],
      },
    ],
    source: `transformers/loss/loss_utils.py ForCausalLMLoss, fixed_cross_entropy, ${BOTH}; trl/trainer/utils.py selective_log_softmax, trl 1.13.0; accelerate/utils/operations.py convert_to_fp32, accelerate 1.15.0`,
    samples: [
      {
        frames: [
          `ForCausalLMLoss ${CONDA}/transformers/loss/loss_utils.py`,
          ...fromHead(CONDA, 'qwen3'),
          ...trainerStep(CONDA),
        ],
        from: `transformers/loss/loss_utils.py ForCausalLMLoss (logits.float()), ${BOTH}`,
      },
      {
        frames: [
          `selective_log_softmax ${VENV}/trl/trainer/utils.py`,
          `_get_per_token_logps_and_entropies ${VENV}/trl/trainer/grpo_trainer.py`,
          `_compute_loss ${VENV}/trl/trainer/grpo_trainer.py`,
          `compute_loss ${VENV}/trl/trainer/grpo_trainer.py`,
          ...trainerStep(VENV).slice(1),
        ],
        from: 'trl/trainer/grpo_trainer.py _get_per_token_logps_and_entropies, trl 1.13.0',
      },
    ],
  },
  ...ADAPTER_LAYERS,
  {
    id: 'hf.attention',
    component: 'activation',
    sub_component: 'attention',
    at: [
      {
        file: [
          'transformers/integrations/sdpa_attention.py',
          'transformers/integrations/flash_attention.py',
          'transformers/integrations/flex_attention.py',
          'transformers/integrations/*paged.py',
          'transformers/modeling_flash_attention_utils.py',
        ],
      },
      {
        file: MODELING,
        function: [
          'eager_attention_forward',
          '*attention*',
          '*_attn',
          '*attn_*',
          'repeat_kv',
          '*Attention*forward',
          '_upad_input',
        ],
      },
    ],
    source: `transformers/integrations/sdpa_attention.py sdpa_attention_forward; models/*/modeling_*.py eager_attention_forward, ${BOTH}`,
    samples: [
      {
        frames: [
          `sdpa_attention_forward ${CONDA}/transformers/integrations/sdpa_attention.py`,
          `forward ${CONDA}/transformers/models/mistral/modeling_mistral.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/transformers/models/mistral/modeling_mistral.py`,
          ...moduleCall(CONDA),
          ...fsdp1(CONDA),
          `forward ${CONDA}/transformers/models/mistral/modeling_mistral.py`,
          ...moduleCall(CONDA),
          ...fromHead(CONDA, 'mistral'),
          ...fsdp1(CONDA),
          ...trainerStep(CONDA),
        ],
        // FSDP1's forward in the stack does not make this FSDP's memory.
        from: `transformers/integrations/sdpa_attention.py sdpa_attention_forward, ${BOTH}; torch/distributed/fsdp/fully_sharded_data_parallel.py forward, torch 2.14.1`,
        phase: 'forward',
      },
      {
        frames: [
          `softmax ${VENV}/torch/nn/functional.py`,
          `eager_attention_forward ${VENV}/transformers/models/phi3/modeling_phi3.py`,
          `forward ${VENV}/transformers/models/phi3/modeling_phi3.py`,
          ...moduleCall(VENV),
          `forward ${VENV}/transformers/models/phi3/modeling_phi3.py`,
          ...moduleCall(VENV),
          ...recompute(VENV),
        ],
        from: `transformers/models/phi3/modeling_phi3.py eager_attention_forward, ${BOTH}; torch/utils/checkpoint.py recompute_fn, torch 2.14.1`,
        component: 'recompute',
        phase: 'backward',
      },
    ],
  },
  {
    id: 'hf.attention-mask',
    component: 'activation',
    sub_component: 'attention_mask',
    at: [
      { file: ['transformers/masking_utils.py', 'transformers/modeling_attn_mask_utils.py'] },
      {
        file: MODELING,
        function: ['_update_causal_mask', '_prepare_4d_causal_attention_mask*', 'get_extended_attention_mask'],
      },
    ],
    source: `transformers/masking_utils.py create_causal_mask, sdpa_mask, ${BOTH}`,
    samples: [
      {
        frames: [
          `sdpa_mask ${DIST}/transformers/masking_utils.py`,
          `create_causal_mask ${DIST}/transformers/masking_utils.py`,
          ...fromModel(DIST, 'qwen2'),
          ...trainerStep(DIST),
        ],
        from: `transformers/masking_utils.py create_causal_mask, ${TRANSFORMERS}`,
      },
    ],
  },
  {
    id: 'hf.rope',
    component: 'activation',
    sub_component: 'rope',
    at: [
      { file: MODELING, function: ['apply_*rotary*', 'rotate_half', 'rotate_every_two', '*RotaryEmbedding*forward'] },
      { file: 'transformers/modeling_rope_utils.py' },
    ],
    source: `transformers/models/llama/modeling_llama.py apply_rotary_pos_emb, rotate_half, ${BOTH}`,
    samples: [
      {
        frames: [
          `rotate_half ${CONDA}/transformers/models/llama/modeling_llama.py`,
          `apply_rotary_pos_emb ${CONDA}/transformers/models/llama/modeling_llama.py`,
          `forward ${CONDA}/transformers/models/llama/modeling_llama.py`,
          ...moduleCall(CONDA),
          ...fromLayer(CONDA, 'llama'),
          `evaluate ${CONDA}/transformers/trainer.py`,
          ...SCRIPT,
        ],
        from: `transformers/models/llama/modeling_llama.py apply_rotary_pos_emb, ${BOTH}`,
        phase: 'eval',
      },
    ],
  },
  {
    id: 'hf.experts',
    component: 'activation',
    sub_component: 'experts',
    at: [
      {
        file: [
          'transformers/integrations/moe.py',
          'transformers/integrations/sonicmoe.py',
          'transformers/integrations/deepgemm.py',
        ],
        function: ['forward', '*_experts_forward', '_grouped_*', '_batched_*', '_default_apply_gate'],
      },
      { file: MODELING, function: ['*Experts*forward', '*SparseMoe*forward', '*MoE*forward', '*Moe*forward'] },
    ],
    source: `transformers/integrations/moe.py grouped_mm_experts_forward, ${TRANSFORMERS}`,
    samples: [
      {
        frames: [
          `grouped_mm_experts_forward ${VENV}/transformers/integrations/moe.py`,
          `forward ${VENV}/transformers/integrations/moe.py`,
          ...moduleCall(VENV),
          `forward ${VENV}/transformers/models/mixtral/modeling_mixtral.py`,
          ...moduleCall(VENV),
          ...fromLayer(VENV, 'mixtral'),
          ...trainerStep(VENV),
        ],
        from: `transformers/integrations/moe.py grouped_mm_experts_forward, ${TRANSFORMERS}`,
      },
    ],
  },
  {
    id: 'hf.mlp',
    component: 'activation',
    sub_component: 'mlp',
    at: [
      { file: ['torch/nn/modules/activation.py', 'transformers/activations.py'], function: 'forward' },
      {
        file: MODELING,
        function: [
          '*MLP*forward',
          '*Mlp*forward',
          '*FeedForward*forward',
          '*Intermediate*forward',
          'feed_forward_chunk',
        ],
      },
    ],
    within: MODEL,
    source: `transformers/models/llama/modeling_llama.py LlamaMLP.forward; transformers/activations.py, ${BOTH}`,
    samples: [
      {
        frames: [
          `silu ${CONDA}/torch/nn/functional.py`,
          `forward ${CONDA}/torch/nn/modules/activation.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/transformers/models/llama/modeling_llama.py`,
          ...moduleCall(CONDA),
          ...fromLayer(CONDA, 'llama'),
          ...trainerStep(CONDA),
        ],
        from: `transformers/models/llama/modeling_llama.py LlamaMLP.forward, ${BOTH}`,
      },
    ],
  },
  {
    id: 'hf.norm',
    component: 'activation',
    sub_component: 'norm',
    at: [
      { file: 'torch/nn/modules/normalization.py', function: 'forward' },
      { file: MODELING, function: '*Norm*forward' },
    ],
    within: MODEL,
    source: `transformers/models/gpt2/modeling_gpt2.py GPT2Block.forward (ln_1), ${BOTH}`,
    samples: [
      {
        frames: [
          `layer_norm ${VENV}/torch/nn/functional.py`,
          `forward ${VENV}/torch/nn/modules/normalization.py`,
          ...moduleCall(VENV),
          ...fromLayer(VENV, 'gpt2'),
          ...trainerStep(VENV),
        ],
        from: `transformers/models/gpt2/modeling_gpt2.py GPT2Block.forward, ${BOTH}`,
      },
    ],
  },
  {
    id: 'hf.embedding',
    component: 'activation',
    sub_component: 'embedding',
    at: [
      { file: 'torch/nn/modules/sparse.py', function: 'forward' },
      { file: MODELING, function: ['*Embeddings*forward', '*PatchEmbed*forward'] },
    ],
    within: MODEL,
    source: `transformers/models/llama/modeling_llama.py LlamaModel.forward (embed_tokens), ${BOTH}`,
    samples: [
      {
        frames: [
          `embedding ${DIST}/torch/nn/functional.py`,
          `forward ${DIST}/torch/nn/modules/sparse.py`,
          ...moduleCall(DIST),
          ...fromModel(DIST, 'llama'),
          ...trainerStep(DIST),
        ],
        from: `transformers/models/llama/modeling_llama.py LlamaModel.forward, ${BOTH}`,
      },
    ],
  },
  {
    id: 'hf.lm-head',
    component: 'logits_loss',
    sub_component: 'logits',
    // Where names are qualified. Before `hf.layer`, since some heads are modules of their own below the model, and since GPT-2's model with a head is a Model too.
    at: { file: MODELING, function: ['*LMHead*forward', '*LMPredictionHead*forward', '*HeadsModel*forward'] },
    without: COMPILED,
    source:
      'transformers/models/gpt2/modeling_gpt2.py GPT2LMHeadModel (from memory); models/roberta/modeling_roberta.py RobertaLMHead.forward, transformers 000824f',
    samples: [
      {
        frames: [
          `Linear.forward ${VENV}/torch/nn/modules/linear.py`,
          ...moduleCall(VENV),
          `GPT2LMHeadModel.forward ${VENV}/transformers/models/gpt2/modeling_gpt2.py`,
          ...moduleCall(VENV),
          ...trainerStep(VENV),
        ],
        from: 'transformers/models/gpt2/modeling_gpt2.py GPT2LMHeadModel.forward (lm_head; not read)',
        phase: 'forward',
      },
      {
        frames: [
          `Linear.forward ${CONDA}/torch/nn/modules/linear.py`,
          ...moduleCall(CONDA),
          `RobertaLMHead.forward ${CONDA}/transformers/models/roberta/modeling_roberta.py`,
          ...moduleCall(CONDA),
          `RobertaForMaskedLM.forward ${CONDA}/transformers/models/roberta/modeling_roberta.py`,
          ...moduleCall(CONDA),
          ...trainerStep(CONDA),
        ],
        from: 'transformers/models/roberta/modeling_roberta.py RobertaLMHead.forward (decoder), transformers 000824f',
      },
    ],
  },
  {
    id: 'hf.layer',
    component: 'activation',
    sub_component: 'transformer_layer',
    at: { file: [...MODELING, 'transformers/pytorch_utils.py'], function: 'forward' },
    within: [MODEL, CHECKPOINT],
    source: `transformers/models/*/modeling_*.py, ${BOTH}: a module's forward below the model's`,
    samples: [
      {
        frames: [
          `forward ${CONDA}/torch/nn/modules/linear.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/transformers/models/gemma/modeling_gemma.py`,
          ...moduleCall(CONDA),
          ...fromLayer(CONDA, 'gemma'),
          ...trainerStep(CONDA),
        ],
        from: `transformers/models/gemma/modeling_gemma.py GemmaMLP.forward, ${BOTH}`,
      },
      {
        frames: [
          `forward ${VENV}/transformers/models/llama/modeling_llama.py`,
          ...moduleCall(VENV),
          ...recompute(VENV),
        ],
        from: `transformers/models/llama/modeling_llama.py LlamaDecoderLayer.forward (residual), ${BOTH}; torch/utils/checkpoint.py recompute_fn, torch 2.14.1`,
        component: 'recompute',
      },
    ],
  },
  {
    id: 'hf.logits',
    component: 'logits_loss',
    sub_component: 'logits',
    // Alone: the rules above take every modeling frame that has another one further out. A model without a head looks the same where names are bare; what it makes
    // itself is little beside what its layers make, but for the dropouts and convolutions in front of them, and no logits come of those who only encode.
    at: MODEL,
    without: [
      { file: MODELING, function: '*Model*forward' },
      { file: ['torch/nn/modules/dropout.py', 'torch/nn/modules/conv.py'] },
      COMPILED,
      { file: ['sentence_transformers/**', 'diffusers/**'] },
    ],
    source: `transformers/models/llama/modeling_llama.py LlamaForCausalLM.forward (lm_head), ${BOTH}`,
    samples: [
      {
        frames: [
          `forward ${VENV}/torch/nn/modules/linear.py`,
          ...moduleCall(VENV),
          ...fromHead(VENV, 'llama'),
          ...trainerStep(VENV),
        ],
        from: `transformers/models/llama/modeling_llama.py LlamaForCausalLM.forward, ${BOTH}`,
      },
      {
        frames: [
          `forward ${CONDA}/torch/nn/modules/linear.py`,
          `new_forward ${CONDA}/accelerate/hooks.py`,
          ...moduleCall(CONDA),
          ...fromHead(CONDA, 'mistral'),
          `new_forward ${CONDA}/accelerate/hooks.py`,
          `forward ${CONDA}/peft/tuners/tuners_utils.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/peft/peft_model.py`,
          ...moduleCall(CONDA),
          ...trainerStep(CONDA),
        ],
        from: `transformers/models/mistral/modeling_mistral.py MistralForCausalLM.forward, ${BOTH}; peft/peft_model.py, peft 0.21.0`,
      },
    ],
  },
  {
    id: 'hf.sampling',
    component: 'logits_loss',
    sub_component: 'sampling',
    at: { file: 'transformers/generation/**' },
    without: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    source: `transformers/generation/utils.py _sample, logits_process.py, ${BOTH}`,
    samples: [
      {
        frames: [
          `_sample ${CONDA}/transformers/generation/utils.py`,
          `generate ${CONDA}/transformers/generation/utils.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          ...SCRIPT,
        ],
        from: `transformers/generation/utils.py GenerationMixin._sample (next_token_logits), ${BOTH}`,
      },
    ],
  },
];
