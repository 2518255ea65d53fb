/** Suspects of regressions whose reason is known: by hand, and planted by a generator among changes that do no harm. */
import { describe, expect, it } from 'vitest';
import { languageOf, readLines } from '../../../src/findings/suspects/line-kinds.js';
import { hunkHeader, isOfInterest } from '../../../src/findings/suspects/rank-suspects.js';
import { readChanges } from '../../../src/findings/suspects/read-changes.js';
import { fileMatcher } from '../../../src/findings/suspects/repository-paths.js';
import { compareCommits } from '../../../src/git/compare-commits.js';
import { openRepository } from '../../../src/git/repository.js';
import type { ChangedFile, ChangedHunk } from '../../../src/model/git.js';
import type { Suspect } from '../../../src/model/results/compare.js';
import { MIB } from '../../../src/model/units.js';
import { gitEnvironment, repositoryAt, scratch } from '../../git/repositories.js';
import { runs } from '../../support/level.js';
import { PLANTS, plantRegression, type Regression } from '../../support/planted-regressions.js';
import { changed, compared, grew, hunk, inMlp, LAYER, MLP, rank, stack, TRUNK } from './by-hand.js';

describe('hunks', () => {
  it('leads with the line that grew, with a note', () => {
    const comparison = compared([
      changed('megatron/core/models/gpt/gpt_model.py', '@@ -12 +12 @@ class GPTModel:\n-    a = 1\n+    a = 2'),
      changed(
        MLP,
        '@@ -33,2 +33,2 @@ def _mlp(self, x):\n-        h = self.fc1(x)\n-        return self.act(h)\n+        h = self.fc1(x).float()\n+        return self.act(h, h)',
      ),
    ]);
    const [first, second] = rank({
      comparison,
      sites: [grew(3, 'activation', inMlp()), grew(0.1, 'workspace', stack('step optimizer/optimizer.py:5'))],
    });
    expect(first).toMatchObject({
      file: MLP,
      hunk: '@@ -33,2 +33,2 @@ def _mlp(self, x):',
      reason: 'line 34 in _mlp is where 3.00 GiB of 3.10 GiB grew (activation); this puts in `.float()`',
      commits: [{ sha: '1'.repeat(40), subject: 'change 1' }],
      lines: [
        '-        h = self.fc1(x)',
        '-        return self.act(h)',
        '+        h = self.fc1(x).float()',
        '+        return self.act(h, h)',
      ],
    });
    expect(first!.score).toBeGreaterThan(0.8);
    expect(first).not.toHaveProperty('key');
    expect(second!.score).toBeLessThan(0.2);
  });

  it('weighs by the share of the growth', () => {
    const at = (line: number): string =>
      `@@ -${line} +${line} @@ def _mlp(self, x):\n-        a = self.p(x)\n+        a = self.q(x)`;
    const comparison = compared([changed(MLP, at(34), at(234))]);
    const sites = [grew(1, 'activation', inMlp(34)), grew(9, 'activation', inMlp(234))];
    const [first, second] = rank({ comparison, sites });
    expect([first!.hunk, second!.hunk]).toEqual([
      '@@ -234 +234 @@ def _mlp(self, x):',
      '@@ -34 +34 @@ def _mlp(self, x):',
    ]);
    expect(first!.score).toBeGreaterThan(0.8);
    expect(second!.score).toBeLessThan(0.3);
  });

  it('prefers the innermost line, unless another explains more', () => {
    const line = (at: number, name: string): string =>
      `@@ -${at} +${at} @@ def ${name}(self, x):\n-        a = self.p(x)\n+        a = self.q(x)`;
    const comparison = compared([changed(LAYER, line(210, 'forward')), changed(MLP, line(34, '_mlp'))]);
    expect(rank({ comparison, sites: [grew(2, 'activation', inMlp())] })[0]!.file).toBe(MLP);
    const attention = stack('forward transformer/attention.py:44', ...TRUNK);
    const sites = [grew(1, 'activation', inMlp()), grew(3, 'activation', attention)];
    expect(rank({ comparison, sites })[0]!.file).toBe(LAYER);
  });

  it.each([
    ['del h', '@@ -36 +35,0 @@ def _mlp(self, x):\n-        del h'],
    ['.free()', '@@ -39 +38,0 @@ def _mlp(self, x):\n-        h.free()'],
    ['torch.cuda.empty_cache()', '@@ -52 +51,0 @@ def _mlp(self, x):\n-        torch.cuda.empty_cache()'],
    ['h = None', '@@ -41 +40,0 @@ def _mlp(self, x):\n-        h = None'],
    ['.detach()', '@@ -34 +34 @@ def _mlp(self, x):\n-        h = self.fc1(x).detach()\n+        h = self.fc1(x)'],
    [
      'no_grad',
      '@@ -33,2 +33 @@ def _mlp(self, x):\n-        with torch.no_grad():\n-            h = self.fc1(x)\n+        h = self.fc1(x)',
    ],
  ])('knows what `%s` was good for', (word, text) => {
    const noise = '@@ -33,0 +32 @@ def _mlp(self, x):\n+        self.calls += 1';
    const second =
      '@@ -207 +208 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, self.eps)';
    const comparison = compared([changed(LAYER, second), changed(MLP, noise, text)]);
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect([first!.file, first!.hunk]).toEqual([MLP, hunkHeader(hunk(text))]);
    expect(first!.reason).toContain('this takes out');
    expect(first!.reason).toContain(word.replace(/^torch\.cuda\./, '').replace(/\(\)$/, ''));
    expect(first!.score).toBeGreaterThan(0.75);
  });

  it('follows callers: the `del` of what they hold', () => {
    const comparison = compared([
      changed(MLP, '@@ -20 +20 @@ def reset(self):\n-        self.n = 0\n+        self.n = 1'),
      changed(LAYER, '@@ -215 +214,0 @@ def forward(self, x):\n-        del residual'),
    ]);
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect(first!.file).toBe(LAYER);
    expect(first!.reason).toBe(
      'line 210 in forward, the function this changes, leads to where 2.00 GiB of 2.00 GiB grew (activation); this takes out `del residual`',
    );
  });

  it('finds recompute that went, where the stacks part', () => {
    const torch = 'checkpoint /usr/lib/python3/dist-packages/torch/utils/checkpoint.py:496';
    const wrapped = stack(
      '_mlp transformer/mlp.py:34',
      'custom_forward transformer/transformer_block.py:300',
      torch,
      'checkpointed transformer/transformer_block.py:310',
      'run transformer/transformer_block.py:400',
      ...TRUNK,
    );
    const plain = stack('_mlp transformer/mlp.py:34', 'run transformer/transformer_block.py:404', ...TRUNK);
    const comparison = compared([
      changed(MLP, '@@ -31 +31 @@ def _mlp(self, x):\n-        x = self.scale(x)\n+        x = self.rescale(x)'),
      changed(
        'megatron/core/transformer/transformer_block.py',
        '@@ -400 +404 @@ def run(self, x):\n-        x = self.checkpointed(layer, x)\n+        x = layer(x)',
      ),
    ]);
    const [first] = rank({ comparison, sites: [grew(4, 'activation', plain, wrapped)] });
    expect(first!.file).toBe('megatron/core/transformer/transformer_block.py');
    expect(first!.score).toBeGreaterThan(0.8);
  });

  it('finds what holds on to tensors made elsewhere', () => {
    const comparison = compared([
      changed(
        LAYER,
        '@@ -204 +204 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, True)',
      ),
      changed(MLP, '@@ -44,0 +45 @@ def _mlp(self, x):\n+        self._seen.append(h)'),
    ]);
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect(first!.file).toBe(MLP);
    expect(first!.reason).toContain('this puts in `.append(`');
  });

  it('does not take one `forward` for another', () => {
    const line = (at: number, context: string): string =>
      `@@ -${at} +${at} @@ ${context}\n-        a = self.p(x)\n+        a = self.q(x)`;
    const comparison = compared([
      changed(
        MLP,
        line(80, 'def forward(self, x):'),
        line(300, 'def __init__(self):'),
        line(420, 'def forward(self, y):'),
      ),
    ]);
    const ranked = rank({
      comparison,
      sites: [grew(2, 'activation', stack('forward transformer/mlp.py:60', ...TRUNK))],
    });
    expect(ranked[0]!.hunk).toContain('-80');
    expect(ranked[0]!.score).toBeGreaterThan(3 * ranked[1]!.score);
  });

  it('reads renamed files and shifted lines by the newer commit', () => {
    const file = {
      ...changed(
        'megatron/core/transformer/mlp.py',
        '@@ -34 +134 @@ def _mlp(self, x):\n-        h = self.a(x)\n+        h = self.a(x).clone()',
      ),
      new_path: 'megatron/core/transformer/feed_forward.py',
      similarity: 80,
    };
    const decoy = changed(
      'megatron/core/transformer/norm.py',
      '@@ -1,0 +2,9 @@\n+import a\n+import b\n+import c\n+import d\n+import e\n+import f\n+import g\n+import h\n+import i',
    );
    const b = stack('_mlp transformer/feed_forward.py:134', ...TRUNK);
    const [first] = rank({ comparison: compared([decoy, file]), sites: [grew(2, 'activation', b, inMlp())] });
    expect(first).toMatchObject({
      file: 'megatron/core/transformer/feed_forward.py',
      hunk: '@@ -34 +134 @@ def _mlp(self, x):',
    });
    expect(first!.commits.map(({ subject }) => subject)).toEqual(['change 1']);
  });

  it('reports where in a submodule, and which commits moved its pin', () => {
    const inside = {
      ...changed(MLP, '@@ -34 +34 @@ def _mlp(self, x):\n-        h = self.a(x)\n+        h = self.a(x).clone()'),
      submodule: '3rdparty/Megatron-LM',
    };
    const ownValues = changed(
      'src/megatron/bridge/training/train.py',
      '@@ -5 +5 @@ def train():\n-    a = 1\n+    a = 2',
    );
    const pin = { path: '3rdparty/Megatron-LM', from: 'c'.repeat(40), to: 'd'.repeat(40), is_readable: true };
    const comparison = compared([ownValues, inside], { submodules: [pin] });
    const ranked = rank({
      comparison,
      sites: [grew(2, 'activation', inMlp())],
      versions: [{ key: 'megatron_lm', a: 'ccccccccc', b: 'ddddddddd' }],
    });
    expect(ranked[0]).toMatchObject({ file: `3rdparty/Megatron-LM/${MLP}`, commits: [{ subject: 'change 1' }] });
    // The pin once, below what is inside; not the same again as a version.
    expect(ranked.filter(({ key }) => key !== undefined)).toMatchObject([
      { key: '3rdparty/Megatron-LM', file: '', score: 0.08 },
    ]);
  });

  it('survives hunks whose text was cut off', () => {
    const cut = {
      old_start: 30,
      old_lines: 9,
      new_start: 30,
      new_lines: 9,
      context: 'def _mlp(self, x):',
      removed: [],
      added: [],
    };
    const comparison = compared([{ ...changed(MLP), hunks: [cut] }], { truncated: true });
    const [first] = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect(first).toMatchObject({ file: MLP, lines: [] });
    expect(first!.score).toBeGreaterThan(0.4);
  });

  it('sets what came against what went, where neither has a counterpart', () => {
    const line = (at: number, name: string): string =>
      `@@ -${at} +${at} @@ def ${name}(self, x):\n-        a = self.p(x)\n+        a = self.q(x)`;
    const comparison = compared([changed(LAYER, line(210, 'forward')), changed(MLP, line(34, '_mlp'))]);
    const rewritten = [
      { ...grew(6, 'activation', stack('new transformer/transformer_layer.py:210')), a_frames: [] },
      { ...grew(-5.9, 'activation', []), a_frames: stack('old transformer/transformer_layer.py:210') },
    ];
    const ranked = rank({
      comparison,
      sites: [...rewritten, grew(2, 'activation', stack('_mlp transformer/mlp.py:34'))],
    });
    expect(ranked[0]).toMatchObject({ file: MLP });
    expect(ranked[0]!.reason).toContain('2.00 GiB of 2.10 GiB');
  });

  it('ranks many stacks in a file of many hunks', () => {
    const hunks = Array.from(
      { length: 600 },
      (_, i) => `@@ -${i * 10 + 1} +${i * 10 + 1} @@ def f${i}(x):\n-    a = p(x)\n+    a = q(x)`,
    );
    const sites = Array.from({ length: 2000 }, (_, i) =>
      grew(
        1,
        'activation',
        stack(`f${i % 600} transformer/mlp.py:${(i % 600) * 10 + 1}`, `g transformer/mlp.py:${i % 300}`, ...TRUNK),
      ),
    );
    expect(rank({ comparison: compared([changed(MLP, ...hunks)]), sites }).length).toBeGreaterThan(0);
  });

  it('leaves growth without Python frames to paths and words', () => {
    const native = [{ name: 'at::_ops::mm::call(at::Tensor const&)', filename: '??', line: 0 }];
    const comparison = compared([
      changed('megatron/core/datasets/gpt_dataset.py', '@@ -5 +5 @@ def f():\n-    a = 1\n+    a = 2'),
      changed(
        'megatron/core/optimizer/distrib_optimizer.py',
        '@@ -5 +5 @@ def step(self):\n-        state = p.new_zeros(n)\n+        state = torch.zeros(n, dtype=torch.float32)',
      ),
    ]);
    const [first] = rank({ comparison, sites: [grew(2, 'optimizer_state', native)] });
    expect(first!.file).toBe('megatron/core/optimizer/distrib_optimizer.py');
    expect(first!.score).toBeLessThan(0.5);
    expect(first!.reason).toContain('optimizer_state');
  });

  it('is sure of nothing without stacks', () => {
    const comparison = compared([changed(MLP, '@@ -5 +5 @@ def step(self):\n-        del x\n+        y = x.clone()')]);
    for (const one of rank({ comparison })) expect(one.score).toBeLessThan(0.2);
    expect(rank({ comparison })[0]!.reason).toContain('no stacks show which lines grew');
  });
});

