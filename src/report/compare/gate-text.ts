/** A gate for the log of a job: the verdict, one line a metric, and what to do next. */
import { groupBy } from '../../model/group-by.js';
import { pushAll } from '../../model/lists.js';
import type { CompareCheck } from '../../model/results/compare.js';
import type { GateResult, GateVerdict } from '../../model/results/gate.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { keepEnd, left, right, table } from '../table.js';
import { counted, hanging, labelled, paragraph, shortText, wrapped } from '../text-pieces.js';
import {
  changeOf,
  checkFigure,
  failsGate,
  isListed,
  nameOf,
  relativeOf,
  runWords,
  toleranceOf,
} from './check-words.js';
import { contractValue, contractWords, refusalWords } from './contract-words.js';
import { componentLines, siteLines, suspectLines } from './difference-lines.js';

const VALUE = 14;
const NAME = 26;
const SITES_SHOWN = 3;
const SUSPECTS_SHOWN = 3;
const LONGEST_TEXT = 600;

export function gateText(result: GateResult): string {
  const { verdict, checks, summary, refused, contract, current, golden, baseline } = result;
  const indent = ' '.repeat(9);
  const refusal = refusalWords(refused, contract);
  const listed = checks.filter((check) => isListed(check, result.warned));
  const isQuiet = ({ name, status }: CompareCheck): boolean => name.includes(':') && status === 'pass';
  const shown = listed.filter((check) => !isQuiet(check));
  const hidden = listed.length - shown.length;
  const lines = [
    `VERDICT  ${verdict}`,
    ...(refusal === null
      ? wrapped(`${indent}${tidy(shortText(summary, LONGEST_TEXT))}`, indent)
      : [...hanging(`REFUSED  ${tidy(refusal.reason)}`), `${indent}${refusal.remedy}`]),
    ...paragraph(
      `${runWords(current, false)} against baseline ${runWords(golden, false)} of ${shortText(baseline, 60)}`,
    ),
    ...contractWords(contract)
      .different.filter(({ blocking }) => blocking)
      .map((entry) => `  ${entry.key}: ${contractValue(entry, entry.golden)} → ${contractValue(entry, entry.current)}`),
    ...(shown.length === 0 ? [] : ['', ...tableLines(shown, result)]),
    ...(hidden === 0 ? [] : [`  ${counted(hidden, 'component or stage', 'components and stages')} within tolerance`]),
    ...reasonLines(shown),
  ];
  if (verdict === 'regression') {
    const suspects = suspectLines(result, SUSPECTS_SHOWN);
    const grown = [
      ...componentLines('of which', result.components),
      ...siteLines(result.sites, SITES_SHOWN, ['baseline', 'now']),
    ];
    for (const part of [suspects, grown]) if (part.length > 0) pushAll(lines, ['', ...part]);
  }
  for (const [i, note] of result.notes.entries())
    pushAll(lines, [
      ...(i === 0 ? [''] : []),
      ...labelled(i === 0 ? 'notes' : '', tidy(shortText(note, LONGEST_TEXT))),
    ]);
  pushAll(lines, ['', ...labelled('next', nextStep(result))]);
  return screenText(lines);
}

function tableLines(checks: readonly CompareCheck[], result: GateResult): string[] {
  return table(
    [
      left('metric'),
      ...['baseline', 'now', 'change', 'tolerance', 'noise'].map((title) => right(title)),
      left('result'),
    ],
    checks.map((check) => [
      keepEnd(nameOf(check), NAME),
      checkFigure(check.golden, check.unit, VALUE),
      checkFigure(check.current, check.unit, VALUE),
      shortText(relativeOf(check) || changeOf(check), 11),
      toleranceOf(check),
      noiseOf(check),
      resultOf(check, result),
    ]),
    '  ',
  ).split('\n');
}

