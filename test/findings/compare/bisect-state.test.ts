/** Where a bisection stands, by its marks and by what a good commit clears. */
import { describe, expect, it } from 'vitest';
import { knownMarks, progressOf } from '../../../src/findings/compare/bisect/bisect-state.js';
import { criterionText, parseCriterion } from '../../../src/findings/compare/bisect/criterion.js';
import type { CommitInfo } from '../../../src/model/git.js';

const commits = (shas: string): CommitInfo[] => [...shas].map((sha) => ({ sha, parents: [], subject: sha, time_s: 0 }));

describe('a bisection', () => {
  // Of several bad commits the nearest to the good ones counts.
  it.each([
    ['is over when one commit is left', '', ['c'], { state: 'found', culprit: { sha: 'c' } }, ''],
    ['is over when all reach one commit', '', ['edc', 'c'], { state: 'found', culprit: { sha: 'c' } }, ''],
    [
      'has suspects when only skipped ones are left, oldest first',
      'bc',
      ['dcb'],
      { state: 'suspects', culprit: null, bad: { sha: 'd' } },
      'bcd',
    ],
    ['goes on while others are left', 'b', ['dcb'], { state: 'unfinished' }, null],
    ['has not begun without a bad commit', '', [], { state: 'unfinished', bad: null }, null],
  ])('%s', (_, skipped, reach, expected, left) => {
    const marks = [...skipped].map((sha) => ({ sha, judgement: 'skip' as const, reason: 'x' }));
    const progress = progressOf(marks, reach.map(commits));
    expect(progress).toMatchObject(expected);
    if (left !== null) expect(progress.left.map(({ sha }) => sha).join('')).toBe(left);
  });

  it('takes the mark of git for a commit that both judged', () => {
    const good = (sha: string) => ({ mark: 'good' as const, sha });
    const log = { terms: { good: 'good', bad: 'bad' }, first_bad: null, possible: [], marks: [good('a'), good('b')] };
    const fine = { sha: 'a', judgement: 'good', reason: 'fine' } as const;
    const lost = { sha: 'c', judgement: 'skip', reason: 'lost' } as const;
    const known = knownMarks(log, [fine, { sha: 'b', judgement: 'bad', reason: 'ours' }, lost]);
    expect(known).toEqual([fine, { sha: 'b', judgement: 'good', reason: null }, lost]);
    expect(knownMarks(undefined, [])).toEqual([]);
  });

  it.each(['oom', 'memory', 'throughput', 'component:logits_loss', 'site:mlp.py:12', 'cause:leak'])(
    'has the criterion %s',
    (text) => expect(criterionText(parseCriterion(text))).toBe(text),
  );
  it.each(['', 'OOM', 'component', 'component:', 'component:logits', 'site:', 'cause:undecided', 'loss'])(
    'does not have the criterion %j',
    (text) => expect(() => parseCriterion(text)).toThrow(/criterion|one of/),
  );
});
