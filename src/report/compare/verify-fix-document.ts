/**
 * A change compared with its purpose: the verdict, whether each setting is in force, gain and cost against the expected
 * ones, and the next limit of the run.
 */
import type {
  EffectOutcome,
  VerifyChange,
  VerifyFixResult,
  VerifyJudgement,
  VerifyRun,
} from '../../model/results/verify.js';
import {
  code,
  column,
  type Document,
  document,
  fact,
  facts,
  items,
  type MaybePart,
  mark,
  names,
  paragraph,
  section,
  shownAs,
  type Text,
  type Tone,
  t,
  table,
} from '../document/document.js';
import { formatValue, type Unit } from '../document/values.js';
import { plain, rankWords } from '../text-pieces.js';
import { verdictTitle } from './compare-document.js';
import { changedSection, longText, settingCell } from './difference.js';

export function verifyFixDocument(result: VerifyFixResult): Document {
  const { schema, verdict, summary, before, after, bottleneck, contract, unfair, beside: changes, missing } = result;
  const sides = [before.run, after.run] as const;
  return document(
    schema,
    verdictTitle('verify-fix', verdict),
    paragraph(longText(summary), { style: 'lead', key: 'summary' }),
    facts([fact('before', runText(before)), fact('after', runText(after))]),
    changesSection(result),
    section('Measured', {}, measuredTable(result)),
    judgementSection(result),
    section('Now', {}, paragraph(longText(bottleneck.text), { key: 'bottleneck' })),
    section(
      'Not comparable',
      {},
      items(
        unfair.map((text) => longText(text)),
        { key: 'unfair' },
      ),
    ),
    unfair.length === 0 &&
      changedSection(
        'Layout and versions',
        'contract',
        contract.map(({ key, golden, current }) => ({ key, a: golden, b: current })),
        sides,
      ),
    changedSection('Other settings', 'beside', changes, sides),
    section(
      'Not known',
      {},
      items(
        missing.map((text) => longText(text)),
        { key: 'missing' },
      ),
    ),
  );
}

const ENDINGS: Readonly<Record<VerifyRun['ending'], string>> = {
  oom: 'out of memory',
  failed: 'failed',
  completed: 'completed',
  stopped: 'no failure, end unknown',
  no_training: 'no training',
};

function runText(run: VerifyRun): Text {
  const { ending, rank, stage, iteration, phase, last_iteration: last, steady_steps: steps } = run;
  const where = rank === null ? '' : ` on rank ${rank}${stage === null ? '' : ` (stage ${stage})`}`;
  const early = /build|load|launch/.test(phase ?? '') ? 'before training' : 'in the first iteration';
  const failed = `${iteration === null ? early : `after iteration ${iteration}`}${phase === null ? '' : `, in ${phase}`}`;
  const hasFailed = ending === 'oom' || ending === 'failed';
  const when = hasFailed ? ` ${failed}` : last === null ? '' : `, ${last} iterations (${steps} steady)`;
  const cause = run.cause === null ? '' : `: ${plain(run.cause)}`;
  return t`${code(run.run)}: ${ENDINGS[ending]}${where}${when}${cause}`;
}

const OUTCOME_TONES: Readonly<Record<EffectOutcome, Tone>> = {
  active: 'good',
  partly: 'unsure',
  inactive: 'bad',
  untested: 'unsure',
};

const changesSection = ({ changes }: VerifyFixResult): MaybePart =>
  section(
    'Changes, and whether they are in force',
    {},
    table(
      changes,
      [
        column('outcome', ({ effect }) => mark(effect.outcome, OUTCOME_TONES[effect.outcome]), { title: '' }),
        names('key', ({ key }) => key, { title: 'setting' }),
        names('from', ({ from, from_known: isKnown }) => (isKnown ? settingCell(from) : 'unknown')),
        names('to', ({ to }) => settingCell(to)),
      ],
      {
        key: 'changes',
        under: changeDetails,
        fields: ({ kind, fix, credited, effect: { text, source } }) => ({ kind, fix, credited, text, source }),
      },
    ) ?? paragraph('none that bears on memory or speed'),
  );

