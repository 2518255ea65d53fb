/** Everything that has a name is found by it, in any spelling; what has none is refused with names like it. */
import { describe, expect, it } from 'vitest';
import { lintRules } from '../../../src/derive/lint/rules.js';
import { explain } from '../../../src/findings/flows/explain/explain.js';
import { listKnobs } from '../../../src/findings/flows/explain/list-knobs.js';
import { DISAGREEMENTS } from '../../../src/knowledge/disagreements.js';
import { nearest } from '../../../src/knowledge/nearest.js';
import { ERROR_REMEDIES } from '../../../src/model/errors.js';
import { explainedText, knobsText } from '../../../src/report/knowledge/explain-text.js';

const actual = (asked: string): string[] => explain(asked).found.map(({ is, id }) => `${is} ${id}`);

describe('explain', () => {
  it.each([
    ['--recompute-modules', 'knob recompute_modules'],
    ['recompute-modules', 'knob recompute_modules'],
    ['cfg.model.cpu_offloading', 'knob cpu_offloading'],
    ['TransformerConfig.cpu_offloading', 'knob cpu_offloading'],
    ['TP', 'knob tensor_model_parallel_size'],
    ['--tp-size', 'knob tensor_model_parallel_size'],
    ['recipe.trainer.strategy.ddp.bucket_size', 'knob bucket_size'],
    ['--ddp-bucket-size', 'knob bucket_size'],
    ['recompute_granuality', 'knob recompute_granularity'],
    ['NVTE_FLASH_ATT', 'knob NVTE_FLASH_ATTN'],
    ['NCCL_NVLS_ENABLE=0', 'knob NCCL_NVLS_ENABLE'],
    ['expandable_segments', 'knob PYTORCH_CUDA_ALLOC_CONF'],
    ['expandable_segments:True', 'knob PYTORCH_CUDA_ALLOC_CONF'],
    ['cuda_graph_scope', 'knob cuda_graph_modules'],
    ['--no-rope-fusion', 'knob apply_rope_fusion'],
    ['offload-pp', 'rule offload-pp'],
    ['s1', 'symptom S1'],
    ['mem-oom-one-rank', 'symptom S1'],
    ['d9', 'disagreement D9'],
    ['mbf1001', 'error MBF1001'],
  ])('%s is %s', (asked, is) => {
    expect(actual(asked)).toContain(is);
  });

  it('shows a rule with its condition, knobs and disputes', () => {
    const [rule] = explain('offload-recompute').found;
    if (rule?.is !== 'rule') throw new Error('no rule');
    expect(rule.condition).toContain('recompute_granularity');
    expect(rule.knobs).toContain('cpu_offloading');
    expect(rule.disputes.map(({ id }) => id)).toEqual(['D9', 'D10']);
    expect(rule.message).not.toMatch(/[{}]/);
  });

  it('gives a knob with evidence, rules and disputes', () => {
    const [knob] = explain('recompute_modules').found;
    if (knob?.is !== 'knob') throw new Error('no knob');
    expect(knob.evidence.map(({ grade }) => grade)).toContain('measured');
    expect(knob.disputes.map(({ id }) => id)).toContain('D8');
    expect(knob.rules.map(({ id }) => id)).toContain('rc-modules');
  });

  it('names what is like an unknown name', () => {
    expect(() => explain('offload-ppp')).toThrow(/nothing is called "offload-ppp"; like it: offload-pp/);
    expect(() => explain('--recompute-module')).toThrow(/recompute_modules|recompute-modules/);
    expect(() => explain('qqqqqqqqqqqqqq')).toThrow(/mbforensics explain knobs/);
    expect(() => explain('')).toThrow(/nothing is called/);
  });

  it('explains everything there is in lines of 100 columns', () => {
    const ids = [
      ...DISAGREEMENTS.map(({ id }) => id),
      ...lintRules().map(({ id }) => id),
      ...listKnobs(null).knobs.map(({ id }) => id),
      ...Object.keys(ERROR_REMEDIES),
    ];
    for (const id of ids) {
      const text = explainedText(explain(id));
      // A word that is longer than a line stays whole.
      for (const line of text.split('\n'))
        expect(line.length <= 100 || !line.trim().slice(14).includes(' '), `${id}: ${line}`).toBe(true);
      expect(text).not.toMatch(/undefined|\[object/);
    }
  });
});

describe('knobs', () => {
  it('are filtered by part of a name, by effect, kind and grade', () => {
    const ids = (filter: string): string[] => listKnobs(filter).knobs.map(({ id }) => id);
    expect(ids('offload')).toEqual(
      expect.arrayContaining(['cpu_offloading', 'optimizer_cpu_offload', 'offload_modules']),
    );
    expect(listKnobs('memory:less').knobs.every(({ memory }) => memory.effect === 'less')).toBe(true);
    expect(ids('memory:less')).toContain('PYTORCH_CUDA_ALLOC_CONF');
    expect(ids('kind:env')).toContain('NCCL_GRAPH_REGISTER');
    expect(ids('grade:measured')).toContain('optimizer_cpu_offload');
    expect(ids('--mbs')).toEqual(['micro_batch_size']);
    expect(ids('nosuchknob')).toEqual([]);
    expect(knobsText(listKnobs('nosuchknob'))).toMatch(/^0 knobs of \d+ match nosuchknob\n$/);
  });

  it('fit in lines of 100 columns', () => {
    for (const line of knobsText(listKnobs(null)).split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  });
});

it('nearest names come in order of likeness', () => {
  expect(nearest('recompute_module', ['rec.mod-moe', 'recompute_modules', 'bucket_size'])).toEqual([
    'recompute_modules',
  ]);
  expect(nearest('', ['a'])).toEqual([]);
});
