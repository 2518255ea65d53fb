/**
 * Whether it is a fix. A pass needs optimizer states and steady steps after the place where the run before failed: an
 * OOM that moved to another rank, iteration or phase is progress and no pass.
 */

import type { VerifyChange, VerifyMeasured, VerifyRun, VerifyVerdict } from '../../model/results/verify.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { throughputLost } from './measured.js';

/** Steady iterations after warm-up that a pass needs. */
export const STEADY_STEPS = 3;
/** A peak that fell or rose by less has not changed. */
const SAME_PEAK = 0.02;

export interface VerdictInput {
  readonly before: VerifyRun;
  readonly after: VerifyRun;
  readonly changes: readonly VerifyChange[];
  readonly measured: VerifyMeasured;
  readonly unfair: readonly string[];
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
  readonly summary: string;
}

export function verdictOf(input: VerdictInput): Verdicted {
  const { before, after, changes, unfair, sameRun } = input;
  if (sameRun) return { verdict: 'no_effect', summary: 'both are the same run: nothing changed' };
  if (unfair.length > 0) return { verdict: 'undecided', summary: `the two are not comparable: ${unfair.join('; ')}` };
  if (after.ending === 'oom') return afterOom(input);
  if (after.ending === 'failed')
    return {
      verdict: before.ending === 'completed' || before.ending === 'stopped' ? 'worse' : 'undecided',
      summary: `the run after failed for another reason than memory: ${after.summary}`,
    };
  if (after.ending === 'no_training')
    return {
      verdict: 'undecided',
      summary: 'the run after shows no training: whether it gets past the failure is not known',
    };
  return before.ending === 'oom' ? gone(input) : withoutFailure(input, changes);
}

const inactive = ({ effect: { outcome } }: VerifyChange): boolean => outcome === 'inactive';
const words = (changes: readonly VerifyChange[]): string =>
  changes
    .slice(0, 3)
    .map(({ key }) => key)
    .join(', ');

/** The failure of the run before did not happen. */
function gone({ before, after, changes, measured, expectedCost, sameWork }: VerdictInput): Verdicted {
  const done = after.last_iteration;
  if (done === null)
    return {
      verdict: 'undecided',
      summary: 'no iteration of the run after is in the evidence: a snapshot alone is not a pass',
    };
  const failedAt = before.iteration ?? 0;
  if (done <= failedAt)
    return {
      verdict: 'undecided',
      summary: `the run before failed after iteration ${formatCount(failedAt)}; the run after has come to ${formatCount(done)} and not past it`,
    };
  const steps = Math.max(after.steady_steps, 0);
  if (steps < STEADY_STEPS)
    return {
      verdict: 'progress',
      summary: `past the place of the OOM, but ${steps} steady iterations after warm-up are not a pass: ${STEADY_STEPS} are required`,
    };
  if (changes.length === 0)
    return { verdict: 'undecided', summary: 'the OOM is gone and no recorded setting differs: nothing shows why' };
  if (changes.every(inactive))
    return { verdict: 'not_active', summary: `the OOM is gone, but not by ${words(changes)}: it is not in force` };
  const lost = throughputLost(measured, sameWork);
  const cost =
    lost === null || Math.abs(lost.percent) <= lost.noise
      ? lost === null
        ? ''
        : ', as fast as before within the noise'
      : lost.percent > 0
        ? `, at the cost of ${lost.percent.toFixed(1)} % of throughput${expectedCost === null ? '' : ` (expected ${expectedCost} %)`}`
        : `, ${(-lost.percent).toFixed(1)} % faster`;
  const shown = changes.filter(({ effect: { outcome } }) => outcome === 'active' || outcome === 'partly');
  const credited = changes.filter((change) => change.credited);
  const by =
    shown.length === 0
      ? `; that ${words(changes)} took effect is not recorded`
      : credited.length > 0
        ? ` by ${words(credited)}`
        : '; by which of the changes is not known';
  return {
    verdict: 'fixed',
    summary: `the OOM is gone${by}: ${formatCount(done)} iterations, ${formatCount(steps)} of them steady, where it failed after ${formatCount(failedAt)}${cost}`,
  };
}

