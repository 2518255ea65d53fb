/** One transformer layer: the forward pass, which is the same code when it is recomputed, and the backward pass. */
import type { CallPath } from '../code-line.js';
import { AUTOGRAD, at, MODULE_CALL, TE } from './sources.js';

export interface LayerForwardSites {
  readonly inputNorm: CallPath;
  /** Sequence parallelism: the whole sequence, gathered before a column-parallel linear layer. */
  readonly qkvGather: CallPath;
  readonly qkv: CallPath;
  readonly workspace: CallPath;
  readonly rotary: CallPath;
  readonly attention: CallPath;
  readonly proj: CallPath;
  /** Sequence parallelism: this rank's part after a row-parallel linear layer. */
  readonly projScatter: CallPath;
  readonly attentionResidual: CallPath;
  readonly mlpNorm: CallPath;
  readonly fc1Gather: CallPath;
  readonly fc1: CallPath;
  readonly activation: CallPath;
  readonly fc2: CallPath;
  readonly fc2Scatter: CallPath;
  readonly mlpResidual: CallPath;
}

export interface LayerBackwardSites {
  readonly fc2Gather: CallPath;
  readonly fc2: CallPath;
  readonly activation: CallPath;
  readonly fc1Gather: CallPath;
  readonly fc1: CallPath;
  readonly mlpNorm: CallPath;
  readonly projGather: CallPath;
  readonly proj: CallPath;
  /** Selective recomputation of core attention. */
  readonly attentionRecompute: CallPath;
  readonly attention: CallPath;
  /** Autograd nodes written in C++ run without a Python frame. */
  readonly native: CallPath;
  readonly qkvGather: CallPath;
  readonly qkv: CallPath;
  readonly inputNorm: CallPath;
}

const GEMM = at(
  'general_gemm',
  `${TE}cpp_extensions/gemm.py`,
  134,
  'out, bias_grad, gelu_input, extra_output = tex.generic_gemm(*args, **kwargs)',
);
const GATHER = at('gather_along_first_dim', `${TE}distributed.py`, 1389, 'out = torch.empty(');
const SCATTER = at('reduce_scatter_along_first_dim', `${TE}distributed.py`, 876, 'output = torch.empty(');

/** A Transformer Engine linear layer: its autograd function, the module, Megatron's wrapper. */
function linearCall(file: string, line: number, core: string): CallPath {
  return [
    at('forward', `${TE}module/${file}.py`, line, 'out = linear_fn(*args)'),
    at(
      'forward',
      `${core}extensions/transformer_engine.py`,
      668,
      'out = super().forward(x, is_first_microbatch=_is_first_microbatch)',
    ),
    ...MODULE_CALL,
  ];
}

