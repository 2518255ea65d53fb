/** Settings in force, conflicts, comparison of runs; environment variables and the ranks that differ. */
import { describe, expect, it } from 'vitest';
import {
  describeConfig,
  diffConfig,
  effectiveConfig,
  plainValue,
  readSettings,
} from '../../../src/derive/run/config.js';
import { describeEnv } from '../../../src/derive/run/env.js';
import { CONFIG_ORIGINS } from '../../../src/model/log-rows.js';
import type { EnvResult } from '../../../src/model/results/log.js';
import type { FoundSetting } from '../../../src/model/settings-read.js';
import { documentJson } from '../../../src/report/render/json.js';
import { documentText } from '../../../src/report/render/text.js';
import { configDocument } from '../../../src/report/run/config-document.js';
import { envDocument } from '../../../src/report/run/env-document.js';
import type { LogRow } from '../../support/launches/log-row.js';
import { type Row, RUN, rowOf, withTextRuns } from '../../support/text-run.js';

/** `KEY VALUE ORIGIN` and further fields, in words as {@link rowOf} reads them. */
function found(text: string): FoundSetting {
  const row = rowOf(`config ${text}`) as Extract<LogRow, { row: 'config' }>;
  const { row: _, ...setting } = row;
  return { ...{ attempt: 1, file: 'a.log', line: 1, precedence: CONFIG_ORIGINS.indexOf(row.origin) }, ...setting };
}
const configOf = (...texts: readonly string[]) => effectiveConfig(texts.map(found));

describe('effectiveConfig', () => {
  it('takes the strongest origin of the latest attempt, and of equal ones the later place', () => {
    const config = configOf(
      'seq_length 1 log_dump',
      'seq_length 2 command_line attempt=2',
      'seq_length 3 command_line attempt=2 line=9',
      'hidden_size 10 run_file',
      'hidden_size 11 log_dump',
    );
    expect(config.entry('seq_length')).toMatchObject({ value: '3', origin: 'command line', attempt: 2, line: 9 });
    expect(config.entry('hidden_size')).toMatchObject({ value: '11', origin: 'log dump' });
    expect(config.entry('nothing')).toBeUndefined();
  });

  it('lists what origins of one attempt tell differently, not what they only spell differently', () => {
    const config = configOf(
      'bf16 True log_dump',
      'bf16 true config_file',
      'recompute_method None log_dump',
      'recompute_method null config_file',
      'lr 3e-4 log_dump',
      'lr 0.0003 command_line',
      'micro_batch_size 2 log_dump',
      'micro_batch_size 4 command_line',
      // Another launch may differ.
      'micro_batch_size 8 log_dump attempt=0',
    );
    expect(config.conflicts.map(({ key, values }) => [key, values.map(({ value }) => value)])).toEqual([
      ['micro_batch_size', ['2', '4']],
    ]);
  });

  it('keeps the paths of a key that a tree repeats, and only there', () => {
    const config = configOf(
      '_target_ a.Model run_file rawKey=model._target_',
      '_target_ b.Data run_file rawKey=dataset._target_',
      'some_new_option 1 command_line rawKey=--some-new-option',
      'some_new_option 1 run_file rawKey=model.some_new_option',
      // One thing wherever it stands.
      'seq_length 4096 run_file rawKey=model.seq_length',
      'seq_length 8192 run_file rawKey=dataset.seq_length line=2',
    );
    expect(config.settings.map(({ key }) => key)).toEqual([
      'seq_length',
      'dataset._target_',
      'model._target_',
      'some_new_option',
    ]);
    expect(config.conflicts.map(({ key }) => key)).toEqual(['seq_length']);
  });

  it('puts what bears on memory first, in the order it is asked for', () => {
    const keys = ['zzz', 'recompute_granularity', 'aaa', 'tensor_model_parallel_size', 'micro_batch_size'];
    const { settings } = configOf(...keys.map((key) => `${key} 1`));
    expect(settings.map(({ key, memory }) => [key, memory])).toEqual([
      ['tensor_model_parallel_size', true],
      ['micro_batch_size', true],
      ['recompute_granularity', true],
      ['aaa', false],
      ['zzz', false],
    ]);
  });
});

it.each([
  ['None', 'null'],
  ['~', 'null'],
  ['', 'null'],
  [null, 'null'],
  ['True', 'true'],
  ["'True'", 'true'],
  ['1.0', '1'],
  ['1e3', '1000'],
  ['1_000', '1000'],
  ['torch.bfloat16', 'bfloat16'],
  ['-1', '-1'],
  ['selective', 'selective'],
  ['1.2.3', '1.2.3'],
  ['Infinity', 'Infinity'],
])('plainValue(%s) is %s', (text, plain) => expect(plainValue(text)).toBe(plain));

