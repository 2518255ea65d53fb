/**
 * The content of the first screen without its layout. `diagnose-text.ts` lays it out for a terminal,
 * `diagnose-markdown.ts` for an issue.
 */

import { allFailures } from '../../model/all-failures.js';
import { shellWord } from '../../model/escape-controls.js';
import type { PasteForm } from '../../model/results/advise.js';
import type { DiagnoseResult, EvidenceResult, ShortFix, VerdictResult as Verdict } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { isOomKind } from '../../model/vocabulary.js';
import { as, bytes, joined, type Text, t, code as verbatim } from '../document/document.js';
import { counted, droppedTexts, rankName } from '../text-pieces.js';
import { percentText } from '../verdict/action-words.js';
import { siteText } from '../verdict/evidence-words.js';
import { causeName, wordTable } from '../words/fill.js';
import { shownAccount } from './account.js';
import * as state from './run-state-text.js';
import { isUnrecorded } from './unrecorded.js';

/** What the user typed to get this diagnosis: commands to paste take it along. */
export interface DiagnosedTarget {
  readonly operands?: readonly string[] | undefined;
  readonly db?: string | undefined;
  readonly lake?: string | undefined;
  /** As given to `--capacity`: without it `show` might number other evidence. */
  readonly capacity?: string | undefined;
  /** With all evidence. */
  readonly full?: boolean | undefined;
}

// ---- headline and verdict

/** Most characters of a run's name in a headline. */
const MOST_NAME = 120;

const shortRun = ({ run }: DiagnoseResult): string =>
  run.length <= MOST_NAME
    ? run
    : `${run.slice(0, MOST_NAME)}… (${formatCount(run.length - MOST_NAME)} more characters)`;

/** `OOM · run night-shift · rank 3 of 32 (stage PP1) · device 0`. */
export function headline(verdict: Verdict | undefined, result: DiagnoseResult): string {
  if (verdict === undefined)
    return `${othersRead(result).length > 0 ? 'NO FAILURE FOUND' : 'NOTHING RECOGNISED'} · run ${shortRun(result)}`;
  const { rank, device } = verdict;
  const { launches, judged_launch: launch } = result;
  const outcome = outcomeOf(verdict, result);
  const launchesWithOom = /^(?:HOST )?OOM/.test(outcome) ? null : state.launchesTitle(result);
  const failures = allFailures(result.verdicts).length;
  return [
    ...(launchesWithOom === null ? [outcome] : [launchesWithOom, state.judgedText(result)]),
    `run ${shortRun(result)}`,
    ...(rank === null ? [] : [rankPlace(rank, result)]),
    ...(device === null ? [] : [`device ${device}`]),
    ...(launches.length > 1 && launchesWithOom === null ? [`launch ${launch} of ${formatCount(launches.length)}`] : []),
    ...(failures > 1 ? [`${formatCount(failures)} verdicts`] : []),
  ].join(' · ');
}

/** `OOM` only where a failure is one: `HOST OOM` of host memory. */
function outcomeOf(verdict: Verdict, result: DiagnoseResult): string {
  const { cause, evidence } = verdict;
  const { first_failure: first } = result;
  const caught = state.caughtTitle(result);
  if (caught !== null) return caught;
  if (isUnrecorded(verdict)) return 'NO OOM RECORDED';
  if (state.isRunAnswer(verdict, result) && result.run_state?.state === 'finished') return 'FINISHED';
  if (cause === 'not_oom') return 'NO OOM';
  if (cause !== 'undecided') return cause === 'host_oom' ? 'HOST OOM' : 'OOM';
  if (first?.kind === 'killed') return 'KILLED';
  if (evidence.length === 0 || evidence.some(({ kind }) => kind === 'last_iteration')) return 'NO FAILURE FOUND';
  const isOom = first === null ? !evidence.some(({ kind }) => kind === 'failure_line') : isOomKind(first.kind);
  return isOom ? 'OOM' : 'UNDECIDED';
}

