/**
 * The first screen: verdict first, numbers that reconcile, evidence by its handle, what it is not, what to do next. At
 * most {@link HEIGHT} lines of 100 columns whatever the run; what does not fit is behind `mbforensics show`.
 */

import { getOrAdd } from '../../model/group-by.js';
import type {
  AccountingTotal,
  DiagnoseResult,
  EvidenceResult,
  VerdictResult as Verdict,
} from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { isOomKind } from '../../model/vocabulary.js';
import { launchText } from '../launch-text.js';
import { pinnedText } from '../pinned-text.js';
import { BODY, clip, fitSections, type ScreenItem, type ScreenSection, tidy } from '../screen-lines.js';
import { keepEnd, printable, wrap } from '../table.js';
import { rankWords, WIDTH } from '../text-pieces.js';
import { costWords } from '../verdict/action-words.js';
import { requestText } from '../verdict/evidence-words.js';
import { viewOf, plain as words } from '../verdict/words.js';
import { componentsText, detailsOf, outsideOf, sumText } from './account-text.js';
import { rankPhrases } from './ranks-text.js';

/** Lines of the screen: of a terminal that was never made larger. */
export const HEIGHT = 24;

/** What the user typed to get this diagnosis: commands to paste take it along. */
export interface DiagnosedTarget {
  readonly operand?: string | undefined;
  readonly db?: string | undefined;
  /** As given to `--capacity`: without it `show` might number other evidence. */
  readonly capacity?: string | undefined;
}

/** Sections in the order in which they lose a line when the screen is full. */
const GIVE_WAY = [
  'advise',
  'also',
  'replay',
  'not why',
  'also',
  'at peak',
  'at dump',
  'also',
  'host',
  'of which',
  'not why',
  'ranks',
  'cannot tell',
  'live',
  'do',
  'launches',
  'others',
  'why',
  'missing',
  'asked',
  'message',
  'hint',
  'not read',
];

export function diagnoseText(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const [first, ...rest] = result.verdicts;
  if (first === undefined) {
    const none = `run ${keepEnd(printable(result.run), 40)}: nothing to judge: no memory snapshot and no failure message was found`;
    return `${[...clip(wrap(none, WIDTH, '  '), 3, WIDTH), ...fitSections([failedSources(result)], 3, [])].join('\n')}\n`;
  }
  const head = headLines(first, result);
  const sections = [
    ...bodyOf(first),
    launchesOf(result),
    ranksOf(result),
    pinnedOf(result),
    othersOf(rest, first),
    ...endOf(first, result, target),
  ];
  return `${[...head, ...fitSections(sections, HEIGHT - head.length, GIVE_WAY)].join('\n')}\n`;
}

// ---- head

/** Columns of the shortest name that is shown. */
const LEAST_NAME = 8;

function headLines(verdict: Verdict, result: DiagnoseResult): string[] {
  const { cause, detail, confidence, tests } = verdict;
  const count = result.verdicts.length;
  const unrecorded = isUnrecorded(verdict);
  const place = [
    headOf(verdict, result),
    placeOf(verdict, result),
    ...(result.launches.length > 1 ? [`launch ${result.judged_launch} of ${formatCount(result.launches.length)}`] : []),
    ...(verdict.device === null ? [] : [`device ${verdict.device}`]),
    ...(count > 1 ? [`${formatCount(count)} verdicts`] : []),
  ].join(' · ');
  const left = WIDTH - place.length - 7;
  const head = left < LEAST_NAME ? place.slice(0, WIDTH) : `${place} · run ${keepEnd(printable(result.run), left)}`;
  const isSure = confidence === 'proven' || confidence === 'high' || cause === 'undecided' || cause === 'not_oom';
  const name =
    unrecorded && cause === 'not_oom'
      ? 'no OOM recorded in this file'
      : `${isSure ? '' : 'probably '}${words(cause)}${detail === null ? '' : ` (${words(detail)})`}`;
  const title = `VERDICT  ${name}`;
  const answered = tests.filter(({ outcome }) => outcome !== 'not_testable').length;
  const ran =
    tests.length === 0 ? '' : ` (${answered} of ${tests.length} tests${answered < tests.length ? ' ran' : ''})`;
  const sure = `${cause === 'undecided' || unrecorded ? '' : `confidence ${confidence}`}${ran}`.trim();
  const summary = wrap(`         ${tidy(verdict.summary)}`, WIDTH, '         ');
  return [
    head,
    `${title}${' '.repeat(Math.max(2, WIDTH - title.length - sure.length))}${sure}`.trimEnd(),
    ...clip(summary, 2, WIDTH),
    '',
  ];
}

