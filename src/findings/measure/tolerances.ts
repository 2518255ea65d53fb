/** Least relative changes that count, where a user wants others than the view `check_rule` has. */
import { MbfError } from '../../model/errors.js';
import { COMPONENTS } from '../../model/vocabulary.js';

/** Rules of the view `check_rule`, then checks of the macro `judged_checks`. */
const RULES = ['memory', 'time', 'loss'];
const CHECKS = [
  'peak_allocated',
  'peak_active',
  'peak_reserved',
  'component',
  'step_time',
  'throughput',
  'alloc_retries',
] as const;

/**
 * By rule (`memory`: peaks, whole and by component or site; `time`: step time and throughput) or by check, which takes
 * precedence: `peak_allocated` with its stages and ranks, `component:activation`, `component` for all of them.
 */
export type Tolerances = Readonly<Record<string, number>>;

/** Whether `name` is a check or a kind of checks. The ending of a run has no tolerance. */
export function isMetric(name: string): boolean {
  return CHECKS.some((check) => check === name) || COMPONENTS.some((component) => name === `component:${component}`);
}

export const METRIC_NAMES = `${CHECKS.join(', ')}, component:NAME`;

/** `memory=1%,step_time=0.05`. A bare number of 1 or more is refused: it could be either. Throws MBF1001. */
export function parseTolerances(text: string | undefined): Tolerances {
  const tolerances: Record<string, number> = {};
  for (const part of text === undefined ? [] : text.split(',')) {
    const match = /^([\w:]{1,60})\s*=\s*(\d{1,3}(?:\.\d{1,6})?)\s*(%?)$/.exec(part.trim());
    const value = Number(match?.[2]) / (match?.[3] === '%' ? 100 : 1);
    if (match === null || (match[3] !== '%' && value >= 1))
      throw new MbfError('MBF1001', `--tolerance ${JSON.stringify(part)} is none; write memory=1%,time=3%,loss=5%`);
    const name = match[1]!;
    if (!RULES.includes(name) && !isMetric(name))
      throw new MbfError(
        'MBF1001',
        `--tolerance ${JSON.stringify(part)}: expected one of ${RULES.join(', ')}, ${METRIC_NAMES}`,
      );
    tolerances[name] = value;
  }
  return tolerances;
}