function rankPlace(rank: number, { ranks }: DiagnoseResult): string {
  const world = ranks?.world_size == null ? '' : ` of ${formatCount(ranks.world_size)}`;
  const stage = ranks?.stages.find((one) => one.ranks.includes(rank))?.pp ?? null;
  return `rank ${rank}${world}${stage === null ? '' : ` (stage PP${stage})`}`;
}

/** What the screen begins with: the state of a run without a failure, else the verdict and its summary. */
export function answerOf(
  verdict: Verdict,
  result: DiagnoseResult,
): { readonly label: string; readonly texts: string[] } {
  const { run_state: run } = result;
  if (run !== null && state.isRunAnswer(verdict, result))
    return { label: 'STATE', texts: [state.stateTitle(run), state.stateReason(run)].filter((text) => text !== '') };
  const caught = state.caughtText(result);
  return { label: 'VERDICT', texts: [verdictTitle(verdict), verdict.summary, ...(caught === null ? [] : [caught])] };
}

/** `fragmentation (split remainder: pieces left over from larger blocks), confirmed by replay`. */
export function verdictTitle(verdict: Verdict): string {
  const { cause, detail } = verdict;
  if (isUnrecorded(verdict) && cause === 'not_oom') return 'no OOM recorded in this file';
  const meaning = wordTable('phrases', 'meanings')[detail ?? cause];
  const term = [...(detail === null ? [] : [causeName(detail)]), ...(meaning === undefined ? [] : [meaning])];
  const name = `${causeName(cause)}${term.length === 0 ? '' : ` (${term.join(': ')})`}`;
  return cause === 'undecided' ? name : `${name}, ${sureness(verdict)}`;
}

/** How sure, in words. */
function sureness({ confidence, replay, cause }: Verdict): string {
  if (confidence !== 'proven') return `confidence ${confidence}`;
  return replay !== null && cause !== 'not_oom' ? 'confirmed by replay' : 'proven';
}

// ---- fix

/** What the user does about it. */
export interface FixParts {
  /** Of the fixes whose lines are pasted. */
  readonly ids: readonly string[];
  /** Lines to paste; empty where the fix is a change that no line makes. */
  readonly pasted: readonly string[];
  readonly texts: readonly Text[];
  /** The lines are known to be enough. */
  readonly isEnough?: boolean;
}

/** Lines of a fix in the form of the run's framework: variables of its launch first. */
export function pastedLines({ paste }: ShortFix, forms: readonly PasteForm[]): readonly string[] {
  const lists = forms.filter((form) => form !== 'sbatch').map((form) => paste[form]);
  // The framework of a Megatron run is unknown: no line is known to be in its syntax.
  if (forms.includes('megatron_bridge') && forms.includes('megatron_lm'))
    return forms.includes('sbatch') ? paste.sbatch : [];
  return [...(forms.includes('sbatch') ? paste.sbatch : []), ...(lists.find((lines) => lines.length > 0) ?? [])];
}

const MOST_PASTED = 2;

export function fixParts(verdict: Verdict, result: DiagnoseResult): FixParts {
  const { advice } = result;
  if (state.isRunAnswer(verdict, result) || (verdict.cause === 'not_oom' && verdict.next.length === 0))
    return { ids: [], pasted: [], texts: [] };
  const [action] = advice?.actions ?? [];
  const chosen = (action?.fixes ?? []).flatMap((id) => advice!.fixes.filter((fix) => fix.id === id));
  const lines = chosen.flatMap((fix) => pastedLines(fix, advice!.paste_forms));
  const distinct = [...new Set(lines)];
  // Flags of one command may share a line.
  const isOneCommand = distinct.length > MOST_PASTED && distinct.every((line) => line.startsWith('--'));
  const pasted = isOneCommand ? [distinct.join(' ')] : distinct.slice(0, MOST_PASTED);
  // A comment to read is not a line to paste.
  if (chosen.length === 0 || pasted.length === 0 || pasted.every((line) => line.trimStart().startsWith('#')))
    // The allocator's part alone, what forbids it, or finding out is rarely all.
    return {
      ids: chosen.map(({ id }) => id),
      pasted: [],
      texts: verdict.next.slice(0, 2),
      isEnough: verdict.cause !== 'fragmentation' && action?.step?.kind !== 'find_holder',
    };
  const more = verdict.next.length > 1 ? [`then: ${verdict.next[1]!}`] : [];
  // What a setting of a trainer does is not clear from its name.
  const isOfTrainer = chosen.some(({ paste }) => paste.trainer.length > 0);
  const [what = ''] = verdict.next;
  return {
    ids: chosen.map(({ id }) => id),
    pasted,
    texts: [isOfTrainer ? what : fixText(chosen), ...more],
    isEnough: chosen.every(({ closes }) => closes === true),
  };
}

