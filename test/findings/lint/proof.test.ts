/** What a run that trained proves of the rules, and the settings that no rule knows. */
import { describe, expect, it } from 'vitest';
import { lint } from '../../../src/derive/lint/lint.js';
import { lintRule } from '../../../src/derive/lint/rules.js';
import { changedFacts } from '../../../src/derive/settings/changed-facts.js';
import type { RawFacts } from '../../../src/derive/settings/facts.js';
import { factsOfSettings } from '../../../src/derive/settings/facts-of-settings.js';
import { describeLint, unknownSettings } from '../../../src/findings/lint/describe-lint.js';
import { readSettingsOf } from '../../../src/ingest/finish/read-settings.js';
import type { LintResult } from '../../../src/model/results/lint.js';
import { documentText } from '../../../src/report/render/text.js';
import { lintDocument } from '../../../src/report/start/lint-document.js';
import { LM, MB, rawFacts } from './raw-facts.js';

const lintText = (result: LintResult): string => documentText(lintDocument(result));

const dump = (model: readonly string[]): string[] => [
  '------- Task Configuration -------',
  '_target_: megatron.bridge.training.config.ConfigContainer',
  'model:',
  '  _target_: megatron.bridge.models.llama.llama_provider.Llama31ModelProvider8B',
  '  num_layers: 32',
  ...model.map((line) => `  ${line}`),
  'train:',
  '  micro_batch_size: 1',
  '----------------------------------',
];
const iteration = (n: number): string =>
  ` [2026-03-02 10:11:12] iteration       ${n}/     100 | consumed samples:          256 | elapsed time per iteration (ms): 812.5 | lm loss: 4.123E+00 |`;
const OFFLOAD = ['cpu_offloading: true', 'pipeline_model_parallel_size: 4'];

async function factsOf(lines: readonly string[], versions: Readonly<Record<string, string>> = {}): Promise<RawFacts> {
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  const read = await readSettingsOf([{ path: 'train.log', as: 'config', bytes }]);
  return factsOfSettings(read, { versions });
}
const findingOf = (facts: RawFacts, rule: string) => lint(facts, [lintRule(rule)!]).findings[0];

describe('a run that trained', () => {
  it('makes a warning of what upstream asserts at start, with the iteration as the reason', async () => {
    const lines = [...dump(OFFLOAD), iteration(10), iteration(20)];
    const facts = await factsOf(lines);
    expect(findingOf(facts, 'offload-pp')).toMatchObject({
      severity: 'warning',
      accepted_by: { iteration: 20, line: lines.length },
    });
    const result = describeLint(facts, { subject: ['train.log'], run: null, rules: 1 }, lint(facts));
    expect(lintText(result)).toContain('up to iteration 20');
    expect(result.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  it.each([
    ['no iteration', [...dump(OFFLOAD)]],
    ['iterations above the settings', [iteration(10), ...dump(OFFLOAD)]],
  ])('is none with %s', async (_, lines) => {
    expect(findingOf(await factsOf(lines), 'offload-pp')).toMatchObject({ severity: 'error', accepted_by: null });
  });

  it('is ignored for another release', async () => {
    const facts = await factsOf([...dump(OFFLOAD), iteration(10)], { megatron_core: '0.20' });
    expect(findingOf(facts, 'offload-pp')).toMatchObject({ severity: 'error' });
  });

  it('is ignored for a changed configuration', async () => {
    const facts = await factsOf([...dump(OFFLOAD), iteration(10)]);
    const changed = changedFacts(facts, { settings: { pipeline_model_parallel_size: '2' }, env: {} });
    expect(findingOf(changed, 'offload-pp')).toMatchObject({ severity: 'error' });
  });

  it('proves nothing of what fails in silence', async () => {
    const rule = { ...lintRule('offload-pp')!, evidence: 'documented' as const, error: null };
    const facts = await factsOf([...dump(OFFLOAD), iteration(10)]);
    expect(lint(facts, [{ ...rule, when: lintRule('offload-pp')!.when }]).findings[0]!.severity).toBe('error');
  });
});

describe('names that only some releases know', () => {
  it('are undecided, with the releases, where the release is unknown', () => {
    const facts = rawFacts({ recompute_granularity: 'selective', recompute_modules: '["gdn","mlp"]' }, MB);
    const result = describeLint(facts, { subject: ['run.yaml'], run: null, rules: 1 }, lint(facts));
    expect(result.findings.map(({ rule }) => rule)).not.toContain('rc-modules');
    expect(lintText(result).replaceAll(/\s+/g, ' ')).toMatch(/undecided rc-modules .*gdn on its development branch/);
  });
});

describe('unknown settings', () => {
  it('are those that bear on memory by their names, and are on', () => {
    const facts = rawFacts({
      some_new_gather: 'True',
      dynamic_context_parallel: 'True',
      max_seqlen_per_dp_cp_rank: '4096',
      sequence_packing_scheduler: 'default_dynamic_cp',
      delay_offload_until_some_graph: 'False',
      new_stash_pages: '0',
      // Known to the catalogue, to a rule, or not of memory.
      tensor_model_parallel_size: '2',
      gradient_accumulation_fusion: 'True',
      rl_offload_new: 'True',
      tokenizer_padding: 'left',
    });
    const dev = 'ModelParallelConfig, only on the development branch of Megatron-Core';
    expect(unknownSettings(facts).map(({ key, known }) => [key, known])).toEqual([
      ['some_new_gather', null],
      ['dynamic_context_parallel', dev],
      ['max_seqlen_per_dp_cp_rank', 'ModelParallelConfig, Megatron-Core ≥ 0.16'],
      ['sequence_packing_scheduler', dev],
    ]);
    const result = describeLint(facts, { subject: ['run.yaml'], run: null, rules: 1 }, lint(facts));
    expect(lintText(result).replaceAll(/\s+/g, ' ')).toMatch(
      /4 settings that no rule checks - some_new_gather: True \(unknown; line 1\) - dynamic_context_parallel: True \(ModelParallelConfig, only on/,
    );
  });

  it('are, for Megatron, all names that no release has', () => {
    const config = { no_such_argument: '1', moe_router_group_topk: '4', 'hf_config.extra': '1' };
    expect(unknownSettings(rawFacts(config, LM)).map(({ key }) => key)).toEqual(['no_such_argument']);
    expect(unknownSettings(rawFacts(config))).toEqual([]);
  });
});

describe('the framework of a command line', () => {
  const frameworkOf = async (command: string): Promise<string | null> => {
    const bytes = Buffer.from(`#!/bin/bash\n${command}\n`);
    const read = await readSettingsOf([{ path: 'run.sh', as: 'config', bytes }]);
    return (await factsOfSettings(read)).framework.name;
  };

  it.each([
    ['torchrun pretrain_gpt.py --num-layers 2 --micro-batch-size 1 --save /ckpt', 'megatron-lm'],
    ['torchrun run_recipe.py --recipe qwen3_600m_sft --seq_length 4096 --save /ckpt', 'megatron-bridge'],
    ['torchrun --nproc_per_node 8 generate.py --hf-model-id x --tp 1 --ep 8 --prompts hello', null],
  ])('%s', async (command, framework) => {
    expect(await frameworkOf(command)).toBe(framework);
  });
});
