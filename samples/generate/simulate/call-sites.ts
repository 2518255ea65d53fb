/**
 * Where a Megatron Bridge fine-tuning run allocates: call paths with the file and function names of Megatron Bridge, Megatron-LM and
 * Transformer Engine, innermost first, Python frames only. Line numbers and source texts are plausible, not those of any one commit.
 */

import type { CallPath, CodeLine } from './code-line.js';

const BRIDGE = '/opt/Megatron-Bridge/src/megatron/bridge/';
const CORE = '/opt/Megatron-Bridge/3rdparty/Megatron-LM/megatron/core/';
const PACKAGES = '/opt/venv/lib/python3.12/site-packages/';
const TE = `${PACKAGES}transformer_engine/pytorch/`;

const known = new Map<string, CodeLine>();

function at(name: string, filename: string, line: number, source: string): CodeLine {
  const key = `${filename}:${line}:${name}`;
  let location = known.get(key);
  if (location === undefined) {
    location = { name, filename, line, source };
    known.set(key, location);
  }
  return location;
}

// Outer parts, shared by everything below them.

const script: CallPath = [
  at('pretrain', `${BRIDGE}training/pretrain.py`, 132, '_pretrain(state=state, forward_step_func=forward_step_func)'),
  at('finetune', `${BRIDGE}training/finetune.py`, 74, 'pretrain(config, forward_step_func, callbacks=callbacks)'),
  at('main', '/nemo_run/code/finetune_llama3_8b.py', 61, 'finetune(config=cfg, forward_step_func=forward_step)'),
  at('<module>', '/nemo_run/code/finetune_llama3_8b.py', 65, 'main()'),
];
const setup: CallPath = [
  at('setup', `${BRIDGE}training/setup.py`, 218, 'model = _build_distributed_model(cfg, model_config, pg_collection)'),
  ...script,
];
const train: CallPath = [
  at('train', `${BRIDGE}training/train.py`, 446, ') = train_step('),
  at('_pretrain', `${BRIDGE}training/pretrain.py`, 187, 'train('),
  ...script,
];
const trainStepSchedule: CallPath = [
  at('train_step', `${BRIDGE}training/train.py`, 712, 'losses_reduced = forward_backward_func('),
  ...train,
];
const trainStepOptimizer: CallPath = [
  at('train_step', `${BRIDGE}training/train.py`, 741, 'update_successful, grad_norm, num_zeros = optimizer.step()'),
  ...train,
];

// Model build.

const gptModelInit: CallPath = [
  at('__init__', `${CORE}models/gpt/gpt_model.py`, 214, 'self.decoder = TransformerBlock('),
  at('provide', `${BRIDGE}models/gpt_provider.py`, 263, 'model = MCoreGPTModel('),
  at('get_model', `${BRIDGE}models/model_provider.py`, 527, 'model = _create_model(model_provider, model_type)'),
  ...setup,
];
const layerInit: CallPath = [
  at('build_layer', `${CORE}transformer/transformer_block.py`, 331, 'module = build_module('),
  ...gptModelInit,
];
const attentionInit: CallPath = [
  at('__init__', `${CORE}transformer/transformer_layer.py`, 342, 'self.self_attention = build_module('),
  ...layerInit,
];
const mlpInit: CallPath = [
  at(
    '__init__',
    `${CORE}transformer/transformer_layer.py`,
    391,
    'self.mlp = build_module(submodules.mlp, config=self.config)',
  ),
  ...layerInit,
];
const vocabularyInit: CallPath = gptModelInit.slice(1);
const layerNormLinearInit = at('__init__', `${TE}module/layernorm_linear.py`, 1287, 'weight_tensor = torch.empty(');
const layerNormWeightInit = at(
  '__init__',
  `${TE}module/layernorm_linear.py`,
  1262,
  'layer_norm_weight = torch.nn.Parameter(',
);
const linearInit = at('__init__', `${TE}module/linear.py`, 1121, 'weight_tensor = torch.empty(');
const columnInit = at('__init__', `${CORE}extensions/transformer_engine.py`, 612, 'super().__init__(');
const rowInit = at('__init__', `${CORE}extensions/transformer_engine.py`, 431, 'super().__init__(');

