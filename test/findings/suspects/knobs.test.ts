/** Suspects of regressions whose reason is known: by hand, and planted by a generator among changes that do no harm. */
import { describe, expect, it } from 'vitest';
import { memoryKeys } from '../../../src/findings/run/memory-keys.js';
import { KNOB_EFFECTS, knobEffect, wayOf } from '../../../src/findings/settings/knob-effects.js';
import { hunkHeader } from '../../../src/findings/suspects/rank-suspects.js';
import { ALLOCATOR_VARIABLES } from '../../../src/knowledge/env-keys.js';
import type { DiffComponent } from '../../../src/model/diff-parts.js';
import { GIB } from '../../../src/model/units.js';
import { COMPONENTS, type Component } from '../../../src/model/vocabulary.js';
import { changed, compared, grew, hunk, inMlp, LAYER, MLP, rank, stack, TRUNK } from './by-hand.js';

const row = (component: Component, a: number, b: number): DiffComponent => ({
  ...{ component, a_bytes: a * GIB, b_bytes: b * GIB, delta_bytes: (b - a) * GIB },
});

describe('knobs', () => {
  const activations = [row('activation', 4, 8), row('parameter', 10, 10), row('optimizer_state', 20, 20)];
  const sites = [
    grew(2, 'activation', inMlp()),
    grew(2, 'activation', stack('forward transformer/attention.py:44', ...TRUNK)),
  ];
  const noise = changed(
    LAYER,
    '@@ -210 +210 @@ def forward(self, x):\n-        x = self.mlp(x)\n+        x = self.mlp(x, None)',
  );

  it.each([
    ['conf/llama.yaml', '@@ -7 +7 @@ model:\n-  micro_batch_size: 1\n+  micro_batch_size: 2'],
    ['conf/llama.json', '@@ -7 +7 @@\n-  "micro_batch_size": 1,\n+  "micro_batch_size": 2,'],
    ['conf/llama.toml', '@@ -7 +7 @@\n-micro-batch-size = 1\n+micro-batch-size = 2'],
    [
      'launch.sh',
      '@@ -7 +7 @@\n-    --micro-batch-size 1 --seq-length 4096 \\\n+    --micro-batch-size 2 --seq-length 4096 \\',
    ],
    ['launch.sbatch', '@@ -7 +7 @@\n-ARGS="train.micro_batch_size=1"\n+ARGS="train.micro_batch_size=2"'],
    [
      'src/bridge/recipes/llama.py',
      '@@ -7 +7 @@ def config():\n-    cfg.train.micro_batch_size = 1\n+    cfg.train.micro_batch_size = 2',
    ],
    [
      'src/bridge/recipes/llama.py',
      '@@ -7 +7 @@ def config():\n-    return Config(seq_length=4096, micro_batch_size=1)\n+    return Config(seq_length=4096, micro_batch_size=2)',
    ],
    [
      'megatron/core/config.py',
      '@@ -7 +7 @@ class Config:\n-    micro_batch_size: int = 1\n+    micro_batch_size: int = 2',
    ],
  ])('and the line of %s that sets it are one suspect', (path, text) => {
    const comparison = compared([noise, changed(path, text)]);
    const config = [
      { key: 'lr', a: '1', b: '2' },
      { key: 'micro_batch_size', a: '1', b: '2' },
    ];
    const ranked = rank({ comparison, sites, components: activations, config });
    expect(ranked[0]).toMatchObject({
      ...{ file: path, hunk: hunkHeader(hunk(text)), key: 'micro_batch_size' },
      reason:
        'micro_batch_size went from 1 to 2, which takes more memory; activation grew by 4.00 GiB of 4.00 GiB (×2.00 where the setting is ×2.00)',
      commits: [{ subject: 'change 1' }],
    });
    expect(ranked[0]!.score).toBeGreaterThan(0.9);
    expect(ranked.filter(({ file }) => file === path)).toHaveLength(1);
    expect(ranked[1]).toMatchObject({ file: LAYER });
  });

  it('takes the hunk with the values of the runs, and no test', () => {
    const line = (a: string, b: string): string =>
      `@@ -7 +7 @@ model:\n-  micro_batch_size: ${a}\n+  micro_batch_size: ${b}`;
    const comparison = compared([
      changed('conf/a.yaml', line('4', '8')),
      changed('tests/b.yaml', line('1', '2')),
      changed('conf/c.yaml', line('1', '2')),
    ]);
    const config = [{ key: 'micro_batch_size', a: '1', b: '2' }];
    expect(rank({ comparison, components: activations, config })[0]).toMatchObject({
      file: 'conf/c.yaml',
      key: 'micro_batch_size',
    });
  });

  it('needs no hunk', () => {
    const [first] = rank({
      components: activations,
      config: [{ key: 'recompute_granularity', a: 'full', b: 'selective' }],
    });
    expect(first).toMatchObject({ file: '', key: 'recompute_granularity', commits: [], lines: [] });
    expect(first!.score).toBeGreaterThan(0.8);
    expect(first).not.toHaveProperty('hunk');
  });

  it('comes before one whose components did not grow, or that goes the other way', () => {
    const config = [
      { key: 'use_distributed_optimizer', a: 'true', b: 'false' },
      { key: 'recompute_modules', a: '["core_attn","mlp"]', b: '["core_attn"]' },
      { key: 'tensor_model_parallel_size', a: '4', b: '8' },
      { key: 'weight_decay', a: '0.1', b: '0.2' },
    ];
    const ranked = rank({ components: activations, config });
    expect(ranked.map(({ key }) => key)).toEqual([
      'recompute_modules',
      'tensor_model_parallel_size',
      'use_distributed_optimizer',
      'weight_decay',
    ]);
    expect(ranked[0]!.score).toBeGreaterThan(0.8);
    expect(ranked[1]!.score).toBeLessThan(0.3);
    expect(ranked[2]!.reason).toContain('none of optimizer_state, gradient, before_recording grew');
  });

  it('of a size that does not fit the growth says less', () => {
    const config = [{ key: 'micro_batch_size', a: '1', b: '8' }];
    const [fits] = rank({ components: [row('activation', 1, 8)], config });
    const [off] = rank({ components: [row('activation', 100, 101)], config });
    expect(fits!.score).toBeGreaterThan(1.4 * off!.score);
    expect(off!.reason).toContain('×1.01 where the setting is ×8.00');
  });

  it('yields to a line that most of the growth goes through', () => {
    const comparison = compared([
      changed(MLP, '@@ -34 +34 @@ def _mlp(self, x):\n-        h = self.a(x)\n+        h = self.a(x).clone()'),
    ]);
    const config = [
      { key: 'micro_batch_size', a: '2', b: '1' },
      { key: 'recompute_method', a: 'block', b: 'uniform' },
    ];
    expect(rank({ comparison, sites: [sites[0]!], components: activations, config })[0]!.file).toBe(MLP);
  });

  it('of the allocator moves what is reserved, not what is live', () => {
    const env = [{ key: 'PYTORCH_CUDA_ALLOC_CONF', a: 'expandable_segments:True', b: null }];
    const [live] = rank({ env, components: activations, totalDeltaBytes: 4 * GIB });
    expect(live!.score).toBeLessThan(0.2);
    const [reserved] = rank({ env, components: [], sites: [], totalDeltaBytes: 4 * GIB });
    expect(reserved!.score).toBeGreaterThan(0.8);
    const script = changed('run.sh', '@@ -3 +2,0 @@\n-export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True');
    expect(rank({ env, comparison: compared([script]), totalDeltaBytes: 4 * GIB })[0]).toMatchObject({
      file: 'run.sh',
      key: 'PYTORCH_CUDA_ALLOC_CONF',
    });
  });

  it('is read from the repository where the runs do not tell theirs, and believed less', () => {
    const comparison = compared([
      changed('conf/a.yaml', '@@ -7 +7 @@ model:\n-  micro_batch_size: 1\n+  micro_batch_size: 2'),
    ]);
    const [first] = rank({ comparison, components: activations });
    expect(first).toMatchObject({ file: 'conf/a.yaml', key: 'micro_batch_size' });
    expect(first!.score).toBeLessThan(0.55);
    const second = [{ key: 'lr', a: '1', b: '2' }];
    expect(
      rank({ comparison, components: activations, config: second }).filter(({ key }) => key === 'micro_batch_size'),
    ).toEqual([]);
  });
});

