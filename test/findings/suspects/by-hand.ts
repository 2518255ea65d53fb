/** What `rankSuspects` is given: comparisons of commits, call sites and components, written by hand. */
import { expect } from 'vitest';
import type { Frame } from '../../../src/attribution/frames/call-site.js';
import type { GrownSite } from '../../../src/findings/diff/grown-sites.js';
import { rankSuspects, type SuspectInput } from '../../../src/findings/suspects/rank-suspects.js';
import type { ChangedFile, ChangedHunk, CommitComparison } from '../../../src/model/git.js';
import type { Suspect } from '../../../src/model/results/compare.js';
import { GIB } from '../../../src/model/units.js';
import type { Component } from '../../../src/model/vocabulary.js';
import { worded } from '../../../src/report/words/worded.js';

/** `@@ -12 +12,2 @@ def f(x):` with lines as a diff has them. */
export function hunk(text: string): ChangedHunk {
  const [head, ...lines] = text.replace(/^\n/, '').replace(/\n *$/, '').split('\n');
  const [, a, n, b, m, context] = /^ *@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(head!)!;
  const side = (sign: string): string[] =>
    lines
      .map((line) => line.replace(/^ {6}(?=[-+])/, ''))
      .flatMap((line) => (line.startsWith(sign) ? [line.slice(1)] : []));
  const made = { removed: side('-'), added: side('+'), context: context ?? '' };
  const [old_lines, new_lines] = [Number(n ?? 1), Number(m ?? 1)];
  expect([made.removed.length, made.added.length]).toEqual([old_lines, new_lines]);
  return { old_start: Number(a), old_lines, new_start: Number(b), new_lines, ...made };
}

export const changed = (path: string, ...hunks: string[]): ChangedFile => ({
  ...{ old_path: path, new_path: path, submodule: '', similarity: null, binary: false },
  hunks: hunks.map(hunk),
});

export const compared = (files: ChangedFile[], more: Partial<CommitComparison> = {}): CommitComparison => ({
  ...{ from: 'a'.repeat(40), to: 'b'.repeat(40), is_ancestor: true, submodules: [] },
  commits: files.map(({ new_path, submodule }, i) => ({
    ...{ sha: String(i).repeat(40), parents: [], subject: `change ${i}`, time_s: 0 },
    paths: [submodule === '' ? (new_path ?? '') : submodule],
  })),
  files,
  ...more,
});

const CORE = '/opt/megatron-lm/megatron/core/';
/** `_mlp transformer/mlp.py:34`, innermost first. */
export const stack = (...frames: string[]): Frame[] =>
  frames.map((text) => {
    const [, name, path, line] = /^(\S+) (\S+):(\d+)$/.exec(text)!;
    return { name: name!, filename: /^[/]|^torch/.test(path!) ? path! : `${CORE}${path}`, line: Number(line) };
  });

export const grew = (gib: number, component: Component | null, b: Frame[], a: Frame[] = b): GrownSite => ({
  ...{ delta_bytes: gib * GIB, component },
  ...{ a_frames: a, b_frames: b },
});

export const rank = (input: Partial<SuspectInput>): Suspect[] =>
  worded(
    rankSuspects({
      ...{ comparison: null, sites: [], components: [], config: [], env: [], versions: [], totalDeltaBytes: null },
      ...{ direction: 'memory', failure: null, ...input },
    }),
  );

export const MLP = 'megatron/core/transformer/mlp.py';
export const LAYER = 'megatron/core/transformer/transformer_layer.py';
export const TRUNK = [
  'forward transformer/transformer_layer.py:210',
  'forward models/gpt/gpt_model.py:90',
  'train_step /opt/megatron-lm/megatron/training/training.py:700',
];
export const inMlp = (line = 34): Frame[] =>
  stack(`_mlp transformer/mlp.py:${line}`, `forward transformer/mlp.py:60`, ...TRUNK);
