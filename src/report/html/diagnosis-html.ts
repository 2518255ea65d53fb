/** The diagnosis on the page: its first screen as the head, memory, other verdicts, tests, what is not known. Pure. */

import type { DiagnoseResult, VerdictResult as Verdict, VerdictCapture } from '../../model/results/common.js';
import type { Document, MaybePart, Section } from '../document/document.js';
import {
  bytes,
  column,
  count,
  handle,
  items,
  joined,
  mark,
  note,
  paragraph,
  section as part,
  parts,
  paste,
  type Text,
  t,
  table,
} from '../document/document.js';
import { inlineHtml, partsHtml } from '../render/html.js';
import { plainText } from '../render/plain.js';
import { accountBar, accountsOf, accountTable } from '../start/account.js';
import { diagnoseDocument } from '../start/diagnose-document.js';
import { pastedLines, reasons, verdictTitle, withTarget } from '../start/diagnosis-parts.js';
import { otherFixes } from '../start/evidence-document.js';
import { FRAMEWORKS } from '../start/show-text.js';
import { plain, rankName } from '../text-pieces.js';
import { causeName } from '../words/fill.js';
import { element } from './html.js';
import { box, type PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';

const isSection = (one: Document['parts'][number]): one is Section => one.type === 'section';

/** The first section is the answer, those of words are boxes; drawings and tables are sections of the page. */
export function diagnosisHead(diagnosis: DiagnoseResult, operand: string): PageHead {
  const [first, ...others] = diagnosis.verdicts;
  const { title, parts: all } = diagnoseDocument(diagnosis, { operands: [operand] });
  const [badge = '', ...places] = plainText(title).split(' · ');
  const [answer, ...rest] = all.filter(isSection);
  const [lead, ...summary] = answer?.parts ?? [];
  const isWords = ({ parts: inner }: Section): boolean => inner.every(({ type }) => type !== 'bar' && type !== 'table');
  return {
    tone: lead?.type === 'paragraph' ? (lead.tone ?? 'unsure') : 'unsure',
    badge,
    places,
    title: lead?.type === 'paragraph' ? plainText(lead.text) : '',
    summary: summary.flatMap((one) =>
      one.type === 'items' ? one.items.map((text) => element('p', { class: 'summary' }, inlineHtml(text))) : [],
    ),
    boxes: rest.filter(isWords).map(({ title: name, parts: inner }) => {
      const label = plainText(name).toLowerCase();
      const more = label === 'fix' && first !== undefined ? parts(moreFixes(diagnosis)) : [];
      return box(label.replace(' ', '-'), label, partsHtml([...inner, ...more]));
    }),
    below:
      others.length === 0
        ? null
        : element('div', { class: 'others' }, partsHtml(parts([otherVerdicts(others, operand)]), 2)),
  };
}

const FORMS = [
  ['sbatch', 'launch script'],
  ['megatron_bridge', 'Megatron Bridge'],
  ['megatron_lm', 'Megatron-LM'],
  ['nemo', 'NeMo'],
  ['trainer', 'settings of the trainer'],
  ['python', 'Python'],
] as const;

/** The same change for other launchers, and the other fixes. */
function moreFixes(diagnosis: DiagnoseResult): MaybePart[] {
  const { advice } = diagnosis;
  if (advice === null) return [];
  const fixes = (advice.actions[0]?.fixes ?? []).flatMap((id) => advice.fixes.filter((fix) => fix.id === id));
  const pasted = new Set(fixes.flatMap((fix) => pastedLines(fix, advice.paste_forms)));
  const forms = FORMS.flatMap(([form, name]) => {
    const lines = [...new Set(fixes.flatMap(({ paste: all }) => all[form]))];
    return lines.every((line) => pasted.has(line)) ? [] : [part(name, {}, paste(lines))];
  });
  const other = otherFixes(diagnosis);
  return [
    part('the same change in other forms', { isFolded: true }, ...forms),
    other !== null && { ...other, isFolded: true },
  ];
}

/** Other verdicts that are listed one by one. */
const MOST_OTHERS = 64;

function otherVerdicts(others: readonly Verdict[], operand: string): MaybePart {
  const left = others.length - MOST_OTHERS;
  return part(
    t`Other verdicts: ${count(others.length)}`,
    {},
    ...others.slice(0, MOST_OTHERS).map((verdict) => {
      const { rank, device, evidence, next, summary } = verdict;
      const place = [rankName(rank), ...(device === null ? [] : [`device ${device}`])].join(' · ');
      return part(
        `${place}: ${verdictTitle(verdict)}: ${summary}`,
        { isFolded: true },
        items(next.slice(0, 2)),
        items(reasons(verdict).map(({ text }) => text)),
        table(evidence, [
          column('', ({ id }) => id),
          column('evidence', ({ text }) => text),
          column('source', ({ source }) => source),
        ]),
      );
    }),
    left > 0 && note(t`${count(left)} more verdicts: ${withTarget('mbforensics diagnose', { operands: [operand] })}`),
  );
}

/** Bars of one scale, the largest live call sites, and the parts as tables. */
export function memorySection(verdict: Verdict | undefined): PageSection | null {
  if (verdict === undefined) return null;
  const accounts = accountsOf(verdict);
  const sites = verdict.evidence.find(({ kind }) => kind === 'live_sites');
  const live = verdict.components?.total_bytes ?? null;
  const shown = parts([
    ...accounts.map((account, i) => accountBar(account, i === 0 ? verdict.request : null)),
    part(
      ['Largest live call sites ', ...(sites === undefined ? [] : [handle(sites.id)])],
      {},
      table(sites?.items ?? [], [
        column('call site', ({ name }) => (name === null ? null : { code: name })),
        column('live_bytes', ({ numbers }) => numbers['bytes'] ?? null),
        live !== null && column('share', ({ numbers }) => (numbers['bytes'] ?? 0) / Math.max(1, live)),
        column('blocks', ({ numbers }) => numbers['blocks'] ?? null, { unit: 'count' }),
      ]),
    ),
    ...accounts.map((account) => accountTable(account, 'account')),
  ]);
  return section(
    'memory',
    {
      name: 'Memory',
      title: 'Memory of the device',
      about: accounts.length === 0 ? null : 'Every byte in parts that add up to the total.',
    },
    partsHtml(shown),
  );
}

const OUTCOMES = {
  holds: mark('holds', 'bad'),
  fails: mark('ruled out', 'plain'),
  not_testable: mark('not tested', 'unsure'),
} as const;

/** Every cause with its test's answer, and how one verdict was made of them. */
export function testsSection(verdict: Verdict | undefined): PageSection | null {
  if (verdict === undefined || verdict.tests.length === 0) return null;
  const figures = (numbers: Readonly<Record<string, number>>): Text =>
    joined(
      Object.entries(numbers).map(([name, value]) =>
        name.endsWith('_bytes')
          ? t`${plain(name.slice(0, -'_bytes'.length))} ${bytes(value)}`
          : t`${plain(name)} ${count(value)}`,
      ),
      ' · ',
    );
  const shown = parts([
    table(verdict.tests, [
      column('cause', ({ cause }) => causeName(cause)),
      column('test', ({ outcome }) => OUTCOMES[outcome]),
      column('why', ({ outcome, text }) => (outcome === 'not_testable' ? `needs ${text}` : text)),
      column('figures', ({ numbers }) => figures(numbers)),
    ]),
    part('how one verdict was made of them', { isFolded: true }, items(verdict.combination)),
  ]);
  return section('tests', { name: 'Causes', title: 'Causes that were tested' }, partsHtml(shown));
}

export function unknownSection({ verdicts: [first], failed_sources: failed }: DiagnoseResult): PageSection | null {
  const missing = first?.missing ?? [];
  const shown = parts([
    missing.length === 0 && first !== undefined && paragraph('Nothing that the verdict needs is missing.'),
    items(missing),
    part('Record next time', {}, ...(first?.captures ?? []).map(capturePart)),
    part(
      t`Files that were not read: ${count(failed.length)}`,
      {},
      items(failed.map(({ error }) => `${error.text} (${error.code}): ${error.remedy}`)),
    ),
  ]);
  return section('unknown', { name: 'Unknown', title: 'What is not known' }, partsHtml(shown));
}

/** Frameworks with equal lines are one. */
function capturePart({ title, settles, lines }: VerdictCapture): MaybePart {
  const byLines = new Map<string, string[]>();
  for (const [framework, name] of FRAMEWORKS) {
    const text = lines[framework].join('\n');
    byLines.set(text, [...(byLines.get(text) ?? []), name]);
  }
  return part(
    `${title}, settles: ${settles.map(causeName).join(', ')}`,
    { isFolded: true },
    ...[...byLines].map(([text, names]) =>
      byLines.size === 1 ? paste(text.split('\n')) : part(names.join(', '), {}, paste(text.split('\n'))),
    ),
  );
}