function fixWords({ fix, fix_complete: isWhole, non_fix: non, credited }: VerifyChange): string {
  const what = fix !== null ? `${isWhole ? '' : 'part of '}fix ${fix}` : non !== null ? `will not help: ${non}` : '';
  return [what, non === null && credited ? 'credited' : ''].filter((text) => text !== '').join(', ');
}

function changeDetails(change: VerifyChange): Text[] {
  const { effect, on_cause } = change;
  const { text, source, outcome, ranks, evidence, needs } = effect;
  const missing = outcome === 'partly' && ranks.inactive.length > 0 ? ` Not on ${rankWords(ranks.inactive)}.` : '';
  return [
    ...[fixWords(change), longText(on_cause ?? '')].filter((one) => one !== ''),
    `${longText(text)} [${source}]${missing}`,
    ...evidence
      .filter((one) => !text.includes(one.text))
      .slice(0, 3)
      .map((one) => `${longText(one.text)}${one.source === source ? '' : ` [${one.source}]`}`),
    ...(needs === null ? [] : [`needs: ${longText(needs)}`]),
  ];
}

const FIGURES = [
  ['peak_allocated', 'peak allocated', 'bytes'],
  ['peak_reserved', 'peak reserved', 'bytes'],
  ['cached', 'reserved, not in use', 'bytes'],
  ['step_ms', 'step time', 'ms'],
  ['tflops', 'TFLOP/s per GPU', 'number'],
] as const satisfies readonly (readonly [keyof VerifyFixResult['measured'], string, Unit])[];

function measuredTable({ measured }: VerifyFixResult): MaybePart {
  const rows = FIGURES.map(([key, title, unit]) => ({ key, title, unit, ...measured[key] })).filter(
    ({ before, after }) => before !== null || after !== null,
  );
  type Row = (typeof rows)[number];
  const text = (value: number, unit: Unit): string =>
    unit === 'number' ? value.toFixed(1) : formatValue(unit === 'bytes' ? Math.round(value) : value, unit);
  const cell = (value: number | null, { unit }: Row) =>
    value === null ? null : shownAs(value, text(value, unit), unit === 'bytes' ? 'bytes' : null);
  const signed = (value: number | null, form: (size: number) => string) =>
    value === null ? null : shownAs(value, `${value < 0 ? '-' : '+'}${form(Math.abs(value))}`);
  const right = { align: 'right' } as const;
  return table(
    rows,
    [
      column('figure', ({ title }) => title, { title: 'measured' }),
      column('before', (row) => cell(row.before, row), right),
      column('after', (row) => cell(row.after, row), right),
      column('delta', (row) => signed(row.delta, (size) => text(size, row.unit)), { title: 'change', ...right }),
      column('percent', ({ percent }) => signed(percent, (size) => `${size.toFixed(1)} %`), { title: '', ...right }),
      column(
        'noise',
        ({ noise, unit }) => shownAs(noise, noise === null || noise === 0 ? '' : `± ${text(noise, unit)}`),
        right,
      ),
    ],
    { key: 'measured', fields: ({ key }) => ({ figure: key }) },
  );
}

const JUDGED_TONES: Readonly<Record<VerifyJudgement['outcome'], Tone>> = {
  ...{ better: 'good', as_expected: 'good', less: 'unsure', worse: 'bad', note: 'plain', untested: 'unsure' },
};

const judgementSection = ({ judgement, expected }: VerifyFixResult): MaybePart =>
  section(
    expected === null ? 'Gain and cost' : 'Gain and cost, against the advice on the run before',
    {},
    expected !== null &&
      paragraph(
        t`expected of ${code(expected.fix)}: ${longText(expected.saving_text)}; cost: ${longText(expected.cost_text)}`,
        { key: 'expected' },
      ),
    table(
      judgement,
      [
        column('outcome', ({ outcome }) => mark(plain(outcome), JUDGED_TONES[outcome])),
        column('text', ({ text }) => longText(text), { title: 'reason' }),
      ],
      { key: 'judgement', fields: ({ about, outcome }) => ({ about, outcome }) },
    ),
  );
