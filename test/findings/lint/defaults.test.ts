import { describe, expect, it } from 'vitest';
import { defaults } from '../../../src/findings/settings/defaults.js';
import { factsOfConfig } from '../../../src/findings/settings/facts-of-config.js';
import { coreOfFramework, impliedCore } from '../../../src/findings/settings/framework-versions.js';
import { compareVersions } from '../../../src/findings/settings/versions.js';
import { View } from '../../../src/findings/settings/view.js';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';
import { type Config, type Given, LM, MB, rawFacts } from './raw-facts.js';

const viewOf = (config: Config, given: Given = {}): View => new View(rawFacts(config, given));

const some = { num_layers: '32' };
const valueOfKey = (key: string, given: Given = {}, config: Config = some): string | null => {
  const { by, value } = viewOf(config, given).setting(key);
  return by === 'unknown' ? '?' : value;
};

const DEFAULTS = [...defaults().byKey.values()].flat();

describe('defaults', () => {
  it('are of canonical keys, each with where it was read', () => {
    for (const { key, source } of DEFAULTS) {
      expect(canonicalConfigKey(key), key).toBe(key);
      expect(source).toMatch(/\.py/);
    }
  });

  it('have one value for one framework and version', () => {
    const seen = new Set<string>();
    for (const { key, frameworks = ['all'], versions, when } of DEFAULTS)
      for (const framework of frameworks) {
        const name = `${key} ${framework} ${versions?.from ?? ''}-${versions?.before ?? ''} ${when === undefined}`;
        expect(seen.has(name), name).toBe(false);
        seen.add(name);
      }
  });

  it('are those of Megatron-Core, with their class', () => {
    expect(viewOf(some, LM).setting('fp8_recipe')).toEqual({
      key: 'fp8_recipe',
      kind: 'setting',
      by: 'default',
      value: 'delayed',
      explicit: null,
      source: 'Megatron-LM megatron/core/transformer/transformer_config.py TransformerConfig',
    });
    expect(valueOfKey('min_offloaded_tensor_size', MB)).toBe('1048576');
    expect(valueOfKey('cuda_graph_modules', MB)).toBe('[]');
    expect(valueOfKey('exp_avg_dtype', MB)).toBe('float32');
  });

  it('differ by framework', () => {
    expect(valueOfKey('optimizer_offload_fraction', LM)).toBe('1.0');
    expect(valueOfKey('optimizer_offload_fraction', MB)).toBe('0.0');
    expect(valueOfKey('cross_entropy_loss_fusion', LM)).toBe('False');
    expect(valueOfKey('cross_entropy_loss_fusion', MB)).toBe('True');
    expect(valueOfKey('gradient_accumulation_fusion', LM)).toBe('True');
    // Bridge looks for what is installed.
    expect(valueOfKey('gradient_accumulation_fusion', MB)).toBe('?');
    expect(valueOfKey('check_for_nan_in_grad', { framework: 'nemo' })).toBe('True');
    expect(valueOfKey('log_interval', { framework: 'nemo' })).toBe('?');
  });

  it('are unknown where the framework is and frameworks differ', () => {
    expect(valueOfKey('optimizer_offload_fraction')).toBe('?');
    expect(valueOfKey('gradient_accumulation_fusion')).toBe('?');
    expect(valueOfKey('pipeline_model_parallel_size')).toBe('1');
    expect(valueOfKey('ckpt_format')).toBe('torch_dist');
    expect(valueOfKey('check_for_nan_in_loss_and_grad')).toBe('True');
  });

  it('differ by version', () => {
    const sharding = (version?: string): string | null =>
      valueOfKey('data_parallel_sharding_strategy', {
        ...LM,
        ...(version === undefined ? {} : { versions: { megatron_core: version } }),
      });
    expect(sharding('0.17.1')).toBe('no_shard');
    expect(sharding('0.18.0')).toBe('optim_grads_params');
    expect(sharding()).toBe('optim_grads_params');
    expect(valueOfKey('data_parallel_sharding_strategy', MB)).toBe('no_shard');
    const ranks = (version: string): string | null =>
      valueOfKey('profile_ranks', { ...MB, versions: { megatron_bridge: version } });
    expect([ranks('0.3.0'), ranks('0.5.0'), ranks('0.6.1')]).toEqual(['[]', '?', '[0]']);
  });

  it('follow other settings where arguments are taken back', () => {
    expect(valueOfKey('overlap_p2p_comm', LM)).toBe('False');
    expect(valueOfKey('batch_p2p_comm', LM)).toBe('True');
    const interleaved = {
      num_layers: '32',
      pipeline_model_parallel_size: '4',
      num_layers_per_virtual_pipeline_stage: '2',
    };
    expect(valueOfKey('overlap_p2p_comm', LM, interleaved)).toBe('True');
    expect(valueOfKey('align_param_gather', LM, interleaved)).toBe('True');
    expect(valueOfKey('batch_p2p_comm', LM, interleaved)).toBe('False');
    expect(valueOfKey('check_for_nan_in_grad', LM)).toBe('True');
    expect(valueOfKey('check_for_nan_in_grad', LM, { check_for_nan_in_loss_and_grad: 'False' })).toBe('False');
  });

  it("are Megatron-Core's after a summary, which prints what differs from it", () => {
    expect(valueOfKey('cross_entropy_loss_fusion', { ...MB, origin: 'log summary' })).toBe('False');
  });

  it('are unknown of what describes a model where its class may set it', () => {
    expect(valueOfKey('hidden_dropout', MB)).toBe('?');
    expect(valueOfKey('num_moe_experts', { framework: 'nemo' })).toBe('?');
    expect(valueOfKey('hidden_dropout', { ...MB, origin: 'log summary' })).toBe('0.1');
    expect(valueOfKey('hidden_dropout', LM)).toBe('0.1');
    expect(valueOfKey('hidden_dropout')).toBe('0.1');
  });

  it('are unknown after a banner, and where a command line names a recipe', () => {
    expect(valueOfKey('pipeline_model_parallel_size', { ...LM, origin: 'log banner' })).toBe('?');
    const recipe = { recipe: 'llama3_70b_pretrain_config', cpu_offloading: 'True' };
    expect(valueOfKey('pipeline_model_parallel_size', { ...MB, origin: 'command line' }, recipe)).toBe('?');
    expect(valueOfKey('pipeline_model_parallel_size', { ...LM, origin: 'command line' }, recipe)).toBe('1');
  });
});

