/** Markdown of a comparison: what decides is in sight, and no text of a log becomes markup. */
import { describe, expect, it } from 'vitest';
import type { CompareResult } from '../../src/model/results/compare.js';
import { compareDocument } from '../../src/report/compare/compare-document.js';
import { mdFence, mdLine, mdText } from '../../src/report/markdown.js';
import { documentMarkdown } from '../../src/report/render/markdown.js';
import { goldenFile } from '../screens/golden-file.js';
import { bridge, emptyCompare, HOSTILE, hostileCompare, refused, regression } from '../support/compare-results.js';
import { expectSoundMarkdown } from '../support/sound-markdown.js';

const compareMarkdown = (result: CompareResult): string => documentMarkdown(compareDocument(result));

describe('compareMarkdown', () => {
  it('puts the verdict first and folds the rest', async () => {
    await expect(compareMarkdown(bridge())).toMatchFileSnapshot(goldenFile('compare.md'));
  });

  it('explains why nothing was judged', () => {
    const text = compareMarkdown(refused());
    expect(text).toContain('\n**Refused**: not comparable: num\\_layers 32 → 64');
    expect(text).toContain('no figure was judged; --force compares them nevertheless\n');
    expect(text).toContain('### Contract\n');
    expect(text).toContain('| **blocking** | model | <code>num\\_layers</code> | <code>32</code> | <code>64</code> |');
  });

  it('has a section for whatever there is', () => {
    const text = compareMarkdown(regression());
    const sections = [...text.matchAll(/<summary>(.*)<\/summary>/g)].map(([, title]) => title);
    expect(sections).toEqual([
      'Contract',
      'Informative',
      'Components',
      'Call sites',
      'Settings: 1 differs',
      'Environment: 2 differ',
    ]);
    expect(text).toContain('### Suspects, the likeliest first\n\n| score | suspect |');
    // A component that did not change is in no row, and a stage unlike the total is one of those that are counted.
    const rows = regression().checks.filter(({ name }) => name !== 'component:parameter' && !name.endsWith('stage 1'));
    for (const { name } of rows) expect(text).toContain(`<code>${mdText(name)}`);
    expect(text).toContain('the others: 1 pass');
    expect(text).toContain('<br><code>- del hidden\\_states</code><br><code>+ self.saved = hidden\\_states</code><br>');
    expect(text.trimEnd().endsWith('- the snapshots are of rank 0 alone')).toBe(true);
  });

  it.each([
    ['a regression', regression()],
    ['a refusal', refused()],
    ['a preset', bridge()],
    ['nothing', emptyCompare()],
  ])('is sound for %s, hostile texts or not', (_, result) => {
    expectSoundMarkdown(compareMarkdown(result));
    const hostile = compareMarkdown(hostileCompare(result));
    expectSoundMarkdown(hostile);
    expect(hostile).toContain('&lt;script&gt;');
  });
});

describe('markdown', () => {
  it('escapes what means something', () => {
    expect(mdText(HOSTILE)).toBe(
      '\\\\x1b\\[31m\\|\\`&lt;script&gt;alert(1)&lt;/script&gt;\\`\\| \\# heading \\]\\]&gt; &amp; "q" \'s\' \\*\\*b\\*\\* \\_i\\_ \\[x\\](http&#58;//e.vil) &#64;all &#36;x&#36; \\\\x00\\\\u\\{d800\\}\\\\u\\{fffe\\}',
    );
    expect(mdLine('- item')).toBe('\\- item');
    expect(mdLine('1. item')).toBe('1\\. item');
    expect(mdText('see www.e.vil')).toBe('see www&#46;e.vil');
    expect(mdText('x'.repeat(3_000))).toHaveLength(2_000);
  });

  it('fences what holds fences', () => {
    expect(mdFence(['a ```` b', 'c'], 'diff')).toEqual(['`````diff', 'a ```` b', 'c', '`````']);
    expect(mdFence([], '')).toEqual(['```', '```']);
  });
});
