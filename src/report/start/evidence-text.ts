/**
 * All evidence of a diagnosis, below the first screen: the failing request, the account of the device, the result of
 * each test, the replay, the causes that are ruled out, ranks, launches, alternatives. Handles are those of `show`.
 */

import { fill, wordsOf, wordTable } from '../../knowledge/words.js';
import { getOrAdd } from '../../model/group-by.js';
import type {
  AccountingTotal,
  DiagnoseResult,
  EvidenceResult,
  VerdictResult as Verdict,
} from '../../model/results/common.js';
import { formatBytes } from '../../model/units.js';
import { launchText } from '../launch-text.js';
import { pinnedText } from '../pinned-text.js';
import { bodyWidth, fitSections, type ScreenItem, type ScreenSection } from '../screen-lines.js';
import { rankWords, plain as words } from '../text-pieces.js';
import { costWords } from '../verdict/action-words.js';
import { componentsText, detailsOf, outsideOf, sumText } from './account-text.js';
import { rankPhrases } from './ranks-text.js';
import { isUnrecorded } from './unrecorded.js';

export function evidenceLines(first: Verdict, others: readonly Verdict[], result: DiagnoseResult): string[] {
  const sections = [
    ...bodyOf(first),
    launchesOf(result),
    ranksOf(result),
    pinnedOf(result),
    othersOf(others, first),
    section('not tested', first.missing, 20, 1),
    section('fixes', first.next, 20, 1),
    fixesOf(result),
    capturesOf(first),
  ];
  return ['details of a handle: mbforensics show E1', ...fitSections(sections, MOST_LINES, [])];
}

/** More than any diagnosis has. */
const MOST_LINES = 1_000;

function capturesOf({ captures }: Verdict): ScreenSection {
  return section(
    'capture',
    captures.map(({ title }) => title),
    20,
    0,
  );
}

// ---- body

function bodyOf(verdict: Verdict): ScreenSection[] {
  const { evidence } = verdict;
  const asked = evidence.filter(({ about }) => about === 'request');
  const site = evidence.filter(({ about }) => about === 'site');
  const message = evidence.filter(({ about }) => about === 'message');
  const testResults = evidence.filter(({ about }) => about === 'test');
  const replayed = evidence.filter(({ about }) => about === 'replay');
  const also = evidence.filter((entry) => entry.about === 'context' && !isOfHint(entry, verdict));
  const { accounting_total: total, accounting_peak: peak } = verdict;
  const profiled = verdict.accounting.filter(({ of }) => of?.some(({ part }) => part.startsWith('driver_')) === true);
  const unprofiled = verdict.accounting.filter((part) => !profiled.includes(part));
  return [
    section('request', asked.map(withRequest), 20, 1),
    section('message', asked.length === 0 ? message.map(withHandle) : [], 20, 1),
    section('where', site.map(withHandle), 20, 1),
    section('memory', total === null ? [] : [sumText(total, verdict.accounting) + caveat(total)], 20, 4, UNCUT),
    // From a profile. No other line shows this part.
    section('outside', total === null ? [] : outsideOf(total, profiled), 20, 1, UNCUT),
    section('of which', total === null ? [] : detailsOf(total, unprofiled), 20, 0, { ...UNCUT, ...PACKED }),
    section('live', verdict.components === null ? [] : [componentsText(verdict.components, bodyWidth())], 20, 1, UNCUT),
    section(
      peak?.moment === 'dump' ? 'at dump' : 'at peak',
      peak === null ? [] : [sumText(peak.total, peak.parts) + caveat(peak.total)],
      3,
      0,
      UNCUT,
    ),
    section('why', testResults.map(withHandle), 20, 2),
    section('whole step', evidence.filter(({ about }) => about === 'step').map(withHandle), 20, 1),
    section('replay', replayed.slice(0, 1).map(withHandle), 20, 1),
    section('what-if', [...replayed.slice(1).map(withHandle), ...layoutOf(verdict)], 20, 1),
    section('context', also.map(withHandle), 20, 0),
    section('contributors', contributorsOf(verdict), 20, 0),
    section('hint', verdict.hint === null ? [] : [verdict.hint.text], 20, 2),
    section('ruled out', ruledOutOf(verdict), 20, 1, PACKED),
  ];
}

/** What else takes part in a full device; where the device adds up, its account has them. */
function contributorsOf({ contributors, accounting_total: total, cause }: Verdict): string[] {
  if (contributors.length === 0 || total !== null || cause !== 'capacity') return [];
  const named = contributors.map(
    ({ contributor, bytes }) => `${formatBytes(bytes)} ${wordsOf(wordTable('phrases', 'parts'), contributor)}`,
  );
  return [`${named.join(', ')} (contributors, not the cause)`];
}

/** How much memory would have been enough: more than the bytes that are missing, where holes stay unusable. */
function layoutOf({ cause, replay }: Verdict): string[] {
  if (cause !== 'capacity' || replay === null) return [];
  const { layout_short_bytes: short, least_capacity_bytes: least } = replay;
  if (short === null) return [];
  const enough = least === null ? '' : `; would fit with at least ${formatBytes(least)}`;
  return [`as laid out, ${formatBytes(short)} more is needed, holes included${enough}`];
}

/** The hint already names the setting; repeating it would cost a line. */
function isOfHint({ kind }: EvidenceResult, { hint }: Verdict): boolean {
  return hint !== null && (kind === 'expandable_segments' || kind === 'allocator_setting');
}

function caveat({ kind }: AccountingTotal): string {
  return kind === 'reserved' || kind === 'reserved_and_free' ? ' (device total unknown)' : '';
}

/** The causes that a reader suspects first. */
const SUSPECTED = ['capacity', 'fragmentation', 'external_pressure', 'leak', 'graph_pools', 'synchronisation'];

function ruledOutOf({ ruled_out }: Verdict): string[] {
  const weight = (cause: string): number => (SUSPECTED.indexOf(cause) + SUSPECTED.length + 1) % (SUSPECTED.length + 1);
  const ordered = ruled_out.toSorted((a, b) => weight(a.cause) - weight(b.cause));
  return ordered.map(({ cause, why }) => `${words(cause)}: ${why}`);
}

const withRequest = (entry: EvidenceResult): ScreenItem => ({ text: fill('{requested}', entry), handle: entry.id });
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
  return section('ranks', rankPhrases(result), 20, 1, PACKED);
}

/** How the other launches of the same texts ended. */
function launchesOf({ launches, judged_launch: judged }: DiagnoseResult): ScreenSection {
  const unjudged = launches.filter(({ attempt }) => attempt !== judged);
  return section('launches', launches.length < 2 ? [] : unjudged.slice(-MOST_LAUNCHES).map(launchText), 20, 1, PACKED);
}

/** Memory of the host, which the account of the device does not contain. */
function pinnedOf({ pinned_host_memory: pinned }: DiagnoseResult): ScreenSection {
  return section('host', pinned === null ? [] : [`${rankWords([pinned.rank])}: ${pinnedText(pinned)}`], 20, 0);
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
  return section('others', items, 20, 1, PACKED);
}

/** The cheapest ways with their price, and what the configuration forbids: the first words of `advise`. */
function fixesOf({ advice }: DiagnoseResult): ScreenSection {
  if (advice === null) return section('other fixes', [], 20, 0);
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
    ...(advice.non_fixes.includes('vpp') ? ['VPP will not help'] : []),
  ];
  return section('other fixes', items, 20, 0);
}

const MOST_OTHERS = 2;
