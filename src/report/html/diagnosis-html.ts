/** The diagnosis on the page: its first screen as the head, memory, other verdicts, tests, what is not known. Pure. */

import { allFailures } from '../../model/all-failures.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../model/results/common.js';
import * as d from '../document/document.js';

import { inlineHtml, partsHtml } from '../render/html.js';
import { plainText } from '../render/plain.js';
import { accountBar, accountsOf, accountTable } from '../start/account.js';
import { diagnoseDocument, sitesTable } from '../start/diagnose-document.js';
import { pastedLines, reasons, verdictTitle, withTarget } from '../start/diagnosis-parts.js';
import { otherFixes } from '../start/evidence-document.js';
import { captureSections, testParts } from '../start/show-document.js';
import { rankName } from '../text-pieces.js';
import { element } from './html.js';
import { box, type PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';

const isSection = (one: d.Document['parts'][number]): one is d.Section => one.type === 'section';

/** The first section is the answer, those of words are boxes; drawings and tables are sections of the page. */
export function diagnosisHead(diagnosis: DiagnoseResult, operand: string): PageHead {
  const [first, ...others] = diagnosis.verdicts;
  const { title, parts: all } = diagnoseDocument(diagnosis, { operands: [operand] });
  const [badge = '', ...places] = plainText(title).split(' · ');
  const [answer, ...rest] = all.filter(isSection);
  const [lead, ...summary] = answer?.parts ?? [];
  const isWords = ({ parts: inner }: d.Section): boolean =>
    inner.every(({ type }) => type !== 'bar' && type !== 'table');
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
      const more = label === 'fix' && first !== undefined ? d.parts(moreFixes(diagnosis)) : [];
      return box(label.replace(' ', '-'), label, partsHtml([...inner, ...more]));
    }),
    below:
      allFailures(diagnosis.verdicts).length < 2
        ? null
        : element(
            'div',
            { class: 'others' },
            partsHtml(d.parts([otherVerdicts(others, allFailures(diagnosis.verdicts).length - 1, operand)]), 2),
          ),
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
function moreFixes(diagnosis: DiagnoseResult): d.MaybePart[] {
  const { advice } = diagnosis;
  if (advice === null) return [];
  const fixes = (advice.actions[0]?.fixes ?? []).flatMap((id) => advice.fixes.filter((fix) => fix.id === id));
  const pasted = new Set(fixes.flatMap((fix) => pastedLines(fix, advice.paste_forms)));
  const forms = FORMS.flatMap(([form, name]) => {
    const lines = [...new Set(fixes.flatMap(({ paste: all }) => all[form]))];
    return lines.every((line) => pasted.has(line)) ? [] : [d.section(name, {}, d.paste(lines))];
  });
  const alternatives = otherFixes(diagnosis);
  return [
    d.section('the same change in other forms', { isFolded: true }, ...forms),
    alternatives !== null && { ...alternatives, isFolded: true },
  ];
}

/** Other verdicts that are listed one by one. */
const MOST_OTHERS = 64;

function otherVerdicts(others: readonly Verdict[], all: number, operand: string): d.MaybePart {
  const left = all - Math.min(others.length, MOST_OTHERS);
  return d.section(
    d.t`Other verdicts: ${d.count(all)}`,
    {},
    ...others.slice(0, MOST_OTHERS).map((verdict) => {
      const { rank, device, evidence, next, summary } = verdict;
      const place = [rankName(rank), ...(device === null ? [] : [`device ${device}`])].join(' · ');
      return d.section(
        `${place}: ${verdictTitle(verdict)}: ${summary}`,
        { isFolded: true },
        d.items(next.slice(0, 2)),
        d.items(reasons(verdict).map(({ text }) => text)),
        d.table(evidence, [
          d.column('', ({ id }) => id),
          d.column('evidence', ({ text }) => text),
          d.column('source', ({ source }) => source),
        ]),
      );
    }),
    left > 0 &&
      d.note(d.t`${d.count(left)} more verdicts: ${withTarget('mbforensics diagnose', { operands: [operand] })}`),
  );
}

/** Bars of one scale, the largest live call sites, and the parts as tables. */
export function memorySection(verdict: Verdict | undefined): PageSection | null {
  if (verdict === undefined) return null;
  const accounts = accountsOf(verdict);
  const sites = verdict.evidence.find(({ kind }) => kind === 'live_sites');
  const shown = d.parts([
    ...accounts.map((account, i) => accountBar(account, i === 0 ? verdict.request : null)),
    d.section(
      ['Largest live call sites ', ...(sites === undefined ? [] : [d.handle(sites.id)])],
      {},
      sitesTable(verdict),
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

/** Every cause with its test's answer, and how one verdict was made of them. */
export function testsSection(verdict: Verdict | undefined): PageSection | null {
  if (verdict === undefined || verdict.tests.length === 0) return null;
  const { tests, combination } = verdict;
  const shown = d.parts(testParts({ tests, combination, missing: [], rules: [] }));
  return section('tests', { name: 'Causes', title: 'Causes that were tested' }, partsHtml(shown));
}

export function unknownSection({ verdicts: [first], failed_sources: failed }: DiagnoseResult): PageSection | null {
  const missing = first?.missing ?? [];
  const shown = d.parts([
    missing.length === 0 && first !== undefined && d.paragraph('Nothing that the verdict needs is missing.'),
    d.items(missing),
    d.section('Record next time', {}, ...captureSections(first?.captures ?? [], { isFolded: true })),
    d.section(
      d.t`Files that were not read: ${d.count(failed.length)}`,
      {},
      d.items(failed.map(({ error }) => `${error.text} (${error.code}): ${error.remedy}`)),
    ),
  ]);
  return section('unknown', { name: 'Unknown', title: 'What is not known' }, partsHtml(shown));
}
