/** Suspects of regressions whose reason is known, made by hand: `suspects.yaml`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Frame } from '../../../src/attribution/frames/call-site.js';
import { memoryKeys } from '../../../src/derive/run/memory-keys.js';
import type { GrownSite } from '../../../src/findings/diff/grown-sites.js';
import { KNOB_EFFECTS, knobEffect, wayOf } from '../../../src/findings/settings/knob-effects.js';
import { languageOf, readLines } from '../../../src/findings/suspects/line-kinds.js';
import { hunkHeader } from '../../../src/findings/suspects/rank-suspects.js';
import { readChanges } from '../../../src/findings/suspects/read-changes.js';
import { fileMatcher } from '../../../src/findings/suspects/repository-paths.js';
import type { Failure } from '../../../src/findings/suspects/score-knob.js';
import { ALLOCATOR_VARIABLES } from '../../../src/knowledge/env-keys.js';
import type { DiffComponent } from '../../../src/model/diff-parts.js';
import type { ChangedFile, CommitComparison } from '../../../src/model/git.js';
import type { Suspect } from '../../../src/model/results/compare.js';
import { GIB } from '../../../src/model/units.js';
import { type Cause, COMPONENTS, type Component } from '../../../src/model/vocabulary.js';
import { changed, compared, grew, hunk, inMlp, LAYER, MLP, rank, stack, TRUNK } from './by-hand.js';

type Stack = string | readonly string[];
type Site = readonly [gib: number, component: Component, after: Stack, before?: Stack];
type Change = readonly [key: string, a: string | null, b: string | null];
interface Case {
  readonly case: string;
  readonly files?: readonly (readonly [path: string, ...hunks: (string | Partial<ChangedFile>)[]])[];
  /** Of the comparison. */
  readonly more?: Partial<CommitComparison>;
  readonly sites?: readonly Site[];
  readonly components?: Readonly<Partial<Record<Component, readonly [a: number, b: number]>>>;
  readonly config?: readonly Change[];
  readonly env?: readonly Change[];
  readonly versions?: readonly Change[];
  readonly total?: number;
  readonly direction?: 'time';
  /** Its cause, and whether memory grew by more than the tolerance. */
  readonly failure?: readonly [cause: Cause, isGrown: boolean];
  readonly is?: readonly Readonly<Record<string, unknown>>[];
  readonly score?: readonly (readonly [least: number, most: number])[];
  readonly count?: number;
  /** Suspects with a key. */
  readonly keyed?: readonly object[];
  readonly notKeyed?: string;
  /** The highest score of any suspect. */
  readonly all?: number;
  /** How many times the score of the second is below that of the first. */
  readonly timesSecond?: number;
}
type Hunk = Readonly<Record<'case' | 'removed' | 'text', string>>;

const text = readFileSync(new URL('suspects.yaml', import.meta.url), 'utf8');
const {
  'lines that released memory': RELEASING,
  'changes that do nothing': HARMLESS,
  ...GROUPS
} = parse(text) as Record<string, readonly unknown[]>;

const PATHS: Readonly<Record<string, string>> = { MLP, LAYER };
const pathOf = (path: string): string => PATHS[path] ?? path.replace(/^CORE/, 'megatron/core');
const NATIVE: Frame = { name: 'at::_ops::mm::call(at::Tensor const&)', filename: '??', line: 0 };

