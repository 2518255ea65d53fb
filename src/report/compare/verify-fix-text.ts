/**
 * A change compared with its purpose: the verdict, whether each setting is in force, gain and cost against the expected
 * ones, and the next limit of the run.
 */

import type {
  VerifyChange,
  VerifyFigure,
  VerifyFixResult,
  VerifyJudgement,
  VerifyRun,
} from '../../model/results/verify.js';
import { formatBytes } from '../../model/units.js';
import { printable } from '../plain-text.js';
import { screenText } from '../screen-text.js';
import { left, right, table } from '../table.js';
import { grouped, labelled, paragraph, plain, rankWords, shortText, titled, UNKNOWN, wrapped } from '../text-pieces.js';

const LONGEST = 600;

export function verifyFixText(result: VerifyFixResult): string {
  return screenText([
    ...headLines(result),
    ...changeLines(result),
    ...figureLines(result),
    ...judgementLines(result),
    '',
    ...labelled('now', clean(result.bottleneck.text)),
    ...unfairLines(result),
    ...otherChangeLines(result),
    ...listed('not known', result.missing),
  ]);
}

const clean = (text: string): string => shortText(text, LONGEST);

function headLines({ verdict, summary, before, after }: VerifyFixResult): string[] {
  return [
    `VERDICT  ${plain(verdict)}`,
    ...wrapped(`         ${clean(summary)}`, '         '),
    '',
    ...labelled('before', runText(before)),
    ...labelled('after', runText(after)),
  ];
}

function runText(run: VerifyRun): string {
  const { ending, rank, stage, iteration, phase, last_iteration: last, steady_steps: steps } = run;
  const where = rank === null ? '' : ` on rank ${rank}${stage === null ? '' : ` (stage ${stage})`}`;
  const when =
    ending === 'oom' || ending === 'failed'
      ? ` ${iteration === null ? (/build|load|launch/.test(phase ?? '') ? 'before training' : 'in the first iteration') : `after iteration ${iteration}`}${phase === null ? '' : `, in ${phase}`}`
      : last === null
        ? ''
        : `, ${last} iterations (${steps} steady)`;
  const end = {
    oom: 'out of memory',
    failed: 'failed',
    completed: 'completed',
    stopped: 'no failure, end unknown',
    no_training: 'no training',
  }[ending];
  const cause = run.cause === null ? '' : `: ${plain(run.cause)}`;
  return `${printable(run.run)}: ${end}${where}${when}${cause}`;
}

function changeLines({ changes }: VerifyFixResult): string[] {
  if (changes.length === 0) return ['', '  changes     none that bears on memory or speed'];
  return ['', 'changes, and whether they are in force', ...changes.flatMap(changeText)];
}

function changeText(change: VerifyChange): string[] {
  const {
    key,
    from,
    to,
    from_known: known,
    fix,
    fix_complete: whole,
    non_fix: non,
    credited,
    effect,
    on_cause,
  } = change;
  const of =
    fix !== null
      ? ` (${whole ? 'fix' : 'part of fix'} ${fix}${credited ? ', credited' : ''})`
      : non !== null
        ? ` (will not help: ${non})`
        : credited
          ? ' (credited)'
          : '';
  const value = (text: string | null): string => (text === null ? 'unset' : printable(text));
  const outcome = effect.outcome.toUpperCase().padEnd(9);
  const ranks =
    effect.outcome === 'partly' && effect.ranks.inactive.length > 0
      ? ` Not on ${rankWords(effect.ranks.inactive)}.`
      : '';
  const more = effect.evidence.filter(({ text }) => !effect.text.includes(text)).slice(0, 3);
  return [
    ...wrapped(
      `  ${outcome} ${printable(key)}: ${known ? value(from) : 'unknown'} → ${value(to)}${of}`,
      '              ',
    ),
    ...(on_cause === null ? [] : wrapped(`            ${clean(on_cause)}`, '            ')),
    ...wrapped(`            ${clean(effect.text)} [${clean(effect.source)}]${ranks}`, '            '),
    ...more.flatMap(({ text, source }) =>
      paragraph(`            · ${clean(text)}${source === effect.source ? '' : ` [${clean(source)}]`}`),
    ),
    ...(effect.needs === null ? [] : wrapped(`            needs: ${clean(effect.needs)}`, '                   ')),
  ];
}

