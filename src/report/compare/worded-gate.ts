/** The sentence of a gate. */
import type { CompareCheck } from '../../model/results/compare.js';
import type { GateResult, GateVerdict } from '../../model/results/gate.js';
import { counted } from '../text-pieces.js';
import { isListed, relativeOf } from './check-words.js';

/** `summary`: that of the comparison, which regressions and undecided figures have. */
export function gateSummary(
  verdict: GateVerdict,
  summary: string,
  checks: readonly CompareCheck[],
  { warned, update }: Pick<GateResult, 'warned' | 'update'>,
): string {
  if (update !== null) {
    const dropped = update.dropped === 0 ? '' : `; ${counted(update.dropped, 'oldest run', 'oldest runs')} left out`;
    return `the baseline was ${update.created ? 'created' : 'written'} and has ${counted(update.runs, 'run')}${dropped}`;
  }
  const listed = checks.filter((check) => isListed(check, warned) && check.status !== 'skipped');
  if (verdict === 'pass') {
    const judged = listed.filter(({ status }) => status !== 'info');
    return `${counted(judged.length, 'metric')} within tolerance`;
  }
  if (verdict !== 'warning') return summary;
  const words = listed
    .filter(({ status }) => status === 'undecided' || status === 'regression')
    .map(({ name, status, gate, ...check }) => {
      const why = status === 'regression' && !gate ? 'only a warning' : 'not enough to distinguish it from noise';
      return `${name} ${relativeOf({ name, status, gate, ...check })} (${why})`;
    });
  return words.slice(0, 4).join('; ');
}
