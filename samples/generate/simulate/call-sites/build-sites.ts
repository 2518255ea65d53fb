/** Model, contiguous buffers and optimizer. */
import type { CallPath } from '../code-line.js';
import type { OuterFrames } from './outer-frames.js';
import { at, TE } from './sources.js';

export interface BuildSites {
  readonly embedding: CallPath;
  readonly outputLayer: CallPath;
  readonly finalNorm: CallPath;
  readonly proj: CallPath;
  readonly qkvNorm: CallPath;
  readonly qkv: CallPath;
  readonly fc1Norm: CallPath;
  readonly fc1: CallPath;
  readonly fc2: CallPath;
  readonly parameterBuffer: CallPath;
  readonly gradientBuffer: CallPath;
  readonly mainParameters: CallPath;
}

export function buildSites(core: string, outer: OuterFrames): BuildSites {
  const model: CallPath = [
    at('__init__', `${core}models/gpt/gpt_model.py`, 214, 'self.decoder = TransformerBlock('),
    ...outer.modelBuild,
  ];
  const block: CallPath = [
    at('_build_layers', `${core}transformer/transformer_block.py`, 371, 'build_layer(layer_spec, i + 1)'),
    at('__init__', `${core}transformer/transformer_block.py`, 318, 'self._build_layers()'),
    ...model,
  ];
  const layer: CallPath = [
    at('build_module', `${core}transformer/spec_utils.py`, 108, 'return module('),
    at('build_layer', `${core}transformer/transformer_block.py`, 331, 'module = build_module('),
    ...block,
  ];
  const attention: CallPath = [
    at('__init__', `${core}transformer/transformer_layer.py`, 342, 'self.self_attention = build_module('),
    ...layer,
  ];
  const mlp: CallPath = [
    at('__init__', `${core}transformer/transformer_layer.py`, 391, 'self.mlp = build_module('),
    ...layer,
  ];
  const te = `${core}extensions/transformer_engine.py`;
  const column = (weight: CallPath, caller: CallPath): CallPath => [
    ...weight,
    at('__init__', te, 612, 'super().__init__('),
    ...caller,
  ];
  const row = (caller: CallPath): CallPath => [
    at('__init__', `${TE}module/linear.py`, 1121, 'weight_tensor = torch.empty('),
    at('__init__', te, 431, 'super().__init__('),
    at('__init__', te, 924, 'super().__init__('),
    ...caller,
  ];
  const norm: CallPath = [
    at('__init__', `${TE}module/layernorm_linear.py`, 1262, 'layer_norm_weight = torch.nn.Parameter('),
  ];
  const weight: CallPath = [at('__init__', `${TE}module/layernorm_linear.py`, 1287, 'weight_tensor = torch.empty(')];
  const qkvCaller: CallPath = [
    at('__init__', `${core}transformer/attention.py`, 903, 'self.linear_qkv = build_module('),
    ...attention,
  ];
  const fc1Caller: CallPath = [
    at('__init__', `${core}transformer/mlp.py`, 121, 'self.linear_fc1 = build_module('),
    ...mlp,
  ];
  const wrap: CallPath = [
    at(
      '_allocate_buffers_for_parameters',
      `${core}distributed/distributed_data_parallel.py`,
      214,
      '_ParamAndGradBuffer(',
    ),
    at(
      '__init__',
      `${core}distributed/distributed_data_parallel.py`,
      268,
      'self.buffers, self.bucket_groups = _allocate_buffers_for_parameters(',
    ),
    ...outer.distributedWrap,
  ];
  return {
    embedding: [
      at('__init__', `${core}tensor_parallel/layers.py`, 236, 'torch.empty('),
      at(
        '__init__',
        `${core}models/common/embeddings/language_model_embedding.py`,
        58,
        'self.word_embeddings = tensor_parallel.VocabParallelEmbedding(',
      ),
      at('__init__', `${core}models/gpt/gpt_model.py`, 168, 'self.embedding = LanguageModelEmbedding('),
      ...outer.modelBuild,
    ],
    outputLayer: [
      at('__init__', `${core}tensor_parallel/layers.py`, 812, 'torch.empty('),
      at(
        '__init__',
        `${core}models/gpt/gpt_model.py`,
        258,
        'self.output_layer = tensor_parallel.ColumnParallelLinear(',
      ),
      ...outer.modelBuild,
    ],
    finalNorm: [
      at('__init__', `${TE}ops/basic/rmsnorm.py`, 84, 'weight = torch.empty('),
      at('_build_layers', `${core}transformer/transformer_block.py`, 396, 'self.final_layernorm = build_module('),
      at('__init__', `${core}transformer/transformer_block.py`, 318, 'self._build_layers()'),
      ...model,
    ],
    proj: row([
      at('__init__', `${core}transformer/attention.py`, 205, 'self.linear_proj = build_module('),
      ...attention,
    ]),
    qkvNorm: column(norm, qkvCaller),
    qkv: column(weight, qkvCaller),
    fc1Norm: column(norm, fc1Caller),
    fc1: column(weight, fc1Caller),
    fc2: row([at('__init__', `${core}transformer/mlp.py`, 140, 'self.linear_fc2 = build_module('), ...mlp]),
    parameterBuffer: [
      at('__init__', `${core}distributed/param_and_grad_buffer.py`, 742, 'self.param_data = torch.zeros('),
      ...wrap,
    ],
    gradientBuffer: [
      at('__init__', `${core}distributed/param_and_grad_buffer.py`, 764, 'self.grad_data = torch.zeros('),
      ...wrap,
    ],
    mainParameters: [
      at(
        '_build_model_and_main_param_groups',
        `${core}optimizer/distrib_optimizer.py`,
        368,
        'shard_main_param = shard_model_param.clone().float()',
      ),
      at('__init__', `${core}optimizer/distrib_optimizer.py`, 566, ') = self._build_model_and_main_param_groups('),
      at(
        '_get_megatron_optimizer_based_on_param_groups',
        `${core}optimizer/__init__.py`,
        471,
        'optimizer = DistributedOptimizer(',
      ),
      at(
        'get_megatron_optimizer',
        `${core}optimizer/__init__.py`,
        633,
        '_get_megatron_optimizer_based_on_param_groups(',
      ),
      ...outer.optimizerBuild,
    ],
  };
}
