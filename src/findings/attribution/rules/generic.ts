/**
 * The last resort: plain user code of any project, told by the names people give to functions, files and (from Python 3.11 on some recorders) classes. A rule here
 * says no more than the name says. Inner frames win: `softmax` inside `scaled_dot_product_attention` inside a block is attention.
 */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { torchCompileRules } from './generic-compiled.js';
import { GENERIC_STATE } from './generic-state.js';
import { CONDA, DIST, moduleCall, SCRIPT, VENV } from './sample-tails.js';

/** A module's forward somewhere further out: what tells a model's `attention` from a benchmark that is called so. */
const IN_MODULE: readonly FramePattern[] = [
  { function: ['forward', '__call__'] },
  { file: 'torch/nn/modules/module.py', function: ['_call_impl', '__call__'] },
];
const FORWARD = ['forward', '__call__', '_forward', '_forward_impl'];

const ATTENTION: readonly FramePattern[] = [
  {
    function: [
      '*attention',
      '*attention_*',
      '*Attention*forward',
      'sdpa',
      '*_sdpa',
      'sdpa_*',
      'mha',
      'mha_*',
      'gqa',
      '*_attn',
      'attn',
      'attn_*',
      'multi_head_attention_forward',
    ],
  },
  { file: ['*attention*.py', '*attn*.py', 'mha.py', 'sdpa.py', '*Attention*.py'], function: FORWARD },
];
const MLP: readonly FramePattern[] = [
  {
    function: [
      'mlp',
      'mlp_*',
      '*_mlp',
      'ffn',
      'ffn_*',
      'feed_forward',
      'swiglu',
      'SwiGLU',
      'silu',
      'SiLU',
      'gelu',
      'geglu',
      'swish',
      '*MLP*forward',
      '*FeedForward*forward',
      '*SwiGLU*forward',
      '*FFN*forward',
    ],
  },
  {
    file: [
      '*mlp*.py',
      '*ffn*.py',
      '*feed_forward*.py',
      '*feedforward*.py',
      '*swiglu*.py',
      '*silu*.py',
      '*gelu*.py',
      '*SwiGLU*.py',
    ],
    function: FORWARD,
  },
];
const NORM: readonly FramePattern[] = [
  {
    function: [
      'rmsnorm*',
      'rms_norm*',
      'layer_norm*',
      'layernorm*',
      'batch_norm',
      'group_norm',
      'instance_norm',
      '*Norm*forward',
    ],
  },
  {
    file: [
      'rms.py',
      '*rmsnorm*.py',
      '*rms_norm*.py',
      '*layernorm*.py',
      '*layer_norm*.py',
      '*norm.py',
      '*norms.py',
      'torch/nn/modules/normalization.py',
      'torch/nn/modules/batchnorm.py',
      'torch/nn/modules/instancenorm.py',
    ],
    function: FORWARD,
  },
];
const ROPE: readonly FramePattern[] = [
  {
    function: [
      'apply_rope*',
      'apply_rotary*',
      'rotate_half',
      'rope',
      'rope_*',
      '*Rotary*forward',
      '*RoPE*forward',
      '*rotary_emb*',
    ],
  },
  { file: ['rope.py', '*rotary*.py', 'rope_*.py', 'RoPE.py'], function: [...FORWARD, 'apply', '_apply_rotary'] },
];
const EMBEDDING: readonly FramePattern[] = [
  { function: ['embedding', '*Embedding*forward', 'embed', 'embed_tokens', 'input_embed'] },
  { file: ['*embedding*.py', '*embeddings*.py', 'torch/nn/modules/sparse.py', '*Embedding*.py'], function: FORWARD },
];
const CONVOLUTION: readonly FramePattern[] = [
  { file: ['torch/nn/modules/conv.py'], function: ['forward', '_conv_forward'] },
];
const MODULE: readonly FramePattern[] = [
  // Not `forward_*`: forward_backward, forward_kinematics and forward_fill are no module's.
  { function: ['forward', '_forward_impl', 'forward_features', 'forward_train', 'forward_head'] },
  { file: 'torch/nn/modules/module.py', function: ['_call_impl', '__call__'] },
];
/** Only what can be nothing else: a loss that is compiled by itself, not one that calls a compiled model. */
const COMPILED_LOSS: readonly FramePattern[] = [
  { function: ['*cross_entropy*', '*CrossEntropy*forward'] },
  { file: 'torch/nn/modules/loss.py' },
];
const SPEAKING = [...ATTENTION, ...MLP, ...NORM, ...ROPE, ...EMBEDDING, ...COMPILED_LOSS];

