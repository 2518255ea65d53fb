/**
 * `estimate` as a user has it: from a run, a configuration, given inputs; with changes; and every way to ask for
 * nonsense.
 */
import { describe, expect, it } from 'vitest';
import type { EstimateResult } from '../../src/model/results/estimate.js';
import { COMPONENTS } from '../../src/model/vocabulary.js';
import { GUIDE } from '../estimate/given.js';
import { asker, expectFits } from '../support/ask.js';
import { samplePath } from '../support/stores.js';

const RUN = samplePath('llama3-70b-fragmentation');
const CONFIG = samplePath('capacity/run_config.yaml');

const { text, json, refuse: refused, put } = asker();
const file = (name: string, content: unknown): string =>
  put(name, typeof content === 'string' ? content : JSON.stringify(content));
const ask = (...args: string[]) => json<EstimateResult>('estimate', ...args);
const refuse = (status: number, ...args: string[]): string => {
  const stderr = refused(status, 'estimate', ...args);
  expect(stderr.trimEnd().split('\n')).toHaveLength(2);
  return stderr;
};

describe('of a run', () => {
  it('takes the settings in force, with the source of each, and knows the device', () => {
    const result = ask('--run', RUN);
    expect(result).toMatchObject({ schema: 'mbforensics/estimate@1', model: 'mbforensics', hottest_stage: 0 });
    const origin = (key: string): string | undefined => result.inputs.find((one) => one.key === key)?.origin;
    expect(origin('hidden_size')).toMatch(/^log yaml: .* line \d+$/);
    expect(origin('fp8_recipe')).toMatch(/^recipe bf16_with_fp8_current_scaling_mixed, /);
    // What the running program printed of its objects is the outcome; the recipe does not overwrite it.
    expect(result.inputs).toContainEqual(expect.objectContaining({ key: 'grad_reduce_in_fp32', value: false }));
    expect(result.inputs).toContainEqual(expect.objectContaining({ key: 'dp', value: 2 }));
    expect(result.device?.source).toContain('total capacity');
    expect(result.stages.map(({ in_flight }) => in_flight)).toEqual([4.6, 4.2, 3.8, 3.4]);
    for (const { name } of result.components) expect(COMPONENTS).toContain(name);
  });

  it('shows what a change does, component by component, with the same GPUs', () => {
    const result = ask('--run', RUN, '--set', 'tp=8', '--set', 'recompute_modules=mlp');
    expect(result.change?.set).toEqual([
      { key: 'tp', from: 4, to: 8 },
      { key: 'recompute_modules', from: ['core_attn'], to: ['mlp'] },
    ]);
    expect(result.change?.followed).toContainEqual({ key: 'dp', from: 2, to: 1 });
    expect(result.change?.followed).toContainEqual({ key: 'num_microbatches', from: 16, to: 32 });
    expect(result.inputs).toContainEqual({ key: 'tp', value: 8, origin: '--set' });
    const activation = result.change?.components.find(({ name }) => name === 'activation');
    expect(activation?.delta_bytes).toBeLessThan(0);
    const deltas = result.change!.components.reduce((sum, { delta_bytes }) => sum + delta_bytes, 0);
    expect(deltas).toBeCloseTo(result.change!.delta_bytes, 0);
    expect(result.change!.base_total_bytes + result.change!.delta_bytes).toBeCloseTo(result.total_bytes, 0);
    expect(ask('--run', RUN).total_bytes).toBe(result.change!.base_total_bytes);
  });

  it('prints the content of the JSON as text', () => {
    const stdout = text('estimate', '--run', RUN, '--set', 'pp=8');
    expect(stdout).toMatch(/^stage +layers +in flight +state +activation/m);
    expect(stdout).toContain('\nChanged: pp 4 → 8; with it dp 2 → 1 · num_microbatches 16 → 32\n');
    expect(stdout).toMatch(/^device +79\.11 GiB/m);
    expectFits(stdout);
  });

  it.each(['megatron-lm', 'megatron-bridge'])('answers as %s', (model) => {
    const result = ask('--run', RUN, '--model', model);
    expect(result.printed?.log_lines.at(-1)).toMatch(
      /^Theoretical memory footprints: weight and optimizer=\d+\.\d\d MB/,
    );
    expect(result.components.at(-1)).toMatchObject({ name: 'activation', bytes: result.activation_bytes });
  });
});