/** What a fix does, costs and needs. Figures of other machines are in `advise` alone. */
function fixText(fixes: readonly ShortFix[]): Text {
  const [fix] = fixes;
  const needs = [...new Set(fixes.flatMap(({ requires }) => requires.slice(0, 1)))];
  const single = fix !== undefined && fixes.length === 1 ? fix : null;
  return joined(
    [
      single === null ? t`${fixes.length} settings, enough together` : effectText(single),
      single === null ? null : costText(single),
      ...needs.map((need) => `needs: ${need}`),
    ],
    '; ',
  );
}

/** Whether it is enough, where that is known, and what it saves. */
function effectText({ saving_bytes: saving, saving_by: by, closes }: ShortFix): Text | null {
  const enough = closes === true ? 'enough' : closes === false ? 'not enough alone' : null;
  if (by === 'what_if' && closes !== false)
    return closes === true
      ? 'replayed with it, this OOM does not occur'
      : 'replayed with it, this request is served; the rest of the step may fail';
  const least = by === 'message' ? 'at most ' : by === 'estimate' ? 'about ' : '';
  const saved = saving === null || saving <= 0 ? null : t`saves ${least}${as('saving_bytes', bytes(saving))}`;
  return joined([saved, enough], '; ');
}

function costText(fix: ShortFix): string | null {
  const { cost_percent: cost, cost_by: by } = fix;
  if (cost === null) return null;
  if (cost === 0) return 'no throughput cost';
  const effect = cost > 0 ? 'lowers' : 'raises';
  return by === 'measured' ? `${effect} throughput (figures: mbforensics advise)` : percentText(cost);
}

// ---- why

const MOST_REASONS = 2;

/**
 * The results that decide. Where the device's memory does, what failed is shown by the request. Wrong figures of a
 * message come first where it is alone: its verdict has repeated what decides.
 */
export function reasons(verdict: Verdict, isAlone = false): EvidenceResult[] {
  const { cause } = verdict;
  // The account has the figures of the peak.
  const hasAccount = shownAccount(verdict) !== null;
  const evidence = verdict.evidence.filter(({ kind }) => !(kind === 'peak' && hasAccount));
  const of = (about: string): EvidenceResult[] => evidence.filter((entry) => entry.about === about);
  const [decides, ...others] = of('test');
  const [reproduced, counterfactual] = of('replay');
  const left = evidence.find(({ kind }) => kind === 'impossible_figures');
  const lastIteration = evidence.find(({ kind }) => kind === 'last_iteration');
  const candidates = isOutsideGpu(cause)
    ? [...of('message'), of('site')[0], decides, ...others, ...of('context'), lastIteration]
    : [
        ...(isAlone ? [left, decides] : [decides, left]),
        counterfactual ?? reproduced,
        ...others,
        ...of('context'),
        ...of('message'),
      ];
  const known = candidates.filter((entry) => entry !== undefined);
  return known.slice(0, MOST_REASONS + (left === undefined || isOutsideGpu(cause) ? 0 : 1));
}