describe('versions of frameworks', () => {
  it('tell that of Megatron-Core', () => {
    expect(coreOfFramework('megatron-bridge', '0.6.1')).toBe('0.19');
    expect(coreOfFramework('megatron-bridge', 'v0.1.0rc3')).toBe('0.14');
    expect(coreOfFramework('nemo', '2.7.0')).toBe('0.16');
    expect(coreOfFramework('nemo', '2.3.1')).toBeUndefined();
    expect(coreOfFramework('megatron-bridge', '0.7.0rc0')).toBeUndefined();
    expect(coreOfFramework('megatron-lm', '0.6')).toBeUndefined();
    expect(compareVersions(impliedCore('megatron-bridge', '0.6')!, '0.19.0')).toBe(0);
  });

  it('tell it in facts, unless it is told', () => {
    const read = {
      config: { settings: [], conflicts: [], bySection: new Map() } as never,
      env: new Map(),
      envKnown: 'none' as const,
      gpu: { name: null, total_bytes: null },
      framework: { name: 'megatron-bridge', version: '0.4.2' } as const,
    };
    expect(factsOfConfig({ ...read, versions: {} }).versions).toEqual({
      megatron_bridge: '0.4.2',
      megatron_core: '0.17 (comes with Megatron Bridge 0.4.2)',
    });
    expect(factsOfConfig({ ...read, versions: { megatron_core: '0.18.0' } }).versions.megatron_core).toBe('0.18.0');
  });
});