describe('changes that do nothing', () => {
  const harmless: [string, string][] = [
    ['a comment', '@@ -34 +34 @@ def _mlp(self, x):\n-        # del x\n+        # clone, contiguous, float32'],
    ['a trailing comment', '@@ -34 +34 @@ def _mlp(self, x):\n-        y = f(x)  # old\n+        y = f(x)  # float32'],
    ['white space', '@@ -34 +34,2 @@ def _mlp(self, x):\n-        y = f( x )\n+\n+        y = f(x)'],
    ['quotes', '@@ -34 +34 @@ def _mlp(self, x):\n-        y = f(\'x\')\n+        y = f("x")'],
    [
      'a wrapped call',
      '@@ -34 +34,4 @@ def _mlp(self, x):\n-        y = torch.zeros(a, dtype=torch.float32)\n+        y = torch.zeros(\n+            a,\n+            dtype=torch.float32,\n+        )',
    ],
    [
      'a docstring',
      '@@ -34,2 +34,3 @@ def _mlp(self, x):\n-            x (Tensor): the input\n-        Returns:\n+            x (Tensor): the input, which is kept in float32\n+            cache (Tensor): a buffer that is retained\n+        Returns:',
    ],
    [
      'a new docstring',
      '@@ -33,0 +34,4 @@ def _mlp(self, x):\n+        """Recompute.\n+\n+        del x\n+        """',
    ],
    ['an import', '@@ -34 +34,2 @@\n-from a import b\n+from a import checkpoint\n+import gc'],
    ['a log line', '@@ -33,0 +34 @@ def _mlp(self, x):\n+        logger.info("zeros %s", torch.zeros(1))'],
    [
      'a local name',
      '@@ -34,2 +34,2 @@ def _mlp(self, x):\n-        h = self.a(x)\n-        return self.b(h)\n+        hidden = self.a(x)\n+        return self.b(hidden)',
    ],
    [
      'a type',
      '@@ -34 +34 @@\n-    def _mlp(self, x, y=None):\n+    def _mlp(self, x: Tensor, y: Optional[Tensor] = None) -> Tuple[Tensor, float32]:',
    ],
    [
      'types on lines of their own',
      '@@ -34,2 +34,2 @@\n-        x: Optional[Tensor] = None,\n-        pad: int = 3,\n+        x: Tensor | None = None,\n+        pad: "int" = 3,',
    ],
  ];

  it.each(harmless)('%s never comes first', (_, text) => {
    const weak = changed(
      LAYER,
      '@@ -230 +230 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, self.eps)',
    );
    const comparison = compared([changed(MLP, text), weak]);
    const ranked = rank({ comparison, sites: [grew(2, 'activation', inMlp())] });
    expect(ranked[0]!.file).toBe(LAYER);
    for (const one of ranked.filter(({ file }) => file === MLP)) expect(one.score).toBeLessThan(0.1);
  });

  it('neither does code that moved, within a file or to another', () => {
    const body = [
      '    def _mlp(self, x):',
      '        h = torch.zeros(self.n)',
      '        del x',
      '        return self.act(h).float()',
    ];
    const signed = (sign: string): string => body.map((line) => `${sign}${line}`).join('\n');
    const weak = changed(
      LAYER,
      '@@ -230 +230 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, self.eps)',
    );
    for (const to of [MLP, 'megatron/core/transformer/other.py']) {
      const from = changed(MLP, `@@ -132,4 +131,0 @@ class MLP:\n${signed('-')}`);
      const moved = changed(to, `@@ -31,0 +32,4 @@ class MLP:\n${signed('+')}`);
      const files = to === MLP ? [{ ...from, hunks: [...moved.hunks, ...from.hunks] }] : [from, moved];
      const b = stack(`_mlp transformer/${to.split('/').at(-1)}:33`, ...TRUNK);
      const ranked = rank({ comparison: compared([...files, weak]), sites: [grew(2, 'activation', b, inMlp(133))] });
      expect(ranked[0]!.file).toBe(LAYER);
    }
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
    const body = [
      '    def _mlp(self, x):',
      '        a = self.one(x)',
      '        b = self.two(a)',
      '        c = self.three(b)',
      '        d = self.four(c)',
      '        e = self.five(d)',
      '        return e',
    ];
    const after = body.with(4, '        d = self.four(c).clone()');
    const from = changed(MLP, `@@ -132,7 +231,0 @@ class MLP:\n${body.map((line) => `-${line}`).join('\n')}`);
    const to = changed(MLP, `@@ -31,0 +32,7 @@ class MLP:\n${after.map((line) => `+${line}`).join('\n')}`);
    const weak = changed(
      LAYER,
      '@@ -230 +230 @@ def forward(self, x):\n-        x = self.norm(x)\n+        x = self.norm(x, self.eps)',
    );
    const comparison = compared([{ ...from, hunks: [...to.hunks, ...from.hunks] }, weak]);
    const at = (line: number): Suspect =>
      rank({ comparison, sites: [grew(2, 'activation', inMlp(line), inMlp(line + 100))] })[0]!;
    expect(at(36)).toMatchObject({ file: MLP, lines: ['+        d = self.four(c).clone()'] });
    expect(at(36).score).toBeGreaterThan(0.8);
  });
});

