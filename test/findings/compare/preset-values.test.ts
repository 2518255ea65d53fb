/** The values of a run as upstream's comparisons take them. */
import { describe, expect, it } from 'vitest';
import { measurementOfValues } from '../../../src/findings/compare/measurement-of-values.js';
import { bridgeValuesOf, megatronValuesOf } from '../../../src/findings/compare/presets/upstream-values-of.js';
import type { MeasuredRank, Measurement } from '../../../src/model/measurement.js';

const rank = (given: Partial<MeasuredRank>): MeasuredRank => ({
  ...{ rank: 0, stage: null, first_iteration: 1, last_iteration: 2, alloc_retries: null, precision_bytes: 0 },
  ...{ first_peak_allocated_bytes: null, peak_allocated_bytes: null, peak_reserved_bytes: null },
  ...{ first_allocated_bytes: null, allocated_bytes: null, ...given },
});
const NOTHING = await measurementOfValues('r', { kind: 'empty' });
const run = (...ranks: readonly MeasuredRank[]): Measurement => ({
  ...NOTHING,
  ranks,
  series: {
    ...{ iteration: [1, 2, 4], loss: [3.000004, null, 2], step_ms: [1234.567891, 1000, null] },
    ...{ tflops: [null, null, 400], grad_norm: [null, null, 1] },
  },
});

describe('values of a run', () => {
  it('for Megatron-LM: seconds, five decimals, memory of the rank with the highest peak', () => {
    const low = rank({ rank: 0, first_peak_allocated_bytes: 9, peak_allocated_bytes: 10, allocated_bytes: 1 });
    const high = rank({ rank: 5, first_peak_allocated_bytes: 8, peak_allocated_bytes: 11, allocated_bytes: 2 });
    const { metrics } = megatronValuesOf(run(low, high));
    const plain = Object.fromEntries([...metrics].map(([name, series]) => [name, Object.fromEntries(series.values)]));
    expect(plain).toEqual({
      ...{ 'lm loss': { 1: 3, 4: 2 }, 'iteration-time': { 1: 1.23457, 2: 1 } },
      ...{ 'mem-allocated-bytes': { 2: 2 }, 'mem-max-allocated-bytes': { 1: 8, 2: 11 } },
    });
    expect([...megatronValuesOf(run()).metrics.keys()]).toEqual(['lm loss', 'iteration-time']);
  });

  it('for Megatron-LM: one memory line is one step, with the larger peak', () => {
    const { metrics } = megatronValuesOf(
      run(rank({ last_iteration: 1, first_peak_allocated_bytes: 5, peak_allocated_bytes: 6 })),
    );
    expect([...metrics.get('mem-max-allocated-bytes')!.values]).toEqual([[1, 6]]);
  });

  it('for Bridge: steps from 0, memory of the first line, the largest reserved peak', () => {
    const of = (rankId: number, peak: number, allocated: number, reserved: number | null, first_iteration = 1) =>
      rank({
        ...{ rank: rankId, first_iteration, first_peak_allocated_bytes: peak },
        ...{ first_allocated_bytes: allocated, peak_reserved_bytes: reserved },
      });
    const values = bridgeValuesOf(
      run(of(0, 9e9, 1e9, null, 2), of(3, 8e9, 2e9, 2e10), of(2, 58_812_345_678, 3e9, 1e10)),
    );
    expect(values).toMatchObject({ kind: 'bridge', wrapper: '', alloc: 3, max_alloc: 58.812, max_reserved: 20 });
    expect([...values.steps]).toEqual([
      [0, { lm_loss: 3.000004, step_ms: 1234.567891, gpu_utilization: null, grad_norm: null }],
      [1, { lm_loss: null, step_ms: 1000, gpu_utilization: null, grad_norm: null }],
      [3, { lm_loss: 2, step_ms: null, gpu_utilization: 400, grad_norm: 1 }],
    ]);
    expect(bridgeValuesOf(run())).toMatchObject({ alloc: null, max_alloc: null, max_reserved: null });
  });
});
