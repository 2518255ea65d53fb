/**
 * The first screen, for an engineer who has ten seconds: VERDICT, FIX, WHY, REQUEST, MEMORY, SITES, NEXT, in at most
 * {@link HEIGHT} lines; with `isFull` all evidence is below it.
 */

import type { DiagnoseResult, EvidenceResult, VerdictResult as Verdict } from '../../model/results/common.js';
import * as d from '../document/document.js';
import { accountBar, shownAccount } from './account.js';
import * as of from './diagnosis-parts.js';
import { evidenceSection } from './evidence-document.js';
import { isRunAnswer } from './run-state-text.js';

/** Lines of the first screen, and of that of a message alone. */
const HEIGHT = 16;
const MESSAGE_HEIGHT = 10;
const LABEL = 9;

export function diagnoseDocument(result: DiagnoseResult, target: of.DiagnosedTarget = {}): d.Document {
  const asked = result.lake?.rank ?? null;
  const first = of.verdictOf(asked, result) ?? result.verdicts[0];
  const isShort = first !== undefined && of.isMessageAlone(first, result);
  const parts = first === undefined ? emptyParts(result, target) : partsOf(first, result, target);
  return {
    ...d.document(result.schema, of.headline(first, result), ...parts),
    fields: { run: result.run, rank: first?.rank ?? null, device: first?.device ?? null },
    labels: { width: LABEL, height: isShort ? MESSAGE_HEIGHT : HEIGHT, isRunIn: isShort },
  };
}

export const diagnoseDocuments = (
  schema: string,
  paths: readonly string[],
  results: readonly DiagnoseResult[],
  isFull = false,
): d.Document => ({
  ...d.document(schema, ''),
  fields: { paths },
  each: {
    key: 'runs',
    documents: results.map((result, i) => diagnoseDocument(result, { operands: [paths[i]!], full: isFull })),
  },
});

function emptyParts(result: DiagnoseResult, target: of.DiagnosedTarget): d.MaybePart[] {
  return [
    d.section(
      'VERDICT',
      { key: 'verdict', fields: { cause: null } },
      d.paragraph(of.nothingFound(result), { style: 'lead', key: 'title' }),
    ),
    listed('NOT READ', 'not_read', of.failedTexts(result), 1),
    listed('NEXT', 'next', of.nothingFoundSteps(result, target), 2),
  ];
}

/** In the order in which parts are left out where a screen is full: see `Kept`. */
const KEEP = {
  ...{
    summary: 1,
    fix: 2,
    request: 3,
    memory: 4,
    launches: 5,
    effect: 6,
    lake: 13,
    run: 14,
    next: 16,
    unknown: 18,
    why: 20,
  },
  // A size alone is in the message that was pasted.
  ...{ size: 22, code: 24, failed: 26 },
} as const;
const LATE = { sites: 23, others: 60, next: 50 } as const;

function partsOf(first: Verdict, result: DiagnoseResult, target: of.DiagnosedTarget): d.MaybePart[] {
  const { ids, pasted, texts, isEnough = true } = of.fixParts(first, result);
  const { label, texts: answer } = of.answerOf(first, result);
  const isRun = isRunAnswer(first, result);
  const account = isRun && first.accounting_total === null ? null : shownAccount(first);
  const request = of.requestOf(first);
  const isShort = of.isMessageAlone(first, result);
  return [
    d.section(
      label,
      { key: label === 'STATE' ? 'state' : 'verdict', fields: verdictFields(first) },
      d.paragraph(answer[0] ?? '', { style: 'lead', tone: toneOf(first, result), key: 'title' }),
      d.items(answer.slice(1), { key: 'summary', keep: KEEP.summary }),
    ),
    d.section(
      'FIX',
      { key: 'fix', fields: ids.length === 0 ? {} : { ids } },
      d.paste(pasted, { key: 'lines', keep: KEEP.fix }),
      d.items(texts, { key: 'texts', keep: isEnough || pasted.length > 0 ? KEEP.effect : KEEP.fix }),
    ),
    isRun ? null : listed('WHY', 'why', of.reasons(first, isShort).map(withHandle), KEEP.why),
    request === null
      ? null
      : d.section(
          'REQUEST',
          { key: 'request', fields: { requested_bytes: first.request?.bytes ?? null } },
          d.paragraph(request.text, { keep: request.isSize ? KEEP.size : KEEP.request, key: 'text' }),
          request.code !== null && d.paragraph(d.code(request.code), { keep: KEEP.code, key: 'code' }),
        ),
    account === null ? null : d.section('MEMORY', {}, { ...accountBar(account, first.request), keep: KEEP.memory }),
    ...of
      .shownRun(first, result)
      .map(({ label: name, text }) =>
        listed(name, `run_${name.toLowerCase()}`, [text], name === 'MEMORY' ? KEEP.memory : KEEP.run),
      ),
    d.section('SITES', {}, sitesTable(first)),
    listed(
      'OTHERS',
      'others',
      of.otherTexts(first, result),
      result.launch_ooms.length > 0 ? KEEP.launches : LATE.others,
    ),
    listed('UNKNOWN', 'unknown', texts.length === 0 ? of.unknownTexts(first, result) : [], KEEP.unknown),
    listed('NOT READ', 'not_read', of.failedTexts(result), KEEP.failed),
    listed('LAKE', 'lake', of.lakeTexts(result), KEEP.lake),
    // What was pasted is at hand: its figures go before commands.
    nextSection(first, target, isShort ? LATE.next : KEEP.next),
    target.full === true && evidenceSection(first, result),
  ];
}

const listed = (title: string, key: string, texts: readonly d.Text[], keep: number): d.Section | null =>
  d.section(title, {}, d.items(texts, { key, keep }));

const withHandle = ({ id, text }: EvidenceResult): d.Text => [text, ' ', d.handle(id)];

const verdictFields = ({ cause, detail, confidence }: Verdict): d.Fields => ({ cause, detail, confidence });

function toneOf(verdict: Verdict, result: DiagnoseResult): d.Tone {
  const { cause } = verdict;
  if (result.run_state?.state === 'running_or_cut' && isRunAnswer(verdict, result)) return 'plain';
  return cause === 'not_oom' ? 'good' : cause === 'undecided' ? 'unsure' : 'bad';
}

export function sitesTable({ evidence }: Verdict): d.MaybePart {
  const sites = evidence.find(({ kind }) => kind === 'live_sites')?.items ?? [];
  return d.table(
    sites,
    [
      d.column('live_bytes', ({ numbers }) => numbers['bytes'] ?? null),
      d.names('call_site', ({ name }) => name),
      d.column('blocks', ({ numbers }) => d.counted(numbers['blocks'] ?? 0, 'block')),
    ],
    { key: 'sites', isBare: true, keep: LATE.sites },
  );
}

/** One command, on a line of its own. */
function nextSection({ commands }: Verdict, target: of.DiagnosedTarget, keep: number): d.MaybePart {
  if (target.operands?.includes('-') === true) return listed('NEXT', 'next', [WITH_MORE], keep);
  const lines = commands.slice(0, 1).map((command) => of.withTarget(command, target));
  return d.section('NEXT', {}, d.paste(lines, { key: 'next', keep }));
}
const WITH_MORE = 'with the whole log and a snapshot more can be tested: mbforensics train.log snapshot.pickle';