export const BUILD = {
  embedding: [
    at('__init__', `${CORE}tensor_parallel/layers.py`, 236, 'torch.empty('),
    at(
      '__init__',
      `${CORE}models/common/embeddings/language_model_embedding.py`,
      58,
      'self.word_embeddings = tensor_parallel.VocabParallelEmbedding(',
    ),
    ...vocabularyInit,
  ],
  outputLayer: [at('__init__', `${CORE}tensor_parallel/layers.py`, 812, 'torch.empty('), ...vocabularyInit],
  finalNorm: [
    at('__init__', `${TE}ops/basic/rmsnorm.py`, 84, 'weight = torch.empty('),
    at('__init__', `${CORE}transformer/transformer_block.py`, 356, 'self.final_layernorm = build_module('),
    ...gptModelInit,
  ],
  proj: [
    linearInit,
    rowInit,
    at('__init__', `${CORE}transformer/attention.py`, 205, 'self.linear_proj = build_module('),
    ...attentionInit,
  ],
  qkvNorm: [
    layerNormWeightInit,
    columnInit,
    at('__init__', `${CORE}transformer/attention.py`, 903, 'self.linear_qkv = build_module('),
    ...attentionInit,
  ],
  qkv: [
    layerNormLinearInit,
    columnInit,
    at('__init__', `${CORE}transformer/attention.py`, 903, 'self.linear_qkv = build_module('),
    ...attentionInit,
  ],
  fc1Norm: [
    layerNormWeightInit,
    columnInit,
    at('__init__', `${CORE}transformer/mlp.py`, 121, 'self.linear_fc1 = build_module('),
    ...mlpInit,
  ],
  fc1: [
    layerNormLinearInit,
    columnInit,
    at('__init__', `${CORE}transformer/mlp.py`, 121, 'self.linear_fc1 = build_module('),
    ...mlpInit,
  ],
  fc2: [
    linearInit,
    rowInit,
    at('__init__', `${CORE}transformer/mlp.py`, 140, 'self.linear_fc2 = build_module('),
    ...mlpInit,
  ],
} satisfies Record<string, CallPath>;

const buffers: CallPath = [
  at(
    '_allocate_buffers_for_parameters',
    `${CORE}distributed/distributed_data_parallel.py`,
    214,
    '_ParamAndGradBuffer(',
  ),
  at(
    '__init__',
    `${CORE}distributed/distributed_data_parallel.py`,
    268,
    'self.buffers, self.bucket_groups = _allocate_buffers_for_parameters(',
  ),
  at('_ddp_wrap', `${BRIDGE}models/model_provider.py`, 701, 'DP('),
  at('get_model', `${BRIDGE}models/model_provider.py`, 561, 'model = _ddp_wrap('),
  ...setup,
];
const optimizerBuild: CallPath = [
  at('__init__', `${CORE}optimizer/distrib_optimizer.py`, 566, ') = self._build_model_and_main_param_groups('),
  at(
    '_get_megatron_optimizer_based_on_param_groups',
    `${CORE}optimizer/__init__.py`,
    471,
    'optimizer = DistributedOptimizer(',
  ),
  at('get_megatron_optimizer', `${CORE}optimizer/__init__.py`, 633, '_get_megatron_optimizer_based_on_param_groups('),
  at('setup_optimizer', `${BRIDGE}training/optim.py`, 58, 'optimizer = get_megatron_optimizer('),
  at('setup', `${BRIDGE}training/setup.py`, 241, 'optimizer, scheduler = setup_optimizer('),
  ...script,
];

