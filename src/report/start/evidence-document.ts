/**
 * All evidence of a diagnosis, below the first screen: the failing request, the account of the device, the result of
 * each test, the replay, the causes that are ruled out, ranks, launches, alternatives. Handles are those of `show`.
 */

import { allFailures } from '../../model/all-failures.js';
import { getOrAdd } from '../../model/group-by.js';
import type { DiagnoseResult, EvidenceResult, ShortFix, VerdictResult as Verdict } from '../../model/results/common.js';
import * as d from '../document/document.js';
import { launchText } from '../launch-text.js';
import { pinnedText } from '../pinned-text.js';
import { rankWords, plain as words } from '../text-pieces.js';
import { costWords, percentText } from '../verdict/action-words.js';
import { fill } from '../words/fill.js';
import { textMaker } from '../words/fill-pieces.js';
import { accountsOf, accountTable, componentTable } from './account.js';
import { pastedLines } from './diagnosis-parts.js';
import { rankPhrases } from './ranks-text.js';
import { isUnrecorded } from './unrecorded.js';

export function evidenceSection(first: Verdict, result: DiagnoseResult): d.Section | null {
  return d.section(
    'All evidence',
    { key: 'evidence', isFolded: true, isBelow: true, about: 'details of a handle: mbforensics show E1' },
    ...verdictSections(first),
    listed('ranks', rankPhrases(result)),
    listed('launches', launchTexts(result)),
    listed('host', pinnedTexts(result)),
    listed('others', otherTexts(result.verdicts, first)),
    listed('not tested', first.missing),
    listed('fixes', first.next),
    otherFixes(result),
    listed(
      'capture',
      first.captures.map(({ title }) => title),
    ),
  );
}

const listed = (title: string, texts: readonly d.Text[]): d.Section | null =>
  d.section(title, {}, d.items(texts, { key: title.replaceAll(' ', '_') }));

const withHandle = ({ id, text }: EvidenceResult): d.Text => [text, ' ', d.handle(id)];

const textOf = textMaker('start', 'evidence');

// ---- one verdict

function verdictSections(verdict: Verdict): d.MaybePart[] {
  const { evidence, hint } = verdict;
  const of = (about: string): d.Text[] => evidence.filter((entry) => entry.about === about).map(withHandle);
  const requests = evidence
    .filter(({ about }) => about === 'request')
    .map((entry): d.Text => [fill('{requested}', entry), ' ', d.handle(entry.id)]);
  const [reproduced, ...whatIf] = of('replay');
  const context = evidence.filter((entry) => entry.about === 'context' && !isOfHint(entry, verdict)).map(withHandle);
  return [
    listed('request', requests),
    listed('message', requests.length === 0 ? of('message') : []),
    listed('where', of('site')),
    ...accountsOf(verdict).map((account, i) => accountTable(account, i === 0 ? 'account' : 'account_at_peak')),
    verdict.components === null ? null : componentTable(verdict.components),
    listed('why', of('test')),
    listed('whole step', of('step')),
    listed('replay', reproduced === undefined ? [] : [reproduced]),
    listed('what-if', [...whatIf, ...layoutTexts(verdict)]),
    listed('context', context),
    listed('contributors', contributorTexts(verdict)),
    listed('hint', hint === null ? [] : [hint.text]),
    listed('ruled out', ruledOutTexts(verdict)),
  ];
}

function contributorTexts({ contributors, accounting_total: total, cause }: Verdict): d.Text[] {
  if (contributors.length === 0 || total !== null || cause !== 'capacity') return [];
  const named = contributors.map((one) => textOf('contributor', one));
  return [d.t`${d.joined(named, ', ')} (contributors, not the cause)`];
}

const layoutTexts = ({ cause, replay }: Verdict): d.Text[] =>
  cause !== 'capacity' || replay === null || replay.layout_short_bytes === null ? [] : [textOf('layout', replay)];

/** The hint already names the setting; repeating it would cost a line. */
const isOfHint = ({ kind }: EvidenceResult, { hint }: Verdict): boolean =>
  hint !== null && (kind === 'expandable_segments' || kind === 'allocator_setting');

