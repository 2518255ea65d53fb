/** Markdown of a comparison: what decides is in sight, and no text of a log becomes markup. */
import { describe, expect, it } from 'vitest';
import { compareMarkdown } from '../../src/report/compare/compare-markdown.js';
import { mdFence, mdLine, mdText } from '../../src/report/markdown.js';
import { bridge, emptyCompare, HOSTILE, hostileCompare, refused, regression } from '../support/compare-results.js';
import { expectSoundMarkdown } from '../support/sound-markdown.js';

describe('compareMarkdown', () => {
  it('puts the verdict first and folds the rest', () => {
    expect(compareMarkdown(bridge())).toBe(`\
## mbforensics: regression

run-17 (commit abc1234) against file golden/llama3\\_70b.json, preset bridge

GPU utilization −6.1 %; max\\_alloc +6.0 %; max\\_reserved: the current values have none

| check | golden | current | change | tolerance | status | remark |
| --- | ---: | ---: | ---: | ---: | --- | --- |
| <code>GPU utilization (TFLOP/s/GPU)</code> | 709.93 | 666.48 | -43.45, -6.1 % | 5 % | **regression** | mean of steps 35 to 49<br><code>REGRESSION: GPU util dropped 6.12% (current=666.4800%, golden=709.9300%, threshold=5.0%)</code> |
| <code>alloc</code> | 20.5 GB | 20.6 GB | +0.1 GB, +0.49 % | 5 % | pass |  |
| <code>max\\_alloc</code> | 55 GB | 58.3 GB | +3.3 GB, +6.0 % | 5 % | **regression** | <code>Memory validation FAILED: 6.00% &gt; 5.0%</code> |
| <code>max\\_reserved</code> | 60 GB | — | — | 5 % | **regression** | the current values have none, which fails upstream<br><code>Max reserved validation FAILED: metric not found in current logs</code> |

<details><summary>contract: no difference</summary>

- same: model, workload, layout, device, precision
- unknown in one of the two: revision

</details>
`);
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
