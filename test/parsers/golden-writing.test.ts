/**
 * Golden-value files: every schema is read and distinguished from other JSON; damage is refused; written files are read
 * back.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { looksLikeGolden, readGolden, writeBridgeGolden, writeMegatronGolden } from '../../parsers/index.js';
import { bridgeValuesOf, megatronValuesOf } from '../../src/findings/compare/presets/upstream-values-of.js';
import type { GoldenDocument, MeasuredRank, MeasuredSeries, Measurement } from '../../src/model/measurement.js';
import { SEED } from '../support/level.js';
import { bridge, PATH, read, refusal, training } from './golden-text.js';

function measurement(given: Partial<Measurement> = {}): Measurement {
  return {
    run: 'run',
    label: null,
    commit: 'abc',
    status: {
      ending: 'completed',
      failure: null,
      verdict: null,
      attempts: 1,
      first_iteration: 1,
      last_iteration: 3,
      target_iterations: 3,
    },
    world_size: 8,
    parallel: { tp: 1, pp: 1, vpp: null, cp: null, ep: null, dp: 8, etp: null },
    gpu: { name: 'H100', total_bytes: 80e9 },
    versions: { torch: '2.9.0' },
    commits: { megatron_lm: 'd98e8a6' },
    allocator_conf: null,
    ranks: [],
    peaks: [],
    steps: null,
    series: { iteration: [], loss: [], step_ms: [], tflops: [], grad_norm: [] },
    config: { 'model.seq_length': '8192' },
    env: { NCCL_DEBUG: null },
    disturbances: [],
    ...given,
  };
}

const rank = (given: Partial<MeasuredRank> = {}): MeasuredRank => ({
  rank: 0,
  stage: null,
  first_iteration: 1,
  last_iteration: 2,
  first_peak_allocated_bytes: 50.29e9,
  peak_allocated_bytes: 57.14e9,
  first_allocated_bytes: 38e9,
  allocated_bytes: 40e9,
  peak_reserved_bytes: 60e9,
  alloc_retries: 0,
  precision_bytes: 0.5e6,
  ...given,
});

const SERIES: MeasuredSeries = {
  iteration: [1, 2, 3],
  loss: [12.5966134, null, 12],
  step_ms: [8554.3, 812.4, null],
  tflops: [40.5, 410.25, 409],
  grad_norm: [1.5, 1.25, null],
};

describe('a document of ours', () => {
  const full: Measurement = measurement({
    status: {
      ending: 'oom',
      failure: { kind: 'cuda_oom', rank: 0, stage: null, iteration: 3, text: 'x', file: 'a.log', line: 9 },
      verdict: {
        cause: 'capacity',
        detail: null,
        confidence: 'high',
        summary: 's',
        requested_bytes: 1,
        live_bytes: null,
      },
      attempts: 1,
      first_iteration: 1,
      last_iteration: 3,
      target_iterations: null,
    },
    ranks: [rank()],
    peaks: [
      {
        handle: 'run/0/snapshot#1',
        rank: 0,
        device: 0,
        moment: 'peak',
        basis: 'actual',
        active_bytes: 5,
        requested_bytes: null,
        reserved_bytes: 6,
        components: { parameter: 5 },
        frames: [['f', 'a.py', 1]],
        sites: [{ stack: [0], kind: '', component: 'parameter', bytes: 5, count: 1 }],
        rest_bytes: 0,
        rest_count: 0,
        settings: {},
      },
    ],
    steps: {
      from: 2,
      to: 3,
      count: 2,
      warm_up: 1,
      median_ms: 1,
      spread_ms: 0,
      min_ms: 1,
      max_ms: 1,
      median_tflops: null,
      spread_tflops: null,
    },
    series: SERIES,
    disturbances: [{ kind: 'straggler', text: 't' }],
  });
  const document: GoldenDocument = {
    schema: 'mbforensics/golden@1',
    name: 'llama3',
    written_at: '2026-08-22T00:00:00Z',
    runs: [full, measurement()],
  };

  it('is read as it was written', () => {
    for (const text of [JSON.stringify(document), JSON.stringify(document, null, 2)]) {
      expect(looksLikeGolden(text)).toBe(true);
      expect(readGolden(text, PATH)).toEqual({ kind: 'document', document });
    }
    const { schema, ...rest } = document;
    const sorted = JSON.stringify({ ...rest, runs: Array(20).fill(full), schema });
    expect(sorted.length).toBeGreaterThan(20_000);
    expect(looksLikeGolden(sorted)).toBe(true);
  });

  it('keeps fields of newer versions, except __proto__', () => {
    const text = JSON.stringify({ ...document, later: { a: [1] } }).replace('"later"', '"__proto__":{"x":1},"later"');
    const file = readGolden(text, PATH);
    expect(file).toEqual({ kind: 'document', document: { ...document, later: { a: [1] } } });
    expect(Object.getPrototypeOf((file as { document: object }).document)).toBe(Object.prototype);
  });

  it('of another version is refused', () => {
    const text = JSON.stringify({ ...document, schema: 'mbforensics/golden@2' });
    expect(refusal(text).message).toBe('has schema "mbforensics/golden@2"; this version reads mbforensics/golden@1');
    expect(looksLikeGolden(text)).toBe(true);
    expect(refusal('{"schema": "mbforensics/compare@1"}').message).toContain('this version reads');
  });

  it('is refused if any field is missing or of another kind', () => {
    const text = JSON.stringify(document);
    const paths: string[] = [];
    const walk = (value: unknown, path: string[]): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const key of Object.keys(value)) {
        const isOpen = /components|versions|commits|config|env|settings/.test(path.at(-1) ?? '');
        // What is null may be, and lists may be empty.
        if (Array.isArray(value) || isOpen) {
          walk((value as Record<string, unknown>)[key], [...path, key]);
          continue;
        }
        const inside = [...path, key];
        for (const change of ['delete', 'object', 'list'] as const) {
          const damaged = JSON.parse(text) as Record<string, unknown>;
          let at = damaged as Record<string, unknown>;
          for (const step of path) at = at[step] as Record<string, unknown>;
          const old = at[key];
          if (change === 'delete') delete at[key];
          else if (change === 'object') at[key] = Array.isArray(old) || typeof old !== 'object' ? {} : ['x'];
          else at[key] = ['x'];
          paths.push(inside.join('.'));
          const message = refusal(JSON.stringify(damaged)).message;
          expect(message, `${change} ${inside.join('.')}`).toMatch(/^(?:has|says|holds) |no golden values|none of the/);
        }
        walk((value as Record<string, unknown>)[key], inside);
      }
    };
    walk(JSON.parse(text), []);
    expect(paths.length).toBeGreaterThan(250);
    const short = { ...full, series: { ...SERIES, loss: [1] } };
    expect(refusal(JSON.stringify({ ...document, runs: [short] })).message).toBe(
      'has 1 values as runs[0].series.loss of 3 iterations',
    );
    expect(refusal(JSON.stringify({ ...document, runs: [] })).message).toBe('holds no run');
  });
});

describe('writing', () => {
  const run = measurement({
    series: SERIES,
    ranks: [
      rank({ rank: 3, first_iteration: 2, peak_allocated_bytes: 1e9 }),
      rank({ rank: 1, peak_reserved_bytes: 7e10 }),
    ],
  });

  it('Megatron-LM: seconds, bytes, the rank with the highest peak', () => {
    expect(writeMegatronGolden(megatronValuesOf(run))).toBe(`{
    "lm loss": {
        "start_step": 1,
        "end_step": 3,
        "step_interval": 2,
        "values": {
            "1": 12.59661,
            "3": 12.0
        }
    },
    "mem-allocated-bytes": {
        "start_step": 1,
        "end_step": 2,
        "step_interval": 1,
        "values": {
            "1": 38000000000.0,
            "2": 40000000000.0
        }
    },
    "mem-max-allocated-bytes": {
        "start_step": 1,
        "end_step": 2,
        "step_interval": 1,
        "values": {
            "1": 50290000000.0,
            "2": 57140000000.0
        }
    },
    "iteration-time": {
        "start_step": 1,
        "end_step": 2,
        "step_interval": 1,
        "values": {
            "1": 8.5543,
            "2": 0.8124
        }
    }
}
`);
  });

  it('Megatron Bridge: steps from 0, decimal GB, the rank that printed first; no step without a loss', () => {
    const expected = `{
    "0": {
        "lm loss": 12.5966134,
        "elapsed time per iteration (ms)": 8554.3,
        "GPU utilization": 40.5
    },
    "2": {
        "lm loss": 12.0,
        "GPU utilization": 409.0
    },
    "alloc": 38.0,
    "max_alloc": 50.29,
    "max_reserved": 70.0
}
`;
    expect(writeBridgeGolden(bridgeValuesOf(run))).toBe(expected);
    expect(JSON.parse(writeBridgeGolden(bridgeValuesOf(run), 'baseline'))).toEqual({ baseline: JSON.parse(expected) });
  });

  it('keeps five significant digits of memory, as Bridge prints them', () => {
    const odd = rank({
      first_peak_allocated_bytes: 58_812_345_678,
      first_allocated_bytes: 987_654_321,
      peak_reserved_bytes: 1e11 + 1,
    });
    expect(bridge(writeBridgeGolden(bridgeValuesOf(measurement({ ranks: [odd] }))))).toMatchObject({
      alloc: 0.98765,
      max_alloc: 58.812,
      max_reserved: 100,
    });
  });

  it('takes the interval from the steps behind the first', () => {
    const iteration = [1, 5, 10, 20];
    const none = iteration.map(() => null);
    const series = { iteration, loss: [4, 3, 2, 1], step_ms: none, tflops: none, grad_norm: none };
    const { metrics } = training(writeMegatronGolden(megatronValuesOf(measurement({ series }))));
    expect(metrics.get('lm loss')).toMatchObject({ start_step: 1, end_step: 20, step_interval: 5 });
  });

  it('of a run without figures is empty', () => {
    expect(writeMegatronGolden(megatronValuesOf(measurement()))).toBe('{}\n');
    expect(writeBridgeGolden(bridgeValuesOf(measurement()))).toBe('{}\n');
    expect(read(writeBridgeGolden(bridgeValuesOf(measurement()), '08.22.26'))).toEqual({ kind: 'empty' });
  });

  const figure = fc.oneof(
    { weight: 8, arbitrary: fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.float(), fc.integer()) },
    { weight: 2, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, 0.1 + 0.2, 1e21, 5e-7) },
  );
  const bytes = fc.option(fc.nat({ max: 2 ** 40 }));
  const iterations = fc.option(fc.integer({ min: 0, max: 1e6 }));
  const ranks = fc.array(
    fc.record({
      rank: fc.option(fc.nat(64)),
      first_iteration: iterations,
      last_iteration: iterations,
      first_peak_allocated_bytes: bytes,
      peak_allocated_bytes: bytes,
      first_allocated_bytes: bytes,
      allocated_bytes: bytes,
      peak_reserved_bytes: bytes,
    }),
    { maxLength: 4 },
  );
  const runs = fc
    .tuple(fc.uniqueArray(fc.integer({ min: 0, max: 1e6 }), { maxLength: 20 }), fc.infiniteStream(figure), ranks)
    .map(([steps, figures, some]) => {
      const iteration = steps.sort((a, b) => a - b);
      const values = (): (number | null)[] => iteration.map(() => figures.next().value as number | null);
      const series = { iteration, loss: values(), step_ms: values(), tflops: values(), grad_norm: values() };
      return measurement({ series, ranks: some.map((given) => rank(given)) });
    });

  it('reads back equal: Megatron-LM', () => {
    fc.assert(
      fc.property(runs, (made) => {
        const expected = megatronValuesOf(made);
        const text = writeMegatronGolden(megatronValuesOf(made));
        expect(looksLikeGolden(text)).toBe(true);
        expect(read(text)).toEqual(expected.metrics.size === 0 ? { kind: 'empty' } : expected);
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it('reads back equal: Megatron Bridge', () => {
    fc.assert(
      fc.property(runs, fc.constantFrom(undefined, 'baseline', 'current', '08.22.26'), (made, wrapper) => {
        const all = bridgeValuesOf(made);
        const steps = [...all.steps].filter(([, { lm_loss }]) => lm_loss !== null);
        const text = writeBridgeGolden(bridgeValuesOf(made), wrapper);
        const isEmpty = steps.length === 0 && all.alloc === null && all.max_alloc === null && all.max_reserved === null;
        if (!isEmpty || wrapper === undefined) expect(looksLikeGolden(text)).toBe(true);
        // The file lacks gradient norms.
        const kept = new Map(steps.map(([step, value]) => [step, { ...value, grad_norm: null }]));
        const expected = { ...all, steps: kept, wrapper: wrapper ?? '' };
        expect(read(text)).toEqual(isEmpty ? { kind: 'empty' } : expected);
      }),
      { numRuns: 300, seed: SEED },
    );
  });
});