/** `outer` begins where the layer's `__call__` stands. */
export function layerForwardSites(core: string, outer: CallPath, selective: boolean): LayerForwardSites {
  const layer: CallPath = [
    at(
      '__call__',
      `${core}transformer/transformer_layer.py`,
      1003,
      'return super(MegatronModule, self).__call__(*args, **kwargs)',
    ),
    ...outer,
  ];
  const inAttentionPart: CallPath = [
    at(
      'forward',
      `${core}transformer/transformer_layer.py`,
      476,
      'hidden_states, context = self._forward_attention(*args, **kwargs)',
    ),
    ...MODULE_CALL,
    ...layer,
  ];
  const inMlpPart: CallPath = [
    at('forward', `${core}transformer/transformer_layer.py`, 477, 'output = self._forward_mlp(hidden_states)'),
    ...MODULE_CALL,
    ...layer,
  ];
  const attention: CallPath = [
    at(
      '_forward_attention',
      `${core}transformer/transformer_layer.py`,
      558,
      'attention_output_with_bias = self.self_attention(',
    ),
    ...inAttentionPart,
  ];
  const mlp: CallPath = [
    at(
      '_forward_mlp',
      `${core}transformer/transformer_layer.py`,
      676,
      'mlp_output_with_bias = self.mlp(pre_mlp_layernorm_output)',
    ),
    ...inMlpPart,
  ];
  const qkvLinear: CallPath = [
    ...linearCall('layernorm_linear', 1542, core),
    at(
      'get_query_key_value_tensors',
      `${core}transformer/attention.py`,
      968,
      'mixed_qkv, _ = self.linear_qkv(hidden_states)',
    ),
    at('forward', `${core}transformer/attention.py`, 697, 'qkv_output = self.get_query_key_value_tensors('),
    ...MODULE_CALL,
    ...attention,
  ];
  const projLinear: CallPath = [
    ...linearCall('linear', 1391, core),
    at('forward', `${core}transformer/attention.py`, 853, 'output, bias = self.linear_proj(core_attn_out)'),
    ...MODULE_CALL,
    ...attention,
  ];
  const fc1Linear: CallPath = [
    ...linearCall('layernorm_linear', 1542, core),
    at(
      'forward',
      `${core}transformer/mlp.py`,
      173,
      'intermediate_parallel, bias_parallel = self.linear_fc1(hidden_states)',
    ),
    ...MODULE_CALL,
    ...mlp,
  ];
  const fc2Linear: CallPath = [
    ...linearCall('linear', 1391, core),
    at('forward', `${core}transformer/mlp.py`, 243, 'output, output_bias = self.linear_fc2(intermediate_parallel)'),
    ...MODULE_CALL,
    ...mlp,
  ];
  const coreAttention: CallPath = selective
    ? [
        at('custom_forward', `${core}transformer/attention.py`, 330, 'output_ = self.core_attention('),
        at('forward', `${core}tensor_parallel/random.py`, 521, 'outputs = run_function(*args)'),
        at(
          'checkpoint',
          `${core}tensor_parallel/random.py`,
          601,
          'return CheckpointFunction.apply(function, distribute_saved_activations, *args)',
        ),
        at(
          '_checkpointed_attention_forward',
          `${core}transformer/attention.py`,
          345,
          'hidden_states = tensor_parallel.checkpoint(',
        ),
        at('forward', `${core}transformer/attention.py`, 782, 'core_attn_out = self._checkpointed_attention_forward('),
      ]
    : [at('forward', `${core}transformer/attention.py`, 791, 'core_attn_out = self.core_attention(')];
  const norm = at('apply_normalization', `${TE}module/_common.py`, 186, 'return normalization_func(');
  const normLinear = (line: number, source: string): CallPath => [
    at('forward', `${TE}module/layernorm_linear.py`, line, source),
  ];
  const linearOp = (line: number, source: string): CallPath => [at('forward', `${TE}module/linear.py`, line, source)];
  const residual = (part: CallPath, line: number, source: string, name: string): CallPath => [
    at('_bias_dropout_add_func', `${core}fusions/fused_bias_dropout.py`, 41, 'out = residual + out'),
    at(name, `${core}transformer/transformer_layer.py`, line, source),
    ...part,
  ];
  return {
    inputNorm: [norm, ...normLinear(214, 'ln_out, mu, rsigma = apply_normalization('), ...qkvLinear],
    qkvGather: [GATHER, ...normLinear(268, 'ln_out_total, _ = gather_along_first_dim('), ...qkvLinear],
    qkv: [GEMM, ...normLinear(386, 'gemm_out, *_, reduce_scatter_out = general_gemm('), ...qkvLinear],
    workspace: [
      at('get_cublas_workspace', `${TE}cpp_extensions/gemm.py`, 41, 'return torch.empty('),
      GEMM,
      ...normLinear(386, 'gemm_out, *_, reduce_scatter_out = general_gemm('),
      ...qkvLinear,
    ],
    rotary: [
      at('forward', `${TE}attention/rope.py`, 214, 'output = tex.fused_rope_forward('),
      at(
        'apply_rotary_pos_emb',
        `${core}models/common/embeddings/rope_utils.py`,
        303,
        'return fused_apply_rotary_pos_emb(t, freqs)',
      ),
      at('forward', `${core}transformer/attention.py`, 752, 'query = apply_rotary_pos_emb('),
      ...MODULE_CALL,
      ...attention,
    ],
    attention: [
      at('fused_attn_fwd', `${TE}cpp_extensions/fused_attn.py`, 318, 'output_tensors = tex.fused_attn_fwd('),
      at(
        'forward',
        `${TE}attention/dot_product_attention/backends.py`,
        1102,
        'out_, aux_ctx_tensors, *_ = fused_attn_fwd(',
      ),
      at(
        'forward',
        `${TE}attention/dot_product_attention/dot_product_attention.py`,
        1371,
        'attn_out = self.fused_attention(',
      ),
      at('forward', `${core}extensions/transformer_engine.py`, 1141, 'core_attn_out = super().forward('),
      ...MODULE_CALL,
      ...coreAttention,
      ...MODULE_CALL,
      ...attention,
    ],
    proj: [GEMM, ...linearOp(301, 'gemm_out, *_, reduce_scatter_out = general_gemm('), ...projLinear],
    projScatter: [SCATTER, ...linearOp(327, 'out, _ = reduce_scatter_along_first_dim(out, tp_group)'), ...projLinear],
    attentionResidual: residual(
      inAttentionPart,
      591,
      'hidden_states = self.self_attn_bda(self.training, self.config.bias_dropout_fusion)(',
      '_forward_attention',
    ),
    mlpNorm: [norm, ...normLinear(214, 'ln_out, mu, rsigma = apply_normalization('), ...fc1Linear],
    fc1Gather: [GATHER, ...normLinear(268, 'ln_out_total, _ = gather_along_first_dim('), ...fc1Linear],
    fc1: [GEMM, ...normLinear(386, 'gemm_out, *_, reduce_scatter_out = general_gemm('), ...fc1Linear],
    activation: [
      at('swiglu', `${core}fusions/fused_bias_swiglu.py`, 33, 'return F.silu(y_1) * y_2'),
      at('forward', `${core}fusions/fused_bias_swiglu.py`, 207, 'return swiglu(input)'),
      at('bias_swiglu_impl', `${core}fusions/fused_bias_swiglu.py`, 262, 'output = SwiGLUFunction.apply('),
      at('forward', `${core}transformer/mlp.py`, 196, 'intermediate_parallel = bias_swiglu_impl('),
      ...MODULE_CALL,
      ...mlp,
    ],
    fc2: [GEMM, ...linearOp(301, 'gemm_out, *_, reduce_scatter_out = general_gemm('), ...fc2Linear],
    fc2Scatter: [SCATTER, ...linearOp(327, 'out, _ = reduce_scatter_along_first_dim(out, tp_group)'), ...fc2Linear],
    mlpResidual: residual(
      inMlpPart,
      702,
      'hidden_states = self.mlp_bda(self.training, self.config.bias_dropout_fusion)(',
      '_forward_mlp',
    ),
  };
}