describe('the list', () => {
  it('does not depend on the order of what it is made of', () => {
    const regression = plantRegression(11, 'line');
    const files = readChangedFiles(regression);
    const input = { components: regression.components, config: regression.config, totalDeltaBytes: regression.total };
    const ranked = rank({ ...input, comparison: compared(files, { commits: [] }), sites: regression.sites });
    const second = rank({
      ...input,
      config: regression.config.toReversed(),
      comparison: compared(files.toReversed(), { commits: [] }),
      sites: regression.sites.toReversed(),
    });
    expect(second).toEqual(ranked);
    expect(ranked.length).toBeGreaterThan(0);
  });

  it('is empty where nothing changed', () => {
    expect(rank({})).toEqual([]);
    expect(rank({ comparison: compared([]), sites: [grew(1, 'activation', inMlp())] })).toEqual([]);
  });

  it('is in descending order, scores between 0 and 1', () => {
    const regression = plantRegression(12, 'knob_yaml');
    const ranked = rank({
      comparison: compared(readChangedFiles(regression)),
      sites: regression.sites,
      components: regression.components,
      config: regression.config,
    });
    for (const [i, { score }] of ranked.entries()) {
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThanOrEqual(1);
      expect(score).toBeLessThanOrEqual(ranked[i - 1]?.score ?? 1);
    }
  });
});

