import { describe, expect, it } from 'vitest';
import type { MemoryGroup } from '../../src/model/results/log.js';
import { document } from '../../src/report/document/document.js';
import { documentText } from '../../src/report/render/text.js';
import { memoryGroupTable } from '../../src/report/run/memory-document.js';

const GIB = 2 ** 30;

function group(ranks: (number | null)[], figures: Partial<Pick<MemoryGroup, 'last' | 'max' | 'counts'>>): MemoryGroup {
  return { stage: null, ranks, iteration: 3, samples: 3, last: {}, max: {}, counts: {}, ...figures };
}

const textOf = (groups: readonly MemoryGroup[]): string => documentText(document('', '', memoryGroupTable(groups)));

const RANK_0 = group([0], {
  last: { allocated: 40 * GIB, reserved: 60 * GIB, inactive_split: 3 * GIB },
  max: { max_allocated: 50 * GIB, max_reserved: 61 * GIB },
});
const DEVICE_ONLY = group([null], { max: { device_used: 70 * GIB } });

describe('memory table', () => {
  it('leaves out a row that has a figure in no column shown', () => {
    const text = textOf([DEVICE_ONLY, RANK_0]);
    expect(text).toContain('61.00 GiB');
    expect(text).not.toContain('device used');
    expect(text).not.toContain('unknown');
    expect(text.trimEnd().split('\n')).toHaveLength(textOf([RANK_0]).trimEnd().split('\n').length);
  });

  it('keeps such a row where its column is shown', () => {
    const plain = group([0], { last: { allocated: 40 * GIB } });
    const text = textOf([DEVICE_ONLY, plain]);
    expect(text).toContain('70.00 GiB');
    expect(text).toContain('40.00 GiB');
  });
});
