/** Progress, memory and pace of a run in words: the first screen of a run that did not die of memory. */

import type { LaunchEnd, LaunchEnding } from '../../model/launch-end.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../model/results/common.js';
import type { LaunchOoms, RunGrowth, RunState } from '../../model/run-state.js';
import { formatCount } from '../../model/units.js';
import { endingCounts, endingWord, launchText } from '../launch-text.js';
import { rankList, rankWords, stepTime } from '../text-pieces.js';
import { textsAll, textsOf, wordTable } from '../words/fill.js';

/** The run as a whole is the answer: nothing failed, or nothing shows why it was ended. */
export function isRunAnswer({ cause }: Verdict, { run_state: run, first_failure: first }: DiagnoseResult): boolean {
  if (run === null) return false;
  if (run.state === 'finished') return cause === 'not_oom';
  return (
    cause === 'undecided' && (run.state === 'ended_by_launcher' || (run.state === 'running_or_cut' && first === null))
  );
}

/** `iteration 5 of 100`; empty where no iteration is printed. */
function progress(run: RunState | null): string {
  const { last_iteration: last = null, target_iteration: target = null } = run ?? {};
  return textOf('progress', { last, target: target !== null && last !== null && target >= last && target });
}

/** `running, or cut after iteration 5 of 100`. */
export function stateTitle(run: RunState): string {
  const { state } = run;
  const isNamed = state === 'finished' || state === 'running_or_cut' || state === 'ended_by_launcher';
  return textOf(isNamed ? state : 'ended', { at: progress(run) || null, ending: isNamed ? null : endingWord(state) });
}

export const stateReason = ({ state }: RunState): string => wordTable('codes', 'state_reasons')[state] ?? '';

const textOf = textsOf('start', 'run');

export interface RunLine {
  readonly label: 'MEMORY' | 'GROWTH' | 'STEP';
  readonly text: string;
}

export function runLines(run: RunState | null, hasAccount: boolean): RunLine[] {
  if (run === null) return [];
  const { peak, growth, step } = run;
  const percent = peak?.share == null ? null : (100 * peak.share).toFixed(peak.share < 0.1 ? 2 : 1);
  const isOnlyOne = step !== null && step.from_iteration !== null && step.from_iteration === step.to_iteration;
  return [
    ...(peak === null || hasAccount ? [] : [{ label: 'MEMORY' as const, text: textOf('peak', { ...peak, percent }) }]),
    ...(growth === null ? [] : [{ label: 'GROWTH' as const, text: growthText(growth) }]),
    ...(step === null
      ? []
      : [{ label: 'STEP' as const, text: textOf('step', { ...step, only: isOnlyOne, time: stepTime(step.ms) }) }]),
  ];
}

function growthText({ metric, at_iterations: at, ...growth }: RunGrowth): string {
  const list = at.map(formatCount);
  const many = growth.rises > at.length;
  return textOf('growth', {
    ...growth,
    metric: wordTable('codes', 'growth_metrics')[metric] ?? metric,
    last: many && list.at(-1),
    one: list.length === 1,
    at: list,
  });
}

// ---- caught OOMs

/** `2 OOMS CAUGHT`; null where none was, or an uncaught one looks the same. */
export function caughtTitle({ caught_ooms: caught }: DiagnoseResult): string | null {
  if (caught === null || !caught.is_certain || !caught.includes_last) return null;
  return caught.count === 1 ? 'OOM CAUGHT' : `${formatCount(caught.count)} OOMS CAUGHT`;
}

export function caughtText({ caught_ooms: caught, run_state: run }: DiagnoseResult): string | null {
  if (caught === null) return null;
  const { includes_last: includesLast, steps_after: steps, is_certain: isCertain } = caught;
  const code = !includesLast ? 'earlier' : steps !== null ? 'steps' : isCertain ? 'went_on' : 'unsure';
  const hasFinished = run?.state === 'finished';
  return textOf(code, { ...caught, at: progress(run) || null, finished: hasFinished });
}

// ---- other launches

const MOST_GROUPS = 3;
/** With their figures. */
const MOST_OOM_GROUPS = 8;

const launches = (attempts: readonly number[]): string =>
  `${attempts.length === 1 ? 'launch' : 'launches'} ${rankList(attempts, 4).replaceAll(/(\d)-(\d)/g, '$1 to $2')}`;

const oomAttempts = (ooms: readonly LaunchOoms[]): number[] => ooms.flatMap(({ attempts }) => attempts);

/** `OOM IN LAUNCHES 1 to 4`, where the judged launch is not one of them. */
export function launchesTitle({ launch_ooms: ooms }: DiagnoseResult): string | null {
  return ooms.length === 0 ? null : `OOM IN ${launches(oomAttempts(ooms)).toUpperCase()}`;
}

export function judgedText({ launches: ends, judged_launch: judged }: DiagnoseResult): string {
  const ending = ends.find(({ attempt }) => attempt === judged)?.ending ?? 'unknown';
  return textOf('judged', { judged, of: ends.length, ending: ending !== 'unknown' && endingWord(ending) });
}

/** Launches with an OOM first, then the ends of the others, the last ones. */
export function launchTexts({ launch_ooms: ooms, launches: ends, judged_launch: judged }: DiagnoseResult): string[] {
  const done = new Set([judged, ...oomAttempts(ooms)]);
  const otherEnds = ends.filter(({ attempt }) => !done.has(attempt));
  return [
    ...(ooms.length === 0 ? [] : [oomsText(ooms)]),
    ...(otherEnds.length === 0 ? [] : [`other launches: ${endTexts(otherEnds)}`]),
  ];
}

function oomsText(ooms: readonly LaunchOoms[]): string {
  const all = ooms.map((oom) =>
    textsAll('start', 'launch_oom', { ...oom, who: oom.rank !== null && rankWords([oom.rank]) }),
  );
  const shared = all[0]!.filter((part) => all.every((parts) => parts.includes(part)));
  const shown = ooms.slice(0, ooms.length === 1 ? 0 : MOST_OOM_GROUPS);
  return textOf('ooms', {
    who: launches(oomAttempts(ooms)),
    same: ooms.length === 1 && ooms[0]!.attempts.length > 1,
    different: shown
      .map(({ attempts }, i) => `${launches(attempts)}: ${all[i]!.filter((part) => !shared.includes(part)).join(', ')}`)
      .join(' · '),
    groups: ooms.length,
    more: ooms.length > 1 && ooms.length > shown.length && ooms.length - shown.length,
    shared,
  });
}

/** Neighbours with one end together: `5 to 8: end unknown`; of many groups, how often each end was. */
function endTexts(ends: readonly LaunchEnd[]): string {
  const groups: { ending: LaunchEnding; ends: LaunchEnd[] }[] = [];
  for (const end of ends) {
    const last = groups.at(-1);
    if (last?.ending === end.ending && last.ends.at(-1)!.attempt + 1 === end.attempt) last.ends.push(end);
    else groups.push({ ending: end.ending, ends: [end] });
  }
  if (groups.length > MOST_GROUPS) return endingCounts(ends);
  return groups
    .map(({ ending, ends: some }) =>
      some.length === 1
        ? launchText(some[0]!)
        : `${some[0]!.attempt} to ${some.at(-1)!.attempt}: ${endingWord(ending)}`,
    )
    .join(' · ');
}
