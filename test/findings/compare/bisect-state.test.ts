/** Where a bisection stands, by its marks and by what a good commit clears. */
import { describe, expect, it } from 'vitest';
import { knownMarks, progressOf } from '../../../src/findings/compare/bisect/bisect-state.js';
import { criterionText, parseCriterion } from '../../../src/findings/compare/bisect/criterion.js';
import type { CommitInfo } from '../../../src/model/git.js';

const commits = (...shas: string[]): CommitInfo[] => shas.map((sha) => ({ sha, parents: [], subject: sha, time_s: 0 }));

describe('a bisection', () => {
  it('is over when one commit is left', () => {
    expect(progressOf([], [commits('c')])).toMatchObject({ state: 'found', culprit: { sha: 'c' }, left: [] });
    // Of several bad commits the nearest to the good ones counts.
    expect(progressOf([], [commits('e', 'd', 'c'), commits('c')])).toMatchObject({
      state: 'found',
      culprit: { sha: 'c' },
    });
  });

  it('has suspects when only skipped ones are left, oldest first', () => {
    const skip = (sha: string) => ({ sha, judgement: 'skip' as const, reason: 'x' });
    const reach = [commits('d', 'c', 'b')];
    expect(progressOf([skip('b'), skip('c')], reach)).toMatchObject({
      state: 'suspects',
      culprit: null,
      bad: { sha: 'd' },
    });
    expect(progressOf([skip('b'), skip('c')], reach).left.map(({ sha }) => sha)).toEqual(['b', 'c', 'd']);
    expect(progressOf([skip('b')], reach)).toMatchObject({ state: 'unfinished' });
    expect(progressOf([], [])).toMatchObject({ state: 'unfinished', bad: null });
  });

  it('believes whoever spoke last', () => {
    const log = {
      terms: { good: 'good', bad: 'bad' },
      first_bad: null,
      possible: [],
      marks: [
        { mark: 'good' as const, sha: 'a' },
        { mark: 'good' as const, sha: 'b' },
      ],
    };
    expect(
      knownMarks(log, [
        { sha: 'a', judgement: 'good', reason: 'fine' },
        { sha: 'b', judgement: 'bad', reason: 'ours' },
        { sha: 'c', judgement: 'skip', reason: 'lost' },
      ]),
    ).toEqual([
      { sha: 'a', judgement: 'good', reason: 'fine' },
      { sha: 'b', judgement: 'good', reason: null },
      { sha: 'c', judgement: 'skip', reason: 'lost' },
    ]);
    expect(knownMarks(undefined, [])).toEqual([]);
  });

  it.each(['oom', 'memory', 'throughput', 'component:logits_loss', 'site:mlp.py:12', 'cause:leak'])(
    'hunts %s',
    (text) => {
      expect(criterionText(parseCriterion(text))).toBe(text);
    },
  );
  it.each(['', 'OOM', 'component', 'component:', 'component:logits', 'site:', 'cause:undecided', 'loss'])(
    'does not hunt %j',
    (text) => {
      expect(() => parseCriterion(text)).toThrow(/criterion|one of/);
    },
  );
});
