/** The lines of `triage`: what `git bisect run` leaves in its log. */
import { describe, expect, it } from 'vitest';
import { escapeControls } from '../../src/model/escape-controls.js';
import type { TriageResult } from '../../src/model/results/compare.js';
import { judgementSentence, triageDocument } from '../../src/report/compare/triage-document.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentText } from '../../src/report/render/text.js';
import { goldenFile } from '../screens/golden-file.js';
import { HOSTILE, triage } from '../support/compare-results.js';

const triageText = (result: TriageResult): string => documentText(triageDocument(result));

describe('triageDocument', () => {
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
skip (memory)
the log ends before iteration 1
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
    // A word that is longer than a line is not cut.
    const wrapped = lines.slice(0, -1).filter((line) => /\S\s+\S/.test(line.trim()));
    for (const line of wrapped) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(lines.at(-1)).toBe(escapeControls(judgementSentence(long)));
    expect(documentJson(triageDocument(long))).toMatchObject({ judgement: 'bad', evidence: [{ source: HOSTILE }] });
    expect(lines.at(-1)).toMatch(/^bad: word word .*all \$x\$/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
    expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });
});
