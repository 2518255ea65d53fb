/**
 * The checks a criterion judges by, each with the tolerance that halves the way from the golden run to the one that is
 * hunted, where that is known.
 */

import { MbfError } from '../../../model/errors.js';
import { maxOf } from '../../../model/lists.js';
import type { MeasuredPeak, Measurement } from '../../../model/measurement.js';
import type { CompareCheck } from '../../../model/results/compare.js';
import type { Store } from '../../../store/store.js';
import type { Tolerances } from '../../measure/tolerances.js';
import { type CheckRules, judgeEach, type Sides } from '../judge-checks.js';
import { type Criterion, criterionText } from './criterion.js';

/** Bytes of the stacks with a frame whose function, or `file:line`, holds the pattern. */
export function siteBytes(peak: MeasuredPeak, pattern: string): number {
  const hit = peak.frames.map(([name, file, line]) => `${name} ${file}:${line}`.includes(pattern));
  return peak.sites.reduce((sum, site) => sum + (site.stack.some((frame) => hit[frame]) ? site.bytes : 0), 0);
}

/** Gates of the criterion, by comparison. Empty where a side cannot be judged. */
export async function criterionChecks(
  store: Store,
  criterion: Criterion,
  comparisons: readonly Sides[],
  rules: Pick<CheckRules, 'tolerances' | 'sameLayout'>,
): Promise<CompareCheck[][]> {
  const isSpeed = ({ name }: CompareCheck): boolean => name === 'step_time' || name === 'throughput';
  const isJudged = ({ gate, current }: CompareCheck): boolean => gate && current !== null;
  switch (criterion.kind) {
    case 'memory':
    case 'throughput': {
      const all = await judgeEach(store, comparisons, rules);
      const isOfSpeed = criterion.kind === 'throughput';
      return all.map((checks) => checks.filter((check) => isJudged(check) && (isOfSpeed ? isSpeed : isPeak)(check)));
    }
    case 'component':
    case 'site': {
      const name = criterionText(criterion);
      const partsOf = (peak: MeasuredPeak) => ({
        [name]:
          criterion.kind === 'site' ? siteBytes(peak, criterion.pattern) : (peak.components[criterion.component] ?? 0),
      });
      const all = await judgeEach(store, comparisons, { ...rules, partsOf });
      return all.map((checks) =>
        checks.filter((check) => check.name === name).map((check) => ({ ...check, gate: true })),
      );
    }
    case 'oom':
    case 'cause':
      return comparisons.map(() => []);
  }
}

const isPeak = ({ name }: CompareCheck): boolean => name.startsWith('peak_');

/**
 * Tolerances at half of what the hunted run is worse by. Throws MBF1009 where the golden runs lack the figure, or the
 * hunted run is not worse: any result of such a bisection would be wrong.
 */
export async function huntedTolerances(
  store: Store,
  criterion: Criterion,
  golden: readonly Measurement[],
  hunted: Measurement | null,
  rules: { readonly tolerances: Tolerances; readonly sameLayout: boolean },
): Promise<Tolerances> {
  const { tolerances } = rules;
  if (criterion.kind === 'oom' || criterion.kind === 'cause') return tolerances;
  const sides = [golden, ...(hunted === null ? [] : [[hunted]])].map((current) => ({ golden, current }));
  const [own, theirs] = await criterionChecks(store, criterion, sides, rules);
  if (own!.length === 0)
    throw new MbfError(
      'MBF1009',
      `golden values of run ${golden[0]!.run} cannot judge --on ${criterionText(criterion)}: ${lackOf(criterion)}`,
    );
  if (hunted === null) return tolerances;
  const harms = theirs!.flatMap(({ name, relative }) =>
    relative === null ? [] : [name === 'throughput' ? -relative : relative],
  );
  const harm = Math.max(0, maxOf(harms));
  if (harm === 0)
    throw new MbfError(
      'MBF1009',
      `run ${hunted.run} (--like) is not worse than the golden values by --on ${criterionText(criterion)}`,
    );
  return { ...tolerances, [criterion.kind === 'throughput' ? 'time' : 'memory']: harm / 2 };
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
