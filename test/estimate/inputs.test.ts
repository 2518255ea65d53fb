import { describe, expect, it } from 'vitest';
import { configName, findInput, INPUT_NAMES } from '../../src/estimate/input-keys.js';
import { changeInputs, completeInputs, missingInputs } from '../../src/estimate/inputs.js';
import { readLayerPattern } from '../../src/estimate/layer-pattern.js';
import { demandInputs, readInputs } from '../../src/estimate/read-inputs.js';
import { canonicalConfigKey } from '../../src/knowledge/config-keys.js';
import { MbfError } from '../../src/model/errors.js';
import { LLAMA3_70B, TINY } from './given.js';

const read = (pairs: Readonly<Record<string, unknown>>) => readInputs(Object.entries(pairs));

describe('keys', () => {
  it.each([
    'tp',
    'tensor_model_parallel_size',
    '--tensor-model-parallel-size',
    'model.tensor_model_parallel_size',
    'tensor_parallel_size',
  ])('%s is tp', (key) => {
    expect(findInput(key)).toEqual({ name: 'tp', inverted: false });
  });

  it('have names that the dictionary of settings keeps, so that rows of a run find them', () => {
    // A gated unit is one thing under two names.
    for (const name of INPUT_NAMES)
      if (name !== 'swiglu') expect(canonicalConfigKey(configName(name)), name).toBe(configName(name));
  });

  it('may say the opposite', () => {
    expect(read({ untie_embeddings_and_output_weights: true }).given.share_embeddings_and_output_weights).toBe(false);
  });
});

describe('values', () => {
  it('come typed or as text, and null clears', () => {
    const { given, cleared, faults } = read({
      tp: '4',
      pp: 2,
      vpp: null,
      cp: 'None',
      dist_opt: 'True',
      recompute_modules: '["mlp", "core_attn"]',
      offload_modules: 'attn_norm,core_attn',
      moe_layer_freq: '([0]*1+[1]*3)',
      optimizer_offload_fraction: '0.5',
    });
    expect(faults).toEqual([]);
    expect(given).toEqual({
      tp: 4,
      pp: 2,
      dist_opt: true,
      recompute_modules: ['mlp', 'core_attn'],
      offload_modules: ['attn_norm', 'core_attn'],
      moe_layer_freq: [0, 1, 1, 1],
      optimizer_offload_fraction: 0.5,
    });
    expect([...cleared]).toEqual(['vpp', 'cp']);
  });

  it.each([
    [{ tp: 0 }, 'tp = 0 is not a whole number from 1'],
    [{ tp: 1.5 }, 'tp = 1.5 is not a whole number from 1'],
    [{ pp: 'four' }, 'pp = "four" is not a whole number from 1'],
    [{ dist_opt: 'maybe' }, 'dist_opt = "maybe" is not true or false'],
    [{ optimizer_offload_fraction: 2 }, 'is not a number from 0 to 1'],
    [{ num_layers: 1_000_000_000 }, 'num_layers = 1000000000 is more than 10000'],
    [{ moe_layer_freq: [0, 2] }, 'is not a whole number from 1, or a list'],
    [{ moe_layer_freq: '[1]*1000000' }, 'is not a whole number from 1, or a list'],
    [{ hiden_size: 4 }, '"hiden_size" is not an input of an estimate; near it: '],
    [{ constructor: 1 }, '"constructor" is not an input'],
    [{ __proto__x: 1 }, 'is not an input'],
  ])('%j is refused', (pairs, text) => {
    expect(() => demandInputs(Object.entries(pairs), 'MBF2202')).toThrow(
      expect.objectContaining({ code: 'MBF2202', message: expect.stringContaining(text) as string }),
    );
  });
});

it.each([
  ['([0]*3+[1]*2)', [0, 0, 0, 1, 1]],
  ['([0]*1+[1]*1)*2', [0, 1, 0, 1]],
  ['[0, 1, 1]', [0, 1, 1]],
  ['[1]', [1]],
  ['[2]', undefined],
  ['__import__("os")', undefined],
  ['([1]*3', undefined],
  ['[1]*99999', undefined],
])('pattern %s', (text, pattern) => {
  expect(readLayerPattern(text)).toEqual(pattern);
});

describe('defaults are upstream’s', () => {
  it('fills what is absent', () => {
    const inputs = completeInputs({
      num_layers: 2,
      hidden_size: 768,
      num_attention_heads: 12,
      seq_length: 128,
      mbs: 1,
      vocab_size: 50257,
      tp: 2,
      num_moe_experts: 4,
    });
    expect(inputs).toMatchObject({
      ffn: 3072,
      groups: 12,
      headDim: 64,
      paddedVocab: 50432,
      tied: true,
      gated: false,
      isRmsNorm: false,
      biasLinear: true,
      etp: 2,
      dp: 1,
      world: 2,
      vpp: null,
      microBatches: null,
      distributedOptimizer: false,
      recompute: null,
      isMoeLayer: [true, true],
      experts: { count: 4, topk: 2, ffn: 3072, sharedFfn: 0, sharedGate: false, latent: null },
    });
  });

  it('knows Megatron-LM’s FFN of SwiGLU and its printed default of one query group', () => {
    const inputs = completeInputs({ ...TINY, hidden_size: 4096, ffn_hidden_size: undefined!, swiglu: true });
    expect(inputs.ffn).toBe(10880);
    expect(completeInputs({ ...TINY, num_query_groups: 1, group_query_attention: false }).groups).toBe(4);
  });

  it('names what is missing', () => {
    expect(missingInputs({})).toEqual([
      'num_layers',
      'hidden_size',
      'num_attention_heads',
      'seq_length',
      'mbs',
      'vocab_size',
    ]);
    expect(missingInputs({ ...TINY, mla: true })).toEqual(['kv_lora_rank']);
    expect(missingInputs(TINY)).toEqual([]);
  });
});

describe('a change', () => {
  const base = { ...LLAMA3_70B, tp: 4, pp: 4, vpp: 5, dp: 2, world: 32, padded_vocab_size: 128512 };
  const changed = (changes: object, cleared: readonly 'vpp'[] = []) =>
    completeInputs(changeInputs(base, changes, new Set(cleared)));

  it('keeps the GPUs: more tensor parallelism leaves fewer replicas and more micro-batches of the same batch', () => {
    expect(changed({ tp: 8 })).toMatchObject({ tp: 8, dp: 1, world: 32, microBatches: 32, paddedVocab: 129024 });
  });
  it('of the replicas changes the GPUs', () => {
    expect(changed({ dp: 4 })).toMatchObject({ dp: 4, world: 64, microBatches: 8 });
  });
  it('that clears virtual stages leaves a plain schedule', () => {
    expect(changed({}, ['vpp']).vpp).toBeNull();
  });
  it('of one field of a recipe is not overwritten by the recipe', () => {
    const given = { ...base, mixed_precision: 'bf16_with_fp8_current_scaling_mixed' };
    expect(changeInputs(given, { fp8_param_gather: false }, new Set())).toMatchObject({
      fp8: 'hybrid',
      fp8_recipe: 'tensorwise',
      fp8_param_gather: false,
    });
  });
  it('that leaves no whole number of replicas is refused', () => {
    expect(() => changed({ tp: 3 })).toThrow(MbfError);
  });
});
