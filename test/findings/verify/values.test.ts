/** Spellings of one value, and what an allocator setting has to contain. */
import { describe, expect, it } from 'vitest';
import { familyOf, kindOfSetting, kindOfVariable } from '../../../src/findings/verify/kinds.js';
import { allocatorParts, hasParts, sameValue, wantedParts } from '../../../src/findings/verify/values.js';

describe('values', () => {
  it.each([
    ['True', 'true', true],
    [null, 'None', true],
    ['8', '8.0', true],
    ['["mlp", "core_attn"]', '["core_attn","mlp"]', true],
    ['["mlp"]', '["core_attn"]', false],
    ['4', '8', false],
    [null, 'False', false],
  ])('%s and %s', (a, b, same) => {
    expect(sameValue(a, b)).toBe(same);
  });
});

describe('allocator settings', () => {
  it('are parts, and lists inside them are whole', () => {
    expect(allocatorParts('expandable_segments:True, roundup_power2_divisions:[256:1,512:2]')).toEqual([
      'expandable_segments:True',
      'roundup_power2_divisions:[256:1,512:2]',
    ]);
    expect(allocatorParts('')).toEqual([]);
  });

  it('are in force where what was put in is there and what was taken out is not', () => {
    const added = wantedParts('max_split_size_mb:512', 'max_split_size_mb:512,expandable_segments:True');
    expect(added).toEqual({ present: ['expandable_segments:True'], absent: [] });
    expect(hasParts('expandable_segments:true', added)).toBe(true);
    expect(hasParts('max_split_size_mb:512', added)).toBe(false);
    const removed = wantedParts('expandable_segments:True', null);
    expect(hasParts(null, removed)).toBe(true);
    expect(hasParts('expandable_segments:True', removed)).toBe(false);
    // Another value of the same setting.
    expect(wantedParts('expandable_segments:True', 'expandable_segments:False')).toEqual({
      present: ['expandable_segments:False'],
      absent: [],
    });
  });
});

describe('kinds', () => {
  it('of settings and variables', () => {
    expect(kindOfSetting('recompute_modules')).toBe('recompute');
    expect(kindOfSetting('cpu_offloading_num_layers')).toBe('activation_offload');
    expect(kindOfSetting('micro_batch_size')).toBe('setting');
    expect(kindOfSetting('exit_interval')).toBeUndefined();
    expect(kindOfVariable('PYTORCH_ALLOC_CONF')).toBe('allocator');
    expect(kindOfVariable('NCCL_NVLS_ENABLE')).toBe('environment');
    expect(kindOfVariable('NCCL_DEBUG')).toBeUndefined();
  });

  it('what one decision sets together is one change', () => {
    expect(familyOf('recompute_granularity', 'recompute')).toBe(familyOf('recompute_modules', 'recompute'));
    expect(familyOf('micro_batch_size', 'setting')).not.toBe(familyOf('seq_length', 'setting'));
  });
});