/** Relative like the change and the tolerance, which it is compared with. */
function noiseOf({ noise, golden, unit }: CompareCheck): string {
  if (noise === null || typeof golden !== 'number') return '';
  if (golden === 0) return `±${checkFigure(noise, unit, 10)}`;
  const percent = (100 * noise) / Math.abs(golden);
  return `±${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

/** `FAIL` is what fails the job. */
function resultOf(check: CompareCheck, { verdict, refused }: GateResult): string {
  if (refused !== null || verdict === 'updated') return check.status;
  if (failsGate(check, 'default')) return 'FAIL';
  if (check.why?.code === 'ended_early') return 'not comparable';
  const isOpen = check.status === 'undecided' || check.status === 'regression';
  const isWarning = isOpen && verdict !== 'undecided' && !check.is_least && check.name !== 'status';
  return isWarning && (!check.gate || check.delta !== null) ? 'warning' : check.status;
}

/** Of what did not pass: why. That of a figure within the noise is in its row. */
function reasonLines(checks: readonly CompareCheck[]): string[] {
  const isReason = ({ name, status, gate, why, delta, is_least }: CompareCheck): boolean => {
    if (status === 'skipped' || why?.code === 'disturbed') return true;
    return (
      gate &&
      (status === 'regression' || (status === 'undecided' && !name.includes(':') && (delta === null || is_least)))
    );
  };
  const byReason = groupBy(
    checks.filter((check) => check.reason !== null && isReason(check)),
    ({ reason }) => reason!,
  );
  return [...byReason].flatMap(([reason, of]) => {
    const names = of.map(({ name }) => name).join(', ');
    return wrapped(`  ${names}: ${tidy(shortText(reason, 300))}`, '    ');
  });
}

function nextStep({ verdict, baseline, operands, checks, refused, update }: GateResult): string {
  const runs = operands.map((operand) => ` ${word(operand)}`).join('');
  const first = operands[0] === undefined ? '' : ` ${word(operands[0])}`;
  const gate = `mbforensics gate${runs} --baseline ${word(baseline)}`;
  if (update !== null) return `git add ${word(baseline)}`;
  const status = checks.find(({ name }) => name === 'status');
  if (refused === null && status?.status !== 'pass' && status?.status !== 'info') return `mbforensics diagnose${first}`;
  if (verdict === 'regression')
    return `mbforensics compare${first} --golden ${word(baseline)}; if the change is wanted: ${gate} --update`;
  if (verdict === 'warning') return `judge several runs together, or record repeats: ${gate} --update --append`;
  if (verdict === 'undecided') return `mbforensics compare${first} --golden ${word(baseline)}`;
  return 'nothing to do';
}

/** As a shell reads it. */
function word(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${tidy(text).replaceAll("'", "'\\''")}'`;
}

/** `summary`: that of the comparison, which regressions and undecided figures have. */
export function gateSummary(
  verdict: GateVerdict,
  summary: string,
  checks: readonly CompareCheck[],
  { warned, update }: Pick<GateResult, 'warned' | 'update'>,
): string {
  if (update !== null) {
    const dropped = update.dropped === 0 ? '' : `; ${counted(update.dropped, 'oldest run', 'oldest runs')} left out`;
    return `the baseline was ${update.created ? 'created' : 'written'} and has ${counted(update.runs, 'run')}${dropped}`;
  }
  const listed = checks.filter((check) => isListed(check, warned) && check.status !== 'skipped');
  if (verdict === 'pass') {
    const judged = listed.filter(({ status }) => status !== 'info');
    return `${counted(judged.length, 'metric')} within tolerance`;
  }
  if (verdict !== 'warning') return summary;
  const words = listed
    .filter(({ status }) => status === 'undecided' || status === 'regression')
    .map(({ name, status, gate, ...check }) => {
      const why = status === 'regression' && !gate ? 'only a warning' : 'not enough to distinguish it from noise';
      return `${name} ${relativeOf({ name, status, gate, ...check })} (${why})`;
    });
  return words.slice(0, 4).join('; ');
}
