/** The lines of `triage`: what `git bisect run` leaves in its log. */
import { describe, expect, it } from 'vitest';
import { judgementSentence, triageText } from '../../src/report/compare/triage-text.js';
import { HOSTILE, triage } from '../support/compare-results.js';

describe('triageText', () => {
  it('ends in the judgement', () => {
    expect(triageText(triage())).toBe(`\
bad  (memory)  peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2 %
  run run-17 (commit abc1234), golden nightly
  rank 0 prints max_allocated 59494.4 MB after iteration 2  [run-17/train.log:812]
  three golden runs lie between 54.79 and 54.81 GiB  [golden nightly]
bad: peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2 %
`);
  });

  it('needs no evidence, and no commit', () => {
    const skipped = triage({
      judgement: 'skip',
      reason: 'the log ends before iteration 1',
      commit: null,
      evidence: [],
    });
    expect(triageText(skipped)).toBe(`\
skip  (memory)  the log ends before iteration 1
  run run-17, golden nightly
skip: the log ends before iteration 1
`);
  });

  it('breaks every line but the last', () => {
    const long = triage({
      reason: `${'word '.repeat(60)}${HOSTILE}`,
      run: HOSTILE,
      commit: HOSTILE,
      golden: HOSTILE,
      criterion: HOSTILE,
      evidence: [{ text: `${HOSTILE} ${'x'.repeat(300)}`, source: HOSTILE }],
    });
    const lines = triageText(long).trimEnd().split('\n');
    for (const line of lines.slice(0, -1)) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(lines.at(-1)).toBe(judgementSentence(long));
    expect(lines.at(-1)).toMatch(/^bad: word word .*all \$x\$/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
    expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });
});
