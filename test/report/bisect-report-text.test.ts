/** What is printed of a bisection, as text and as Markdown. */
import { describe, expect, it } from 'vitest';
import type { BisectReportResult } from '../../src/model/results/bisect.js';
import { bisectDocument } from '../../src/report/compare/bisect-document.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentMarkdown } from '../../src/report/render/markdown.js';
import { documentText } from '../../src/report/render/text.js';
import { goldenFile } from '../screens/golden-file.js';
import { bisectReport, HOSTILE, hostileCompare, SHA_CURRENT, SHA_GOLDEN } from '../support/compare-results.js';
import { expectSoundMarkdown } from '../support/sound-markdown.js';

const bisectReportText = (result: BisectReportResult): string => documentText(bisectDocument(result));
const bisectReportMarkdown = (result: BisectReportResult): string => documentMarkdown(bisectDocument(result));

const NOTHING: Partial<BisectReportResult> = {
  culprit: null,
  steps: [],
  before: null,
  after: null,
  total_delta_bytes: null,
  components: [],
  sites: [],
  checks: [],
  config: [],
  suspects: [],
  confidence: 'low',
  confidence_reason: '',
};

const SKIPPED = bisectReport({
  ...NOTHING,
  state: 'suspects',
  suspects_left: [
    { sha: SHA_GOLDEN, subject: 'Rename a test', why_skipped: 'it does not build' },
    { sha: SHA_CURRENT, subject: 'Keep the MLP input', why_skipped: null },
  ],
  confidence_reason: 'a commit was skipped',
});

const UNFINISHED = bisectReport({ ...NOTHING, state: 'unfinished' });

function hostile(): BisectReportResult {
  const h = HOSTILE;
  const { sites, config, suspects, checks } = hostileCompare();
  const commit = { sha: h, subject: h };
  return bisectReport({
    criterion: h,
    golden: h,
    culprit: { ...commit, judged_runs: 1 },
    suspects_left: [{ ...commit, why_skipped: h }],
    steps: [{ ...commit, judgement: 'bad', runs: 1, reason: h, bundle: h, place: null, figure: null }],
    before: { sha: h, run: h },
    after: { sha: h, run: h },
    sites,
    config,
    suspects,
    checks,
    confidence_reason: h,
    notes: [h],
  });
}

describe('bisectReportText', () => {
  it('names the culprit, what it changed, and how it was found', async () => {
    await expect(bisectReportText(bisectReport())).toMatchFileSnapshot(goldenFile('bisect-found.txt'));
  });

  it('names all that skipped commits leave in question', async () => {
    await expect(bisectReportText(SKIPPED)).toMatchFileSnapshot(goldenFile('bisect-skipped.txt'));
  });

  it('reports that it is not finished', () => {
    expect(bisectReportText(UNFINISHED)).toMatch(/^bisect: not finished, confidence low\n/);
    const left = { ...SKIPPED, state: 'unfinished' as const };
    expect(bisectReportText(left)).toMatch(/^bisect: not finished: 2 commits left, /);
    expect(bisectReportText(left)).toContain('\nNot judged yet\n');
  });

  it('fits the screen', () => {
    for (const result of [hostile(), SKIPPED, UNFINISHED]) {
      const text = bisectReportText(result);
      documentJson(bisectDocument(result));
      for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
      expect(text).not.toMatch(/undefined|NaN|\bnull\b/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }
  });
});

describe('bisectReportMarkdown', () => {
  it('begins with the culprit', () => {
    expect(bisectReportMarkdown(bisectReport())).toMatch(
      /^## bisect: found, confidence high\n\n\*\*<code>abc1234<\/code> Keep the MLP input for the backward pass\*\*\n\njudged on memory .*\n\nboth /,
    );
  });

  it('is sound whatever it holds', () => {
    for (const result of [bisectReport(), hostile(), SKIPPED, UNFINISHED])
      expectSoundMarkdown(bisectReportMarkdown(result));
    expect(bisectReportMarkdown(SKIPPED)).toMatch(
      /### One of these is the first bad commit\n\n.*\n.*\n\| <code>d34db33<\/code> \|/,
    );
  });
});