export const BUFFERS = {
  parameters: [
    at('__init__', `${CORE}distributed/param_and_grad_buffer.py`, 742, 'self.param_data = torch.zeros('),
    ...buffers,
  ],
  gradients: [
    at('__init__', `${CORE}distributed/param_and_grad_buffer.py`, 764, 'self.grad_data = torch.zeros('),
    ...buffers,
  ],
  mainParameters: [
    at(
      '_build_model_and_main_param_groups',
      `${CORE}optimizer/distrib_optimizer.py`,
      368,
      'shard_main_param = shard_model_param.clone().float()',
    ),
    ...optimizerBuild,
  ],
} satisfies Record<string, CallPath>;

// One training step.

const schedule: CallPath = [
  at(
    'forward_backward_pipelining_without_interleaving',
    `${CORE}pipeline_parallel/schedules.py`,
    2168,
    'output_tensor, num_tokens = forward_step(',
  ),
  ...trainStepSchedule,
];
const forwardStep: CallPath = [
  at('forward_step', `${BRIDGE}training/gpt_step.py`, 341, 'output_tensor = model(**forward_args)'),
  at(
    'forward_step',
    `${CORE}pipeline_parallel/schedules.py`,
    402,
    'output_tensor, loss_func = forward_step_func(data_iterator, model)',
  ),
  ...schedule,
];
const gptForward: CallPath = [
  at('forward', `${CORE}models/gpt/gpt_model.py`, 497, 'hidden_states = self.decoder('),
  ...forwardStep,
];
const checkpointed: CallPath = [
  at('forward', `${CORE}tensor_parallel/random.py`, 521, 'outputs = run_function(*args)'),
  at(
    '_checkpointed_forward',
    `${CORE}transformer/transformer_block.py`,
    498,
    'hidden_states, context = checkpoint_handler(',
  ),
  ...gptForward,
];
/** Recomputation runs on autograd's thread: Python sees the engine's call and nothing outside it. */
const recomputed: CallPath = [
  at('backward', `${CORE}tensor_parallel/random.py`, 566, 'outputs = ctx.run_function(*detached_inputs)'),
  at('apply', `${PACKAGES}torch/autograd/function.py`, 311, 'return user_fn(self, *args)'),
];
const engine = at('apply', `${PACKAGES}torch/autograd/function.py`, 311, 'return user_fn(self, *args)');

const moduleCall = at(
  '_call_impl',
  `${PACKAGES}torch/nn/modules/module.py`,
  1784,
  'return forward_call(*args, **kwargs)',
);
const layerForward = at(
  'custom_forward',
  `${CORE}transformer/transformer_block.py`,
  463,
  'hidden_states, context = layer(',
);
const attentionLayer: CallPath = [
  at(
    '_forward_attention',
    `${CORE}transformer/transformer_layer.py`,
    558,
    'attention_output_with_bias = self.self_attention(',
  ),
  layerForward,
];
const mlpLayer: CallPath = [
  at(
    '_forward_mlp',
    `${CORE}transformer/transformer_layer.py`,
    676,
    'mlp_output_with_bias = self.mlp(pre_mlp_layernorm_output)',
  ),
  layerForward,
];
const gemm = at(
  'general_gemm',
  `${TE}cpp_extensions/gemm.py`,
  134,
  'out, bias_grad, gelu_input, extra_output = tex.generic_gemm(*args, **kwargs)',
);
const layerNormLinear: CallPath = [
  gemm,
  at('forward', `${TE}module/layernorm_linear.py`, 386, 'gemm_out, *_, reduce_scatter_out = general_gemm('),
  moduleCall,
];
const linear: CallPath = [
  gemm,
  at('forward', `${TE}module/linear.py`, 301, 'gemm_out, *_, reduce_scatter_out = general_gemm('),
  moduleCall,
];

