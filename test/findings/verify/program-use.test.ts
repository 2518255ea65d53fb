/** What stacks show of recompute and offload: frames of recompute are told by what they recompute. */
import { describe, expect, it } from 'vitest';
import { programUse } from '../../../src/findings/verify/program-use.js';

const CORE = '/opt/Megatron-LM/megatron/core';

/** `name file`, innermost first. */
function use(...stack: readonly string[]) {
  const frames = stack.map((text) => {
    const [name = '', filename = ''] = text.split(' ');
    return { name, filename, line: 7 };
  });
  return programUse([{ frames, requests: 3 }]);
}
const recomputed = (...stack: readonly string[]): string[] => [...use(...stack).recompute.keys()];

const RANDOM = `${CORE}/tensor_parallel/random.py`;
const LAYER = `forward ${CORE}/transformer/transformer_layer.py`;
const BLOCK = `forward ${CORE}/transformer/transformer_block.py`;

describe('recompute in stacks', () => {
  it.each([
    [
      'full',
      [
        `linear ${CORE}/transformer/mlp.py`,
        `forward ${RANDOM}`,
        `checkpoint ${RANDOM}`,
        `_checkpointed_forward ${CORE}/transformer/transformer_block.py`,
      ],
    ],
    [
      'core_attn',
      [
        `forward ${CORE}/transformer/dot_product_attention.py`,
        `forward ${RANDOM}`,
        `checkpoint ${RANDOM}`,
        `_checkpointed_attention_forward ${CORE}/transformer/attention.py`,
      ],
    ],
    [
      'mlp',
      [`forward ${CORE}/transformer/mlp.py`, `CheckpointFunction.forward ${RANDOM}`, `checkpoint ${RANDOM}`, LAYER],
    ],
    [
      'layernorm',
      [`forward ${CORE}/fusions/fused_layer_norm.py`, `CheckpointWithoutOutput.checkpoint ${RANDOM}`, LAYER],
    ],
    [
      'moe_act',
      [
        `activation_func ${CORE}/fusions/fused_bias_swiglu.py`,
        `CheckpointWithoutOutput.checkpoint ${RANDOM}`,
        `forward ${CORE}/transformer/moe/experts.py`,
        LAYER,
      ],
    ],
    [
      'mla_up_proj',
      [
        `qkv ${CORE}/tensor_parallel/layers.py`,
        `CheckpointWithoutOutput.checkpoint ${RANDOM}`,
        `get_query_key_value_tensors ${CORE}/transformer/multi_latent_attention.py`,
        LAYER,
      ],
    ],
    [
      'moe',
      [
        `forward ${CORE}/transformer/moe/experts.py`,
        `forward ${RANDOM}`,
        `checkpoint ${RANDOM}`,
        `forward ${CORE}/transformer/moe/moe_layer.py`,
      ],
    ],
    // The backward pass runs it again, and no outer frame shows what it was.
    [
      'other',
      [
        `forward ${CORE}/transformer/mlp.py`,
        `CheckpointFunction.backward ${RANDOM}`,
        `apply /opt/torch/autograd/function.py`,
      ],
    ],
  ] as const)('of %s', (module, stack) => {
    expect(recomputed(...stack)).toEqual([module]);
  });

  it('is not seen where there is none', () => {
    const plain = use(`forward ${CORE}/transformer/mlp.py`, LAYER, BLOCK);
    expect([...plain.recompute.keys()]).toEqual([]);
    expect(plain.forwardRequests).toBe(3);
    // The random-number tracker lives in the same file.
    expect(recomputed(`fork ${RANDOM}`, LAYER)).toEqual([]);
    expect(recomputed(`backward ${CORE}/tensor_parallel/mappings.py`)).toEqual([]);
  });
});

describe('offload in stacks', () => {
  it.each([
    ['fine_grained', `reload ${CORE}/pipeline_parallel/fine_grained_activation_offload.py`],
    ['layers', 'tensor_pop /usr/lib/python3.12/site-packages/transformer_engine/pytorch/cpu_offload.py'],
    ['optimizer', `step ${CORE}/optimizer/cpu_offloading/hybrid_optimizer.py`],
  ])('of %s', (what, frame) => {
    expect([...use(frame, LAYER).offload.keys()]).toEqual([what]);
  });
});