/** A diff of whole files, for tests that need many hunks and no repository. */
function readChangedFiles({ before, after }: Regression): ChangedFile[] {
  return Object.keys(after).flatMap((path) => {
    const [a, b] = [(before[path] ?? '').split('\n'), after[path]!.split('\n')];
    const hunks = b.flatMap((line, i): ChangedHunk[] =>
      line === a[i]
        ? []
        : [
            {
              old_start: i + 1,
              old_lines: 1,
              new_start: i + 1,
              new_lines: 1,
              context: '',
              removed: [a[i] ?? ''],
              added: [line],
            },
          ],
    );
    return hunks.length === 0 ? [] : [{ ...changed(path), hunks }];
  });
}

describe('planted regressions', () => {
  const CASES = runs(0, 60);

  it('are found in at least 95 of 100, by the first suspect', async () => {
    const missed: string[] = [];
    for (let seed = 0; seed < CASES; seed += 1) {
      const plant = PLANTS[seed % PLANTS.length]!;
      const regression = plantRegression(seed * 7919 + 1, plant);
      const suspects = await suspectsOf(regression);
      expect(suspects.length).toBeGreaterThan(0);
      if (!isPlanted(regression, suspects[0]!)) missed.push(`${seed} ${plant}: ${JSON.stringify(suspects[0])}`);
    }
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(CASES * 0.05);
  });
});