describe('of a configuration', () => {
  it('takes missing settings as options and reports whether it fits', () => {
    const result = ask('--config', CONFIG, '--set', 'world=32', '--device-memory', '40GiB');
    expect(result.device).toMatchObject({ total_bytes: 40 * 2 ** 30, source: '--device-memory', fits: 'no' });
    expect(result.device?.headroom_bytes).toBe(40 * 2 ** 30 - result.total_bytes);
    expect(result.stages).toHaveLength(8);
  });

  it('names what is missing and how to give it', () => {
    const path = file('partial.yaml', 'model:\n  num_layers: 4\n  hidden_size: 64\n  tensor_model_parallel_size: 2\n');
    expect(refuse(2, '--config', path)).toContain(
      'missing inputs: num_attention_heads, seq_length, mbs (micro_batch_size), vocab_size; give each with --set KEY=VALUE',
    );
    const settings = ['num_attention_heads=4', 'seq_length=32', 'mbs=1', 'vocab_size=128'].flatMap((pair) => [
      '--set',
      pair,
    ]);
    expect(ask('--config', path, ...settings).change).toBeNull();
  });
});

describe('of given inputs', () => {
  it('takes names of either kind, null, and sections', () => {
    const long = {
      model: { ...GUIDE, tp: undefined, tensor_model_parallel_size: 4, mtp_num_layers: null },
      optimizer: { use_distributed_optimizer: true },
    };
    expect(ask('--inputs', file('long.json', long)).total_bytes).toBe(
      ask('--inputs', file('short.json', GUIDE)).total_bytes,
    );
  });

  it.each<[string, unknown, string]>([
    ['no JSON', '{"tp": ', 'MBF2202'],
    ['no object', '[1, 2]', 'not a JSON object'],
    ['an unknown key', { ...GUIDE, tensor_size: 2 }, '"tensor_size" is not an input'],
    ['a wrong value', { ...GUIDE, tp: -1 }, 'tp = -1 is not a whole number'],
    ['several', { ...GUIDE, tp: 'x', dist_opt: 7 }, 'dist_opt = 7 is not true or false'],
  ])('refuses %s', (name, content, text) => {
    expect(refuse(4, '--inputs', file(`${name.replaceAll(' ', '-')}.json`, content))).toContain(text);
  });
});

describe('refused', () => {
  it('files that do not exist, two sources, and options that are none', () => {
    expect(refuse(2, '--inputs', 'absent.json')).toContain('MBF1003');
    expect(refuse(2, '--inputs', file('large.json', ' '.repeat(2 ** 24 + 1)))).toContain('larger than 16.00 MiB');
    expect(refuse(2, '--run', RUN, '--config', CONFIG)).toContain('exclude each other');
    expect(refuse(2, '--run', RUN, '--set', 'tp')).toContain('expected KEY=VALUE');
    expect(refuse(2, '--run', RUN, '--set', 'tpp=2')).toContain('"tpp" is not an input');
    expect(refuse(2, '--run', RUN, '--device-memory', 'big')).toContain('expected a size');
  });
  it('configurations that Megatron refuses, with the rule', () => {
    const more = ['--set', 'cpu_offloading=true', '--set', 'cpu_offloading_num_layers=2'];
    const stderr = refuse(2, '--run', RUN, ...more);
    expect(stderr).toContain('cpu_offloading works only with pp 1');
    expect(stderr).toContain('(offload-recompute)');
    expect(refuse(2, '--run', RUN, '--set', 'tp=3')).toContain('world 32 is not a multiple');
    expect(refuse(2, '--run', RUN, '--set', 'is_hybrid_model=true')).toContain('hybrid');
  });
});
