/**
 * Logs against upstream's golden values: the verdict is that of upstream's own checker on the same run. Recorded with
 * Megatron-LM d98e8a6 (`test_pretraining_regular_pipeline.py`) and Megatron Bridge 067f987 (`evaluate.py`).
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { CompareResult } from '../../src/model/results/compare.js';
import { asker } from '../support/ask.js';

interface Step {
  readonly loss: number;
  readonly ms: number;
  readonly zeros: number;
  readonly util: number;
  readonly grad: number;
}
type Change = (step: Step, i: number) => Partial<Step>;

const run = (count: number, change: Change = () => ({})): Step[] =>
  Array.from({ length: count }, (_, at) => {
    const i = at + 1;
    const step = {
      loss: 10.8 - 0.12 * i,
      ms: i === 1 ? 4000 : 500 + (i % 4),
      zeros: 4_000_000 - 9000 * i,
      util: 690 + (i % 3),
      grad: 1.5,
    };
    return { ...step, ...change(step, i) };
  });
const python = (value: number, text: (finite: number) => string): string =>
  Number.isNaN(value) ? 'nan' : value === Number.POSITIVE_INFINITY ? 'inf' : text(value);
const line = ({ loss, ms, zeros, grad }: Step, i: number, target: number): string =>
  ` [2026-02-03 04:05:${String(i % 60).padStart(2, '0')}.123456] iteration ${i}/${target} | consumed samples: ${32 * i} | elapsed time per iteration (ms): ${ms.toFixed(1)} | lm loss: ${python(loss, (value) => value.toExponential(6).toUpperCase())} | grad norm: ${python(grad, (value) => value.toFixed(3))} | num zeros: ${Math.round(zeros)} | number of nan iterations: 0 |`;
const utilization = ({ ms, util }: Step): string =>
  `Step Time : ${(ms / 1000).toFixed(2)}s GPU utilization: ${util.toFixed(1)}MODEL_TFLOP/s/GPU`;
const memory = (reserved: boolean): string =>
  `[Rank 0] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 30.25 | mem-reserved-gigabytes: 61.5 | mem-max-allocated-gigabytes: 58.8${reserved ? ' | mem-max-reserved-gigabytes: 62.1' : ''}`;

describe('presets judge logs as upstream judges the run', () => {
  const { mbf, text, ends, refuse, put } = asker();
  const CODE = { pass: 0, fail: 1 } as const;
  const logs: string[] = [];
  /** The name of a run with this log: all of them are ingested at once. */
  const runOf = (log: string): string => {
    put(`runs/run-${logs.push(log)}/train.log`, log);
    return `run-${logs.length}`;
  };
  beforeAll(() => void mbf('ingest', 'runs', '--each', '--db', 'runs.duckdb'));
  let number = 0;
  const compare = (preset: string, golden: object, name: string, upstream: keyof typeof CODE, test?: object) => {
    number += 1;
    const file = put(`case-${number}/golden_values.json`, JSON.stringify(golden));
    if (test !== undefined) put(`case-${number}/model_config.yaml`, JSON.stringify(test));
    const args = ['compare', name, '--golden', file, '--preset', preset, '--db', 'runs.duckdb', '--json=full'];
    return ends(CODE[upstream], ...args).json<CompareResult>();
  };

  const STEPS = [1, 5, 10, 15, 20, 25];
  const series = (of: (step: Step) => number) => ({
    start_step: 1,
    end_step: 25,
    step_interval: 5,
    values: Object.fromEntries(STEPS.map((i) => [i, Number(of(run(25)[i - 1]!).toFixed(5))])),
  });
  const MLM = {
    'lm loss': series(({ loss }) => loss),
    'iteration-time': series(({ ms }) => ms / 1000),
    'num-zeros': series(({ zeros }) => Math.round(zeros)),
  };
  const ALL = ['lm loss', 'iteration-time', 'num-zeros'];
  /** A run of Megatron-LM. */
  const mlm = (count: number, change?: Change): string =>
    runOf(
      `${run(count, change)
        .map((step, i) => line(step, i + 1, 25))
        .join('\n')}\n`,
    );

  it.each([
    ['itself', mlm(25), ALL, 'pass'],
    ['4.9 % more loss', mlm(25, ({ loss }) => ({ loss: 1.049 * loss })), ALL, 'pass'],
    ['5.1 % more loss', mlm(25, ({ loss }) => ({ loss: 1.051 * loss })), ALL, 'fail'],
    ['19 % more zeros', mlm(25, ({ zeros }) => ({ zeros: 1.19 * zeros })), ALL, 'pass'],
    ['21 % more zeros', mlm(25, ({ zeros }) => ({ zeros: 1.21 * zeros })), ALL, 'fail'],
    ['6 % slower', mlm(25, ({ ms }) => ({ ms: 1.06 * ms })), ALL, 'fail'],
    ['6 % slower, which the test does not judge', mlm(25, ({ ms }) => ({ ms: 1.06 * ms })), undefined, 'pass'],
    ['a run that stopped at step 12', mlm(12), undefined, 'fail'],
    ['a run that stopped at step 24', mlm(24), undefined, 'pass'],
    ['one loss that is NaN', mlm(25, (_, i) => (i === 10 ? { loss: Number.NaN } : {})), undefined, 'pass'],
    ['losses that are NaN', mlm(25, () => ({ loss: Number.NaN })), undefined, 'fail'],
  ] as const)('mlm: %s', (_, name, metrics, upstream) => {
    const test = {
      ...(metrics === undefined ? {} : { METRICS: metrics }),
      ENV_VARS: { NVTE_ALLOW_NONDETERMINISTIC_ALGO: 1 },
    };
    const { notes } = compare('mlm', MLM, name, upstream, test);
    expect(notes.join()).toContain('model_config.yaml: judged are lm loss');
  });

  it.each([
    ['itself', mlm(25), {}, 'pass'],
    ['0.1 % more loss', mlm(25, ({ loss }) => ({ loss: 1.001 * loss })), {}, 'fail'],
    ['the same', mlm(25, ({ loss }) => ({ loss: 1.001 * loss })), { NON_DETERMINSTIC_RESULTS: 1 }, 'pass'],
  ] as const)('mlm: equality where the test allows no other algorithm: %s', (_, name, more, upstream) => {
    compare('mlm', MLM, name, upstream, { ENV_VARS: { NVTE_ALLOW_NONDETERMINISTIC_ALGO: 0, ...more } });
  });

  it('takes the options of the mlm preset with no other', () => {
    const wrong = ['compare', 'x', '--golden', 'y', '--preset', 'bridge', '--deterministic'];
    expect(refuse(2, ...wrong)).toContain('--preset mlm');
  });

  const BRIDGE = {
    ...Object.fromEntries(
      run(50).map(({ loss, ms, util }, i) => [
        i,
        { 'lm loss': Number(loss.toExponential(6)), 'elapsed time per iteration (ms)': ms, 'GPU utilization': util },
      ]),
    ),
    ...{ alloc: 30.25, max_alloc: 58.8, max_reserved: 62.1 },
  };
  const bridge = (change?: Change, withMemory: 'all' | 'unreserved' = 'all'): string =>
    runOf(
      `${run(50, change)
        .flatMap((step, i) => [
          ...[utilization(step), line(step, i + 1, 50)],
          ...(i === 1 ? [memory(withMemory === 'all')] : []),
        ])
        .join('\n')}\n`,
    );

  it.each([
    ['itself', bridge(), 'pass'],
    ['4.5 % less utilization', bridge(({ util }) => ({ util: 0.955 * util })), 'pass'],
    ['5.5 % less utilization', bridge(({ util }) => ({ util: 0.945 * util })), 'fail'],
    ['5.5 % more utilization', bridge(({ util }) => ({ util: 1.055 * util })), 'fail'],
    ['half of the utilization', bridge(({ util }) => ({ util: 0.5 * util })), 'fail'],
    ['one gradient norm that is NaN', bridge((_, i) => (i === 20 ? { grad: Number.NaN } : {})), 'fail'],
    ['gradient norms that are NaN', bridge(() => ({ grad: Number.NaN })), 'fail'],
    ['an infinite gradient norm', bridge((_, i) => (i === 9 ? { grad: Number.POSITIVE_INFINITY } : {})), 'fail'],
    ['12 % more loss', bridge(({ loss }) => ({ loss: 1.12 * loss })), 'fail'],
    ['longer steps with the same utilization', bridge(({ ms }) => ({ ms: 1.5 * ms })), 'pass'],
    ['reserved memory that the log does not print', bridge(undefined, 'unreserved'), 'fail'],
  ] as const)('bridge: %s', (_, name, upstream) => {
    compare('bridge', BRIDGE, name, upstream);
  });

  const unchanged = bridge();
  it('bridge: golden values that a log gives', () => {
    const written = text('golden', 'export', '-', '--name', `./runs/${unchanged}`, '--as', 'bridge');
    expect(JSON.parse(written)['49']['GPU utilization']).toBe(692);
  });
});
