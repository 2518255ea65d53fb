/** Everything that has a name is found by it, in any spelling; what has none is refused with names like it. */
import { describe, expect, it } from 'vitest';
import { LINT_TOPICS, lintRecords, lintRules } from '../../../src/derive/lint/rules.js';
import { defaults } from '../../../src/derive/settings/defaults.js';
import { fixTexts } from '../../../src/findings/advice/fix.js';
import { explain } from '../../../src/findings/flows/explain/explain.js';
import { listKnobs } from '../../../src/findings/flows/explain/list-knobs.js';
import { ALLOCATOR_OPTIONS, KNOB_EFFECTS } from '../../../src/findings/settings/knob-effects.js';
import { DISAGREEMENTS } from '../../../src/knowledge/disagreements.js';
import { ALLOCATOR_VARIABLES } from '../../../src/knowledge/env-keys.js';
import { errorRemedies } from '../../../src/knowledge/errors.js';
import { KNOBS } from '../../../src/knowledge/knobs/index.js';
import { moduleLists } from '../../../src/knowledge/module-lists.js';
import { nearest } from '../../../src/knowledge/nearest.js';
import type { ExplainedName } from '../../../src/model/results/knowledge.js';
import { explainedDocument, knobsDocument } from '../../../src/report/knowledge/explain-document.js';
import { documentJson } from '../../../src/report/render/json.js';
import { documentText } from '../../../src/report/render/text.js';

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
    ['dsa_indexer_topk', 'name dsa_indexer_topk'],
    ['--outer-dp-sharding-strategy', 'name outer_dp_sharding_strategy'],
    ['cfg.ddp.fsdp_double_buffer', 'name fsdp_double_buffer'],
    ['model.mtp_num_layers=1', 'name mtp_num_layers'],
    ['--ddp-num-buckets', 'knob num_buckets'],
    ['--log-probs-chunk-size', 'knob logprob_chunk_size'],
    ['PYTORCH_ALLOC_CONF', 'name PYTORCH_ALLOC_CONF'],
    ['NCCL_SOCKET_IFNAME', 'name NCCL_SOCKET_IFNAME'],
    ['large_segment_size_mb:40', 'name large_segment_size_mb'],
    ['fused_group_mlp', 'name fused_group_mlp'],
    ['gdn', 'name gdn'],
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

  it('gives a name of upstream with what mentions it', () => {
    const nameOf = (asked: string): ExplainedName => {
      const name = explain(asked).found.find(({ is }) => is === 'name');
      if (name?.is !== 'name') throw new Error('no name');
      return name;
    };
    const module = nameOf('gdn_norm_out');
    expect(module.kind).toBe('module');
    expect(module.lists).toMatchObject([{ list: 'recompute_modules', since: '0.19' }]);
    expect(module.rules.map(({ id, severity }) => `${id} ${severity}`)).toContain('rc-gdn error');
    expect(nameOf('gdp_qkv').lists.map(({ list }) => list)).toEqual(['recompute_modules', 'offload_modules']);
    expect(nameOf('gdn').lists).toMatchObject([{ since: 'dev' }]);
    const setting = nameOf('fsdp_double_buffer');
    expect(setting).toMatchObject({ of: 'DistributedDataParallelConfig', kind: 'setting' });
    expect(setting.defaults.map(({ value }) => value)).toContain('False');
    expect(setting.spellings).toMatchObject({
      megatron_bridge: ['cfg.ddp.fsdp_double_buffer'],
      megatron_lm: ['--fsdp-double-buffer'],
    });
    expect(nameOf('use_layer_wise_param_layout').versions).toMatch(/^Megatron-Core ≥ 0\.\d+/);
    expect(nameOf('graph_capture_record_stream_reuse')).toMatchObject({
      kind: 'allocator option',
      versions: 'torch ≥ 2.9',
      fixes: ['graph-stream-reuse'],
    });
  });

  it('finds every name that a rule, a list, a fix or a knob has', () => {
    const words = (data: unknown): string[] =>
      [...JSON.stringify(data).matchAll(/(?<![\w./:-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w(./:-])/g)].map(
        ([word]) => word,
      );
    const names = new Set([
      ...LINT_TOPICS.flatMap((topic) =>
        words(lintRecords(topic).map(({ when, message, fix }) => [when, message, fix])),
      ),
      ...words([[...fixTexts()], KNOBS.map(({ spellings, requires, conflicts }) => [spellings, requires, conflicts])]),
      ...Object.values(moduleLists()).flatMap(({ modules }) => Object.keys(modules)),
      ...[defaults().byKey, KNOB_EFFECTS].flatMap((map) => [...map.keys()]),
      ...Object.keys(ALLOCATOR_OPTIONS),
      ...ALLOCATOR_VARIABLES,
    ]);
    expect(names.size).toBeGreaterThan(400);
    const isFound = (name: string): boolean => {
      try {
        return explain(name).found.length > 0;
      } catch {
        return false;
      }
    };
    expect([...names].filter((name) => !isFound(name))).toEqual([]);
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
      ...Object.keys(errorRemedies()),
    ];
    for (const id of ids) {
      const document = explainedDocument(explain(id));
      expect(documentJson(document)['found'], id).not.toEqual([]);
      const text = documentText(document);
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
    expect(documentText(knobsDocument(listKnobs('nosuchknob')))).toMatch(/^0 knobs of \d+ match nosuchknob\n$/);
  });

  it('fit in lines of 100 columns', () => {
    for (const line of documentText(knobsDocument(listKnobs(null))).split('\n'))
      expect(line.length, line).toBeLessThanOrEqual(100);
  });
});

it('nearest names come in order of likeness', () => {
  expect(nearest('recompute_module', ['rec.mod-moe', 'recompute_modules', 'bucket_size'])).toEqual([
    'recompute_modules',
  ]);
  expect(nearest('', ['a'])).toEqual([]);
});
