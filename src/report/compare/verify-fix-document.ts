/**
 * A change compared with its purpose: the verdict, whether each setting is in force, gain and cost against the expected
 * ones, and the next limit of the run.
 */
import type * as results from '../../model/results/verify.js';
import * as d from '../document/document.js';
import { formatValue, type Unit } from '../document/values.js';
import { plain, rankWords } from '../text-pieces.js';
import { wordOf } from '../words/fill.js';
import { verdictTitle } from './compare-document.js';
import { changedSection, longText, settingCell } from './difference.js';

export function verifyFixDocument(result: results.VerifyFixResult): d.Document {
  const { schema, verdict, summary, before, after, bottleneck, contract, unfair, beside: changes, missing } = result;
  const sides = [before.run, after.run] as const;
  return d.document(
    schema,
    verdictTitle('verify-fix', verdict),
    d.paragraph(longText(summary), { style: 'lead', key: 'summary' }),
    d.facts([d.fact('before', runText(before)), d.fact('after', runText(after))]),
    changesSection(result),
    d.section('Measured', {}, measuredTable(result)),
    judgementSection(result),
    d.section('Now', {}, d.paragraph(longText(bottleneck.text), { key: 'bottleneck' })),
    d.section(
      'Not comparable',
      {},
      d.items(
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
    d.section(
      'Not known',
      {},
      d.items(
        missing.map((text) => longText(text)),
        { key: 'missing' },
      ),
    ),
  );
}

const endingName = wordOf('codes', 'run_endings');

function runText(run: results.VerifyRun): d.Text {
  const { ending, rank, stage, iteration, phase, last_iteration: last, steady_steps: steps } = run;
  const where = rank === null ? '' : ` on rank ${rank}${stage === null ? '' : ` (stage ${stage})`}`;
  const early = /build|load|launch/.test(phase ?? '') ? 'before training' : 'in the first iteration';
  const failed = `${iteration === null ? early : `after iteration ${iteration}`}${phase === null ? '' : `, in ${phase}`}`;
  const hasFailed = ending === 'oom' || ending === 'failed';
  const when = hasFailed ? ` ${failed}` : last === null ? '' : `, ${last} iterations (${steps} steady)`;
  const cause = run.cause === null ? '' : `: ${plain(run.cause)}`;
  return d.t`${d.code(run.run)}: ${endingName(ending)}${where}${when}${cause}`;
}

const OUTCOME_TONES: Readonly<Record<results.EffectOutcome, d.Tone>> = {
  active: 'good',
  partly: 'unsure',
  inactive: 'bad',
  untested: 'unsure',
};

const changesSection = ({ changes }: results.VerifyFixResult): d.MaybePart =>
  d.section(
    'Changes, and whether they are in force',
    {},
    d.table(
      changes,
      [
        d.column('outcome', ({ effect }) => d.mark(effect.outcome, OUTCOME_TONES[effect.outcome]), { title: '' }),
        d.names('key', ({ key }) => key, { title: 'setting' }),
        d.names('from', ({ from, from_known: isKnown }) => (isKnown ? settingCell(from) : 'unknown')),
        d.names('to', ({ to }) => settingCell(to)),
      ],
      {
        key: 'changes',
        under: changeDetails,
        fields: ({ kind, fix, credited, effect: { text, source } }) => ({ kind, fix, credited, text, source }),
      },
    ) ?? d.paragraph('none that bears on memory or speed'),
  );

function fixWords({ fix, fix_complete: isWhole, non_fix: non, credited }: results.VerifyChange): string {
  const what = fix !== null ? `${isWhole ? '' : 'part of '}fix ${fix}` : non !== null ? `will not help: ${non}` : '';
  return [what, non === null && credited ? 'credited' : ''].filter((text) => text !== '').join(', ');
}

function changeDetails(change: results.VerifyChange): d.Text[] {
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
] as const satisfies readonly (readonly [keyof results.VerifyFixResult['measured'], string, Unit])[];

function measuredTable({ measured }: results.VerifyFixResult): d.MaybePart {
  const rows = FIGURES.map(([key, title, unit]) => ({ key, title, unit, ...measured[key] })).filter(
    ({ before, after }) => before !== null || after !== null,
  );
  type Row = (typeof rows)[number];
  const text = (value: number, unit: Unit): string =>
    unit === 'number' ? value.toFixed(1) : formatValue(unit === 'bytes' ? Math.round(value) : value, unit);
  const cell = (value: number | null, { unit }: Row) =>
    value === null ? null : d.shownAs(value, text(value, unit), unit === 'bytes' ? 'bytes' : null);
  const signed = (value: number | null, form: (size: number) => string) =>
    value === null ? null : d.shownAs(value, `${value < 0 ? '-' : '+'}${form(Math.abs(value))}`);
  const right = { align: 'right' } as const;
  return d.table(
    rows,
    [
      d.column('figure', ({ title }) => title, { title: 'measured' }),
      d.column('before', (row) => cell(row.before, row), right),
      d.column('after', (row) => cell(row.after, row), right),
      d.column('delta', (row) => signed(row.delta, (size) => text(size, row.unit)), { title: 'change', ...right }),
      d.column('percent', ({ percent }) => signed(percent, (size) => `${size.toFixed(1)} %`), { title: '', ...right }),
      d.column(
        'noise',
        ({ noise, unit }) => d.shownAs(noise, noise === null || noise === 0 ? '' : `± ${text(noise, unit)}`),
        right,
      ),
    ],
    { key: 'measured', fields: ({ key }) => ({ figure: key }) },
  );
}

const JUDGED_TONES: Readonly<Record<results.VerifyJudgement['outcome'], d.Tone>> = {
  ...{ better: 'good', as_expected: 'good', less: 'unsure', worse: 'bad', note: 'plain', untested: 'unsure' },
};

const judgementSection = ({ judgement, expected }: results.VerifyFixResult): d.MaybePart =>
  d.section(
    expected === null ? 'Gain and cost' : 'Gain and cost, against the advice on the run before',
    {},
    expected !== null &&
      d.paragraph(
        d.t`expected of ${d.code(expected.fix)}: ${longText(expected.saving_text)}; cost: ${longText(expected.cost_text)}`,
        { key: 'expected' },
      ),
    d.table(
      judgement,
      [
        d.column('outcome', ({ outcome }) => d.mark(plain(outcome), JUDGED_TONES[outcome])),
        d.column('text', ({ text }) => longText(text), { title: 'reason' }),
      ],
      { key: 'judgement', fields: ({ about, outcome }) => ({ about, outcome }) },
    ),
  );
