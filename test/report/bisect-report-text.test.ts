/** What is printed of a bisection, as text and as Markdown. */
import { describe, expect, it } from 'vitest';
import type { BisectReportResult } from '../../src/model/results/bisect.js';
import { bisectReportMarkdown, bisectReportText } from '../../src/report/compare/bisect-report-text.js';
import { bisectReport, HOSTILE, hostileCompare, SHA_CURRENT, SHA_GOLDEN } from '../support/compare-results.js';
import { expectSoundMarkdown } from '../support/sound-markdown.js';

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
  it('names the culprit, what it changed, and how it was found', () => {
    expect(bisectReportText(bisectReport())).toBe(`\
BISECT  found                                                                        confidence high
        abc1234 Keep the MLP input for the backward pass
        judged on memory against golden nightly; the culprit by 2 runs
        both neighbours were judged, the culprit twice

judged commits, oldest first, by their distance to the first: peak allocated
      +0  d34db33  good  ███████████████                 54.80 GiB
     +10  1111111  skip
     +20  abc1234  bad   ██████████████████████████████  58.10 GiB  first bad

from d34db33 to abc1234: +3.30 GiB at the peak
  check              before      after     change          tolerance  status
  peak_allocated  54.80 GiB  58.10 GiB  +3.30 GiB  +6.0 %        2 %  regression

of which    activation +3.30 GiB, workspace -32.00 MiB

     change    before     after   blocks  call site that grew
  +3.30 GiB  4.00 GiB  7.30 GiB  32 → 64  forward megatron/core/transformer/mlp.py:123
                                            +3.30 GiB _forward_mlp …/transformer_layer.py:640
  1 site shrank by 32.00 MiB

settings that differ, before → after
  recompute_granularity: full → (not set)

suspects, the likeliest first
   1  0.92  3rdparty/Megatron-LM/megatron/core/transformer/mlp.py
            @@ -120,3 +121,4 @@ def forward(self, hidden_states):
            it changes the lines of the call site that grew most
              -        del hidden_states
              +        self.saved = hidden_states
            abc1234 Keep the MLP input for the backward pass

commits judged, in this order
  skip  1111111 Bump the container
        NCCL timeout before the first iteration
  bad   abc1234 Keep the MLP input for the backward pass
        peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2 % (2 runs)
  good  d34db33 Rename a test
        peak allocated 54.8 GiB: as golden
`);
  });

  it('names all that skipped commits leave in question', () => {
    expect(bisectReportText(SKIPPED)).toBe(`\
BISECT  one of 2 commits                                                              confidence low
        judged on memory against golden nightly
        a commit was skipped

one of these is the first bad commit
  d34db33 Rename a test
    skipped: it does not build
  abc1234 Keep the MLP input

no commit was judged
`);
  });

  it('reports that it is not finished', () => {
    expect(bisectReportText(UNFINISHED)).toMatch(/^BISECT {2}not finished +confidence low\n/);
    const left = { ...SKIPPED, state: 'unfinished' as const };
    expect(bisectReportText(left)).toMatch(/^BISECT {2}not finished: 2 commits left /);
    expect(bisectReportText(left)).toContain('\nnot judged yet\n');
  });

  it('fits the screen', () => {
    for (const result of [hostile(), SKIPPED, UNFINISHED]) {
      const text = bisectReportText(result);
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
      /^## mbforensics bisect: found\n\n- abc1234 Keep the MLP input for the backward pass\n- judged on memory .*\n- confidence high: both /,
    );
  });

  it('is sound whatever it holds', () => {
    for (const result of [bisectReport(), hostile(), SKIPPED, UNFINISHED])
      expectSoundMarkdown(bisectReportMarkdown(result));
    expect(bisectReportMarkdown(SKIPPED)).toContain('One of these is the first bad commit:\n\n- <code>d34db33</code>');
  });
});
