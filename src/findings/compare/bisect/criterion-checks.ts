/**
 * The checks a criterion judges by, each with the tolerance that halves the way from the golden run to the one that is
 * hunted, where that is known.
 */

import { MbfError } from '../../../model/errors.js';
import { maxOf } from '../../../model/lists.js';
import type { MeasuredPeak, Measurement } from '../../../model/measurement.js';
import type { CompareCheck } from '../../../model/results/compare.js';
import type { Sample } from '../../measure/noise.js';
import type { CheckInput } from '../checks/check.js';
import { bytesCheck, memoryChecks, peakPairs } from '../checks/memory-checks.js';
import { timeChecks } from '../checks/time-checks.js';
import { type Criterion, criterionText } from './criterion.js';

/** Bytes of the stacks with a frame whose function, or `file:line`, holds the pattern. */
export function siteBytes(peak: MeasuredPeak, pattern: string): number {
  const hit = peak.frames.map(([name, file, line]) => `${name} ${file}:${line}`.includes(pattern));
  return peak.sites.reduce((sum, site) => sum + (site.stack.some((frame) => hit[frame]) ? site.bytes : 0), 0);
}

/** Gates of the criterion. Empty where a side cannot be judged. */
export function criterionChecks(criterion: Criterion, input: CheckInput): CompareCheck[] {
  switch (criterion.kind) {
    case 'memory':
      return memoryChecks(input).filter(({ gate, current }) => gate && current !== null);
    case 'throughput':
      return timeChecks(input).filter(({ gate, current }) => gate && current !== null);
    case 'component': {
      const { component } = criterion;
      return peakCheck(criterion, input, (peak) => peak.components[component] ?? 0);
    }
    case 'site': {
      const { pattern } = criterion;
      return peakCheck(criterion, input, (peak) => siteBytes(peak, pattern));
    }
    case 'oom':
    case 'cause':
      return [];
  }
}

function peakCheck(criterion: Criterion, input: CheckInput, bytesOf: (peak: MeasuredPeak) => number): CompareCheck[] {
  const pairs = peakPairs(input);
  if (pairs === undefined) return [];
  const samples = (peaks: readonly MeasuredPeak[]): Sample[] =>
    peaks.map((peak) => ({ value: bytesOf(peak), uncertainty: 0 }));
  return [
    {
      ...bytesCheck(criterionText(criterion), samples(pairs.golden), samples(pairs.current), input.tolerances.memory),
      gate: true,
    },
  ];
}

/**
 * Tolerances at half of what the hunted run is worse by. Throws MBF1009 where the golden runs lack the figure, or the
 * hunted run is not worse: any result of such a bisection would be wrong.
 */
export function huntedTolerances(
  criterion: Criterion,
  input: CheckInput,
  hunted: Measurement | null,
): CheckInput['tolerances'] {
  const { tolerances, golden } = input;
  if (criterion.kind === 'oom' || criterion.kind === 'cause') return tolerances;
  const checks = criterionChecks(criterion, { ...input, current: golden });
  if (checks.length === 0)
    throw new MbfError(
      'MBF1009',
      `golden values of run ${golden[0]!.run} cannot judge --on ${criterionText(criterion)}: ${lackOf(criterion)}`,
    );
  if (hunted === null) return tolerances;
  const harms = criterionChecks(criterion, { ...input, current: [hunted] }).flatMap(({ name, relative }) =>
    relative === null ? [] : [name === 'throughput' ? -relative : relative],
  );
  const harm = Math.max(0, maxOf(harms));
  if (harm === 0)
    throw new MbfError(
      'MBF1009',
      `run ${hunted.run} (--like) is not worse than the golden values by --on ${criterionText(criterion)}`,
    );
  const half = harm / 2;
  return criterion.kind === 'throughput' ? { ...tolerances, time: half } : { ...tolerances, memory: half };
}

function lackOf(criterion: Criterion): string {
  switch (criterion.kind) {
    case 'throughput':
      return 'they have no steady iterations with a time';
    case 'memory':
      return 'they have neither memory lines nor a memory snapshot';
    default:
      return 'they have no memory snapshot';
  }
}
