/** What of a comparison fails a job. The figures and how they are judged are those of `compare`. */
import type { CompareCheck, JudgedComparison } from '../../model/results/compare.js';
import type { GateVerdict } from '../../model/results/gate.js';

/** Besides the gates of `compare`: memory that moved to another component or rank, and flushes of the cache. */
const MORE_GATES = /^(?:component:|peak_allocated:rank |alloc_retries$)/;

/** Whether `--warn` names it, or the kind of check it is of. */
export function isWarned({ name }: CompareCheck, warned: readonly string[]): boolean {
  return warned.some((metric) => name === metric || name.startsWith(`${metric}:`));
}

export function isGateOf(warned: readonly string[]): (check: CompareCheck) => boolean {
  return (check) => (check.gate || MORE_GATES.test(check.name)) && !isWarned(check, warned);
}

/**
 * A job must not fail because of noise: a figure that may be worse is a warning. Undecided is what lacks a figure:
 * runs that are not comparable, that ended early, or that do not print what the baseline has.
 */
export function gateVerdict(
  { is_refused, verdict, checks }: Pick<JudgedComparison, 'is_refused' | 'verdict' | 'checks'>,
  warned: readonly string[],
  isStrict: boolean,
): GateVerdict {
  if (is_refused || verdict === 'regression') return verdict;
  const listed = checks.filter((check) => check.gate || isWarned(check, warned));
  const undecided = listed.filter(({ gate, status }) => gate && status === 'undecided');
  const hasFigure = ({ name, delta }: CompareCheck): boolean => name !== 'status' && delta !== null;
  const isJudged = listed.some(({ name, status }) => name !== 'status' && status !== 'skipped');
  if (!isJudged || undecided.some((check) => isStrict || !hasFigure(check))) return 'undecided';
  const isWarning = listed.some(({ gate, status }) => !gate && (status === 'regression' || status === 'undecided'));
  return undecided.length > 0 || isWarning ? 'warning' : 'pass';
}