function stackOf(frames: Stack): Frame[] {
  if (frames === 'native') return [NATIVE];
  if (typeof frames === 'string') return inMlp(Number(frames.split(':')[1] ?? 34));
  return stack(...frames.flatMap((frame) => (frame === 'TRUNK' ? TRUNK : [frame])));
}
function siteOf([gib, component, after, before = after]: Site): GrownSite {
  return grew(gib, component, stackOf(after), stackOf(before));
}
const row = ([component, [a, b]]: [string, readonly [number, number]]): DiffComponent => ({
  ...{ component: component as Component, a_bytes: a * GIB, b_bytes: b * GIB, delta_bytes: (b - a) * GIB },
});
const fileOf = ([path, ...parts]: NonNullable<Case['files']>[number]): ChangedFile => ({
  ...changed(pathOf(path), ...parts.filter((part) => typeof part === 'string')),
  ...parts.find((part): part is Partial<ChangedFile> => typeof part === 'object'),
});
const failureOf = ([cause, isGrown]: NonNullable<Case['failure']>): Failure => ({ cause, isGrown, confidence: 'high' });
const changes = (list: readonly Change[] = []) => list.map(([key, a, b]) => ({ key, a, b }));

function suspectsOf(one: Case): Suspect[] {
  const { files, more, sites = [], components = {}, config, env, versions, total } = one;
  const hasCommits = files !== undefined || more !== undefined;
  return rank({
    ...{ comparison: hasCommits ? compared((files ?? []).map(fileOf), more) : null, sites: sites.map(siteOf) },
    ...{ config: changes(config), env: changes(env), versions: changes(versions) },
    components: Object.entries(components).map(row),
    ...(total === undefined ? {} : { totalDeltaBytes: total * GIB }),
    ...(one.direction === undefined ? {} : { direction: one.direction }),
    ...(one.failure === undefined ? {} : { failure: failureOf(one.failure) }),
  });
}

function expectedOf({ key, hunk, ...rest }: Readonly<Record<string, unknown>>): object {
  const strings = Object.entries({
    ...(key === 'ABSENT' ? {} : { key }),
    ...(hunk === 'ABSENT' ? {} : { hunk }),
    ...rest,
  });
  const known = strings.filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([name, value]) => {
      if (typeof value !== 'string') return [name, value];
      return [
        name,
        value.startsWith('*') ? expect.stringContaining(value.slice(1)) : name === 'file' ? pathOf(value) : value,
      ];
    }),
  );
}

describe.each(Object.entries(GROUPS) as [string, readonly Case[]][])('%s', (_, cases) => {
  it.each(cases)('$case', (one) => {
    const ranked = suspectsOf(one);
    for (const [i, expected] of (one.is ?? []).entries()) {
      expect(ranked[i]).toMatchObject(expectedOf(expected));
      for (const name of ['key', 'hunk']) if (expected[name] === 'ABSENT') expect(ranked[i]).not.toHaveProperty(name);
    }
    for (const [i, [least, most]] of (one.score ?? []).entries()) {
      expect(ranked[i]!.score).toBeGreaterThan(least);
      expect(ranked[i]!.score).toBeLessThan(most === 1 ? 1.001 : most);
    }
    if (one.count !== undefined) expect(ranked).toHaveLength(one.count);
    if (one.keyed !== undefined) expect(ranked.filter(({ key }) => key !== undefined)).toMatchObject(one.keyed);
    if (one.notKeyed !== undefined) expect(ranked.map(({ key }) => key)).not.toContain(one.notKeyed);
    if (one.all !== undefined) for (const { score } of ranked) expect(score).toBeLessThanOrEqual(one.all);
    if (one.timesSecond !== undefined) expect(ranked[0]!.score).toBeGreaterThan(one.timesSecond * ranked[1]!.score);
  });
});

describe('a line that released memory', () => {
  it.each(RELEASING as readonly Hunk[])('is known for what it was: $case', ({ case: word, removed }) => {
    const noise = '@@ -33,0 +32 @@ def _mlp(self, x):\n+        self.calls += 1';
    const second =
      '@@ -207 +208 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, self.eps)';
    const comparison = compared([changed(LAYER, second), changed(MLP, noise, removed)]);
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect([first!.file, first!.hunk]).toEqual([MLP, hunkHeader(hunk(removed))]);
    expect(first!.reason).toContain('this takes out');
    expect(first!.reason).toContain(word.replace(/^torch\.cuda\./, '').replace(/\(\)$/, ''));
    expect(first!.score).toBeGreaterThan(0.75);
  });
});