/** `OOM` only where a failure is one. */
function headOf(verdict: Verdict, { first_failure: first }: DiagnoseResult): string {
  const { cause, evidence } = verdict;
  if (isUnrecorded(verdict)) return 'NO OOM RECORDED';
  if (cause === 'not_oom') return 'NO OOM';
  if (cause !== 'undecided') return 'OOM';
  if (first?.kind === 'killed') return 'KILLED';
  if (evidence.length === 0 || evidence.some(({ kind }) => kind === 'last_iteration')) return 'NO FAILURE FOUND';
  return first === null || isOomKind(first.kind) ? 'OOM' : 'UNDECIDED';
}

function placeOf({ rank }: Verdict, { ranks }: DiagnoseResult): string {
  if (rank === null) return 'rank unknown';
  const world = ranks?.world_size == null ? '' : ` of ${formatCount(ranks.world_size)}`;
  const stage = ranks?.stages.find((one) => one.ranks.includes(rank))?.pp ?? null;
  return `rank ${rank}${world}${stage === null ? '' : ` (stage PP${stage})`}`;
}

// ---- body

function bodyOf(verdict: Verdict): ScreenSection[] {
  const { evidence } = verdict;
  const asked = evidence.filter(({ about }) => about === 'request');
  const message = evidence.filter(({ about }) => about === 'message');
  const testResults = evidence.filter(({ about }) => about === 'test');
  const replayed = evidence.filter(({ about }) => about === 'replay');
  const also = evidence.filter((entry) => entry.about === 'context' && !isOfHint(entry, verdict));
  const { accounting_total: total, accounting_peak: peak } = verdict;
  const profiled = verdict.accounting.filter(({ of }) => of?.some(({ part }) => part.startsWith('driver_')) === true);
  const unprofiled = verdict.accounting.filter((part) => !profiled.includes(part));
  return [
    section('asked', asked.map(withRequest), 2, 1),
    section('message', asked.length === 0 ? message.map(withHandle) : [], 2, 1),
    section('card', total === null ? [] : [sumText(total, verdict.accounting) + caveat(total)], 4, 4, UNCUT),
    // From a profile. No other line shows this part.
    section('outside', total === null ? [] : outsideOf(total, profiled), 2, 1, UNCUT),
    section('of which', total === null ? [] : detailsOf(total, unprofiled), 2, 0, { ...UNCUT, ...PACKED }),
    section('live', verdict.components === null ? [] : [componentsText(verdict.components, BODY)], 1, 1, UNCUT),
    section(
      peak?.moment === 'dump' ? 'at dump' : 'at peak',
      peak === null ? [] : [sumText(peak.total, peak.parts) + caveat(peak.total)],
      3,
      0,
      UNCUT,
    ),
    section('why', testResults.map(withHandle), 4, 2),
    section('whole step', evidence.filter(({ about }) => about === 'step').map(withHandle), 2, 1),
    section('replay', replayed.slice(0, 1).map(withHandle), 2, 1),
    section('what-if', [...replayed.slice(1).map(withHandle), ...layoutOf(verdict)], 3, 1),
    section('also', also.map(withHandle), 4, 0),
    section('besides', contributorsOf(verdict), 1, 0),
    section('hint', verdict.hint === null ? [] : [verdict.hint.text], 3, 2),
    section('not why', ruledOutOf(verdict), 3, 1, PACKED),
  ];
}

const CONTRIBUTORS: Readonly<Record<string, string>> = {
  other_processes: 'other processes',
  outside_pytorch: 'outside PyTorch',
  pending_free: 'freed and pending',
  private_pools_free: 'free in private pools',
  cached: 'cached',
};

/** What else takes part in a full device; where the device adds up, its account has them. */
function contributorsOf({ contributors, accounting_total: total }: Verdict): string[] {
  if (contributors.length === 0 || total !== null) return [];
  const named = contributors.map(({ contributor, bytes }) => `${CONTRIBUTORS[contributor]!} ${formatBytes(bytes)}`);
  return [`${named.join(', ')} (contributors, not the cause)`];
}

