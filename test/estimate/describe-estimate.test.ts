/** One estimate as the verb returns it: what `--set` mends, and models without a formula. */
import { describe, expect, it } from 'vitest';
import { describeEstimate, questionOfJson } from '../../src/findings/estimate/describe-estimate.js';
import type { EstimateModel, EstimateResult } from '../../src/model/results/estimate.js';
import { worded } from '../../src/report/words/worded.js';
import { TINY } from './given.js';

function ask(
  inputs: object,
  set: readonly (readonly [string, string])[] = [],
  model: EstimateModel = 'mbforensics',
): EstimateResult {
  return worded(
    describeEstimate(
      questionOfJson(JSON.stringify({ ...TINY, ...inputs }), 'inputs.json', { model, set, device: null }),
    ),
  );
}

describe('--set', () => {
  // Experts for 8 GPUs without the number of GPUs: a world of 2 cannot hold them.
  const moe = { num_moe_experts: 8, ep: 8, pp: 2 };

  it('mends what is refused without it', () => {
    expect(() => ask(moe)).toThrow('world-experts');
    const mended = ask(moe, [['world', '16']]);
    expect(mended.change).toBeNull();
    expect(mended.components).toEqual(ask({ ...moe, world: 16 }).components);
  });
  it('is compared with what it changes', () => {
    const changed = ask({ ...moe, world: 16 }, [['world', '32']]);
    expect(changed.change?.followed).toContainEqual({ key: 'dp', from: 8, to: 16 });
  });
  it('does not hide what stays refused', () => {
    expect(() => ask(moe, [['world', '24']])).toThrow('world-experts');
  });
  it('takes a layout as a list', () => {
    const layout = [
      ['embedding', 'decoder'],
      ['decoder', 'decoder', 'decoder', 'loss'],
    ];
    const { stages } = ask({ pp: 2, pipeline_model_parallel_layout: layout });
    expect(stages.map(({ layers }) => layers)).toEqual([1, 3]);
  });
});

describe('a hybrid model', () => {
  const hybrid = { is_hybrid_model: true, hybrid_override_pattern: 'M-M*' };

  it.each<EstimateModel>(['mbforensics', 'megatron-lm'])('is refused by %s, with what upstream prints', (model) => {
    expect(() => ask(hybrid, [], model)).toThrow('not yet supported for hybrid Mamba-Transformer models');
  });
  it('has Bridge’s figure, which counts transformer layers', () => {
    const bridge = ask(hybrid, [], 'megatron-bridge');
    expect(bridge.total_bytes).toBe(ask({}, [], 'megatron-bridge').total_bytes);
    expect(bridge.assumptions[0]).toContain('Every layer is counted as a transformer layer');
  });
});
