/** The first fixes act on what was being allocated; what cannot touch it comes last or is left out. */
import { describe, expect, it } from 'vitest';
import { statement } from '../../../src/model/statement.js';
import type { Step, StepKind } from '../../../src/model/verdict.js';
import { LLAMA_70B, QWEN_30B, type SituationOptions, situationOf } from '../../support/advice-situation.js';
import { advise } from '../verdict/worded.js';

type Config = Parameters<typeof situationOf>[0]['config'];

/** Of a failing activity: the fixes in their order, and what the first screen names first. */
function adviceWhile(activity: string | null, config: Config, options: SituationOptions = {}, site = 'f /srv/a.py:1') {
  const names = { ...(activity === null ? {} : { activity }), site, innermost: site };
  const evidence = [{ ...statement('failing_site' as const, { names }), id: 'E1', place: { path: 'a.log', line: 1 } }];
  const { fixes, actions, plan } = advise(
    situationOf({ config }, { ...options, verdict: { evidence, ...options.verdict } }),
  );
  // NCCL's buffers do not depend on what was being allocated.
  const open = fixes.filter(({ id, status }) => status !== 'forbidden' && id !== 'nvls-off');
  return {
    ids: open.map(({ id }) => id),
    first: actions.flatMap((one) => one.fixes).find((id) => id !== 'nvls-off'),
    plan,
    fixes,
    actions,
  };
}

const openStep = (kind: string): Step => ({ ...statement(kind as StepKind), status: 'open', because: null });

const HUGGING_FACE: SituationOptions = { isMegatron: false };
const RECOMPUTE = /^(?:recompute-|activation-)/;
const BATCH = /^(?:micro-batch|smaller-batch)/;

describe('of any trainer', () => {
  it.each([
    ['model_construction', 'shard-weights'],
    ['weight_loading', 'shard-weights'],
    ['optimizer_init', 'shard-state'],
    ['gradient_buffers', 'shard-gradients'],
    ['attention', 'fused-kernel'],
    ['moe_dispatch', 'fewer-expert-tokens'],
    ['logits_loss', 'chunked-loss'],
    ['checkpoint_save', 'save-on-host'],
    ['checkpoint_load', 'load-on-host'],
    ['evaluation', 'smaller-evaluation'],
    ['engine_wakeup', 'free-before-wake'],
    ['mlp', 'smaller-batch'],
    ['backward', 'smaller-batch'],
    [null, 'smaller-batch'],
  ])('%s: %s', (activity, first) => {
    const { ids, first: named } = adviceWhile(activity, {}, HUGGING_FACE);
    expect(ids[0]).toBe(first);
    expect(named).toBe(first);
  });

  it.each(['model_construction', 'weight_loading', 'checkpoint_load', 'engine_wakeup'])(
    '%s: neither batch nor recompute, since no activation is live',
    (activity) => {
      const { ids } = adviceWhile(activity, {}, HUGGING_FACE);
      expect(ids.filter((id) => RECOMPUTE.test(id) || BATCH.test(id))).toEqual([]);
    },
  );

  it('logits: recompute does not touch them and comes last', () => {
    const { ids } = adviceWhile('logits_loss', {}, HUGGING_FACE);
    expect(ids.at(-1)).toBe('activation-checkpointing');
    expect(ids.indexOf('smaller-batch')).toBeLessThan(ids.indexOf('activation-checkpointing'));
  });

  it('one request of a third of the device with a batch of one: that tensor first', () => {
    const large: SituationOptions = { ...HUGGING_FACE, requestGib: 30 };
    expect(adviceWhile(null, { per_device_train_batch_size: 1 }, large).first).toBe('look-at-tensor');
    // Smaller, of a larger batch, or of a known activity.
    expect(adviceWhile(null, { per_device_train_batch_size: 1 }, HUGGING_FACE).ids).not.toContain('look-at-tensor');
    expect(adviceWhile(null, { per_device_train_batch_size: 4 }, large).first).toBe('smaller-batch');
    expect(adviceWhile('logits_loss', { per_device_train_batch_size: 1 }, large).first).toBe('chunked-loss');
  });

  it('sharding that is in force is not offered again', () => {
    const zero3 = { zero_stage: 3 };
    expect(adviceWhile('gradient_buffers', zero3, HUGGING_FACE).ids).not.toContain('shard-gradients');
    const [fix] = adviceWhile('weight_loading', zero3, HUGGING_FACE).fixes;
    expect(fix?.id).toBe('shard-weights');
    expect(fix?.title).not.toMatch(/ZeRO|FSDP/);
  });

  it('Megatron whose settings were not read has its own words', () => {
    const { fixes } = adviceWhile('model_construction', {}, {}, '__init__ transformer/moe/experts.py:541');
    expect(fixes[0]?.title).toMatch(/expert, tensor or pipeline parallelism/);
  });

  it('pieces of the cache are not answered by what was being allocated', () => {
    const { ids } = adviceWhile('model_construction', {}, { ...HUGGING_FACE, verdict: { cause: 'fragmentation' } });
    expect(ids[0]).toBe('expandable-segments');
  });

  it.each([
    ['logits_loss', 'chunked-loss'],
    ['attention', 'fused-kernel'],
    ['checkpoint_save', 'save-on-host'],
  ])('of pieces of the cache while %s: %s is the second fix', (activity, second) => {
    const fragmented: SituationOptions = {
      ...HUGGING_FACE,
      requestGib: 30,
      verdict: { cause: 'fragmentation', steps: ['expandable_segments', 'check_expandable'].map(openStep) },
    };
    const { ids, actions } = adviceWhile(activity, {}, fragmented);
    expect(ids.slice(0, 2)).toEqual(['expandable-segments', second]);
    expect(actions.map(({ step, fixes }) => step?.kind ?? fixes[0])).toEqual([
      'expandable_segments',
      second,
      'check_expandable',
    ]);
    // A small request: the check of the setting first.
    const small = adviceWhile(activity, {}, { ...fragmented, requestGib: 0.25 });
    expect(small.actions.at(-1)?.fixes).toEqual([second]);
    if (activity === 'logits_loss') expect(ids.at(-1)).toBe('activation-checkpointing');
  });
});

