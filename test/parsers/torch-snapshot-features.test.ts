import { describe, expect, it } from 'vitest';
import { earliestTorch } from '../../parsers/torch-snapshot/features.js';
import { bytesSource, decode } from '../support/decode.js';
import { BASE, smallSnapshot } from '../support/small-snapshot.js';

describe('what dates a snapshot', () => {
  const features = async (...entries: { action: string; addr: number; size: number }[]) =>
    (await decode(bytesSource(smallSnapshot({ entries })))).summary.features;

  it('is the newest thing torch wrote, an action as well as a key', async () => {
    const alloc = { action: 'alloc', addr: BASE, size: 512 };
    const before = await features(alloc, alloc);
    expect(before).not.toContain('event.annotate');
    const after = await features(alloc, { ...alloc, action: 'annotate' });
    expect(after).toContain('event.annotate');
    expect(earliestTorch(after)).toBe('2.14');
    expect(earliestTorch(before)).not.toBe('2.14');
  });

  it('compares releases as numbers: 2.10 is later than 2.8', () => {
    expect(earliestTorch(['event.compile_context', 'event.user_metadata'])).toBe('2.10');
    expect(earliestTorch([])).toBeUndefined();
  });
});