/** The causes that a reader suspects first. */
const SUSPECTED = ['capacity', 'fragmentation', 'external_pressure', 'leak', 'graph_pools', 'synchronisation'];

function ruledOutTexts({ ruled_out: ruledOut }: Verdict): string[] {
  const place = (cause: string): number => (SUSPECTED.indexOf(cause) + SUSPECTED.length + 1) % (SUSPECTED.length + 1);
  return ruledOut
    .toSorted((a, b) => place(a.cause) - place(b.cause))
    .map(({ cause, why }) => `${words(cause)}: ${why}`);
}

// ---- the others, and what to do

const MOST_LAUNCHES = 6;

/** How the other launches of the same texts ended. */
function launchTexts({ launches, judged_launch: judged }: DiagnoseResult): string[] {
  const unjudged = launches.filter(({ attempt }) => attempt !== judged);
  return launches.length < 2 ? [] : unjudged.slice(-MOST_LAUNCHES).map(launchText);
}

/** Memory of the host, which the account of the device does not contain. */
function pinnedTexts({ pinned_host_memory: pinned }: DiagnoseResult): string[] {
  if (pinned === null) return [];
  return [`${pinned.rank === null ? '' : `${rankWords([pinned.rank])}: `}${pinnedText(pinned)}`];
}

/** Verdicts of other devices: those of one kind together. Other devices of the first one's rank by their number. */
function otherTexts(verdicts: readonly Verdict[], first: Verdict): string[] {
  const kinds = new Map<string, { readonly devices: number[]; readonly ranks: (number | null)[] }>();
  for (const { verdict, rank, device } of allFailures(verdicts).slice(1)) {
    const { cause, detail, confidence } = verdict;
    const isSame = cause === first.cause && (detail === first.detail || detail === null);
    const name = isSame ? 'the same verdict' : `${words(cause)}${detail === null ? '' : ` (${words(detail)})`}`;
    const key = isUnrecorded(verdict) && cause === 'not_oom' ? 'no OOM recorded' : `${name}, confidence ${confidence}`;
    const kind = getOrAdd(kinds, key, () => ({ devices: [], ranks: [] }));
    if (rank === first.rank && device !== null && device !== first.device) kind.devices.push(device);
    else kind.ranks.push(rank);
  }
  return [...kinds].map(([key, { devices, ranks }]) => {
    const who = [
      ...(devices.length === 0 ? [] : [`${devices.length === 1 ? 'device' : 'devices'} ${devices.join(', ')}`]),
      ...(ranks.length === 0 ? [] : [rankWords(ranks, 6)]),
    ];
    return `${who.join(', ')}: ${key}`;
  });
}

const RESULTS = { true: 'enough', false: 'not enough alone', null: 'perhaps not enough' } as const;

/** Every other fix with what it saves and costs, and what the configuration forbids. */
export function otherFixes({ advice }: DiagnoseResult): d.Section | null {
  if (advice === null) return null;
  const done = new Set(advice.actions.flatMap(({ fixes }) => fixes));
  return d.section(
    'other fixes',
    {},
    d.table(
      advice.fixes.filter(({ id }) => !done.has(id)),
      [
        d.names('fix', ({ id }) => id),
        d.column('saving_bytes', (fix) => fix.saving_bytes, { title: 'saves' }),
        d.column('cost', costText),
        d.column('result', ({ status, forbidden_by: by, closes }) =>
          status === 'forbidden' ? `forbidden: ${by ?? 'configuration'}` : RESULTS[`${closes}`],
        ),
      ],
      {
        key: 'other_fixes',
        notes: [advice.non_fixes.length > 0 && `will not help: ${advice.non_fixes.join(', ')}`],
        under: (fix) => pastedLines(fix, advice.paste_forms).map((line): d.Text => [{ code: line }]),
      },
    ),
  );
}

const costText = (fix: ShortFix): string =>
  fix.cost_percent === null ? 'not measured' : `${percentText(fix.cost_percent)} (${costWords(fix)})`;
