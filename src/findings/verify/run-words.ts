/** How a run went, as far as a verdict on a change needs it. */
import type { Verdict } from '../../model/verdict.js';
import { furthestPhase, SETUP, type Side } from './side.js';
import type { VerifyRun } from './unworded.js';
import { textOf } from './values.js';

export function describeRun(side: Side): VerifyRun {
  const { run, measurement, diagnosis } = side;
  const { status, steps } = measurement;
  const failed = status.ending === 'oom' || status.ending === 'failed';
  const verdict = failed ? diagnosis.verdicts[0] : undefined;
  const rank = verdict?.rank ?? status.failure?.rank ?? null;
  return {
    run,
    ending: status.ending,
    cause: verdict?.cause ?? null,
    detail: verdict?.detail ?? null,
    summary: failed
      ? (status.verdict?.summary ?? status.failure?.text ?? textOf('it_failed'))
      : status.ending === 'completed'
        ? textOf('came_to_its_end')
        : status.ending === 'no_training'
          ? textOf('no_training_seen')
          : textOf('no_end'),
    rank,
    stage: status.failure?.stage ?? measurement.ranks.find((one) => one.rank === rank)?.stage ?? null,
    iteration: failed ? lastBefore(status) : null,
    phase: failed ? (setupPhase(side) ?? phaseOf(verdict)) : null,
    first_iteration: status.first_iteration,
    last_iteration: status.last_iteration,
    steady_steps: steadySteps(status, steps?.count ?? 0),
  };
}

/**
 * Ranks print into files of their own: what another one printed last counts, since a launch ends with its first
 * failure.
 */
function lastBefore({ failure, last_iteration: last }: Side['measurement']['status']): number | null {
  if (failure?.iteration == null) return last;
  return last === null ? failure.iteration : Math.max(last, failure.iteration);
}

/** Where no line prints a time, the iterations after the first: that states exist and steps go on they show as well. */
function steadySteps(
  { first_iteration: first, last_iteration: last }: Side['measurement']['status'],
  timed: number,
): number {
  if (timed > 0 || first === null || last === null) return timed;
  return Math.max(0, last - first);
}

/**
 * The last thing announced by a launch that has not come to training; null once it has, or where it announces nothing.
 */
function setupPhase(side: Side): string | null {
  if (side.measurement.status.last_iteration !== null) return null;
  const at = furthestPhase(side);
  return at < 0 || SETUP[at] === 'training' ? null : SETUP[at]!.replaceAll('_', ' ');
}

const PHASE_OF_REASON: Readonly<Record<string, string>> = { optimizer_states: 'optimizer step', logits: 'forward' };

/**
 * What a failing rank was doing, by the requesting call, else by the one that keeps memory; null where the names do not
 * show it.
 */
function phaseOf(verdict: Verdict | undefined): string | null {
  if (verdict === undefined) return null;
  const site = verdict.request?.site ?? verdict.steps.find(({ kind }) => kind === 'look_at_site')?.names['site'];
  if (site === undefined) return PHASE_OF_REASON[verdict.reason ?? ''] ?? null;
  if (/optimizer|_initialize_state|\badam|exp_avg/i.test(site)) return 'optimizer step';
  if (/backward|autograd|wgrad|dgrad|grad_buffer|reduce_scatter/i.test(site)) return 'backward';
  if (/forward|attention|mlp\.py|linear|layer|loss|cross_entropy/i.test(site)) return 'forward';
  return null;
}

/** Of a launch that announced no training. */
export const isSetup = (phase: string | null): boolean => phase !== null && /build|load|launch/.test(phase);
