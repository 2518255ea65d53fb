/** Progress, memory and pace of a run in words: the first screen of a run that did not die of memory. */
import type { LaunchEnd, LaunchEnding } from '../../model/launch-end.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../model/results/common.js';
import type { LaunchOoms, RunGrowth, RunPeak, RunState, RunStep } from '../../model/run-state.js';
import { counted, formatBytes, formatCount } from '../../model/units.js';
import { endingCounts, endingWord, launchText } from '../launch-text.js';
import { printable } from '../plain-text.js';
import { rankList, rankWords, stepTime } from '../text-pieces.js';
import { wordTable } from '../words/fill.js';

/** The run as a whole is the answer: nothing failed, or nothing shows why it was ended. */
export function isRunAnswer({ cause }: Verdict, { run_state: run, first_failure: first }: DiagnoseResult): boolean {
  if (run === null) return false;
  if (run.state === 'finished') return cause === 'not_oom';
  return (
    cause === 'undecided' && (run.state === 'ended_by_launcher' || (run.state === 'running_or_cut' && first === null))
  );
}

/** `iteration 5 of 100`; empty where no iteration is printed. */
function progress({ last_iteration: last, target_iteration: target }: RunState): string {
  if (last === null) return '';
  return `iteration ${formatCount(last)}${target === null || target < last ? '' : ` of ${formatCount(target)}`}`;
}

const after = (words: string, at: string): string => (at === '' ? '' : ` ${words} ${at}`);

/** `running, or cut after iteration 5 of 100`. */
export function stateTitle(run: RunState): string {
  const at = progress(run);
  switch (run.state) {
    case 'finished':
      return `finished normally${after('after', at)}`;
    case 'running_or_cut':
      return `running, or cut${after('after', at)}`;
    case 'ended_by_launcher':
      return `ended by its launcher${after('after', at)}, reason unknown`;
    default:
      return `${endingWord(run.state)}${after('after', at)}`;
  }
}

export const stateReason = ({ state }: RunState): string => wordTable('codes', 'state_reasons')[state] ?? '';

export interface RunLine {
  readonly label: 'MEMORY' | 'GROWTH' | 'STEP';
  readonly text: string;
}

/** `hasAccount`: the memory is shown already, from a snapshot. */
export function runLines(run: RunState | null, hasAccount: boolean): RunLine[] {
  if (run === null) return [];
  const { peak, growth, step } = run;
  return [
    ...(peak === null || hasAccount ? [] : [{ label: 'MEMORY' as const, text: peakText(peak) }]),
    ...(growth === null ? [] : [{ label: 'GROWTH' as const, text: growthText(growth) }]),
    ...(step === null ? [] : [{ label: 'STEP' as const, text: stepText(step) }]),
  ];
}

/** As exact as it is printed: two digits behind the point. */
const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;

function peakText({ of, bytes, rank, allocated_bytes: allocated, ...peak }: RunPeak): string {
  const { ranks, least_bytes: least, total_bytes: total, share, share_by: by, headroom_bytes: headroom } = peak;
  const limit = total === null ? 'the device' : formatBytes(total);
  const device = share === null ? '' : `, ${percent(share)} of ${limit}${by === 'printed' ? ' as printed' : ''}`;
  const headroomText =
    headroom === null ? '' : `; headroom ${by === 'printed' ? 'about ' : ''}${formatBytes(headroom)}`;
  const which = rank === null ? 'the fullest rank' : `rank ${rank}`;
  const where =
    ranks > 1
      ? `, on ${which}${rank === null ? '' : ', the fullest'} of ${formatCount(ranks)} (least ${formatBytes(least)})`
      : rank === null
        ? ''
        : `, on ${which}`;
  const live = allocated === null ? '' : `; allocated at most ${formatBytes(allocated)}`;
  return `peak ${of} ${formatBytes(bytes)}${device}${where}${headroomText}${live}`;
}

function growthText({ metric, rank, rises, at_iterations: at, grown_bytes: grown, ...growth }: RunGrowth): string {
  const { bytes_per_iteration: slope, full_at_iteration: full } = growth;
  const who = `${wordTable('codes', 'growth_metrics')[metric] ?? metric}${rank === null ? '' : ` of rank ${rank}`}`;
  const list = at.map((iteration) => formatCount(iteration));
  const when =
    rises > at.length
      ? `${formatCount(rises)} times, last at iteration ${list.at(-1)}`
      : `at iteration${list.length === 1 ? '' : 's'} ${[list.slice(0, -1).join(', '), list.at(-1)].filter((one) => one !== '').join(' and ')}`;
  if (slope === null) return `${who} rose ${when}, by ${formatBytes(grown)} in all`;
  const end = full === null ? '' : `; at this rate the device is full by iteration ${formatCount(full)}`;
  return `${who} grows by ${formatBytes(Math.round(slope))} per iteration: it rose ${when}, by ${formatBytes(grown)} in all${end}`;
}