describe('changes that do nothing', () => {
  const weak = changed(
    LAYER,
    '@@ -230 +230 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, self.eps)',
  );
  const signed = (sign: string, lines: readonly string[]): string => lines.map((line) => `${sign}${line}`).join('\n');

  it.each(HARMLESS as readonly Hunk[])('$case never comes first', ({ text }) => {
    const comparison = compared([changed(MLP, text), weak]);
    const ranked = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect(ranked[0]!.file).toBe(LAYER);
    for (const one of ranked.filter(({ file }) => file === MLP)) expect(one.score).toBeLessThan(0.1);
  });

  it.each([MLP, 'megatron/core/transformer/other.py'])('neither does code that moved to %s', (to) => {
    const body = ['    def _mlp(self, x):', '        h = torch.zeros(self.n)', '        del x'];
    body.push('        return self.act(h).float()');
    const from = changed(MLP, `@@ -132,4 +131,0 @@ class MLP:\n${signed('-', body)}`);
    const moved = changed(to, `@@ -31,0 +32,4 @@ class MLP:\n${signed('+', body)}`);
    const files = to === MLP ? [{ ...from, hunks: [...moved.hunks, ...from.hunks] }] : [from, moved];
    const b = stack(`_mlp transformer/${to.split('/').at(-1)}:33`, ...TRUNK);
    const ranked = rank({ comparison: compared([...files, weak]), sites: [grew(2, 'activation', b, inMlp(133))] });
    expect(ranked[0]!.file).toBe(LAYER);
  });

  it('neither do tests and documents, nor files that were only renamed', () => {
    const text = '@@ -34 +34 @@ def _mlp(self, x):\n-        h = self.a(x)\n+        h = self.a(x).clone()';
    const comparison = compared([
      changed('tests/unit_tests/transformer/test_mlp.py', text),
      changed('docs/mlp.py', text),
      changed('README.md', '@@ -1 +1 @@\n-del x\n+micro_batch_size: 4'),
      { ...changed('megatron/core/b.py'), old_path: 'megatron/core/a.py', similarity: 100 },
      { ...changed('weights.bin'), binary: true },
    ]);
    const sites = [grew(2, 'activation', stack('_mlp /opt/megatron-lm/tests/unit_tests/transformer/test_mlp.py:34'))];
    for (const one of rank({ comparison, sites })) expect(one.score).toBeLessThan(0.06);
  });

  it('but the line that differs within code that moved does', () => {
    const steps = ['a = self.one(x)', 'b = self.two(a)', 'c = self.three(b)', 'd = self.four(c)', 'e = self.five(d)'];
    const body = ['    def _mlp(self, x):', ...[...steps, 'return e'].map((line) => `        ${line}`)];
    const after = body.with(4, '        d = self.four(c).clone()');
    const from = changed(MLP, `@@ -132,7 +231,0 @@ class MLP:\n${signed('-', body)}`);
    const to = changed(MLP, `@@ -31,0 +32,7 @@ class MLP:\n${signed('+', after)}`);
    const comparison = compared([{ ...from, hunks: [...to.hunks, ...from.hunks] }, weak]);
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp(36), inMlp(136))] });
    expect(first).toMatchObject({ file: MLP, lines: ['+        d = self.four(c).clone()'] });
    expect(first!.score).toBeGreaterThan(0.8);
  });
});

