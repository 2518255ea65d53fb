/** Markdown of a comparison: what decides is in sight, and no text of a log becomes markup. */
import { describe, expect, it } from 'vitest';
import { compareMarkdown } from '../../src/report/compare/compare-markdown.js';
import { mdFence, mdLine, mdText } from '../../src/report/markdown.js';
import { goldenFile } from '../screens/golden-file.js';
import { bridge, emptyCompare, HOSTILE, hostileCompare, refused, regression } from '../support/compare-results.js';
import { expectSoundMarkdown } from '../support/sound-markdown.js';

describe('compareMarkdown', () => {
  it('puts the verdict first and folds the rest', async () => {
    await expect(compareMarkdown(bridge())).toMatchFileSnapshot(goldenFile('compare.md'));
  });

  it('explains why nothing was judged', () => {
    const text = compareMarkdown(refused());
    expect(text).toContain('\n**refused**: not comparable: num\\_layers 32 → 64');
    expect(text).toContain('no figure was judged; --force compares them nevertheless\n');
    expect(text).toContain('<summary>contract: 3 differences, 2 blocking</summary>');
    expect(text).toContain('| **blocking** | model | <code>num\\_layers</code> | <code>32</code> | <code>64</code> |');
  });

  it('has a section for whatever there is', () => {
    const text = compareMarkdown(regression());
    const sections = [...text.matchAll(/<summary>(.*)<\/summary>/g)].map(([, title]) => title);
    expect(sections).toEqual([
      'contract: 1 difference',
      'informative: 4 checks',
      'components: 2 differ',
      'call sites: 1 grew',
      'settings: 1 differs',
      'environment: 2 differ',
      'suspects: 2, the likeliest first',
    ]);
    for (const { name } of regression().checks) expect(text).toContain(mdText(name));
    expect(text).toContain(
      '\n   ```diff\n   -        del hidden_states\n   +        self.saved = hidden_states\n   ```\n',
    );
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