/** No memory of the device explains it. */
const isOutsideGpu = (cause: Verdict['cause']): boolean =>
  cause === 'host_oom' || cause === 'not_oom' || cause === 'undecided';

/** What was being allocated, and where. */
export interface ShownRequest {
  readonly text: Text;
  /** The line of the user's program. */
  readonly code: string | null;
  /** Nothing but a size is known. */
  readonly isSize: boolean;
}

export function requestOf(verdict: Verdict): ShownRequest | null {
  const { cause, request, evidence } = verdict;
  if (isOutsideGpu(cause)) return null;
  const entry = evidence.find(({ about }) => about === 'site');
  const isFrame = entry?.kind === 'failing_site';
  const site = (isFrame ? siteText(entry) : entry?.text) ?? null;
  const code = (isFrame ? entry.names['code'] : null) ?? null;
  if (request === null || site?.includes(formatBytes(request.bytes)) === true)
    return site === null ? null : { text: site, code, isSize: false };
  const where = site === null && request.site !== null ? t` in ${verbatim(request.site)}` : null;
  const size = t`${bytes(request.bytes)}${where ?? ''}`;
  return { text: joined([size, site], ', '), code, isSize: site === null && where === null };
}

// ---- the run, and what else

/** Memory, growth and pace of a run that an OOM did not end. */
export function shownRun(verdict: Verdict, { run_state: run, caught_ooms: caught }: DiagnoseResult): state.RunLine[] {
  const isFatal =
    verdict.cause !== 'not_oom' &&
    verdict.cause !== 'undecided' &&
    !(caught?.is_certain === true && caught.includes_last);
  return run === null || isFatal || run.state === 'oom' ? [] : state.runLines(run, shownAccount(verdict) !== null);
}

/** Verdicts of other devices and ranks, and the ends of other launches in the same logs. */
export function otherTexts(first: Verdict, result: DiagnoseResult): string[] {
  const kinds = new Map<string, number>();
  const further = allFailures(result.verdicts).slice(1);
  for (const {
    verdict: { cause },
  } of further) {
    const name = cause === first.cause ? 'the same verdict' : causeName(cause);
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
  }
  const what = further.every(({ rank }) => rank === first.rank) ? 'other devices' : 'other ranks or devices';
  const verdicts = [...kinds].map(([name, count]) => `${name} (${formatCount(count)})`).join(', ');
  return [
    ...(further.length === 0 ? [] : [`${what}: ${verdicts}`]),
    ...droppedTexts(result.messages_dropped),
    ...state.launchTexts(result),
  ];
}

/** The verdict about a rank, or one that it is counted with. */
export const verdictOf = (asked: number | null, { verdicts }: Pick<DiagnoseResult, 'verdicts'>): Verdict | undefined =>
  asked === null
    ? undefined
    : verdicts.find(({ rank, also }) => rank === asked || also.some((one) => one.rank === asked));

/** Of a run of a lake: what all of its ranks have, and what is missing. */
export function lakeTexts({ lake, verdicts }: DiagnoseResult): string[] {
  if (lake === undefined) return [];
  const { rank: asked, ranks, blocks, missing, causes } = lake;
  const ofRank = verdictOf(asked, { verdicts });
  const shown = ofRank ?? verdicts[0];
  const about =
    ofRank === undefined
      ? `rank ${asked} has no failure; the verdict is about`
      : `rank ${asked} failed alike; shown is`;
  const failed = causes.map((one) => `${causeOf(one)} on ${counted(one.ranks, 'rank')}`);
  const ofAll = failed.length === 0 ? 'no failure' : failed.join(', ');
  const absent = missing.length === 1 ? 'block' : 'blocks';
  return [
    ...(asked === null || shown === undefined || shown.rank === asked ? [] : [`${about} ${rankName(shown.rank)}`]),
    `${ranks === 0 ? 'unknown ranks' : counted(ranks, 'rank')} in ${counted(blocks - missing.length, 'block')}: ${ofAll}`,
    ...(missing.length > 0 ? [`missing: ${absent} ${numbersOf(missing)} of ${formatCount(blocks)}`] : []),
  ];
}