/** The allocations of one layer's forward, which are the same code in the first pass and in the recomputation. */
function layerPaths(outer: CallPath) {
  return {
    qkv: [
      ...layerNormLinear,
      at(
        'get_query_key_value_tensors',
        `${CORE}transformer/attention.py`,
        968,
        'mixed_qkv, _ = self.linear_qkv(hidden_states)',
      ),
      ...attentionLayer,
      ...outer,
    ],
    attention: [
      at('fused_attn_fwd', `${TE}cpp_extensions/fused_attn.py`, 318, 'output_tensors = tex.fused_attn_fwd('),
      at(
        'forward',
        `${TE}attention/dot_product_attention/backends.py`,
        1102,
        'out_, aux_ctx_tensors, *_ = fused_attn_fwd(',
      ),
      at('forward', `${CORE}transformer/attention.py`, 782, 'core_attn_out = self._checkpointed_attention_forward('),
      ...attentionLayer,
      ...outer,
    ],
    attentionResidual: [
      at('_bias_dropout_add_func', `${CORE}fusions/fused_bias_dropout.py`, 41, 'out = residual + out'),
      at(
        '_forward_attention',
        `${CORE}transformer/transformer_layer.py`,
        591,
        'hidden_states = self.self_attn_bda(self.training, self.config.bias_dropout_fusion)(',
      ),
      layerForward,
      ...outer,
    ],
    fc1: [
      ...layerNormLinear,
      at(
        'forward',
        `${CORE}transformer/mlp.py`,
        173,
        'intermediate_parallel, bias_parallel = self.linear_fc1(hidden_states)',
      ),
      ...mlpLayer,
      ...outer,
    ],
    activation: [
      at('swiglu', `${CORE}fusions/fused_bias_swiglu.py`, 33, 'return F.silu(y_1) * y_2'),
      at('forward', `${CORE}transformer/mlp.py`, 196, 'intermediate_parallel = bias_swiglu_impl('),
      ...mlpLayer,
      ...outer,
    ],
    output: [
      ...linear,
      at('forward', `${CORE}transformer/mlp.py`, 243, 'output, output_bias = self.linear_fc2(intermediate_parallel)'),
      ...mlpLayer,
      ...outer,
    ],
  } satisfies Record<string, CallPath>;
}

