/** The upstream verdict on every golden file of the corpus: against itself, and with all or one metric scaled. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readGolden } from '../../../parsers/index.js';
import { judgeMegatron } from '../../../src/findings/compare/presets/megatron-lm.js';
import type { PresetOutcome } from '../../../src/findings/compare/presets/outcome.js';
import type { MegatronInferenceValues, MegatronTrainingValues, StepValue } from '../../../src/model/golden-values.js';
import { CORPUS, skipLoudly } from '../../support/corpus.js';
import { failed, named } from './outcomes.js';

const DIRECTORY = join(CORPUS, 'golden');
const files = existsSync(DIRECTORY) ? readdirSync(DIRECTORY).filter((name) => name.endsWith('.json')) : [];
if (files.length === 0) skipLoudly('presets over golden values', 'the reference corpus (MBF_CORPUS)');

type Golden = MegatronInferenceValues | MegatronTrainingValues;

function goldenOf(name: string): Golden {
  const file = readGolden(readFileSync(join(DIRECTORY, name), 'utf8'), name);
  if (file.kind !== 'upstream') throw new Error(file.kind);
  const { values } = file;
  if (values.kind !== 'megatron_training' && values.kind !== 'megatron_inference') throw new Error(values.kind);
  return values;
}

/** All metrics, or one, times `factor`. */
function scaled(golden: Golden, factor: number, only?: string): Golden {
  const by = (metric: string, value: number): number => ((only ?? metric) === metric ? value * factor : value);
  if (golden.kind === 'megatron_inference') {
    const { mem_max_allocated_bytes: memory } = golden;
    const throughput = golden.throughput.map((value) => by('throughput', value));
    return {
      ...{ ...golden, throughput },
      mem_max_allocated_bytes: memory === null ? null : by('mem-max-allocated-bytes', memory),
    };
  }
  const scale = (metric: string, value: StepValue): StepValue => (value === 'nan' ? value : by(metric, value));
  const metrics = [...golden.metrics].map(([metric, series]) => {
    const values = new Map([...series.values].map(([step, value]) => [step, scale(metric, value)]));
    return [metric, { ...series, values }] as const;
  });
  return { ...golden, metrics: new Map(metrics) };
}

describe.each(files)('%s', (name) => {
  const golden = goldenOf(name);
  const isInference = golden.kind === 'megatron_inference';
  const metrics = isInference ? ['throughput', 'mem-max-allocated-bytes'] : [...golden.metrics.keys()];
  /** Enough finite values that more of them fail than may. */
  const isJudged = (metric: string): boolean =>
    isInference ||
    [...golden.metrics.get(metric)!.values.values()].filter((one) => one !== 'nan' && one !== 0).length > 1;
  const judged = (factor: number, metric?: string): PresetOutcome =>
    judgeMegatron(golden, scaled(golden, factor, metric));

  it('passes by itself', () => {
    for (const deterministic of [false, true]) {
      const outcome = judgeMegatron(golden, golden, { deterministic });
      expect(outcome).toMatchObject({ passed: true, undecided: false });
      expect(outcome.checks.map((check) => check.name)).toEqual(metrics);
    }
  });

  it('passes at 1.04 and 0.96, but exactly', () => {
    for (const factor of [1.04, 0.96]) expect(failed(judged(factor))).toEqual([]);
    const exact = judgeMegatron(golden, scaled(golden, 1.04), { deterministic: true });
    expect(failed(exact)).toEqual(metrics.filter((metric) => /loss$|^num-zeros$/.test(metric)));
  });

  // What fails at ±6 %: all that has a tolerance of 5 %.
  const strict = metrics.filter((metric) => metric !== 'num-zeros' && metric !== 'throughput' && isJudged(metric));

  it.each([1.06, 0.94])('fails at %f where 5 % are the limit', (factor) => {
    expect(failed(judged(factor))).toEqual(strict);
    for (const one of metrics) {
      const outcome = judged(factor, one);
      expect(failed(outcome)).toEqual(strict.filter((metric) => metric === one));
      const isBetter = factor < 1 && /^mem-|^iteration-time$/.test(one);
      if (strict.includes(one)) expect(named(outcome, one).status).toBe(isBetter ? 'improvement' : 'regression');
    }
  });

  it('fails at 1.21 and 0.79 whatever the metric', () => {
    for (const factor of [1.21, 0.79]) expect(failed(judged(factor))).toEqual(metrics.filter(isJudged));
  });
});