const bytes = (value: number): string => formatBytes(value);
const signed = (value: number, text: (size: number) => string): string =>
  `${value < 0 ? '−' : '+'}${text(Math.abs(value))}`;

function figureLines({ measured }: VerifyFixResult): string[] {
  const figures: readonly (readonly [title: string, figure: VerifyFigure, text: (value: number) => string])[] = [
    ['peak allocated', measured.peak_allocated, bytes],
    ['peak reserved', measured.peak_reserved, bytes],
    ['reserved, not in use', measured.cached, bytes],
    ['step time', measured.step_ms, (ms) => `${grouped(ms, 1)} ms`],
    ['TFLOP/s per GPU', measured.tflops, (value) => grouped(value, 1)],
  ];
  const rows = figures.flatMap(([title, figure, text]) => {
    const { before, after, delta, percent, noise } = figure;
    if (before === null && after === null) return [];
    return [
      [
        title,
        before === null ? UNKNOWN : text(before),
        after === null ? UNKNOWN : text(after),
        delta === null ? UNKNOWN : signed(delta, text),
        percent === null ? UNKNOWN : signed(percent, (value) => `${value.toFixed(1)} %`),
        noise === null || noise === 0 ? '' : `± ${text(noise)}`,
      ],
    ];
  });
  if (rows.length === 0) return [];
  return [
    '',
    ...table(
      [left('measured'), right('before'), right('after'), right('change'), right(''), right('noise')],
      rows,
      '  ',
    ).split('\n'),
  ];
}

const LABELS: Readonly<Record<VerifyJudgement['outcome'], string>> = {
  better: 'better',
  as_expected: 'as expected',
  less: 'less',
  worse: 'worse',
  note: 'note',
  untested: 'untested',
};

function judgementLines({ judgement, expected }: VerifyFixResult): string[] {
  const hoped =
    expected === null
      ? []
      : labelled('expected', `${expected.fix}: ${clean(expected.saving_text)}; cost: ${clean(expected.cost_text)}`, 13);
  return [
    '',
    expected === null ? 'gain and cost' : 'gain and cost, against the advice on the run before',
    ...hoped,
    ...judgement.flatMap(({ outcome, text }) => labelled(LABELS[outcome], clean(text), 13)),
  ];
}

function unfairLines({ contract, unfair }: VerifyFixResult): string[] {
  if (unfair.length > 0) return listed('not comparable', unfair);
  const layout = contract.filter(({ group }) => group !== 'revision').slice(0, 6);
  const revisions = contract.filter(({ group }) => group === 'revision').slice(0, 6);
  const entryLines = (title: string, entries: typeof layout): string[] =>
    entries.length === 0
      ? []
      : labelled(
          title,
          entries
            .map(({ key, golden, current }) => `${key} ${golden ?? '?'} → ${current ?? '?'}`)
            .map(clean)
            .join(', '),
        );
  return [...entryLines('differs', layout), ...entryLines('versions', revisions)];
}

function otherChangeLines({ beside: changes }: VerifyFixResult): string[] {
  if (changes.length === 0) return [];
  const shown = changes.slice(0, 6).map(({ key, a, b }) => clean(`${key} ${a ?? 'unset'} → ${b ?? 'unset'}`));
  return labelled('other', `${shown.join(', ')}${changes.length > 6 ? ` and ${changes.length - 6} more` : ''}`);
}

const listed = (title: string, items: readonly string[]): string[] =>
  titled(
    title,
    items.flatMap((item) => paragraph(`  · ${clean(item)}`)),
  );