export const FORWARD = {
  ...layerPaths(checkpointed),
  batch: [
    at('get_batch', `${BRIDGE}training/gpt_step.py`, 122, 'batch[key] = batch[key].cuda(non_blocking=True)'),
    at('forward_step', `${BRIDGE}training/gpt_step.py`, 297, ') = get_batch(data_iterator, state.cfg, use_mtp)'),
    at(
      'forward_step',
      `${CORE}pipeline_parallel/schedules.py`,
      402,
      'output_tensor, loss_func = forward_step_func(data_iterator, model)',
    ),
    ...schedule,
  ],
  embedding: [
    at('forward', `${CORE}tensor_parallel/layers.py`, 292, 'output_parallel = self.weight[masked_input]'),
    at(
      'forward',
      `${CORE}models/common/embeddings/language_model_embedding.py`,
      117,
      'word_embeddings = self.word_embeddings(input_ids)',
    ),
    at(
      '_preprocess',
      `${CORE}models/gpt/gpt_model.py`,
      341,
      'decoder_input = self.embedding(input_ids=input_ids, position_ids=position_ids)',
    ),
    ...forwardStep,
  ],
  workspace: [
    at('get_cublas_workspace', `${TE}cpp_extensions/gemm.py`, 41, 'return torch.empty('),
    ...layerNormLinear,
    at(
      'get_query_key_value_tensors',
      `${CORE}transformer/attention.py`,
      968,
      'mixed_qkv, _ = self.linear_qkv(hidden_states)',
    ),
    ...attentionLayer,
    ...checkpointed,
  ],
  finalNorm: [
    at('op_forward', `${TE}ops/basic/rmsnorm.py`, 201, 'y, _, rstdevs = rmsnorm_fwd('),
    at(
      'forward',
      `${CORE}transformer/transformer_block.py`,
      702,
      'hidden_states = self.final_layernorm(hidden_states)',
    ),
    ...gptForward,
  ],
  logits: [
    at('forward', `${CORE}tensor_parallel/layers.py`, 447, 'output = torch.matmul(total_input, weight.t())'),
    at('forward', `${CORE}tensor_parallel/layers.py`, 1018, 'output_parallel = self._forward_impl('),
    at('_postprocess', `${CORE}models/gpt/gpt_model.py`, 589, 'logits, _ = self.output_layer('),
    at('forward', `${CORE}models/gpt/gpt_model.py`, 521, 'return self._postprocess('),
    ...forwardStep,
  ],
  lossLogits: [
    at(
      'calculate_logits_max',
      `${CORE}tensor_parallel/cross_entropy.py`,
      26,
      'vocab_parallel_logits = vocab_parallel_logits.float()',
    ),
    at(
      'forward',
      `${CORE}tensor_parallel/cross_entropy.py`,
      132,
      'vocab_parallel_logits, logits_max = VocabParallelCrossEntropy.calculate_logits_max(',
    ),
    at(
      'vocab_parallel_cross_entropy',
      `${CORE}tensor_parallel/cross_entropy.py`,
      234,
      'return _VocabParallelCrossEntropy.apply(vocab_parallel_logits, target, label_smoothing)',
    ),
    at(
      'compute_language_model_loss',
      `${CORE}models/common/language_module/language_module.py`,
      131,
      'loss = tensor_parallel.vocab_parallel_cross_entropy(logits, labels)',
    ),
    at(
      '_postprocess',
      `${CORE}models/gpt/gpt_model.py`,
      644,
      'loss = self.compute_language_model_loss(labels, logits)',
    ),
    at('forward', `${CORE}models/gpt/gpt_model.py`, 521, 'return self._postprocess('),
    ...forwardStep,
  ],
  loss: [
    at(
      'calculate_cross_entropy_loss',
      `${CORE}tensor_parallel/cross_entropy.py`,
      88,
      'loss = torch.log(sum_exp_logits) - predicted_logits',
    ),
    at(
      'forward',
      `${CORE}tensor_parallel/cross_entropy.py`,
      169,
      ') = VocabParallelCrossEntropy.calculate_cross_entropy_loss(',
    ),
    at(
      'vocab_parallel_cross_entropy',
      `${CORE}tensor_parallel/cross_entropy.py`,
      234,
      'return _VocabParallelCrossEntropy.apply(vocab_parallel_logits, target, label_smoothing)',
    ),
    at(
      'compute_language_model_loss',
      `${CORE}models/common/language_module/language_module.py`,
      131,
      'loss = tensor_parallel.vocab_parallel_cross_entropy(logits, labels)',
    ),
    at(
      '_postprocess',
      `${CORE}models/gpt/gpt_model.py`,
      644,
      'loss = self.compute_language_model_loss(labels, logits)',
    ),
    at('forward', `${CORE}models/gpt/gpt_model.py`, 521, 'return self._postprocess('),
    ...forwardStep,
  ],
} satisfies Record<string, CallPath>;

const receive = (name: string, line: number): CallPath => [
  at(name, `${CORE}pipeline_parallel/p2p_communication.py`, line, 'return torch.empty('),
  at(
    '_communicate',
    `${CORE}pipeline_parallel/p2p_communication.py`,
    line + 62,
    `tensor_${name.slice(14)} = ${name}()`,
  ),
];

