/** Lines that Megatron Bridge and Megatron-LM would log of the same failure. */
import { describe, expect, it } from 'vitest';
import { upstreamWords } from '../../src/report/compare/upstream-words.js';
import { check } from '../support/compare-results.js';

const fails = { gate: true, status: 'regression' } as const;

describe('upstreamWords', () => {
  it.each([
    [
      check('GPU utilization', 600, 648, { ...fails, unit: 'TFLOP/s/GPU', tolerance: 0.05, status: 'improvement' }),
      'UNEXPECTED IMPROVEMENT: GPU util jumped 8.00% (current=648.0000%, golden=600.0000%, threshold=5.0%)',
    ],
    [check('alloc', 10, 9, { ...fails, tolerance: 0.05 }), 'Alloc validation FAILED: 10.00% > 5.0%'],
    [check('max_reserved', 10, 12, { ...fails, tolerance: 0.05 }), 'Max reserved validation FAILED: 20.00% > 5.0%'],
    [check('lm loss: points', 0, 0.2, fails), 'Failed metrics: point_wise_tolerance'],
    [check('grad norm', 0, 1, fails), 'Grad norm check failed. Found NaN or Inf in grad norm.'],
    [check('constructor', 1, 2, { ...fails, tolerance: 0.05 }), null],
    [check('max_alloc', 10, 12), null],
  ])('of Megatron Bridge: $name', (one, words) => {
    expect(upstreamWords(one, 'bridge')).toBe(words);
  });

  it.each([
    [
      check('mem-max-allocated-bytes', 1, 2, { ...fails, tolerance: 0.05, reason: '9 of 10 steps differ' }),
      'Approximate comparison of mem-max-allocated-bytes: FAILED',
    ],
    [
      check('lm loss', 1, 2, { ...fails, unit: '1', tolerance: 0, reason: '1 of 1 step differs' }),
      'Exact comparison of lm loss: FAILED',
    ],
    [check('throughput', 2, 1, { ...fails, unit: 'tokens/s', reason: 'median behind the first' }), null],
  ])('of Megatron-LM: $name', (one, words) => {
    expect(upstreamWords(one, 'mlm')).toBe(words);
  });

  it('has none of our own rules', () => {
    expect(upstreamWords(check('max_alloc', 10, 12, fails), 'default')).toBeNull();
  });
});