describe('diffConfig', () => {
  it('shows what differs and what only one has', () => {
    const here = configOf(
      'zzz a log_dump',
      'micro_batch_size 1 log_dump',
      'bf16 True log_dump',
      'only_here x log_dump',
    );
    const there = configOf(
      'zzz b log_dump',
      'micro_batch_size 2 run_file',
      'bf16 true run_file',
      'only_there y run_file',
    );
    const diff = diffConfig(here, there, 'other');
    expect(diff.different).toEqual([
      {
        key: 'micro_batch_size',
        memory: true,
        value: '1',
        other_value: '2',
        origin: 'log dump',
        other_origin: 'run file',
      },
      { key: 'zzz', memory: false, value: 'a', other_value: 'b', origin: 'log dump', other_origin: 'log dump' },
    ]);
    expect(diff.only_here.map(({ key }) => key)).toEqual(['only_here']);
    expect(diff.only_there.map(({ key }) => key)).toEqual(['only_there']);
    expect(diff.equal).toBe(1);
  });
});

describe('config of stored runs', () => {
  const HOSTILE: Row = { ...(rowOf('config - x') as Row & { row: 'config' }), key: 'hostile\u001b[2J', value: 'x\ny' };

  it('compares two runs of one store, and prints both', async () => {
    await withTextRuns(
      [
        [{ path: 'a.log', rows: ['config micro_batch_size 1', HOSTILE] }],
        [{ path: 'b.log', rows: ['config micro_batch_size 4'] }],
      ],
      async (store) => {
        const here = { run: RUN, found: await readSettings(store, 1) };
        const alone = describeConfig(here);
        expect(alone).toMatchObject({ schema: 'mbforensics/config@1', diff: null, conflicts: [] });
        expect(alone.settings[0]).toMatchObject({ key: 'micro_batch_size', value: '1', file: 'a.log', line: 1 });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come out
        expect(documentText(configDocument(alone))).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
        const compared = describeConfig(here, { run: 'other', found: await readSettings(store, 2) });
        expect(compared.diff).toMatchObject({ other: 'other', equal: 0 });
        expect(documentJson(configDocument(compared))).toMatchObject({ run: RUN, other: 'other', equal: 0 });
        expect(documentText(configDocument(compared))).toMatch(/micro_batch_size\s+1\s+4/);
      },
    );
  });

  it('reports where nothing was found', async () => {
    await withTextRuns([[{ path: 'a.log' }]], async (store) => {
      const found = await readSettings(store, 1);
      expect(documentText(configDocument(describeConfig({ run: RUN, found })))).toContain('no setting');
    });
  });
});

describe('env', () => {
  async function envOf(...rows: readonly string[]): Promise<EnvResult> {
    return withTextRuns([[{ path: 'a.log', rows }]], async (store) => {
      const result = await describeEnv(store, 1, RUN);
      expect(documentJson(envDocument(result))).toMatchObject({ run: RUN });
      expect(documentText(envDocument(result))).not.toMatch(/undefined|NaN|\[object/);
      return result;
    });
  }

  it('takes what a process had before what a script meant it to have', async () => {
    const result = await envOf('env NCCL_ALGO Ring script', 'env NCCL_ALGO Tree process_environ rank=0');
    expect(result.variables).toMatchObject([{ key: 'NCCL_ALGO', value: 'Tree', origin: 'process environ' }]);
  });

  it('names the ranks that differ and those that lack a variable', async () => {
    const conf = 'PYTORCH_CUDA_ALLOC_CONF';
    const result = await envOf(
      ...[0, 1, 2].map((rank) => `env ${conf} expandable_segments:True env_dump rank=${rank}`),
      `env ${conf} max_split_size_mb:64 env_dump rank=4`,
      // Rank 3 was captured, and has no such variable.
      ...[0, 1, 2, 3, 4].map((rank) => `env NCCL_DEBUG INFO env_dump rank=${rank}`),
      'env NVTE_FLASH_ATTN 1 script',
    );
    expect(result.captured_ranks).toEqual([0, 1, 2, 3, 4]);
    const [nccl, nvte, allocator] = result.variables;
    expect(allocator).toMatchObject({ key: conf, value: 'expandable_segments:True', not_set_on: [3] });
    expect(allocator!.values.map(({ value, ranks }) => [value, ranks])).toEqual([
      ['expandable_segments:True', [0, 1, 2]],
      ['max_split_size_mb:64', [4]],
    ]);
    expect(nccl!.not_set_on).toEqual([]);
    // The script meant to set it, and no process has it.
    expect(nvte).toMatchObject({ value: '1', origin: 'script', not_set_on: [0, 1, 2, 3, 4] });
    const text = documentText(envDocument(result)).replaceAll(/\s+/g, ' ');
    expect(text).toContain(`${conf}: not set on rank 3`);
    expect(text).toContain('max_split_size_mb:64 (env dump, rank 4)');
  });

  it('claims no absence where no environment was captured', async () => {
    const result = await envOf('env NCCL_DEBUG INFO script', 'env OMP_NUM_THREADS null script');
    expect(result.variables.flatMap(({ not_set_on }) => not_set_on)).toEqual([]);
    expect(result.variables[1]).toMatchObject({ key: 'OMP_NUM_THREADS', value: null });
    expect(documentText(envDocument(result))).toContain('(unset)');
  });
});