describe('dependencies', () => {
  const te = stack('forward /usr/lib/python3/dist-packages/transformer_engine/pytorch/module/linear.py:100', ...TRUNK);

  it('count where their lines grew', () => {
    const versions = [
      { key: 'torch', a: '2.7.0', b: '2.8.0' },
      { key: 'transformer_engine', a: '2.3', b: '2.4' },
    ];
    const ranked = rank({ versions, sites: [grew(2, 'activation', te)] });
    expect(ranked.map(({ key }) => key)).toEqual(['transformer_engine', 'torch']);
    expect(ranked[0]).toMatchObject({
      file: '',
      reason: 'transformer_engine went from 2.3 to 2.4; 2.00 GiB of 2.00 GiB grew in its lines',
    });
    expect(ranked[0]!.score).toBeGreaterThan(0.5);
    expect(ranked[0]!.score).toBeLessThan(0.8);
    expect(ranked[1]!.score).toBeLessThan(0.2);
  });

  it('come after a changed line', () => {
    const comparison = compared([
      changed(LAYER, '@@ -210 +210 @@ def forward(self, x):\n-        x = self.a(x)\n+        x = self.a(x.float())'),
    ]);
    const versions = [{ key: 'torch', a: '2.7.0', b: '2.8.0' }];
    expect(rank({ comparison, versions, sites: [grew(2, 'activation', te)] })[0]!.file).toBe(LAYER);
  });

  it('are named where their history is not at hand', () => {
    const pin = { path: '3rdparty/Megatron-LM', from: 'c'.repeat(40), to: 'd'.repeat(40), is_readable: false };
    const commits = [{ sha: '9'.repeat(40), parents: [], subject: 'bump', time_s: 0, paths: ['3rdparty/Megatron-LM'] }];
    const comparison = compared([], { submodules: [pin], commits });
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect(first).toMatchObject({ key: '3rdparty/Megatron-LM', file: '', commits: [{ subject: 'bump' }] });
    expect(first!.score).toBeGreaterThan(0.5);
    const [apart] = rank({ comparison, sites: [grew(2, 'activation', te.slice(0, 1))] });
    expect(apart!.score).toBeLessThan(0.2);
  });
});