async function suspectsOf(regression: Regression): Promise<Suspect[]> {
  const { before, after, sites, components, config, total } = regression;
  const first = repositoryAt(scratch());
  first.commit('before', before);
  const gone = Object.keys(before).filter((path) => !(path in after));
  first.commit('after', { ...Object.fromEntries(gone.map((path) => [path, null])), ...after });
  const repository = await openRepository(first.root, gitEnvironment());
  const comparison = await compareCommits(repository, 'HEAD~1', 'HEAD', isOfInterest(sites));
  return rank({ comparison, sites, components, config, totalDeltaBytes: total });
}

function isPlanted({ key, file, line }: Regression, suspect: Suspect): boolean {
  if (key !== null) return suspect.key === key && suspect.file === file;
  const [, start, lines] = /\+(\d+)(?:,(\d+))?/.exec(suspect.hunk ?? '') ?? [];
  if (suspect.file !== file || start === undefined) return false;
  // Lines that were only taken out lie between two.
  return line >= Number(start) - 1 && line <= Number(start) + Math.max(Number(lines ?? 1), 1);
}

describe('files of frames', () => {
  const matcher = (...paths: (string | [string, string])[]) => {
    const files = paths.map((path) =>
      typeof path === 'string' ? changed(path) : { ...changed(path[1]), submodule: path[0] },
    );
    return (frame: string): number[] => fileMatcher(files, 'new')(frame).map(({ file }) => file);
  };

  it.each<[string, (string | [string, string])[], number[]]>([
    ['/opt/megatron-lm/megatron/core/x.py', ['megatron/core/x.py'], [0]],
    ['/usr/lib/python3/dist-packages/megatron/core/x.py', ['megatron/core/x.py'], [0]],
    ['megatron/core/x.py', [['3rdparty/Megatron-LM', 'megatron/core/x.py']], [0]],
    [
      '/job/3rdparty/Megatron-LM/megatron/core/x.py',
      [['3rdparty/Megatron-LM', 'megatron/core/x.py'], 'megatron/core/x.py'],
      [0],
    ],
    ['/usr/lib/python3/dist-packages/megatron/bridge/x.py', ['src/megatron/bridge/x.py'], [0]],
    ['/opt/Megatron-Bridge/src/megatron/bridge/x.py', ['src/megatron/bridge/x.py'], [0]],
    ['/build/megatron/core/x.py', ['vendored/Megatron/megatron/core/x.py'], [0]],
    ['/job/train.py', ['train.py', 'megatron/train.py'], [0]],
    ['train.py', ['examples/gpt/train.py'], [0]],
    // Of another package, however alike.
    ['/usr/lib/python3/dist-packages/transformers/utils/utils.py', ['nemo/utils/utils.py'], []],
    ['/opt/conda/lib/python3.11/site-packages/torch/optim/optimizer.py', ['megatron/core/optim/optimizer.py'], []],
    ['/job/a/model.py', ['b/model.py'], []],
    ['<eval_with_key>.3', ['a.py'], []],
    ['/job/core/x.py', ['a/core/x.py', 'b/core/x.py'], [0, 1]],
  ])('%s is one of %j', (frame, paths, found) => {
    expect(matcher(...paths)(frame)).toEqual(found);
  });
});