export const PIPELINE = {
  receiveForward: [
    ...receive('create_tensor_recv_prev', 318),
    at('recv_forward', `${CORE}pipeline_parallel/p2p_communication.py`, 466, 'input_tensor, _, _ = self._communicate('),
    at(
      'forward_backward_pipelining_without_interleaving',
      `${CORE}pipeline_parallel/schedules.py`,
      2145,
      'input_tensor = p2p_communicator.recv_forward(',
    ),
    ...trainStepSchedule,
  ],
  receiveBackward: [
    ...receive('create_tensor_recv_next', 329),
    at(
      'recv_backward',
      `${CORE}pipeline_parallel/p2p_communication.py`,
      497,
      '_, output_tensor_grad, _ = self._communicate(',
    ),
    at(
      'forward_backward_pipelining_without_interleaving',
      `${CORE}pipeline_parallel/schedules.py`,
      2236,
      'output_tensor_grad = p2p_communicator.recv_backward(',
    ),
    ...trainStepSchedule,
  ],
} satisfies Record<string, CallPath>;

const mlpBackward: CallPath = [
  gemm,
  at('backward', `${TE}module/layernorm_linear.py`, 802, 'gemm_out, *_, reduce_scatter_out = general_gemm('),
  engine,
];
const linearBackward: CallPath = [
  gemm,
  at('backward', `${TE}module/linear.py`, 714, 'gemm_out, *_, reduce_scatter_out = general_gemm('),
  engine,
];

export const BACKWARD = {
  recompute: layerPaths(recomputed),
  /** Autograd nodes written in C++ run without a Python frame. */
  native: [],
  outputLayer: [
    at('backward', `${CORE}tensor_parallel/layers.py`, 531, 'grad_input = grad_output.matmul(weight)'),
    engine,
  ],
  fc2: linearBackward,
  swiglu: [
    at('swiglu_back', `${CORE}fusions/fused_bias_swiglu.py`, 68, 'return torch.cat('),
    at('backward', `${CORE}fusions/fused_bias_swiglu.py`, 221, 'tmp = swiglu_back(grad_output, input)'),
    engine,
  ],
  fc1: mlpBackward,
  attention: [
    at('fused_attn_bwd', `${TE}cpp_extensions/fused_attn.py`, 497, 'output_tensors = tex.fused_attn_bwd('),
    at('backward', `${TE}attention/dot_product_attention/backends.py`, 1387, 'dq, dk, dv, *rest = fused_attn_bwd('),
    engine,
  ],
  qkv: mlpBackward,
} satisfies Record<string, CallPath | Record<string, CallPath>>;

const optimizerStep: CallPath = [
  at('step_with_ready_grads', `${CORE}optimizer/optimizer.py`, 512, 'self.optimizer.step()'),
  at('step', `${CORE}optimizer/optimizer.py`, 574, 'success = self.step_with_ready_grads()'),
  at('step', `${CORE}optimizer/optimizer.py`, 1187, 'return optimizer.step()'),
  ...trainStepOptimizer,
];
const states = (line: number, source: string): CallPath => [
  at(
    '_initialize_state',
    `${TE}optimizers/fused_adam.py`,
    352,
    'data = torch.zeros(shape, dtype=dtype, device=param.device)',
  ),
  at('initialize_state', `${TE}optimizers/fused_adam.py`, line, source),
  at('step', `${TE}optimizers/fused_adam.py`, 586, 'self.initialize_state(p, store_param_remainders)'),
  ...optimizerStep,
];

export const OPTIMIZER = {
  gradNorm: [
    at('get_grad_norm_fp32', `${CORE}optimizer/clip_grads.py`, 101, 'grad_norm, _ = multi_tensor_applier('),
    at('get_grad_norm', `${CORE}optimizer/optimizer.py`, 214, 'total_norm = get_grad_norm_fp32('),
    at('step', `${CORE}optimizer/optimizer.py`, 1163, 'grad_norm = self.get_grad_norm()'),
    ...trainStepOptimizer,
  ],
  expAvg: states(383, 'self._initialize_state(param, "exp_avg", zero_buffer=True)'),
  expAvgSq: states(384, 'self._initialize_state(param, "exp_avg_sq", zero_buffer=True)'),
} satisfies Record<string, CallPath>;
