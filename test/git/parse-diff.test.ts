/** Texts of git as pure functions read them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommits } from '../../src/git/commits.js';
import { parseDiff, quotePath, unquotePath } from '../../src/git/parse-diff.js';
import { SEED } from '../support/level.js';

const ID = 'a'.repeat(40);
const NONE = '0'.repeat(40);

describe('paths', () => {
  it.each([
    ['plain.py', 'plain.py'],
    ['"a\\tb.py"', 'a\tb.py'],
    ['"say \\"hi\\".py"', 'say "hi".py'],
    ['"\\303\\274.py"', 'ü.py'],
    ['"back\\\\slash"', 'back\\slash'],
    ['"\\001\\177"', '\x01\x7f'],
  ])('%s is %j', (text, path) => {
    expect(unquotePath(text)).toBe(path);
  });

  it('are quoted so that they read the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        fc.pre(!/\p{Surrogate}/u.test(path) && !/^".*"$/s.test(path));
        expect(unquotePath(quotePath(path))).toBe(path);
        expect(quotePath(path)).not.toMatch(/[\n\t]/);
      }),
      { seed: SEED },
    );
  });
});

describe('parseDiff', () => {
  const raw = `:100644 100644 ${ID} ${ID} M\tm.py\n:000000 100644 ${NONE} ${ID} A\tn.py\n`;
  const first =
    'diff --git a/m.py b/m.py\nindex 1..2 100644\n--- a/m.py\n+++ b/m.py\n@@ -3 +3,2 @@ def f():\n-a\n+b\n+c\n';
  const second = 'diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\n';

  it('reads hunks to their files', () => {
    const { files, isCut } = parseDiff(`${raw}\n${first}${second}`);
    expect(isCut).toBe(false);
    expect(files).toMatchObject([
      {
        old_path: 'm.py',
        new_path: 'm.py',
        hunks: [{ old_start: 3, context: 'def f():', removed: ['a'], added: ['b', 'c'] }],
      },
      { old_path: null, new_path: 'n.py', hunks: [{ old_start: 0, old_lines: 0, new_start: 1, context: '' }] },
    ]);
  });

  it('keeps the content of a text that ends anywhere', () => {
    const complete = `${raw}\n${first}${second}`;
    const all = parseDiff(complete).files;
    for (let end = 0; end <= complete.length; end += 1) {
      const { files } = parseDiff(complete.slice(0, end), true);
      files.forEach((file, i) => {
        expect(file.new_path).toBe(all[i]!.new_path);
        file.hunks.forEach((hunk, k) => {
          expect(all[i]!.hunks[k]!.added.slice(0, hunk.added.length)).toEqual(hunk.added);
        });
      });
    }
    expect(parseDiff(`${raw}\n${first.slice(0, -3)}`).isCut).toBe(true);
  });

  it('does not put hunks of an unlisted file to another', () => {
    const stray = first.replaceAll('m.py', 'q.py');
    expect(parseDiff(`${raw}\n${stray}${second}`).files.map(({ hunks }) => hunks.length)).toEqual([0, 1]);
  });

  it('keeps the places of hunks beyond the limit', () => {
    const { files, isCut } = parseDiff(`${raw}\n${first}${second}`, false, 2);
    expect(isCut).toBe(true);
    expect(files.flatMap(({ hunks }) => hunks)).toMatchObject([
      { new_lines: 2, removed: ['a'], added: ['b'] },
      { new_lines: 1, removed: [], added: [] },
    ]);
  });

  it('reads edits before rewrites, these before added and deleted files, and what is asked for before all', () => {
    const header = (path: string, status: string): string =>
      `:${status === 'A' ? '000000' : '100644'} ${status === 'D' ? '000000' : '100644'} ${ID} ${ID} ${status}\t${path}\n`;
    const long = (path: string, lines: number, at: string): string =>
      `diff --git a/${path} b/${path}\n@@ ${at} @@\n${'+x\n'.repeat(lines)}`;
    const text = [
      ...[header('a.py', 'A'), header('b.py', 'M'), header('c.py', 'M'), header('d.csv', 'M'), '\n'],
      ...[long('a.py', 3, '-0,0 +1,3'), long('b.py', 50, '-0,0 +1,50'), long('c.py', 2, '-0,0 +1,2')],
      long('d.csv', 500, '-0,0 +1,500'),
    ].join('');
    const kept = (most: number, isFirst?: (path: string) => boolean): number[] =>
      parseDiff(text, false, most, isFirst).files.map(({ hunks }) => hunks[0]!.added.length);
    expect(kept(2)).toEqual([0, 0, 2, 0]);
    expect(kept(52)).toEqual([0, 50, 2, 0]);
    expect(kept(552)).toEqual([0, 50, 2, 500]);
    expect(kept(555)).toEqual([3, 50, 2, 500]);
    expect(kept(3, (path) => path === 'a.py')).toEqual([3, 0, 0, 0]);
  });

  it('reads lines of context, which `GIT_DIFF_OPTS` may bring, as of both sides', () => {
    const text = `${raw}\ndiff --git a/m.py b/m.py\n@@ -1,3 +1,3 @@\n x\n-a\n+b\n y\n`;
    expect(parseDiff(text).files[0]!.hunks).toMatchObject([{ removed: ['x', 'a', 'y'], added: ['x', 'b', 'y'] }]);
  });

  it('survives any text', () => {
    const piece = fc.oneof(
      fc.constantFrom(raw, first, second, '@@ -1 +1 @@\n', '-a\n', '+b\n', '\n', 'diff --git ', ':100644 '),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(parseDiff(pieces.join('')).files).toBeInstanceOf(Array);
      }),
      { seed: SEED },
    );
  });
});

describe('parseCommits', () => {
  const entry = (sha: string, subject: string, ...paths: string[]): string => {
    const names = paths.length === 0 ? [] : ['', `\n${paths[0]}`, ...paths.slice(1)];
    return [`\u0001${sha}`, ID, '1700000000', subject, ...names, ''].join('\0');
  };

  it('reads ids, parents, times, subjects and paths', () => {
    const text = `${entry('1'.repeat(40), 'one', 'a b', '\nodd', 'x')}${entry('2'.repeat(64), '')}${entry('3'.repeat(40), 'three')}`;
    expect(parseCommits(text)).toEqual([
      { sha: '1'.repeat(40), parents: [ID], subject: 'one', time_s: 1_700_000_000, paths: ['a b', '\nodd', 'x'] },
      { sha: '2'.repeat(64), parents: [ID], subject: '', time_s: 1_700_000_000, paths: [] },
      { sha: '3'.repeat(40), parents: [ID], subject: 'three', time_s: 1_700_000_000, paths: [] },
    ]);
    expect(parseCommits(text, true)).toHaveLength(2);
    expect(parseCommits('')).toEqual([]);
  });
});
