import { describe, expect, it } from 'vitest';
import { defaults } from '../../../src/derive/settings/defaults.js';
import { factsOfConfig } from '../../../src/derive/settings/facts-of-config.js';
import { coreOfFramework, impliedCore } from '../../../src/derive/settings/framework-versions.js';
import { compareVersions } from '../../../src/derive/settings/versions.js';
import { View } from '../../../src/derive/settings/view.js';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';
import { type Config, type Given, LM, MB, rawFacts } from './raw-facts.js';

const viewOf = (config: Config, given: Given = {}): View => new View(rawFacts(config, given));

const some = { num_layers: '32' };
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

  it('have a source, with the class that they are of', () => {
    expect(viewOf(some, LM).setting('fp8_recipe')).toEqual({
      key: 'fp8_recipe',
      kind: 'setting',
      by: 'default',
      value: 'delayed',
      explicit: null,
      source: 'Megatron-LM megatron/core/transformer/transformer_config.py TransformerConfig',
    });
  });

  const NEMO = { framework: 'nemo' } as const;
  const core = (version: string) => ({ ...LM, versions: { megatron_core: version } });
  const bridge = (version: string) => ({ ...MB, versions: { megatron_bridge: version } });
  const interleaved = {
    num_layers: '32',
    pipeline_model_parallel_size: '4',
    num_layers_per_virtual_pipeline_stage: '2',
  };
  const recipe = { recipe: 'llama3_70b_pretrain_config', cpu_offloading: 'True' };

  const ROWS: readonly (readonly [key: string, value: string, given: Given, config?: Config])[] = [
    // Those of Megatron-Core.
    ['min_offloaded_tensor_size', '1048576', MB],
    ['cuda_graph_modules', '[]', MB],
    ['exp_avg_dtype', 'float32', MB],
    // They differ by framework. Bridge looks for what is installed.
    ['optimizer_offload_fraction', '1.0', LM],
    ['optimizer_offload_fraction', '0.0', MB],
    ['cross_entropy_loss_fusion', 'False', LM],
    ['cross_entropy_loss_fusion', 'True', MB],
    ['gradient_accumulation_fusion', 'True', LM],
    ['gradient_accumulation_fusion', '?', MB],
    ['check_for_nan_in_grad', 'True', NEMO],
    ['log_interval', '?', NEMO],
    // Where the framework is unknown and frameworks differ, they are unknown.
    ['optimizer_offload_fraction', '?', {}],
    ['gradient_accumulation_fusion', '?', {}],
    ['pipeline_model_parallel_size', '1', {}],
    ['ckpt_format', 'torch_dist', {}],
    ['check_for_nan_in_loss_and_grad', 'True', {}],
    // They differ by version.
    ['data_parallel_sharding_strategy', 'no_shard', core('0.17.1')],
    ['data_parallel_sharding_strategy', 'optim_grads_params', core('0.18.0')],
    ['data_parallel_sharding_strategy', 'optim_grads_params', LM],
    ['data_parallel_sharding_strategy', 'no_shard', MB],
    ['profile_ranks', '[]', bridge('0.3.0')],
    ['profile_ranks', '?', bridge('0.5.0')],
    ['profile_ranks', '[0]', bridge('0.6.1')],
    // They follow other settings where arguments are taken back.
    ['overlap_p2p_comm', 'False', LM],
    ['batch_p2p_comm', 'True', LM],
    ['overlap_p2p_comm', 'True', LM, interleaved],
    ['align_param_gather', 'True', LM, interleaved],
    ['batch_p2p_comm', 'False', LM, interleaved],
    ['check_for_nan_in_grad', 'True', LM],
    ['check_for_nan_in_grad', 'False', LM, { check_for_nan_in_loss_and_grad: 'False' }],
    // A summary prints what differs from Megatron-Core.
    ['cross_entropy_loss_fusion', 'False', { ...MB, origin: 'log summary' }],
    // What describes a model is unknown where its class may set it.
    ['hidden_dropout', '?', MB],
    ['num_moe_experts', '?', NEMO],
    ['hidden_dropout', '0.1', { ...MB, origin: 'log summary' }],
    ['hidden_dropout', '0.1', LM],
    ['hidden_dropout', '0.1', {}],
    // They are unknown after a banner, and where a command line names a recipe.
    ['pipeline_model_parallel_size', '?', { ...LM, origin: 'log banner' }],
    ['pipeline_model_parallel_size', '?', { ...MB, origin: 'command line' }, recipe],
    ['pipeline_model_parallel_size', '1', { ...LM, origin: 'command line' }, recipe],
  ];
  it.each(ROWS.map(([key, value, given, config = some]) => [key, value, given, config] as const))(
    'of %s is %s with %j %j',
    (key, value, given, config) => {
      const actual = viewOf(config, given).setting(key);
      expect(actual.by === 'unknown' ? '?' : actual.value).toBe(value);
    },
  );
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
