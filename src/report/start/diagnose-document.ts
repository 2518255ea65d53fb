/**
 * The first screen, for an engineer who has ten seconds: VERDICT, FIX, WHY, REQUEST, MEMORY, SITES, NEXT, in at most
 * {@link HEIGHT} lines; with `isFull` all evidence is below it.
 */

import type { DiagnoseResult, EvidenceResult, VerdictResult as Verdict } from '../../model/results/common.js';
import {
  column,
  counted,
  type Document,
  document,
  type Fields,
  handle,
  items,
  type MaybePart,
  names,
  paragraph,
  paste,
  type Section,
  section,
  type Text,
  type Tone,
  table,
} from '../document/document.js';
import { accountBar, shownAccount } from './account.js';
import {
  answerOf,
  type DiagnosedTarget,
  failedTexts,
  fixParts,
  headline,
  isMessageAlone,
  nothingFound,
  nothingFoundSteps,
  otherTexts,
  reasons,
  requestText,
  shownRun,
  unknownTexts,
  withTarget,
} from './diagnosis-parts.js';
import { evidenceSection } from './evidence-document.js';
import { isRunAnswer } from './run-state-text.js';

/** Lines of the first screen, and of that of a message alone. */
const HEIGHT = 16;
const MESSAGE_HEIGHT = 10;
const LABEL = 9;

export function diagnoseDocument(result: DiagnoseResult, target: DiagnosedTarget = {}): Document {
  const [first] = result.verdicts;
  const isShort = first !== undefined && isMessageAlone(first, result);
  const parts = first === undefined ? emptyParts(result, target) : partsOf(first, result, target);
  return {
    ...document(result.schema, headline(first, result), ...parts),
    fields: { run: result.run, rank: first?.rank ?? null, device: first?.device ?? null },
    labels: { width: LABEL, height: isShort ? MESSAGE_HEIGHT : HEIGHT },
  };
}

export const diagnoseDocuments = (
  schema: string,
  paths: readonly string[],
  results: readonly DiagnoseResult[],
  isFull = false,
): Document => ({
  ...document(schema, ''),
  fields: { paths },
  each: {
    key: 'runs',
    documents: results.map((result, i) => diagnoseDocument(result, { operands: [paths[i]!], full: isFull })),
  },
});

function emptyParts(result: DiagnoseResult, target: DiagnosedTarget): MaybePart[] {
  return [
    section('VERDICT', { key: 'verdict', fields: { cause: null } }, paragraph(nothingFound(result), { style: 'lead' })),
    listed('NOT READ', 'not_read', failedTexts(result), 1),
    listed('NEXT', 'next', nothingFoundSteps(result, target), 2),
  ];
}

/** In the order in which parts are left out where a screen is full: see `Kept`. */
const KEEP = {
  ...{ summary: 1, fix: 2, memory: 4, launches: 5, effect: 6, run: 14, request: 15, next: 16, unknown: 18, why: 20 },
  ...{ failed: 26 },
} as const;
const LATE = { sites: 22, others: 60, next: 50 } as const;

function partsOf(first: Verdict, result: DiagnoseResult, target: DiagnosedTarget): MaybePart[] {
  const [, ...others] = result.verdicts;
  const { ids, pasted, texts, isEnough = true } = fixParts(first, result);
  const { label, texts: answer } = answerOf(first, result);
  const isRun = isRunAnswer(first, result);
  const account = isRun && first.accounting_total === null ? null : shownAccount(first);
  const request = requestText(first);
  return [
    section(
      label,
      { key: label === 'STATE' ? 'state' : 'verdict', fields: verdictFields(first) },
      paragraph(answer[0] ?? '', { style: 'lead', tone: toneOf(first, result), key: 'title' }),
      items(answer.slice(1), { key: 'summary', keep: KEEP.summary }),
    ),
    section(
      'FIX',
      { key: 'fix', fields: ids.length === 0 ? {} : { ids } },
      paste(pasted, { key: 'lines', keep: KEEP.fix }),
      items(texts, { key: 'texts', keep: isEnough || pasted.length > 0 ? KEEP.effect : KEEP.fix }),
    ),
    isRun ? null : listed('WHY', 'why', reasons(first).map(withHandle), KEEP.why),
    request === null
      ? null
      : section(
          'REQUEST',
          { key: 'request', fields: { requested_bytes: first.request?.bytes ?? null } },
          paragraph(request, { keep: KEEP.request, key: 'text' }),
        ),
    account === null ? null : section('MEMORY', {}, { ...accountBar(account, first.request), keep: KEEP.memory }),
    ...shownRun(first, result).map(({ label: name, text }) =>
      listed(name, name.toLowerCase(), [text], name === 'MEMORY' ? KEEP.memory : KEEP.run),
    ),
    sitesSection(first),
    listed(
      'OTHERS',
      'others',
      otherTexts(others, first, result),
      result.launch_ooms.length > 0 ? KEEP.launches : LATE.others,
    ),
    listed('UNKNOWN', 'unknown', texts.length === 0 ? unknownTexts(first, result) : [], KEEP.unknown),
    listed('NOT READ', 'not_read', failedTexts(result), KEEP.failed),
    // What was pasted is at hand: its figures go before commands.
    nextSection(first, target, isMessageAlone(first, result) ? LATE.next : KEEP.next),
    target.full === true && evidenceSection(first, others, result),
  ];
}

const listed = (title: string, key: string, texts: readonly Text[], keep: number): Section | null =>
  section(title, {}, items(texts, { key, keep }));

const withHandle = ({ id, text }: EvidenceResult): Text => [text, ' ', handle(id)];

const verdictFields = ({ cause, detail, confidence }: Verdict): Fields => ({ cause, detail, confidence });

function toneOf(verdict: Verdict, result: DiagnoseResult): Tone {
  const { cause } = verdict;
  if (result.run_state?.state === 'running_or_cut' && isRunAnswer(verdict, result)) return 'plain';
  return cause === 'not_oom' ? 'good' : cause === 'undecided' ? 'unsure' : 'bad';
}

function sitesSection({ evidence }: Verdict): MaybePart {
  const sites = evidence.find(({ kind }) => kind === 'live_sites')?.items ?? [];
  return section(
    'SITES',
    {},
    table(
      sites,
      [
        column('live_bytes', ({ numbers }) => numbers['bytes'] ?? null),
        names('call_site', ({ name }) => name),
        column('blocks', ({ numbers }) => counted(numbers['blocks'] ?? 0, 'block')),
      ],
      { key: 'sites', isBare: true, keep: LATE.sites },
    ),
  );
}

/** One command, on a line of its own. */
function nextSection({ commands }: Verdict, target: DiagnosedTarget, keep: number): MaybePart {
  if (target.operands?.includes('-') === true) return listed('NEXT', 'next', [WITH_MORE], keep);
  const lines = commands.slice(0, 1).map((command) => withTarget(command, target));
  return section('NEXT', {}, paste(lines, { key: 'next', keep }));
}
const WITH_MORE = 'with the whole log and a snapshot more can be tested: mbforensics train.log snapshot.pickle';