function stepText({
  ms,
  from_iteration: from,
  to_iteration: to,
  derived_from: by,
  tflops_per_gpu: tflops,
}: RunStep): string {
  const how =
    by !== null
      ? `, from ${by}`
      : from === null || to === null
        ? ''
        : from === to
          ? `, iteration ${formatCount(from)} only`
          : `, median of iterations ${formatCount(from)} to ${formatCount(to)}`;
  return `${by === null ? '' : 'about '}${stepTime(ms)}${how}${tflops === null ? '' : `; ${tflops.toFixed(1)} TFLOP/s per GPU`}`;
}

// ---- caught OOMs

/** `2 OOMS CAUGHT`; null where none was, or an uncaught one looks the same. */
export function caughtTitle({ caught_ooms: caught }: DiagnoseResult): string | null {
  if (caught === null || !caught.is_certain || !caught.includes_last) return null;
  return caught.count === 1 ? 'OOM CAUGHT' : `${formatCount(caught.count)} OOMS CAUGHT`;
}

/** `2 out-of-memory errors were caught; the run went on to iteration 6 of 100 and is running, or was cut`. */
export function caughtText({ caught_ooms: caught, run_state: run }: DiagnoseResult): string | null {
  if (caught === null) return null;
  const errors = counted(caught.count, 'out-of-memory error');
  const were = caught.count === 1 ? 'was' : 'were';
  if (!caught.includes_last)
    return `${errors.replace(' ', ' earlier ')} ${were} caught${caught.from === 'log' ? '; a later one ended the run' : ': whole steps follow'}`;
  if (caught.steps_after !== null)
    return `${errors} ${were} caught: ${counted(caught.steps_after, 'whole step')} recorded after ${caught.count === 1 ? 'it' : 'the last'}`;
  const went = run === null || run.last_iteration === null ? 'went on' : `went on to ${progress(run)}`;
  if (!caught.is_certain)
    return `the log goes on${run === null ? '' : ` to ${progress(run)}`} behind ${caught.count === 1 ? 'this error' : `these ${formatCount(caught.count)} errors`}: caught, or standard output was buffered`;
  return `${errors} ${were} caught: the run ${went}${run?.state === 'finished' ? ', and finished' : ''}`;
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

/** Of the judged launch, for a headline. */
export function judgedText({ launches: ends, judged_launch: judged }: DiagnoseResult): string {
  const ending = ends.find(({ attempt }) => attempt === judged)?.ending ?? 'unknown';
  return `launch ${judged} of ${formatCount(ends.length)} ${ending === 'unknown' ? 'running or cut' : endingWord(ending)}`;
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

/** Every launch that ran out of memory, in one text: what differs between them, then what all have. */
function oomsText(ooms: readonly LaunchOoms[]): string {
  const all = ooms.map(oomParts);
  const shared = all[0]!.filter((part) => all.every((parts) => parts.includes(part)));
  const sharedText = shared.join(', ');
  const title = `${launches(oomAttempts(ooms))} ran out of memory`;
  if (ooms.length === 1)
    return `${title}${ooms[0]!.attempts.length === 1 ? '' : ', each with the same figures'}: ${sharedText}`;
  const different = ooms
    .slice(0, MOST_OOM_GROUPS)
    .map(({ attempts }, i) => `${launches(attempts)}: ${all[i]!.filter((part) => !shared.includes(part)).join(', ')}`);
  const more = ooms.length - different.length;
  return `${title}: ${different.join(' · ')}${more > 0 ? ` · ${counted(more, 'other group')}: mbforensics log` : ''}${shared.length === 0 ? '' : `; each ${sharedText}`}`;
}

function oomParts({ requested_bytes: asked, free_bytes: free, total_bytes: total, ...oom }: LaunchOoms): string[] {
  const { rank, device, iteration, frame, file, line } = oom;
  return [
    ...(asked === null ? [] : [`${formatBytes(asked)} requested`]),
    ...(free === null ? [] : [`${formatBytes(free)} free${total === null ? '' : ` of ${formatBytes(total)}`}`]),
    ...(rank === null ? [] : [rankWords([rank])]),
    ...(device === null ? [] : [`device ${device}`]),
    ...(iteration === null ? [] : [`after iteration ${formatCount(iteration)}`]),
    ...(frame === null ? [] : [`in ${printable(frame)}`]),
    `${printable(file)} line ${formatCount(line)}`,
  ];
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