describe('what is split already', () => {
  it.each([
    [{ fsdp: 'no_shard auto_wrap' }, true],
    [{ fsdp: 'full_shard auto_wrap' }, false],
    [{ use_megatron_fsdp: true, data_parallel_sharding_strategy: 'optim' }, true],
    [{ use_megatron_fsdp: true }, false],
  ] as const)('%j: sharded gradients help: %s', (config, helps) => {
    const { ids } = adviceWhile('gradient_buffers', config as Config, HUGGING_FACE);
    expect(ids.includes('shard-gradients')).toBe(helps);
  });

  it('names what Megatron has instead of 8-bit Adam', () => {
    const { fixes } = adviceWhile('optimizer_init', {});
    const small = fixes.find(({ id }) => id === 'small-optimizer');
    expect(JSON.stringify(small)).toMatch(/--exp-avg-dtype/);
    const plain = adviceWhile('optimizer_init', {}, HUGGING_FACE).fixes.find(({ id }) => id === 'small-optimizer');
    expect(JSON.stringify(plain)).toMatch(/8-bit Adam/);
  });
});

describe('of Megatron with its settings', () => {
  it('weights: a cut of the model, never recompute, batch or the optimizer', () => {
    for (const config of [LLAMA_70B, QWEN_30B]) {
      const { ids } = adviceWhile('model_construction', config);
      expect(ids.length).toBeGreaterThan(0);
      expect(ids[0]).toMatch(/^(?:megatron-fsdp|ep|pp|tp)/);
      expect(
        ids.filter((id) => RECOMPUTE.test(id) || BATCH.test(id) || /optimizer|moments|gradients/.test(id)),
      ).toEqual([]);
    }
  });

  it('optimizer states: the optimizer before activations', () => {
    const { ids } = adviceWhile('optimizer_init', { ...LLAMA_70B, use_distributed_optimizer: false });
    expect(ids[0]).toBe('distributed-optimizer');
    const lastState = ids.findLastIndex((id) => /optimizer|moments/.test(id));
    expect(ids.findIndex((id) => RECOMPUTE.test(id) || BATCH.test(id))).toBeGreaterThan(lastState);
  });

  it('logits: no plan of recompute that is not known to be enough', () => {
    const { plan, ids, first } = adviceWhile('logits_loss', { ...LLAMA_70B, micro_batch_size: 2 });
    expect(ids[0]).not.toMatch(RECOMPUTE);
    if (plan?.closes !== true) expect(first).not.toMatch(RECOMPUTE);
    const recompute = ids.findIndex((id) => RECOMPUTE.test(id));
    expect(ids.slice(recompute).filter((id) => BATCH.test(id) || /^(?:cp|tp)-/.test(id))).toEqual([]);
  });
});