describe('time', () => {
  it('is a matter of knobs and words, and never sure', () => {
    const comparison = compared([
      changed(MLP, '@@ -34,0 +35 @@ def _mlp(self, x):\n+        torch.cuda.synchronize()'),
      changed(LAYER, '@@ -34 +34 @@ def f(self, x):\n-        a = 1\n+        a = 2'),
      changed('tests/test_a.py', '@@ -34,0 +35 @@ def f(x):\n+    torch.cuda.synchronize()'),
    ]);
    const config = [
      { key: 'tp_comm_overlap', a: 'true', b: 'false' },
      { key: 'recompute_granularity', a: 'full', b: 'selective' },
      { key: 'lr', a: '1', b: '2' },
    ];
    const ranked = rank({ comparison, config, direction: 'time' });
    expect(ranked.map(({ file, key }) => key ?? file)).toEqual([
      'tp_comm_overlap',
      MLP,
      'recompute_granularity',
      LAYER,
      'lr',
    ]);
    for (const { score } of ranked) expect(score).toBeLessThanOrEqual(0.5);
    expect(ranked[1]!.reason).toBe('`synchronize(` in it bears on time');
  });
});

describe('the table of knobs', () => {
  it.each([...memoryKeys().keys(), ...ALLOCATOR_VARIABLES])('has %s', (key) => {
    expect(knobEffect(key)).toBeDefined();
  });

  it('names components that exist, and factors among them', () => {
    for (const [key, { components, factor, memory }] of KNOB_EFFECTS) {
      for (const component of [...components, ...(factor?.of ?? [])]) expect(COMPONENTS, key).toContain(component);
      if (factor !== undefined) expect(['larger', 'smaller'], key).toContain(memory);
    }
  });

  it.each([
    ['micro_batch_size', '1', '2', 'up'],
    ['micro_batch_size', '4', '2', 'down'],
    ['tensor_model_parallel_size', '8', '4', 'up'],
    ['recompute_granularity', 'full', 'selective', 'up'],
    ['recompute_granularity', 'selective', null, 'up'],
    ['recompute_granularity', 'null', 'full', 'down'],
    ['recompute_modules', '["core_attn","mlp"]', '["core_attn"]', 'up'],
    ['recompute_modules', '["core_attn"]', 'null', 'up'],
    ['recompute_modules', '["core_attn"]', '["mlp"]', 'unknown'],
    ['use_distributed_optimizer', 'true', 'false', 'up'],
    ['use_distributed_optimizer', 'True', null, 'up'],
    ['grad_reduce_in_fp32', 'false', 'true', 'up'],
    ['exp_avg_dtype', 'torch.bfloat16', 'torch.float32', 'up'],
    ['attention_backend', 'AttnBackend.flash', 'unfused', 'up'],
    ['attention_backend', 'flash', 'fused', 'unknown'],
    ['attention_backend', 'auto', 'flash', 'unknown'],
    ['cuda_graph_impl', 'none', 'full_iteration', 'up'],
    ['data_parallel_sharding_strategy', 'optim_grads_params', 'no_shard', 'up'],
    ['optimizer_offload_fraction', '1.0', '0.5', 'up'],
    ['model.seq_length', '4096', '8192', 'up'],
    ['bucket_size', '40_000_000', '4e7', 'unknown'],
    ['pipeline_model_parallel_layout', 'a', 'b', 'unknown'],
  ])('%s from %s to %s goes %s', (key, a, b, way) => {
    expect(wayOf(knobEffect(key)!.memory, a, b)).toBe(way);
  });
});
