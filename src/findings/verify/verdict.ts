/**
 * Whether it is a fix. A pass needs optimizer states and steady steps after the place where the run before failed: an
 * OOM that moved to another rank, iteration or phase is progress and no pass.
 */

import type { VerifyVerdict } from '../../model/results/verify.js';
import type { Text } from '../../model/statement.js';
import { throughputLost } from './measured.js';
import { isSetup } from './run-words.js';
import type { VerifyChange, VerifyMeasured, VerifyRun } from './unworded.js';
import { textOf } from './values.js';

/** Steady iterations after warm-up that a pass needs. */
export const STEADY_STEPS = 3;
/** A peak that fell or rose by less has not changed. */
const SAME_PEAK = 0.02;

export interface VerdictInput {
  readonly before: VerifyRun;
  readonly after: VerifyRun;
  readonly changes: readonly VerifyChange[];
  readonly measured: VerifyMeasured;
  readonly unfair: readonly Text[];
  readonly sameRun: boolean;
  readonly sameLayout: boolean;
  readonly sameWork: boolean;
  /** Completed part of the announced iterations; −1: unknown. */
  readonly phases: { readonly before: number; readonly after: number };
  /** Percent of throughput that the change was expected to cost. */
  readonly expectedCost: number | null;
}

export interface Verdicted {
  readonly verdict: VerifyVerdict;
  readonly summary: Text;
}

const verdicted = (verdict: VerifyVerdict, code: string, figures: object = {}): Verdicted => ({
  verdict,
  summary: textOf(code, figures),
});

export function verdictOf(input: VerdictInput): Verdicted {
  const { before, after, unfair, sameRun } = input;
  if (sameRun) return verdicted('no_effect', 'same_run');
  if (unfair.length > 0) return verdicted('undecided', 'unfair', { unfair });
  if (after.ending === 'oom') return afterOom(input);
  if (after.ending === 'failed')
    return verdicted(
      before.ending === 'completed' || before.ending === 'stopped' ? 'worse' : 'undecided',
      'failed_otherwise',
      after,
    );
  if (after.ending === 'no_training') return verdicted('undecided', 'no_training');
  return before.ending === 'oom' ? gone(input) : withoutFailure(input);
}

const inactive = ({ effect: { outcome } }: VerifyChange): boolean => outcome === 'inactive';
const keysOf = (changes: readonly VerifyChange[]): string =>
  changes
    .slice(0, 3)
    .map(({ key }) => key)
    .join(', ');

/** The failure of the run before did not happen. */
function gone({ before, after, changes, measured, expectedCost, sameWork }: VerdictInput): Verdicted {
  const lost = throughputLost(measured, sameWork);
  const credited = changes.filter((change) => change.credited);
  const figures = {
    ...{ done: after.last_iteration, failed_at: before.iteration ?? 0, steps: Math.max(after.steady_steps, 0) },
    ...{ least: STEADY_STEPS, keys: keysOf(changes), credited: credited.length === 0 ? null : keysOf(credited) },
    in_force: changes.some(({ effect: { outcome } }) => outcome === 'active' || outcome === 'partly'),
    ...(lost === null
      ? {}
      : { speed: Math.abs(lost.percent) <= lost.noise ? 'same' : lost.percent > 0 ? 'slower' : 'faster' }),
    ...{ percent: Math.abs(lost?.percent ?? 0), expected: expectedCost },
  };
  const { done, failed_at: failedAt, steps } = figures;
  if (done === null) return verdicted('undecided', 'no_iteration');
  if (done <= failedAt) return verdicted('undecided', 'not_past', figures);
  if (steps < STEADY_STEPS) return verdicted('progress', 'few_steps', figures);
  if (changes.length === 0) return verdicted('undecided', 'gone_unchanged');
  if (changes.every(inactive)) return verdicted('not_active', 'gone_not_by', figures);
  return verdicted('fixed', 'gone', figures);
}

function afterOom({ before, after, changes, measured, sameLayout, phases }: VerdictInput): Verdicted {
  const off = changes.filter(inactive);
  const partly = changes.filter(({ effect: { outcome } }) => outcome === 'partly');
  const onOff = partly.filter(({ effect: { ranks } }) => after.rank !== null && ranks.inactive.includes(after.rank));
  if (before.ending !== 'oom') {
    const why = changes.find(({ on_cause }) => on_cause !== null);
    return verdicted('worse', 'new_oom', { summary: after.summary, key: why?.key, why: why?.on_cause });
  }
  if (changes.length > 0 && off.length + onOff.length === changes.length)
    return onOff.length > 0
      ? verdicted('not_active', 'off_on_rank', { keys: keysOf(onOff), rank: after.rank })
      : verdicted('not_active', 'off', { keys: keysOf(off) });
  const [x, y] = [before.iteration ?? 0, after.iteration ?? 0];
  const announced = phases.before >= 0 && phases.after >= 0;
  const { delta, before: peak } = measured.peak_allocated;
  const places = { was: placeOf(before), is: placeOf(after) };
  const figures = { ...places, delta_bytes: peak === null ? null : delta };
  const moved = verdicted('progress', 'moved', figures);
  if (y > x || (announced && phases.after > phases.before)) return moved;
  if ((announced && phases.after < phases.before) || (y < x && x > 0 && y === 0))
    return verdicted('worse', 'earlier', places);
  const field = sameLayout ? 'rank' : 'stage';
  if (before[field] !== null && after[field] !== null && before[field] !== after[field]) return moved;
  if (isLater(before.phase, after.phase)) return moved;
  if (changes.length === 0) return verdicted('no_effect', 'unchanged_oom', figures);
  return y < x ? verdicted('worse', 'earlier', figures) : verdicted('no_effect', 'same_failure', figures);
}

const ORDER = ['forward', 'backward', 'optimizer step'];

function isLater(before: string | null, after: string | null): boolean {
  return before !== null && after !== null && ORDER.indexOf(after) > ORDER.indexOf(before) && ORDER.includes(before);
}

const placeOf = (run: VerifyRun) => textOf('place', { ...run, setup: isSetup(run.phase) });

/** Without a failure before: whether less memory is needed, or the run got worse. */
function withoutFailure({ measured, sameWork, changes }: VerdictInput): Verdicted {
  if (changes.length === 0) return verdicted('no_effect', 'no_difference');
  if (changes.every(inactive)) return verdicted('not_active', 'no_effect', { keys: keysOf(changes) });
  const { delta, before } = measured.peak_allocated;
  if (delta === null || before === null) return verdicted('undecided', 'needs_unknown');
  const lost = throughputLost(measured, sameWork);
  const isSlower = lost !== null && lost.percent > lost.noise && lost.percent > 1;
  const figures = { change_bytes: Math.abs(delta), percent: isSlower ? lost.percent : null };
  if (delta < -SAME_PEAK * before) return verdicted('progress', 'peak_fell', figures);
  if (delta > SAME_PEAK * before) return verdicted('worse', 'peak_rose', figures);
  return isSlower ? verdicted('worse', 'slower', figures) : verdicted('no_effect', 'same_peak');
}
