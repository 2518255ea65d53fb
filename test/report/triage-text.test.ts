/** The lines of `triage`: what `git bisect run` leaves in its log. */
import { describe, expect, it } from 'vitest';
import { judgementSentence, triageText } from '../../src/report/compare/triage-text.js';
import { goldenFile } from '../screens/golden-file.js';
import { HOSTILE, triage } from '../support/compare-results.js';

describe('triageText', () => {
  it('ends in the judgement', async () => {
    await expect(triageText(triage())).toMatchFileSnapshot(goldenFile('triage.txt'));
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