const causeOf = ({ cause, detail }: { readonly cause: string; readonly detail: string | null }): string =>
  detail === null ? causeName(cause) : `${causeName(cause)} (${causeName(detail)})`;

/** More than this many blocks are counted. */
const MOST_NUMBERS = 8;

const numbersOf = (numbers: readonly number[]): string =>
  numbers.length <= MOST_NUMBERS
    ? numbers.join(', ')
    : `${numbers.slice(0, MOST_NUMBERS).join(', ')} and ${formatCount(numbers.length - MOST_NUMBERS)} more`;

/**
 * Where nothing decides: the first test that was not possible, and the capture that would make it so. Of a file without
 * an OOM, what it cannot show.
 */
export function unknownTexts(verdict: Verdict, result: DiagnoseResult): string[] {
  const { missing, captures, cause } = verdict;
  if (state.isRunAnswer(verdict, result)) return [];
  if (isUnrecorded(verdict)) return missing.slice(0, 1);
  if (cause !== 'undecided') return [];
  return [...missing.slice(0, 1), ...captures.slice(0, 1).map(({ title }) => `to settle it, capture ${title}`)];
}

/** All that is known is the text of an error. */
export function isMessageAlone(
  { accounting_from: from, evidence }: Verdict,
  { run_state: run, launches, ranks }: DiagnoseResult,
): boolean {
  return (
    (from === null || from === 'log') &&
    run === null &&
    ranks === null &&
    launches.length < 2 &&
    !evidence.some(({ kind }) => kind === 'peak' || kind === 'live_sites')
  );
}

export function failedTexts({ failed_sources: failed }: DiagnoseResult): string[] {
  const [first] = failed;
  if (first === undefined) return [];
  const more = failed.length > 1 ? `${formatCount(failed.length)} files; the first: ` : '';
  return [`${more}${first.error.text} (${first.error.code})`];
}

const MOST_COMMANDS = 2;

/** Of files that contain no failure: what they are, and the verb that answers questions about them. */
const othersRead = ({ read_formats: formats }: DiagnoseResult): (readonly [string, string])[] =>
  formats.flatMap((format) => {
    const words = wordTable<readonly [string, string]>('start', 'other_files')[format];
    return words === undefined ? [] : [words];
  });

export function nothingFound(result: DiagnoseResult): string {
  const contents = othersRead(result).map(([what]) => what);
  const only = contents.length === 0 ? '' : `; they hold ${contents.join(', ')}`;
  return `no failure: there is no memory snapshot, no error message and no training log in these files${only}`;
}

/** What to ask or to name instead, where nothing was found. */
export function nothingFoundSteps(result: DiagnoseResult, target: DiagnosedTarget): string[] {
  const commands = [...new Set(othersRead(result).map(([, command]) => command))].slice(0, MOST_COMMANDS);
  const files = withTarget('mbforensics doctor', { operands: target.operands });
  return [
    ...commands.map((command) => withTarget(command, target)),
    'name the log of the rank that failed, the job output of the scheduler, or a memory snapshot',
    ...(commands.length > 0 ? [] : [`which files can be read: ${files}`]),
  ];
}

/** A command as the user can paste it. */
export function withTarget(command: string, { operands = [], db, lake, capacity }: DiagnosedTarget): string {
  const of = command.includes('/snapshot#') ? '' : operands.map((operand) => ` ${shellWord(operand)}`).join('');
  const capacityOption =
    capacity === undefined || !command.startsWith('mbforensics show ') ? '' : ` --capacity ${shellWord(capacity)}`;
  const place = db === undefined ? '' : ` --db ${shellWord(db)}`;
  return `${command}${of}${capacityOption}${place}${lake === undefined ? '' : ` --lake ${shellWord(lake)}`}`;
}