describe('knobs', () => {
  const components = Object.entries({ activation: [4, 8], parameter: [10, 10], optimizer_state: [20, 20] }).map(
    ([name, [a, b]]) => row([name, [a!, b!]]),
  );
  const attention = stack('forward transformer/attention.py:44', ...TRUNK);
  const sites = [grew(2, 'activation', inMlp()), grew(2, 'activation', attention)];
  const line = '@@ -210 +210 @@ def forward(self, x):\n-        x = self.mlp(x)\n+        x = self.mlp(x, None)';

  it.each([
    ['conf/llama.yaml', ' model:', '  micro_batch_size: #'],
    ['conf/llama.json', '', '  "micro_batch_size": #,'],
    ['conf/llama.toml', '', 'micro-batch-size = #'],
    ['launch.sh', '', '    --micro-batch-size # --seq-length 4096 \\'],
    ['launch.sbatch', '', 'ARGS="train.micro_batch_size=#"'],
    ['src/bridge/recipes/llama.py', ' def config():', '    cfg.train.micro_batch_size = #'],
    ['src/bridge/recipes/llama.py', ' def config():', '    return Config(seq_length=4096, micro_batch_size=#)'],
    ['megatron/core/config.py', ' class Config:', '    micro_batch_size: int = #'],
  ])('and the line of %s that sets it are one suspect: %s%s', (path, context, set) => {
    const text = `@@ -7 +7 @@${context}\n-${set.replace('#', '1')}\n+${set.replace('#', '2')}`;
    const comparison = compared([changed(LAYER, line), changed(path, text)]);
    const ranked = rank({
      comparison,
      sites,
      components,
      config: changes([
        ['lr', '1', '2'],
        ['micro_batch_size', '1', '2'],
      ]),
    });
    expect(ranked[0]).toMatchObject({
      ...{ file: path, hunk: hunkHeader(hunk(text)), key: 'micro_batch_size', commits: [{ subject: 'change 1' }] },
      reason:
        'micro_batch_size went from 1 to 2, which takes more memory; activation grew by 4.00 GiB of 4.00 GiB (×2.00 where the setting is ×2.00)',
    });
    expect(ranked[0]!.score).toBeGreaterThan(0.9);
    expect(ranked.filter(({ file }) => file === path)).toHaveLength(1);
    expect(ranked[1]).toMatchObject({ file: LAYER });
  });

  it('of a size that does not fit the growth have a lower score', () => {
    const ofGrowth = (a: number, b: number) =>
      rank({ components: [row(['activation', [a, b]])], config: changes([['micro_batch_size', '1', '8']]) })[0]!;
    const off = ofGrowth(100, 101);
    expect(ofGrowth(1, 8).score).toBeGreaterThan(1.4 * off.score);
    expect(off.reason).toContain('×1.01 where the setting is ×8.00');
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

it('many stacks in a file of many hunks are ranked', () => {
  const starts = Array.from({ length: 600 }, (_, i) => i * 10 + 1);
  const hunks = starts.map((at, i) => `@@ -${at} +${at} @@ def f${i}(x):\n-    a = p(x)\n+    a = q(x)`);
  const sites = Array.from({ length: 2000 }, (_, i) => {
    const frames = [`f${i % 600} transformer/mlp.py:${starts[i % 600]}`, `g transformer/mlp.py:${i % 300}`];
    return grew(1, 'activation', stack(...frames, ...TRUNK));
  });
  expect(rank({ comparison: compared([changed(MLP, ...hunks)]), sites }).length).toBeGreaterThan(0);
});

it('nothing is suspected where nothing changed', () => {
  expect(rank({})).toEqual([]);
  expect(rank({ comparison: compared([]), sites: [grew(1, 'activation', inMlp())] })).toEqual([]);
});

it.each<[string, string, number[]]>([
  ['/opt/megatron-lm/megatron/core/x.py', 'megatron/core/x.py', [0]],
  ['/usr/lib/python3/dist-packages/megatron/core/x.py', 'megatron/core/x.py', [0]],
  ['megatron/core/x.py', '3rdparty/Megatron-LM:megatron/core/x.py', [0]],
  ['/job/3rdparty/Megatron-LM/megatron/core/x.py', '3rdparty/Megatron-LM:megatron/core/x.py megatron/core/x.py', [0]],
  ['/usr/lib/python3/dist-packages/megatron/bridge/x.py', 'src/megatron/bridge/x.py', [0]],
  ['/opt/Megatron-Bridge/src/megatron/bridge/x.py', 'src/megatron/bridge/x.py', [0]],
  ['/build/megatron/core/x.py', 'vendored/Megatron/megatron/core/x.py', [0]],
  ['/job/train.py', 'train.py megatron/train.py', [0]],
  ['train.py', 'examples/gpt/train.py', [0]],
  // Of another package, however alike.
  ['/usr/lib/python3/dist-packages/transformers/utils/utils.py', 'nemo/utils/utils.py', []],
  ['/opt/conda/lib/python3.11/site-packages/torch/optim/optimizer.py', 'megatron/core/optim/optimizer.py', []],
  ['/job/a/model.py', 'b/model.py', []],
  ['<eval_with_key>.3', 'a.py', []],
  ['/job/core/x.py', 'a/core/x.py b/core/x.py', [0, 1]],
])('the file of a frame: %s among %s', (frame, paths, found) => {
  const files = paths.split(' ').map((text) => {
    const [path, submodule = ''] = text.split(':').reverse();
    return { ...changed(path!), submodule };
  });
  expect(fileMatcher(files, 'new')(frame).map(({ file }) => file)).toEqual(found);
});

describe('lines', () => {
  it.each<[string[], string]>([
    [['x = 1', '', '# x', 'import a', 'from a import b'], 'code blank comment import import'],
    [['logger.info("x")', 'print(x)', 'assert x', 'raise E(x)'], 'log log check check'],
    [
      ['        The hidden states of the layer.', '    Returns:', '        x (Tensor): its output'],
      'prose prose prose',
    ],
    [['"""One line."""', 'x = 1'], 'prose code'],
    [['    """Begins here.', '', '    del x', '    """', '    y = f(x)'], 'prose blank prose prose code'],
    [['    and ends there.', '    """', '    del x'], 'prose prose code'],
    [['    """', '    del x'], 'prose code'],
    [
      ['return x if y else z', 'for a in b:', 'with a as b:', 'not x', 'async def f(x):', 'yield from x'],
      'code code code code code code',
    ],
    [['x = "two words here"', 'f(a, b)', 'del x, y', 'lambda x: y', '@torch.no_grad()'], 'code code code code code'],
    [['    "a message for people "'], 'prose'],
    [['self.cache.clear()', 'x'], 'code code'],
  ])('%j are %s', (lines, expected) => {
    expect(
      readLines(lines, 'python')
        .map(({ kind }) => kind)
        .join(' '),
    ).toBe(expected);
  });

  it('are read by the language of their file', () => {
    const languages = ['a/b.py', 'c.cu', 'd.yaml', 'README.md', 'requirements.txt', 'x.json'].map(languageOf);
    expect(languages).toEqual(['python', 'slash', 'hash', 'prose', 'hash', 'json']);
    const normal = (lines: string[], language: Parameters<typeof readLines>[1]): string[] =>
      readLines(lines, language).map((line) => line.normal);
    expect(normal(['a: 1 # x', '# y', 'two words'], 'hash')).toEqual(['a: 1', '', 'two words']);
    expect(normal(['x = 1; // y', '// z', ' * w'], 'slash')).toEqual(['x = 1;', '', '']);
  });

  it('are read in a time that does not depend on what they contain', () => {
    const long = `${'x(['.repeat(700)}a: b = "${"'".repeat(500)}`.slice(0, 2000);
    const yaml = `@@ -1 +1 @@\n-${'a-.'.repeat(600)}\n+${'--a '.repeat(500)}`;
    readChanges([changed(MLP, `@@ -1 +1 @@\n-${long}\n+${long}y`), changed('a.yaml', yaml)]);
    const script = changed('a.sh', `@@ -1 +1 @@\n-${'a : b[| '.repeat(250)}\n+${'--a=['.repeat(400)}`);
    rank({ comparison: compared([script]) });
  });
});