function afterOom({ before, after, changes, measured, sameLayout, phases }: VerdictInput): Verdicted {
  const off = changes.filter(inactive);
  const partly = changes.filter(({ effect: { outcome } }) => outcome === 'partly');
  const onOff = partly.filter(({ effect: { ranks } }) => after.rank !== null && ranks.inactive.includes(after.rank));
  if (before.ending !== 'oom') {
    const why = changes.find(({ on_cause }) => on_cause !== null);
    return {
      verdict: 'worse',
      summary:
        `the run before did not run out of memory; the run after does: ${after.summary}` +
        (why === undefined ? '' : `; ${why.key}: ${why.on_cause}`),
    };
  }
  if (changes.length > 0 && off.length + onOff.length === changes.length)
    return {
      verdict: 'not_active',
      summary:
        onOff.length > 0
          ? `${words(onOff)} is not in force on rank ${after.rank}, which ran out of memory`
          : `${words(off)} is not in force, and it still runs out of memory`,
    };
  const [was, is] = [place(before), place(after)];
  const [x, y] = [before.iteration ?? 0, after.iteration ?? 0];
  const moved = `the OOM moved from ${was} to ${is}: progress, no pass`;
  const announced = phases.before >= 0 && phases.after >= 0;
  if (y > x || (announced && phases.after > phases.before)) return { verdict: 'progress', summary: moved };
  if ((announced && phases.after < phases.before) || (y < x && x > 0 && y === 0))
    return { verdict: 'worse', summary: `it fails earlier: ${is} instead of ${was}` };
  if (sameLayout && before.rank !== null && after.rank !== null && before.rank !== after.rank)
    return { verdict: 'progress', summary: moved };
  if (!sameLayout && before.stage !== null && after.stage !== null && before.stage !== after.stage)
    return { verdict: 'progress', summary: moved };
  if (isLater(before.phase, after.phase)) return { verdict: 'progress', summary: moved };
  if (changes.length === 0)
    return { verdict: 'no_effect', summary: `no recorded setting differs, and it still runs out of memory at ${is}` };
  const { delta, before: peak } = measured.peak_allocated;
  const fell =
    delta === null || peak === null
      ? ''
      : `; the peak went ${delta <= 0 ? 'down' : 'up'} by ${formatBytes(Math.abs(delta))}`;
  if (y < x) return { verdict: 'worse', summary: `it fails earlier: ${is} instead of ${was}${fell}` };
  return { verdict: 'no_effect', summary: `the same failure at ${is}${fell}` };
}

/** Of a launch that announced no training. */
const isSetup = (phase: string | null): boolean => phase !== null && /build|load|launch/.test(phase);

const ORDER = ['forward', 'backward', 'optimizer step'];

function isLater(before: string | null, after: string | null): boolean {
  return before !== null && after !== null && ORDER.indexOf(after) > ORDER.indexOf(before) && ORDER.includes(before);
}

function place({ rank, iteration, phase }: VerifyRun): string {
  const when =
    iteration === null
      ? isSetup(phase)
        ? 'before training'
        : 'in the first iteration'
      : `after iteration ${formatCount(iteration)}`;
  return [rank === null ? 'an unknown rank' : `rank ${rank}`, when, ...(phase === null ? [] : [`in ${phase}`])].join(
    ' ',
  );
}

/** Without a failure before: whether less memory is needed, or the run got worse. */
function withoutFailure({ measured, sameWork }: VerdictInput, changes: readonly VerifyChange[]): Verdicted {
  if (changes.length === 0)
    return { verdict: 'no_effect', summary: 'no recorded setting differs, and neither run failed' };
  if (changes.every(inactive)) return { verdict: 'not_active', summary: `${words(changes)} is not in force` };
  const { delta, before } = measured.peak_allocated;
  const lost = throughputLost(measured, sameWork);
  const slower =
    lost !== null && lost.percent > lost.noise && lost.percent > 1
      ? ` and throughput by ${lost.percent.toFixed(1)} %`
      : '';
  if (delta === null || before === null)
    return { verdict: 'undecided', summary: 'neither run failed, and what they needed is not in the evidence of both' };
  if (delta < -SAME_PEAK * before)
    return { verdict: 'progress', summary: `no failure to cure; the peak fell by ${formatBytes(-delta)}${slower}` };
  if (delta > SAME_PEAK * before || slower !== '')
    return {
      verdict: 'worse',
      summary:
        delta > SAME_PEAK * before
          ? `no failure to cure; the peak rose by ${formatBytes(delta)}`
          : `the peak is the same, throughput fell by ${lost!.percent.toFixed(1)} %`,
    };
  return { verdict: 'no_effect', summary: 'no failure to cure, and the peak is the same within 2 %' };
}
