/** `golden list` and `golden show`: what golden values hold, and how much they vary. */

import { maxOf, minOf } from '../../../model/lists.js';
import type { Ending, Measurement } from '../../../model/measurement.js';
import { median } from '../../../model/median.js';
import type { GoldenListResult, GoldenShowResult, NoiseBand } from '../../../model/results/golden.js';

export interface NamedGolden {
  readonly name: string;
  readonly addedAt: string;
  readonly runs: readonly Measurement[];
}

/** Figures whose band is reported: those that are gates. */
const FIGURES: readonly {
  readonly metric: string;
  readonly unit: string;
  readonly of: (run: Measurement) => number | null;
}[] = [
  { metric: 'peak_allocated', unit: 'bytes', of: peakAllocated },
  { metric: 'peak_active', unit: 'bytes', of: (run) => largest(run.peaks.map((peak) => peak.active_bytes)) },
  { metric: 'peak_reserved', unit: 'bytes', of: (run) => largest(run.ranks.map((rank) => rank.peak_reserved_bytes)) },
  { metric: 'step_time', unit: 'ms', of: (run) => run.steps?.median_ms ?? null },
  { metric: 'throughput', unit: 'TFLOP/s/GPU', of: (run) => run.steps?.median_tflops ?? null },
];

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : maxOf(known);
}

function peakAllocated(run: Measurement): number | null {
  return largest(run.ranks.map((rank) => rank.peak_allocated_bytes));
}

function deviation(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

export function noiseBands(runs: readonly Measurement[]): NoiseBand[] {
  return FIGURES.flatMap(({ metric, unit, of }) => {
    const values = runs.flatMap((run) => of(run) ?? []);
    if (values.length === 0) return [];
    return [
      {
        metric,
        unit,
        runs: values.length,
        low: minOf(values),
        median: median(values),
        high: maxOf(values),
        spread: deviation(values),
      },
    ];
  });
}

export function describeGoldenList(db: string, goldens: readonly NamedGolden[]): GoldenListResult {
  return {
    schema: 'mbforensics/golden-list@1',
    db,
    goldens: goldens.map(({ name, addedAt, runs }) => {
      const endings = new Set<Ending>(runs.map(({ status }) => status.ending));
      const peaks = runs.flatMap((run) => peakAllocated(run) ?? []);
      const times = runs.flatMap(({ steps }) => steps?.median_ms ?? []);
      const time = times.length === 0 ? null : median(times);
      const spread = deviation(times) ?? runs[0]?.steps?.spread_ms ?? null;
      return {
        name,
        runs: runs.length,
        commits: runs.map(({ commit }) => commit),
        added_at: addedAt,
        ending: endings.size === 1 ? [...endings][0]! : null,
        peak_allocated_bytes: peaks.length === 0 ? null : median(peaks),
        step_ms: time,
        spread_percent: time === null || spread === null ? null : (100 * spread) / time,
      };
    }),
  };
}

export function describeGolden(name: string, source: string, runs: readonly Measurement[]): GoldenShowResult {
  return { schema: 'mbforensics/golden-show@1', name, source, runs, bands: noiseBands(runs) };
}