/** The checkpointed region running again on autograd's thread. */
export function recomputeFrames(core: string): CallPath {
  return [
    at('custom_forward', `${core}transformer/transformer_block.py`, 463, 'hidden_states, context = layer('),
    at('backward', `${core}tensor_parallel/random.py`, 566, 'outputs = ctx.run_function(*detached_inputs)'),
    ...AUTOGRAD,
  ];
}

export function layerBackwardSites(core: string): LayerBackwardSites {
  const normLinear = (line: number, source: string): CallPath => [
    at('backward', `${TE}module/layernorm_linear.py`, line, source),
    ...AUTOGRAD,
  ];
  const linear = (line: number, source: string): CallPath => [
    at('backward', `${TE}module/linear.py`, line, source),
    ...AUTOGRAD,
  ];
  const gradGather: CallPath = [
    GATHER,
    at('grad_output_preprocess', `${TE}module/base.py`, 1123, 'grad_output, _ = gather_along_first_dim('),
    ...linear(553, ') = TransformerEngineBaseModule.grad_output_preprocess('),
  ];
  const inputGather: CallPath = [
    GATHER,
    ...normLinear(671, 'ln_out_total, ln_out_total_work = gather_along_first_dim('),
  ];
  const normLinearGrad: CallPath = [GEMM, ...normLinear(802, 'gemm_out, *_, reduce_scatter_out = general_gemm(')];
  const linearGrad: CallPath = [GEMM, ...linear(714, 'gemm_out, *_, reduce_scatter_out = general_gemm(')];
  const normGrad = normLinear(1017, 'dgrad, dgamma = tex.rmsnorm_bwd(');
  return {
    fc2Gather: gradGather,
    fc2: linearGrad,
    activation: [
      at('swiglu_back', `${core}fusions/fused_bias_swiglu.py`, 68, 'return torch.cat('),
      at('backward', `${core}fusions/fused_bias_swiglu.py`, 221, 'tmp = swiglu_back(grad_output, input)'),
      ...AUTOGRAD,
    ],
    fc1Gather: inputGather,
    fc1: normLinearGrad,
    mlpNorm: normGrad,
    projGather: gradGather,
    proj: linearGrad,
    attentionRecompute: [
      at('fused_attn_fwd', `${TE}cpp_extensions/fused_attn.py`, 318, 'output_tensors = tex.fused_attn_fwd('),
      at(
        'forward',
        `${TE}attention/dot_product_attention/backends.py`,
        1102,
        'out_, aux_ctx_tensors, *_ = fused_attn_fwd(',
      ),
      at('custom_forward', `${core}transformer/attention.py`, 330, 'output_ = self.core_attention('),
      at('backward', `${core}tensor_parallel/random.py`, 566, 'outputs = ctx.run_function(*detached_inputs)'),
      ...AUTOGRAD,
    ],
    attention: [
      at('fused_attn_bwd', `${TE}cpp_extensions/fused_attn.py`, 497, 'output_tensors = tex.fused_attn_bwd('),
      at('backward', `${TE}attention/dot_product_attention/backends.py`, 1387, 'dq, dk, dv, *rest = fused_attn_bwd('),
      ...AUTOGRAD,
    ],
    native: [],
    qkvGather: inputGather,
    qkv: normLinearGrad,
    inputNorm: normGrad,
  };
}