const BLOCK = [
  'forward /home/user/project/model.py',
  ...moduleCall(VENV),
  'forward /home/user/project/model.py',
  ...moduleCall(VENV),
  ...SCRIPT,
];

export const GENERIC: readonly AttributionRule[] = [
  ...GENERIC_STATE,
  {
    id: 'generic.loss',
    component: 'logits_loss',
    sub_component: 'loss',
    at: [
      {
        function: [
          '*cross_entropy*',
          'nll_loss',
          'loss_fn',
          'loss_fct',
          'loss_function',
          'lm_loss',
          'ce_loss',
          'mse_loss',
          'l1_loss',
          'kl_loss',
          '*_kl_div*',
          'log_softmax',
          '*CrossEntropy*forward',
          'perplexity',
          // Reinforcement learning from feedback: TRL's names, which verl and others copied.
          '*logprobs_from_logits*',
          '*log_probs_from_logits*',
          'entropy_from_logits*',
        ],
      },
      {
        file: ['loss.py', 'losses.py', '*_loss.py', '*cross_entropy*.py', 'criterion.py'],
        function: [...FORWARD, '*_loss', 'log_softmax', 'logsumexp', 'softmax'],
      },
    ],
    source: 'names of losses in torch/nn/functional.py, torch 2.14.1 wheel, which projects take over for their own',
    samples: [
      {
        frames: [
          'log_softmax /home/user/project/functional.py',
          'cross_entropy /home/user/project/functional.py',
          'train_step /home/user/project/train.py',
          '<module> /home/user/project/train.py',
        ],
        from: 'made up: a hand-written cross_entropy as courses assign it, named as in torch/nn/functional.py',
      },
      {
        frames: [
          'forward /home/user/project/modules/loss.py',
          ...moduleCall(CONDA),
          'main /home/user/project/train.py',
          '<module> /home/user/project/train.py',
        ],
        from: 'made up: a loss module in a file named like torch/nn/modules/loss.py',
      },
      {
        frames: [
          'call /tmp/torchinductor_user/uv/cuvwxyzabcde.py',
          `__call__ ${CONDA}/torch/_inductor/output_code.py`,
          `call_func_at_runtime_with_args ${CONDA}/torch/_functorch/_aot_autograd/utils.py`,
          `_fn ${CONDA}/torch/_dynamo/eval_frame.py`,
          'compute_cross_entropy /home/user/project/chunked_loss.py',
          'train_step /home/user/project/train.py',
          '<module> /home/user/project/train.py',
        ],
        from: 'torch/_inductor/output_code.py CompiledFxGraph.__call__, torch 2.14.1 wheel, below a made-up compiled loss',
      },
      {
        frames: [
          'logprobs_from_logits_v2 /workspace/verl/verl/utils/torch_functional.py',
          'logprobs_from_logits /workspace/verl/verl/utils/torch_functional.py',
          '_forward_micro_batch /workspace/verl/verl/workers/actor/dp_actor.py',
          'update_policy /workspace/verl/verl/workers/actor/dp_actor.py',
        ],
        from: 'verl/utils/torch_functional.py logprobs_from_logits_v2, verl 03c8cca; its callers not read',
      },
    ],
  },
  {
    id: 'generic.lm-head',
    component: 'logits_loss',
    sub_component: 'logits',
    at: [
      {
        function: [
          'lm_head',
          'lm_head_*',
          '*_lm_head',
          'compute_logits',
          'get_logits',
          'output_embed',
          '*LMHead*forward',
        ],
      },
      // vLLM's and SGLang's head is called below it.
      { file: 'model_executor/layers/logits_processor.py', function: [...FORWARD, '_get_logits', '_gather_logits'] },
      { file: 'srt/layers/logits_processor.py', function: [...FORWARD, '_get_logits'] },
    ],
    source:
      'lm_head is the attribute of every transformers/models/*/modeling_*.py with a language model head; others name methods after it',
    samples: [
      {
        frames: [
          `linear ${CONDA}/torch/nn/functional.py`,
          'compute_logits /home/user/project/model.py',
          'forward /home/user/project/model.py',
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'made up: a method named like lm_head of transformers/models/llama/modeling_llama.py',
      },
      {
        frames: [
          `_get_logits ${CONDA}/vllm/model_executor/layers/logits_processor.py`,
          `forward ${CONDA}/vllm/model_executor/layers/logits_processor.py`,
          ...moduleCall(CONDA),
          `compute_logits ${CONDA}/vllm/model_executor/models/llama.py`,
          `execute_model ${CONDA}/vllm/v1/worker/gpu_model_runner.py`,
        ],
        from: 'vllm/model_executor/layers/logits_processor.py LogitsProcessor._get_logits, vllm 00db1f1',
      },
    ],
  },
  {
    id: 'generic.attention',
    component: 'activation',
    sub_component: 'attention',
    at: ATTENTION,
    within: IN_MODULE,
    source:
      'scaled_dot_product_attention, multi_head_attention_forward of torch/nn/functional.py, torch 2.14.1 wheel, and names derived from them',
    samples: [
      {
        frames: [
          'softmax /home/user/project/functional.py',
          'scaled_dot_product_attention /home/user/project/model.py',
          ...BLOCK,
        ],
        from: 'made up: hand-written attention named as in torch/nn/functional.py',
        phase: 'forward',
      },
    ],
  },
  {
    id: 'generic.mlp',
    component: 'activation',
    sub_component: 'mlp',
    at: MLP,
    within: IN_MODULE,
    source: 'silu, gelu of torch/nn/functional.py, torch 2.14.1 wheel; mlp, ffn, swiglu as papers name them',
    samples: [
      {
        frames: ['silu /home/user/project/model.py', ...BLOCK],
        from: 'made up: an activation function named as in torch/nn/functional.py',
      },
    ],
  },
  {
    id: 'generic.norm',
    component: 'activation',
    sub_component: 'norm',
    at: NORM,
    within: IN_MODULE,
    source:
      'torch/nn/modules/normalization.py, batchnorm.py; rms_norm, layer_norm of torch/nn/functional.py, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          `layer_norm ${DIST}/torch/nn/functional.py`,
          `forward ${DIST}/torch/nn/modules/normalization.py`,
          ...moduleCall(DIST),
          'forward /home/user/project/vit.py',
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: 'torch/nn/modules/normalization.py LayerNorm.forward, torch 2.14.1 wheel',
      },
    ],
  },
  {
    id: 'generic.rope',
    component: 'activation',
    sub_component: 'rope',
    at: ROPE,
    within: IN_MODULE,
    source:
      'apply_rotary_pos_emb, rotate_half of transformers/models/llama/modeling_llama.py, transformers 5.17.0, which others copy',
    samples: [
      {
        frames: ['apply_rotary_emb /home/user/project/model.py', ...BLOCK],
        from: 'made up: a function named after transformers/models/llama/modeling_llama.py apply_rotary_pos_emb',
      },
    ],
  },
  {
    id: 'generic.embedding',
    component: 'activation',
    sub_component: 'embedding',
    at: EMBEDDING,
    within: IN_MODULE,
    source: 'torch/nn/modules/sparse.py Embedding.forward, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          `embedding ${CONDA}/torch/nn/functional.py`,
          `forward ${CONDA}/torch/nn/modules/sparse.py`,
          ...moduleCall(CONDA),
          'forward /home/user/project/model.py',
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'torch/nn/modules/sparse.py Embedding.forward, torch 2.14.1 wheel',
      },
    ],
  },
  {
    id: 'generic.attention-part',
    component: 'activation',
    sub_component: 'attention',
    // A projection, a norm or a dropout of an attention module, whose own name says less.
    at: MODULE,
    within: ATTENTION,
    source: 'torch/nn/modules/module.py Module._call_impl calls forward, torch 2.14.1 wheel; names as above',
    samples: [
      {
        frames: [
          `einsum ${VENV}/torch/functional.py`,
          `einsum ${VENV}/einops/_backends.py`,
          `einsum ${VENV}/einops/einops.py`,
          'forward /home/user/project/modules/linear.py',
          ...moduleCall(VENV),
          'forward /home/user/project/modules/self_attention.py',
          ...moduleCall(VENV),
          ...BLOCK,
        ],
        from: 'made up: einops/einops.py einsum below a projection below an attention module of a file named so',
      },
    ],
  },
  {
    id: 'generic.mlp-part',
    component: 'activation',
    sub_component: 'mlp',
    at: MODULE,
    within: MLP,
    source: 'torch/nn/modules/module.py Module._call_impl calls forward, torch 2.14.1 wheel; names as above',
    samples: [
      {
        frames: [
          `forward ${DIST}/torch/nn/modules/linear.py`,
          ...moduleCall(DIST),
          'forward /home/user/project/layers/mlp.py',
          ...moduleCall(DIST),
          'forward /home/user/project/vit.py',
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: 'made up: torch/nn/modules/linear.py Linear.forward below an MLP of a file named so',
      },
    ],
  },
  {
    id: 'generic.convolution',
    component: 'activation',
    sub_component: 'convolution',
    at: CONVOLUTION,
    source: 'torch/nn/modules/conv.py _conv_forward, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          `_conv_forward ${DIST}/torch/nn/modules/conv.py`,
          `forward ${DIST}/torch/nn/modules/conv.py`,
          ...moduleCall(DIST),
          'forward /home/user/project/resnet.py',
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: 'torch/nn/modules/conv.py Conv2d._conv_forward, torch 2.14.1 wheel',
      },
    ],
  },
  {
    id: 'generic.linear',
    component: 'activation',
    sub_component: 'linear',
    at: { file: ['torch/nn/modules/linear.py', 'linear.py', '*linear.py'], function: FORWARD },
    source: 'torch/nn/modules/linear.py Linear.forward, torch 2.14.1 wheel',
    samples: [
      {
        frames: [`forward ${VENV}/torch/nn/modules/linear.py`, ...moduleCall(VENV), ...BLOCK],
        from: 'torch/nn/modules/linear.py Linear.forward, torch 2.14.1 wheel',
      },
    ],
  },
  {
    id: 'generic.module',
    component: 'activation',
    sub_component: 'module',
    at: MODULE,
    source: 'torch/nn/modules/module.py Module._call_impl calls forward, torch 2.14.1 wheel',
    samples: [
      {
        frames: ['update_nodes /home/user/project/gnn.py', ...BLOCK],
        from: 'made up: a helper below a module, called by torch/nn/modules/module.py _call_impl',
        phase: 'forward',
      },
      {
        frames: [
          'forward /home/user/project/blocks.py',
          `_call_impl ${CONDA}/torch/nn/modules/module.py`,
          'forward /home/user/project/gpt.py',
          `_call_impl ${CONDA}/torch/nn/modules/module.py`,
          `_worker ${CONDA}/torch/nn/parallel/parallel_apply.py`,
          'run /opt/conda/lib/python3.11/threading.py',
          '_bootstrap /opt/conda/lib/python3.11/threading.py',
        ],
        from: 'torch/nn/parallel/parallel_apply.py _worker, torch 2.14.1 wheel',
      },
    ],
  },
  ...torchCompileRules(SPEAKING),
];
