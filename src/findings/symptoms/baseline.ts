/** Comparison of a run with an earlier one, or with a golden one. */

import { memoryRank } from '../../derive/run/memory-keys.js';
import type { ExplicitValue, RawFacts } from '../../derive/settings/facts.js';
import { View } from '../../derive/settings/view.js';
import { recipeInputs } from '../../estimate/mixed-precision.js';
import { maxBy } from '../../model/lists.js';
import type { Measurement } from '../../model/measurement.js';
import type { Sentence } from '../../model/statement.js';
import { changedConfig } from '../measure/changed-values.js';
import type { Baseline, SymptomEvidence } from './evidence.js';
import { fact, type SightedFigures } from './symptom.js';

const ORIGIN = 'baseline';

export function baselineOf(measured: Measurement, contract: Baseline['contract']): Baseline {
  return { measured, contract, view: new View(factsOf(measured)) };
}

/** Its settings in the form that rules read; a precision recipe counts as the settings it sets. */
function factsOf({ run, config, env, versions, gpu }: Measurement): RawFacts {
  const toFact = (value: string | null, raw_key: string): ExplicitValue => ({
    value,
    raw_key,
    origin: ORIGIN,
    file: run,
    line: 0,
  });
  const settings = new Map<string, ExplicitValue>();
  for (const [key, value] of Object.entries(config)) settings.set(key, toFact(value === 'null' ? null : value, key));
  for (const [key, value] of Object.entries(recipeInputs(config['mixed_precision'])))
    settings.set(key, toFact(String(value), 'mixed_precision'));
  const variables = Object.entries(env);
  return {
    settings,
    env: new Map(variables.map(([key, value]) => [key, toFact(value, key)])),
    env_known: variables.length === 0 ? 'none' : 'partial',
    versions,
    framework: { name: null, version: null },
    device: { name: gpu.name, capability: null, total_bytes: gpu.total_bytes },
  };
}

export interface Pair {
  /** This run's speed as a share of the baseline's. */
  readonly speed: number;
  /** Settings that differ, without those that a rule expects: other possible reasons for the difference. */
  readonly isMixed: boolean;
  readonly figures: SightedFigures;
}

/**
 * Null if there is not a baseline, one of the two lacks a speed, or they do not do the same work. `expected`: keys
 * whose difference is the question; with `precision`, formats may differ.
 */
export function speedAgainst(
  evidence: SymptomEvidence,
  expected: readonly string[],
  options: { readonly precision?: boolean } = {},
): Pair | null {
  const { own, baseline } = evidence;
  if (baseline === null || own.steps === null || baseline.measured.steps === null) return null;
  const { contract } = baseline;
  if (contract.some(({ blocking, group }) => blocking && !(options.precision === true && group === 'precision')))
    return null;
  const [a, b] = [baseline.measured.steps, own.steps];
  const flops = a.median_tflops !== null && b.median_tflops !== null;
  const speed = flops ? b.median_tflops! / a.median_tflops! : a.median_ms / b.median_ms;
  const different = otherChanges(evidence, expected, options.precision === true);
  return {
    speed,
    isMixed: different.length > 0,
    figures: {
      ...(flops
        ? { pair_tflops: b.median_tflops, pair_tflops_before: a.median_tflops }
        : { pair_ms: b.median_ms, pair_ms_before: a.median_ms }),
      baseline: baseline.measured.run,
      slower: speed < 1,
      change: Math.abs(speed - 1),
      others: different.slice(0, 4),
    },
  };
}

const SIZES: Readonly<Record<string, string>> = {
  tensor_model_parallel_size: 'tp',
  pipeline_model_parallel_size: 'pp',
  virtual_pipeline_model_parallel_size: 'vpp',
  context_parallel_size: 'cp',
  expert_model_parallel_size: 'ep',
  data_parallel_size: 'dp',
};

const PRECISION = /^(?:fp8|bf16$|fp16$|mixed_precision$|params_dtype$|first_last_layers_bf16$)/;

/** Other differences that affect memory and speed. */
export function otherChanges(
  { own, baseline }: SymptomEvidence,
  expected: readonly string[],
  mayChangePrecision = false,
): Sentence[] {
  if (baseline === null) return [];
  const expectedKeys = new Set(expected);
  const changes = new Map<string, Sentence>();
  for (const { key, a, b } of changedConfig(baseline.measured, own)) {
    if (memoryRank(key) === undefined || expectedKeys.has(key) || (mayChangePrecision && PRECISION.test(key))) continue;
    changes.set(SIZES[key] ?? key, fact('change', { key, before: a, after: b }));
  }
  for (const { key, group, same, golden, current } of baseline.contract) {
    const isExpected = [...expectedKeys].some((name) => SIZES[name] === key);
    if (group === 'layout' && !same && !isExpected)
      changes.set(key, fact('changed', { key: key.toUpperCase(), before: golden, after: current }));
  }
  return [...changes.values()];
}

/**
 * Peaks of the rank that holds most now and that both runs print. A run that failed early has only a first line,
 * printed before Adam's states coincide with a full set of activations: then first lines are compared.
 */
export function peaksAgainst({ own, baseline }: SymptomEvidence) {
  if (baseline === null) return null;
  const pairs = own.ranks.flatMap((now) => {
    const before = baseline.measured.ranks.find(({ rank }) => rank === now.rank);
    if (before === undefined) return [];
    const early = [now, before].some(({ first_iteration, last_iteration }) => first_iteration === last_iteration);
    const field = early ? 'first_peak_allocated_bytes' : 'peak_allocated_bytes';
    return before[field] === null || now[field] === null
      ? []
      : [{ rank: now.rank, before: before[field], now: now[field], early }];
  });
  const most = maxBy(pairs, ({ now }) => now);
  if (most === undefined) return null;
  const { before, now, rank, early } = most;
  const figures: SightedFigures = {
    baseline: baseline.measured.run,
    ...{ peak_rank: rank, early, before_bytes: before, now_bytes: now },
  };
  return { before, now, figures };
}
