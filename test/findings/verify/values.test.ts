/** Spellings of one value, and what an allocator setting has to contain. */
import { describe, expect, it } from 'vitest';
import { allocatorParts } from '../../../src/derive/settings/values.js';
import { familyOf, kindOfSetting, kindOfVariable } from '../../../src/findings/verify/kinds.js';
import { hasParts, sameValue, wantedParts } from '../../../src/findings/verify/values.js';

it.each([
  ['True', 'true', true],
  [null, 'None', true],
  ['8', '8.0', true],
  ['["mlp", "core_attn"]', '["core_attn","mlp"]', true],
  ['["mlp"]', '["core_attn"]', false],
  ['4', '8', false],
  [null, 'False', false],
])('%s and %s are the same value: %s', (a, b, same) => expect(sameValue(a, b)).toBe(same));

const [EXPANDABLE, SPLIT] = ['expandable_segments:True', 'max_split_size_mb:512'];

describe('allocator settings', () => {
  it('are parts, and lists inside them are whole', () => {
    const powers = 'roundup_power2_divisions:[256:1,512:2]';
    expect(allocatorParts(`${EXPANDABLE}, ${powers}`)).toEqual([EXPANDABLE, powers]);
    expect(allocatorParts('')).toEqual([]);
  });

  it('are in force where what was put in is there and what was taken out is not', () => {
    const added = wantedParts(SPLIT, `${SPLIT},${EXPANDABLE}`);
    expect(added).toEqual({ present: [EXPANDABLE], absent: [] });
    expect([hasParts('expandable_segments:true', added), hasParts(SPLIT, added)]).toEqual([true, false]);
    const removed = wantedParts(EXPANDABLE, null);
    expect([hasParts(null, removed), hasParts(EXPANDABLE, removed)]).toEqual([true, false]);
    // Another value of the same setting.
    const off = 'expandable_segments:False';
    expect(wantedParts(EXPANDABLE, off)).toEqual({ present: [off], absent: [] });
  });
});

describe('kinds', () => {
  it.each([
    ['recompute_modules', 'recompute'],
    ['cpu_offloading_num_layers', 'activation_offload'],
    ['micro_batch_size', 'setting'],
    ['exit_interval', undefined],
  ])('%s is a setting of %s', (key, kind) => expect(kindOfSetting(key)).toBe(kind));

  it.each([
    ['PYTORCH_ALLOC_CONF', 'allocator'],
    ['NCCL_NVLS_ENABLE', 'environment'],
    ['NCCL_DEBUG', undefined],
  ])('%s is a variable of %s', (key, kind) => expect(kindOfVariable(key)).toBe(kind));

  it('what one decision sets together is one change', () => {
    expect(familyOf('recompute_granularity', 'recompute')).toBe(familyOf('recompute_modules', 'recompute'));
    expect(familyOf('micro_batch_size', 'setting')).not.toBe(familyOf('seq_length', 'setting'));
  });
});
