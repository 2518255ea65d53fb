/** The diagnosis at the head of the page: verdict, fix with its lines to paste, reasons with their evidence. Pure. */
import type { DiagnoseResult, ShortFix, VerdictResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import {
  answerOf,
  failedTexts,
  fixParts,
  headline,
  nothingFound,
  nothingFoundSteps,
  otherTexts,
  pastedLines,
  reasons,
  shownRun,
  verdictTitle,
  withTarget,
} from '../start/diagnosis-parts.js';
import { isRunAnswer } from '../start/run-state-text.js';
import { rankName } from '../text-pieces.js';
import { costWords, percentText, savingWords } from '../verdict/action-words.js';
import { type EvidenceNames, evidenceLink } from './evidence-link.js';
import {
  type Child,
  element,
  join,
  joinWith,
  list,
  preformatted,
  type SafeHtml,
  text,
  textElement,
  textList,
} from './html.js';
import { bytes, code, figures, htmlTable, words } from './html-table.js';
import { box, type PageHead, type Tone } from './page-head.js';
import { facts, folded, leftOut } from './page-pieces.js';

/** Other verdicts that are listed one by one. */
const MOST_OTHERS = 64;

export function verdictHead(diagnosis: DiagnoseResult, operand: string, names: EvidenceNames): PageHead {
  const [first, ...others] = diagnosis.verdicts;
  const [badge = '', ...places] = headline(first, diagnosis).split(' · ');
  if (first === undefined)
    return {
      ...{ tone: 'unsure', badge, places, title: nothingFound(diagnosis), summary: null },
      boxes: [box('next', 'Next', textList([...failedTexts(diagnosis), ...nothingFoundSteps(diagnosis, {})]))],
      below: null,
    };
  const [title = '', ...summary] = answerOf(first, diagnosis).texts;
  return {
    tone: isRunAnswer(first, diagnosis) && first.cause === 'undecided' ? 'plain' : toneOf(first),
    badge,
    places,
    title,
    summary: summary.map((one) => textElement('p', one, { class: 'summary' })),
    boxes: [
      fixBox(first, diagnosis),
      isRunAnswer(first, diagnosis) ? null : whyBox(first, names),
      box(
        'run',
        'Run',
        textList(shownRun(first, diagnosis).map(({ label, text: one }) => `${label.toLowerCase()}: ${one}`)),
      ),
    ],
    below: [
      textList([...otherTexts(others, first, diagnosis), ...failedTexts(diagnosis).map((one) => `not read: ${one}`)], {
        class: 'also',
      }),
      othersHtml(others, diagnosis, operand, names),
      nextHtml(first, operand),
    ],
  };
}

function toneOf({ cause }: VerdictResult): Tone {
  return cause === 'not_oom' ? 'good' : cause === 'undecided' ? 'unsure' : 'bad';
}

// ---- fix

function fixBox(verdict: VerdictResult, diagnosis: DiagnoseResult): Child {
  const { pasted, texts } = fixParts(verdict, diagnosis);
  const more = otherFixes(diagnosis);
  if (pasted.length === 0) return box('fix', 'Fix', textList(texts), more);
  const [action] = diagnosis.advice?.actions ?? [];
  const fixes = (action?.fixes ?? []).flatMap((id) => diagnosis.advice?.fixes.filter((fix) => fix.id === id) ?? []);
  return box(
    'fix',
    'Fix',
    preformatted(pasted, { class: 'paste' }),
    fixes.length > 1 && textElement('p', `${fixes.length} settings, enough together`),
    fixes.map((fix) => fixFacts(fix, fixes.length > 1)),
    textList(texts.slice(1)),
    otherForms(fixes, pasted),
    more,
  );
}

const ENOUGH = { true: 'enough', false: 'not enough alone', null: 'not known to be enough' } as const;
const enoughText = ({ closes }: ShortFix): string => ENOUGH[`${closes}`];

function fixFacts(fix: ShortFix, isNamed: boolean): Child {
  const { saving_bytes: saving, saving_by: by, closes, requires, title } = fix;
  const isServed = by === 'what_if' && closes !== false;
  return facts([
    ...(isNamed ? [['Setting', text(title)] as const] : []),
    ...(saving !== null && saving > 0
      ? [['Saves', join([figure(saving), text(` (${savingWords(by)})`)])] as const]
      : []),
    ['Cost', text(costOf(fix))],
    ['Result', text(`${isServed ? 'replayed with it, this OOM does not occur; ' : ''}${enoughText(fix)}`)],
    ...(requires.length > 0 ? [['Needs', joinWith('; ', requires.map(text))] as const] : []),
  ]);
}

/** A size with its exact bytes. */
function figure(value: number): SafeHtml {
  return textElement('b', formatBytes(value), { 'data-bytes': value, title: `${formatCount(value)} bytes` });
}

const FORMS = [
  ['sbatch', 'launch script'],
  ['megatron_bridge', 'Megatron Bridge'],
  ['megatron_lm', 'Megatron-LM'],
  ['nemo', 'NeMo'],
  ['trainer', 'settings of the trainer'],
  ['python', 'Python'],
] as const;

/** The same change for other launchers. */
function otherForms(fixes: readonly ShortFix[], pasted: readonly string[]): Child {
  const forms = FORMS.flatMap(([key, name]) => {
    const lines = [...new Set(fixes.flatMap(({ paste }) => paste[key]))];
    return lines.length === 0 || lines.every((line) => pasted.includes(line)) ? [] : [{ name, lines }];
  });
  return folded(
    'more',
    'the same change in other forms',
    forms.map(({ name, lines }) => [textElement('h4', name), preformatted(lines)]),
  );
}

/** All fixes, with what they save and cost, and what the configuration forbids. */
function otherFixes({ advice }: DiagnoseResult): Child {
  if (advice === null) return null;
  const done = new Set(advice.actions[0]?.fixes ?? []);
  const fixes = advice.fixes.filter(({ id }) => !done.has(id));
  return folded(
    'more',
    `other fixes: ${formatCount(fixes.length)}`,
    htmlTable(
      fixes,
      [
        words('fix', ({ title }) => title),
        bytes('saves', ({ saving_bytes: saving }) => saving),
        words('source', ({ saving_by: by }) => savingWords(by)),
        figures('cost', (fix) => costOf(fix)),
        words('result', (fix) =>
          fix.status === 'forbidden' ? `forbidden: ${fix.forbidden_by ?? 'configuration'}` : enoughText(fix),
        ),
        code('lines', (fix) => pastedLines(fix, advice.paste_forms).join('\n')),
      ],
      { caption: 'Other fixes', note: nonFixes(advice.non_fixes) },
    ),
  );
}

const nonFixes = (ids: readonly string[]): string | null =>
  ids.length === 0 ? null : `measures that will not help: ${ids.join(', ')}`;

function costOf(fix: ShortFix): string {
  return fix.cost_percent === null ? 'not measured' : `${percentText(fix.cost_percent)} (${costWords(fix)})`;
}

// ---- why, others, next

function whyBox(verdict: VerdictResult, names: EvidenceNames): Child {
  return box('why', 'Why', list(reasonItems(verdict, 1, names)));
}

/** The sentences that decide, each with the evidence that it is of; PyTorch's own advice last. */
function reasonItems(verdict: VerdictResult, number: number, names: EvidenceNames): SafeHtml[] {
  const items = reasons(verdict).map((reason) => {
    const entry = verdict.evidence.find((one) => one.text === reason);
    return join([text(`${reason} `), entry !== undefined && evidenceLink(entry.id, number, names)]);
  });
  return verdict.hint === null ? items : [...items, text(verdict.hint.text)];
}

function othersHtml(
  others: readonly VerdictResult[],
  { verdicts }: DiagnoseResult,
  operand: string,
  names: EvidenceNames,
): Child {
  if (others.length === 0) return null;
  const shown = others.slice(0, MOST_OTHERS).map((verdict) => {
    const number = verdicts.indexOf(verdict) + 1;
    const { rank, device } = verdict;
    const place = [rankName(rank), ...(device === null ? [] : [`device ${device}`])].join(' · ');
    return folded(
      `verdict ${toneOf(verdict)}`,
      [textElement('b', place), text(` ${verdictTitle(verdict)}: ${verdict.summary}`)],
      textList(verdict.next.slice(0, 2), { class: 'steps' }),
      list(reasonItems(verdict, number, names)),
      htmlTable(
        verdict.evidence,
        [words('', ({ id }) => id), words('evidence', (entry) => entry.text), words('source', ({ source }) => source)],
        { caption: `Evidence of ${place}` },
      ),
    );
  });
  const more = leftOut(
    others.length - shown.length,
    'verdicts',
    withTarget('mbforensics diagnose', { operands: [operand] }),
  );
  return element(
    'div',
    { class: 'others' },
    textElement('h2', `Other verdicts: ${formatCount(others.length)}`),
    shown,
    more !== null && textElement('p', more, { class: 'note' }),
  );
}

function nextHtml({ commands }: VerdictResult, operand: string): Child {
  if (commands.length === 0) return null;
  const lines = commands.map((command) => textElement('code', withTarget(command, { operands: [operand] })));
  return element('p', { class: 'next' }, text('More: '), joinWith(' · ', lines));
}
