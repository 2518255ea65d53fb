/** Readings that cannot be true are marked, and nothing else is. */
import { describe, expect, it } from 'vitest';
import { checkMemory } from '../../parsers/log/check-memory.js';
import { memoryFigure } from '../../parsers/log/formats/units.js';

const MB = 1024 ** 2;
const GIB = 1024 ** 3;
const line = (figures: Readonly<Record<string, string>>, unit = MB) =>
  Object.entries(figures).map(([metric, text]) => memoryFigure(metric, text, 'MB', unit));
const checked = (figures: Readonly<Record<string, string>>, total: number | null = null, unit = MB) =>
  Object.fromEntries(
    checkMemory(line(figures, unit), total)
      .filter(({ metric }) => metric.startsWith('doubtful.'))
      .map(({ metric, moment }) => [metric, moment]),
  );

describe('checkMemory', () => {
  it('leaves a possible line as it is', () => {
    const rows = line({ allocated: '100.5', max_allocated: '200.5', reserved: '250', max_reserved: '300' });
    expect(checkMemory(rows, 80 * GIB)).toBe(rows);
  });

  it('allows what rounding explains', () => {
    // `Max_CA 12` next to `CA 12.4` of DeepSpeed.
    expect(checked({ reserved: '12.4', max_reserved: '12' }, null, GIB)).toEqual({});
    expect(checked({ reserved: '12.6', max_reserved: '12' }, null, GIB)).not.toEqual({});
  });

  it('doubts both figures of a pair in the wrong order, and no other', () => {
    expect(checked({ allocated: '100', max_allocated: '400', reserved: '250', max_reserved: '300' })).toEqual({
      'doubtful.max_allocated': 'max allocated above max reserved',
      'doubtful.max_reserved': 'max allocated above max reserved',
    });
  });

  it('doubts negative levels, but not differences', () => {
    expect(checked({ allocated: '-5', train_mem_gpu_alloc_delta: '-5' })).toEqual({ 'doubtful.allocated': 'negative' });
  });

  it('doubts a slip of the unit, and more than the device has', () => {
    expect(checked({ max_allocated: '40960' }, null, GIB)).toEqual({
      'doubtful.max_allocated': 'more than any device has',
    });
    expect(checked({ max_reserved: '95' }, 80 * GIB, GIB)).toEqual({
      'doubtful.max_reserved': 'more than the device has',
    });
    expect(checked({ max_reserved: '80.5', host_used: '4000' }, 80 * GIB, GIB)).toEqual({});
  });

  it('compares no figures where a line has several devices', () => {
    const rows = [...line({ allocated: '10', reserved: '20' }), ...line({ allocated: '30' })];
    expect(checkMemory(rows, null)).toBe(rows);
  });
});
