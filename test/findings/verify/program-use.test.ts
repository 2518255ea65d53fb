/** What stacks show of recompute and offload: frames of recompute are named by what they recompute. */
import { expect, it } from 'vitest';
import { programUse } from '../../../src/findings/verify/program-use.js';

const NAMES: Readonly<Record<string, string>> = {
  RANDOM: 'CORE/tensor_parallel/random.py',
  LAYER: 'forward CORE/transformer/transformer_layer.py',
  BLOCK: 'forward CORE/transformer/transformer_block.py',
  WITHOUT: 'CheckpointWithoutOutput.checkpoint CORE/tensor_parallel/random.py',
};
/** `name file`, innermost first, in Megatron-Core. */
function use(...stack: readonly string[]) {
  const frames = stack.map((text) => {
    const whole = text
      .replace(/[A-Z]{5,}/, (word) => NAMES[word] ?? word)
      .replace('CORE', '/opt/Megatron-LM/megatron/core');
    const [name = '', filename = ''] = whole.split(' ');
    return { name, filename, line: 7 };
  });
  return programUse([{ frames, requests: 3 }]);
}

it.each<[string, ...string[]]>([
  [
    'full',
    ...['linear CORE/transformer/mlp.py', 'forward RANDOM', 'checkpoint RANDOM'],
    '_checkpointed_forward CORE/transformer/transformer_block.py',
  ],
  [
    'core_attn',
    ...['forward CORE/transformer/dot_product_attention.py', 'forward RANDOM', 'checkpoint RANDOM'],
    '_checkpointed_attention_forward CORE/transformer/attention.py',
  ],
  ['mlp', 'forward CORE/transformer/mlp.py', 'CheckpointFunction.forward RANDOM', 'checkpoint RANDOM', 'LAYER'],
  ['layernorm', 'forward CORE/fusions/fused_layer_norm.py', 'WITHOUT', 'LAYER'],
  [
    'moe_act',
    ...['activation_func CORE/fusions/fused_bias_swiglu.py', 'WITHOUT'],
    ...['forward CORE/transformer/moe/experts.py', 'LAYER'],
  ],
  [
    'mla_up_proj',
    ...['qkv CORE/tensor_parallel/layers.py', 'WITHOUT'],
    ...['get_query_key_value_tensors CORE/transformer/multi_latent_attention.py', 'LAYER'],
  ],
  [
    'moe',
    ...['forward CORE/transformer/moe/experts.py', 'forward RANDOM', 'checkpoint RANDOM'],
    'forward CORE/transformer/moe/moe_layer.py',
  ],
  // The backward pass runs it again, and no outer frame shows what it was.
  [
    'other',
    ...[
      'forward CORE/transformer/mlp.py',
      'CheckpointFunction.backward RANDOM',
      'apply /opt/torch/autograd/function.py',
    ],
  ],
  ['', 'forward CORE/transformer/mlp.py', 'LAYER', 'BLOCK'],
  // The random-number tracker lives in the same file.
  ['', 'fork RANDOM', 'LAYER'],
  ['', 'backward CORE/tensor_parallel/mappings.py'],
])('recompute of "%s" in %s %s', (module, ...stack) => {
  const { recompute, forwardRequests } = use(...stack);
  expect([...recompute.keys()].join()).toBe(module);
  if (stack.includes('BLOCK')) expect(forwardRequests).toBe(3);
});

it.each([
  ['fine_grained', 'reload CORE/pipeline_parallel/fine_grained_activation_offload.py'],
  ['layers', 'tensor_pop /usr/lib/python3.12/site-packages/transformer_engine/pytorch/cpu_offload.py'],
  ['optimizer', 'step CORE/optimizer/cpu_offloading/hybrid_optimizer.py'],
])('offload of %s in %s', (what, frame) => {
  expect([...use(frame, 'LAYER').offload.keys()]).toEqual([what]);
});
