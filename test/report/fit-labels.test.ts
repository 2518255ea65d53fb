/** Labels of a table, shortened: two different ones never become equal. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitLabels } from '../../src/report/plain-text.js';

describe('labels of a table', () => {
  it('keep the end of a place and both ends of a name', () => {
    expect(fitLabels(['forward models/llama/modeling_llama.py:123'], 24)).toEqual(['…a/modeling_llama.py:123']);
    expect(fitLabels(['AddmmBackward0 (autograd engine, no Python frames)'], 24)[0]).toMatch(
      /^AddmmBackwar….*frames\)$/,
    );
    expect(fitLabels(['short', 'short'], 24)).toEqual(['short', 'short']);
  });

  it('show what differs where their ends are equal', () => {
    const long = 'x/'.repeat(30);
    const [one, two] = fitLabels([`load ${long}model.py:12`, `save ${long}model.py:12`], 20) as [string, string];
    expect(one).not.toBe(two);
    expect(two).toContain('save');
    const middle = fitLabels(
      [`f ${long}first/${long}a.py`, `f ${long}other/${long}a.py`, `f ${long}third/${long}a.py`],
      30,
    );
    expect(new Set(middle).size).toBe(3);
    expect(middle[2]).toContain('third');
  });

  it('stay different and within their widths, and are equal where the labels are', () => {
    const label = fc
      .array(fc.constantFrom('a', 'b', '/', ' ', '(', ')', '.py', ':1'), { maxLength: 60 })
      .map((p) => p.join(''));
    fc.assert(
      fc.property(fc.array(label, { maxLength: 30 }), fc.integer({ min: 12, max: 40 }), (labels, width) => {
        const shown = fitLabels(labels, width);
        expect(shown.every((text) => text.length <= width)).toBe(true);
        const pairs = new Set(labels.map((one, i) => `${one}\n${shown[i]}`));
        expect(pairs.size).toBe(new Set(labels).size);
        expect(new Set(shown).size).toBe(new Set(labels).size);
      }),
    );
  });
});