/** How much memory would have been enough: more than the bytes that are missing, where holes stay unusable. */
function layoutOf({ cause, replay }: Verdict): string[] {
  if (cause !== 'capacity' || replay === null) return [];
  const { layout_short_bytes: short, least_capacity_bytes: least } = replay;
  if (short === null) return [];
  const enough = least === null ? '' : `; served from ${formatBytes(least)} on`;
  return [`as laid out ${formatBytes(short)} are missing, holes included${enough}`];
}

/** The hint already names the setting; repeating it would cost a line. */
function isOfHint({ kind }: EvidenceResult, { hint }: Verdict): boolean {
  return hint !== null && (kind === 'expandable_segments' || kind === 'allocator_setting');
}

function caveat({ kind }: AccountingTotal): string {
  return kind === 'reserved' || kind === 'reserved_and_free' ? ' (the device total is not in the evidence)' : '';
}

/** The causes that a reader suspects first. */
const SUSPECTED = ['capacity', 'fragmentation', 'external_pressure', 'leak', 'graph_pools', 'synchronisation'];

function ruledOutOf({ ruled_out }: Verdict): string[] {
  const weight = (cause: string): number => (SUSPECTED.indexOf(cause) + SUSPECTED.length + 1) % (SUSPECTED.length + 1);
  const ordered = ruled_out.toSorted((a, b) => weight(a.cause) - weight(b.cause));
  return ordered.map(({ cause, why }) => `${words(cause)}: ${why}`);
}

const withRequest = (entry: EvidenceResult): ScreenItem => ({ text: requestText(viewOf(entry)), handle: entry.id });
const withHandle = ({ id, text }: EvidenceResult): ScreenItem => ({ text, handle: id });

/** `how`: `whole` items are not cut, `packed` ones share lines. */
function section(
  label: string,
  items: readonly (string | ScreenItem)[],
  most: number,
  least: number,
  how: Pick<ScreenSection, 'whole' | 'packed'> = {},
): ScreenSection {
  return { label, items: items.map((item) => (typeof item === 'string' ? { text: item } : item)), most, least, ...how };
}

const UNCUT = { whole: true };
const PACKED = { packed: true };

// ---- the others, and what to do

const MOST_LAUNCHES = 6;

function ranksOf(result: DiagnoseResult): ScreenSection {
  return section('ranks', rankPhrases(result), 3, 1, PACKED);
}

/** How the other launches of the same texts ended. */
function launchesOf({ launches, judged_launch: judged }: DiagnoseResult): ScreenSection {
  const unjudged = launches.filter(({ attempt }) => attempt !== judged);
  return section('launches', launches.length < 2 ? [] : unjudged.slice(-MOST_LAUNCHES).map(launchText), 3, 1, PACKED);
}

/** Memory of the host, which the account of the device does not contain. */
function pinnedOf({ pinned_host_memory: pinned }: DiagnoseResult): ScreenSection {
  return section('host', pinned === null ? [] : [`${rankWords([pinned.rank])}: ${pinnedText(pinned)}`], 1, 0);
}

/** Verdicts of other devices: those of one kind together. Other devices of the first one's rank by their number. */
function othersOf(rest: readonly Verdict[], first: Verdict): ScreenSection {
  const kinds = new Map<string, { readonly devices: number[]; readonly ranks: (number | null)[] }>();
  for (const verdict of rest) {
    const { cause, detail, confidence, rank, device } = verdict;
    const isSame = cause === first.cause && (detail === first.detail || detail === null);
    const name = isSame ? 'the same verdict' : `${words(cause)}${detail === null ? '' : ` (${words(detail)})`}`;
    const key = isUnrecorded(verdict) && cause === 'not_oom' ? 'no OOM recorded' : `${name}, confidence ${confidence}`;
    const kind = getOrAdd(kinds, key, () => ({ devices: [], ranks: [] }));
    if (rank === first.rank && device !== null && device !== first.device) kind.devices.push(device);
    else kind.ranks.push(rank);
  }
  const items = [...kinds].map(([key, { devices, ranks }]) => {
    const who = [
      ...(devices.length === 0 ? [] : [`${devices.length === 1 ? 'device' : 'devices'} ${devices.join(', ')}`]),
      ...(ranks.length === 0 ? [] : [rankWords(ranks, 6)]),
    ];
    return `${who.join(', ')}: ${key}`;
  });
  return section('others', items, 2, 1, PACKED);
}

