/** Settings in force, conflicts, comparison of runs; environment variables and the ranks that differ. */
import { describe, expect, it } from 'vitest';
import {
  describeConfig,
  diffConfig,
  effectiveConfig,
  plainValue,
  readSettings,
} from '../../../src/findings/run/config.js';
import { describeEnv } from '../../../src/findings/run/env.js';
import { CONFIG_ORIGINS } from '../../../src/model/log-rows.js';
import type { EnvResult } from '../../../src/model/results/log.js';
import type { FoundSetting } from '../../../src/model/settings-read.js';
import { configText } from '../../../src/report/run/config-text.js';
import { envText } from '../../../src/report/run/env-text.js';
import { RUN, type TextSource, withTextRuns } from '../../support/text-run.js';

function found(
  key: string,
  value: string | null,
  origin: (typeof CONFIG_ORIGINS)[number],
  more: Partial<FoundSetting> = {},
): FoundSetting {
  return {
    key,
    rawKey: key,
    value,
    origin,
    precedence: CONFIG_ORIGINS.indexOf(origin),
    attempt: 1,
    file: 'a.log',
    line: 1,
    ...more,
  };
}

describe('effectiveConfig', () => {
  it('takes the strongest origin of the latest attempt, and of equal ones the later place', () => {
    const config = effectiveConfig([
      found('seq_length', '1', 'log dump'),
      found('seq_length', '2', 'command line', { attempt: 2 }),
      found('seq_length', '3', 'command line', { attempt: 2, line: 9 }),
      found('hidden_size', '10', 'run file'),
      found('hidden_size', '11', 'log dump'),
    ]);
    expect(config.entry('seq_length')).toMatchObject({ value: '3', origin: 'command line', attempt: 2, line: 9 });
    expect(config.entry('hidden_size')).toMatchObject({ value: '11', origin: 'log dump' });
    expect(config.entry('nothing')).toBeUndefined();
  });

  it('lists what origins of one attempt tell differently, not what they only spell differently', () => {
    const config = effectiveConfig([
      found('bf16', 'True', 'log dump'),
      found('bf16', 'true', 'config file'),
      found('recompute_method', 'None', 'log dump'),
      found('recompute_method', null, 'config file'),
      found('lr', '3e-4', 'log dump'),
      found('lr', '0.0003', 'command line'),
      found('micro_batch_size', '2', 'log dump'),
      found('micro_batch_size', '4', 'command line'),
      // Another launch may differ.
      found('micro_batch_size', '8', 'log dump', { attempt: 0 }),
    ]);
    expect(config.conflicts.map(({ key, values }) => [key, values.map(({ value }) => value)])).toEqual([
      ['micro_batch_size', ['2', '4']],
    ]);
  });

  it('keeps the paths of a key that a tree repeats, and only there', () => {
    const config = effectiveConfig([
      found('_target_', 'a.Model', 'run file', { rawKey: 'model._target_' }),
      found('_target_', 'b.Data', 'run file', { rawKey: 'dataset._target_' }),
      found('some_new_option', '1', 'command line', { rawKey: '--some-new-option' }),
      found('some_new_option', '1', 'run file', { rawKey: 'model.some_new_option' }),
      // One thing wherever it stands.
      found('seq_length', '4096', 'run file', { rawKey: 'model.seq_length' }),
      found('seq_length', '8192', 'run file', { rawKey: 'dataset.seq_length', line: 2 }),
    ]);
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
    const { settings } = effectiveConfig(keys.map((key) => found(key, '1', 'log dump')));
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
    const here = effectiveConfig([
      found('zzz', 'a', 'log dump'),
      found('micro_batch_size', '1', 'log dump'),
      found('bf16', 'True', 'log dump'),
      found('only_here', 'x', 'log dump'),
    ]);
    const there = effectiveConfig([
      found('zzz', 'b', 'log dump'),
      found('micro_batch_size', '2', 'run file'),
      found('bf16', 'true', 'run file'),
      found('only_there', 'y', 'run file'),
    ]);
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
  const config = (key: string, value: string | null): NonNullable<TextSource['rows']>[number] => ({
    row: 'config',
    key,
    rawKey: `--${key}`,
    value,
    origin: 'log dump',
  });

  it('compares two runs of one store, and prints both', async () => {
    await withTextRuns(
      [
        [{ path: 'a.log', rows: [config('micro_batch_size', '1'), config('hostile\u001b[2J', 'x\ny')] }],
        [{ path: 'b.log', rows: [config('micro_batch_size', '4')] }],
      ],
      async (store) => {
        const here = { run: RUN, found: await readSettings(store, 1) };
        const alone = describeConfig(here);
        expect(alone).toMatchObject({ schema: 'mbforensics/config@1', diff: null, conflicts: [] });
        expect(alone.settings[0]).toMatchObject({ key: 'micro_batch_size', value: '1', file: 'a.log', line: 1 });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come out
        expect(configText(alone)).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
        const compared = describeConfig(here, { run: 'other', found: await readSettings(store, 2) });
        expect(compared.diff).toMatchObject({ other: 'other', equal: 0 });
        expect(configText(compared)).toMatch(/micro_batch_size\s+1\s+4/);
      },
    );
  });

  it('reports where nothing was found', async () => {
    await withTextRuns([[{ path: 'a.log' }]], async (store) => {
      const found = await readSettings(store, 1);
      expect(configText(describeConfig({ run: RUN, found }))).toContain('no setting');
    });
  });
});

describe('env', () => {
  const env = (key: string, value: string | null, origin: string, more: object = {}) =>
    ({ row: 'env', key, value, origin, ...more }) as NonNullable<TextSource['rows']>[number];

  async function envOf(...rows: readonly NonNullable<TextSource['rows']>[number][]): Promise<EnvResult> {
    return withTextRuns([[{ path: 'a.log', rows }]], async (store) => {
      const result = await describeEnv(store, 1, RUN);
      expect(envText(result)).not.toMatch(/undefined|NaN|\[object/);
      return result;
    });
  }

  it('takes what a process had before what a script meant it to have', async () => {
    const result = await envOf(
      env('NCCL_ALGO', 'Ring', 'script'),
      env('NCCL_ALGO', 'Tree', 'process environ', { rank: 0 }),
    );
    expect(result.variables).toMatchObject([{ key: 'NCCL_ALGO', value: 'Tree', origin: 'process environ' }]);
  });

  it('names the ranks that differ and those that lack a variable', async () => {
    const conf = 'PYTORCH_CUDA_ALLOC_CONF';
    const result = await envOf(
      ...[0, 1, 2].map((rank) => env(conf, 'expandable_segments:True', 'env dump', { rank })),
      env(conf, 'max_split_size_mb:64', 'env dump', { rank: 4 }),
      // Rank 3 was captured, and has no such variable.
      ...[0, 1, 2, 3, 4].map((rank) => env('NCCL_DEBUG', 'INFO', 'env dump', { rank })),
      env('NVTE_FLASH_ATTN', '1', 'script'),
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
    const text = envText(result).replaceAll(/\s+/g, ' ');
    expect(text).toContain(`${conf}: not set on rank 3`);
    expect(text).toContain('max_split_size_mb:64 (env dump, rank 4)');
  });

  it('claims no absence where no environment was captured', async () => {
    const result = await envOf(env('NCCL_DEBUG', 'INFO', 'script'), env('OMP_NUM_THREADS', null, 'script'));
    expect(result.variables.flatMap(({ not_set_on }) => not_set_on)).toEqual([]);
    expect(result.variables[1]).toMatchObject({ key: 'OMP_NUM_THREADS', value: null });
    expect(envText(result)).toContain('(unset)');
  });
});
