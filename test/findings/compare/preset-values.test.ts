/**
 * The upstream verdicts, rule by rule. What is expected was worked out by hand from upstream's rules, or by the few
 * lines of arithmetic next to it; the code itself was compared with numpy over random values when it was written.
 */
import { describe, expect, it } from 'vitest';
import type { MeasuredRank, Measurement } from '../../../src/model/measurement.js';
import { bridgeValuesOf, megatronValuesOf } from '../../../src/model/upstream-values-of.js';

describe('values of a run', () => {
  const rank = (given: Partial<MeasuredRank>): MeasuredRank => ({
    rank: 0,
    stage: null,
    first_iteration: 1,
    last_iteration: 2,
    first_peak_allocated_bytes: null,
    peak_allocated_bytes: null,
    first_allocated_bytes: null,
    allocated_bytes: null,
    peak_reserved_bytes: null,
    alloc_retries: null,
    precision_bytes: 0,
    ...given,
  });
  const run = (ranks: readonly MeasuredRank[]): Measurement => ({
    run: 'r',
    label: null,
    commit: null,
    status: {
      ending: 'completed',
      failure: null,
      verdict: null,
      attempts: 1,
      first_iteration: 1,
      last_iteration: 4,
      target_iterations: 4,
    },
    world_size: null,
    parallel: { tp: null, pp: null, vpp: null, cp: null, ep: null, dp: null, etp: null },
    gpu: { name: null, total_bytes: null },
    versions: {},
    commits: {},
    allocator_conf: null,
    ranks,
    peaks: [],
    steps: null,
    series: {
      iteration: [1, 2, 4],
      loss: [3.000004, null, 2],
      step_ms: [1234.567891, 1000, null],
      tflops: [null, null, 400],
      grad_norm: [null, null, 1],
    },
    config: {},
    env: {},
    disturbances: [],
  });

  it('for Megatron-LM: seconds, five decimals, memory of the rank with the highest peak', () => {
    const low = rank({ rank: 0, first_peak_allocated_bytes: 9, peak_allocated_bytes: 10, allocated_bytes: 1 });
    const high = rank({ rank: 5, first_peak_allocated_bytes: 8, peak_allocated_bytes: 11, allocated_bytes: 2 });
    const { metrics } = megatronValuesOf(run([low, high]));
    const plain = Object.fromEntries([...metrics].map(([name, series]) => [name, Object.fromEntries(series.values)]));
    expect(plain).toEqual({
      'lm loss': { 1: 3, 4: 2 },
      'mem-allocated-bytes': { 2: 2 },
      'mem-max-allocated-bytes': { 1: 8, 2: 11 },
      'iteration-time': { 1: 1.23457, 2: 1 },
    });
    expect([...megatronValuesOf(run([])).metrics.keys()]).toEqual(['lm loss', 'iteration-time']);
  });

  it('for Megatron-LM: one memory line is one step, with the larger peak', () => {
    const ranked = rank({ last_iteration: 1, first_peak_allocated_bytes: 5, peak_allocated_bytes: 6 });
    expect([...megatronValuesOf(run([ranked])).metrics.get('mem-max-allocated-bytes')!.values]).toEqual([[1, 6]]);
  });

  it('for Bridge: steps from 0, memory of the first line, the largest reserved peak', () => {
    const late = rank({ rank: 0, first_iteration: 2, first_peak_allocated_bytes: 9e9, first_allocated_bytes: 1e9 });
    const second = rank({
      rank: 3,
      first_peak_allocated_bytes: 8e9,
      first_allocated_bytes: 2e9,
      peak_reserved_bytes: 2e10,
    });
    const first = rank({
      rank: 2,
      first_peak_allocated_bytes: 58_812_345_678,
      first_allocated_bytes: 3e9,
      peak_reserved_bytes: 1e10,
    });
    const values = bridgeValuesOf(run([late, second, first]));
    expect(values).toMatchObject({ kind: 'bridge', wrapper: '', alloc: 3, max_alloc: 58.812, max_reserved: 20 });
    expect([...values.steps]).toEqual([
      [0, { lm_loss: 3.000004, step_ms: 1234.567891, gpu_utilization: null, grad_norm: null }],
      [1, { lm_loss: null, step_ms: 1000, gpu_utilization: null, grad_norm: null }],
      [3, { lm_loss: 2, step_ms: null, gpu_utilization: 400, grad_norm: 1 }],
    ]);
    expect(bridgeValuesOf(run([]))).toMatchObject({ alloc: null, max_alloc: null, max_reserved: null });
  });
});