/** A snapshot without an OOM entry: what it does not record may have happened all the same. */
function isUnrecorded({ confidence, evidence }: Verdict): boolean {
  return confidence === 'low' && evidence.some(({ kind }) => kind === 'peak');
}

function endOf(verdict: Verdict, result: DiagnoseResult, target: DiagnosedTarget): ScreenSection[] {
  const { missing } = verdict;
  return [
    verdict.cause === 'undecided' ? section('missing', missing, 6, 2) : section('cannot tell', missing, 3, 1, PACKED),
    failedSources(result),
    section('do', adviceOf(verdict, result), 4, 2),
    fixesOf(result),
    nextSection(verdict, target),
  ];
}

/** The cheapest ways with their price, and what the configuration forbids: the first words of `advise`. */
function fixesOf({ advice }: DiagnoseResult): ScreenSection {
  if (advice === null) return section('advise', [], 1, 0);
  const open = advice.fixes.filter(({ status }) => status !== 'forbidden');
  const done = new Set(advice.actions.flatMap(({ fixes }) => fixes));
  const isPriced = ({ saving_bytes: bytes, cost_percent: cost }: (typeof open)[number]): boolean =>
    bytes !== null && cost !== null;
  // Other fixes than the plan's, with their price.
  const alternatives = open.filter((fix) => !done.has(fix.id) && isPriced(fix) && fix.closes !== false);
  const priced = alternatives
    .filter(({ cost_percent: cost }) => cost !== 0)
    .slice(0, MOST_OTHERS)
    .map((fix) => {
      const { id, saving_bytes: bytes, cost_percent: cost, closes } = fix;
      const figures = [formatBytes(bytes!), `−${cost} % (${costWords(fix)})`, ...(closes === true ? ['enough'] : [])];
      return `${id} ${figures.join(', ')}`;
    });
  const forbidden = advice.fixes.filter(({ status }) => status === 'forbidden');
  const items = [
    ...priced,
    ...(forbidden.length === 0
      ? []
      : [`forbidden: ${forbidden.map(({ id, forbidden_by: rule }) => `${id} (${rule})`).join(', ')}`]),
    ...(advice.non_fixes.includes('vpp') ? ['VPP is no fix'] : []),
  ];
  return section('advise', items, 2, 0, PACKED);
}

const MOST_OTHERS = 2;

/** Without what the hint already contains. */
function adviceOf({ next, steps, hint }: Verdict, { advice }: DiagnoseResult): readonly string[] {
  const kinds = advice === null ? steps.map(({ kind }) => kind) : advice.actions.map(({ step }) => step?.kind);
  return hint === null ? next : next.filter((_, i) => kinds[i] !== 'expandable_on_already');
}

function failedSources({ failed_sources: failed }: DiagnoseResult): ScreenSection {
  const [first] = failed;
  if (first === undefined) return section('not read', [], 1, 1);
  const more = failed.length > 1 ? `${formatCount(failed.length)} files; the first: ` : '';
  return section('not read', [`${more}${first.error.text} (${first.error.code})`], 2, 1);
}

function nextSection({ commands }: Verdict, target: DiagnosedTarget): ScreenSection {
  if (commands.length === 0) return section('next', [], 1, 1);
  const full = commands.map((command) => withTarget(command, target));
  const line = full.join('  ·  ');
  const fits = (text: string): boolean => text.length <= WIDTH - 14;
  if (full.every((text) => text.split(' ').every((word) => word.length <= 64))) {
    if (fits(line)) return section('next', [line], 1, 1);
    if (full.every(fits)) return section('next', full, 2, full.length);
  }
  // A path too long for a line would be cut, and could not be pasted.
  const short = commands.map((command) => (command.includes('/snapshot#') ? command : `${command} RUN`)).join('  ·  ');
  return section('next', [`${short}  (RUN: as given here)`], 1, 1);
}

/** A command as the user can paste it. */
export function withTarget(command: string, { operand, db, capacity }: DiagnosedTarget): string {
  const of = operand === undefined || command.includes('/snapshot#') ? '' : ` ${quoted(operand)}`;
  const capacityOption =
    capacity === undefined || !command.startsWith('mbforensics show ') ? '' : ` --capacity ${quoted(capacity)}`;
  return `${command}${of}${capacityOption}${db === undefined ? '' : ` --db ${quoted(db)}`}`;
}

function quoted(text: string): string {
  return /^[\w./:#@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