describe('lines', () => {
  const kinds = (...lines: string[]): string[] => readLines(lines, 'python').map(({ kind }) => kind);

  it.each<[string[], string[]]>([
    [
      ['x = 1', '', '# x', 'import a', 'from a import b'],
      ['code', 'blank', 'comment', 'import', 'import'],
    ],
    [
      ['logger.info("x")', 'print(x)', 'assert x', 'raise E(x)'],
      ['log', 'log', 'check', 'check'],
    ],
    [
      ['        The hidden states of the layer.', '    Returns:', '        x (Tensor): its output'],
      ['prose', 'prose', 'prose'],
    ],
    [
      ['"""One line."""', 'x = 1'],
      ['prose', 'code'],
    ],
    [
      ['    """Begins here.', '', '    del x', '    """', '    y = f(x)'],
      ['prose', 'blank', 'prose', 'prose', 'code'],
    ],
    [
      ['    and ends there.', '    """', '    del x'],
      ['prose', 'prose', 'code'],
    ],
    [
      ['    """', '    del x'],
      ['prose', 'code'],
    ],
    [
      ['return x if y else z', 'for a in b:', 'with a as b:', 'not x', 'async def f(x):', 'yield from x'],
      Array(6).fill('code'),
    ],
    [['x = "two words here"', 'f(a, b)', 'del x, y', 'lambda x: y', '@torch.no_grad()'], Array(5).fill('code')],
    [['    "a message for people "'], ['prose']],
    [
      ['self.cache.clear()', 'x'],
      ['code', 'code'],
    ],
  ])('%j are %j', (lines, expected) => {
    expect(kinds(...lines)).toEqual(expected);
  });

  it('are read by the language of their file', () => {
    expect(['a/b.py', 'c.cu', 'd.yaml', 'README.md', 'requirements.txt', 'x.json'].map(languageOf)).toEqual([
      'python',
      'slash',
      'hash',
      'prose',
      'hash',
      'json',
    ]);
    expect(readLines(['a: 1 # x', '# y', 'two words'], 'hash').map(({ normal }) => normal)).toEqual([
      'a: 1',
      '',
      'two words',
    ]);
    expect(readLines(['x = 1; // y', '// z', ' * w'], 'slash').map(({ normal }) => normal)).toEqual(['x = 1;', '', '']);
  });

  it('are weighed without being run away with', () => {
    const long = `${'x(['.repeat(700)}a: b = "${"'".repeat(500)}`.slice(0, 2000);
    readChanges([
      changed(MLP, `@@ -1 +1 @@\n-${long}\n+${long}y`),
      changed('a.yaml', `@@ -1 +1 @@\n-${'a-.'.repeat(600)}\n+${'--a '.repeat(500)}`),
    ]);
    rank({
      comparison: compared([changed('a.sh', `@@ -1 +1 @@\n-${'a : b[| '.repeat(250)}\n+${'--a=['.repeat(400)}`)]),
    });
  });

  it('sums up to what is small next to a gigabyte', () => {
    const comparison = compared([
      changed(MLP, '@@ -34 +34 @@ def _mlp(self, x):\n-        h = self.a(x)\n+        h = self.a(x).clone()'),
    ]);
    const [first] = rank({ comparison, sites: [{ ...grew(0, 'activation', inMlp()), delta_bytes: 3 * MIB }] });
    expect(first!.reason).toContain('3.00 MiB of 3.00 MiB');
  });
});
