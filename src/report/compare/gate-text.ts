/** A gate as the log of a CI job shows it: the verdict, the gates, and what grew. */
import { pushAll } from '../../model/lists.js';
import type { CompareCheck, GateResult, GateUpdateResult } from '../../model/results/compare.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { printable, wrap } from '../table.js';
import { counted, labelled, paragraph, shortText, WIDTH } from '../text-pieces.js';
import { checkTable } from './check-table.js';
import { isOfGate, runWords } from './check-words.js';
import { refusalWords } from './contract-words.js';
import { componentLines, siteLines, suspectLines } from './difference-lines.js';

const SITES_SHOWN = 3;
const SUSPECTS_SHOWN = 3;
const LONGEST_TEXT = 1_000;
const INDENT = ' '.repeat(9);

export function gateText(result: GateResult): string {
  const { verdict, summary, refused, contract, current, baseline, golden, checks, warnings, notes } = result;
  const refusal = refusalWords(refused, contract);
  // A stage, rank or component is shown where it fails.
  const gates = checks.filter(
    (check) => isOfGate(check) && (check.status === 'regression' || !check.name.includes(':')),
  );
  const lines = [
    ...paragraph(
      `GATE     ${verdict}  ${runWords(current, false)} against ${printable(baseline.file)} (${counted(golden.runs, 'run')})`,
    ),
    ...wrap(`${INDENT}${tidy(shortText(refusal?.reason ?? summary, LONGEST_TEXT))}`, WIDTH, INDENT),
    ...(refusal === null ? [] : wrap(`${INDENT}${tidy(refusal.remedy)}`, WIDTH, INDENT)),
  ];
  if (gates.length > 0) pushAll(lines, ['', ...checkTable(gates, { preset: 'default', explains: isWorse })]);
  const grown = [
    ...componentLines('of which', result.components),
    ...siteLines(result.sites, SITES_SHOWN, ['baseline', 'run'], ''),
  ];
  if (verdict === 'regression' && grown.length > 0) pushAll(lines, ['', ...grown]);
  if (result.suspects.length > 0)
    pushAll(lines, ['', 'suspects, the likeliest first', ...suspectLines(result.suspects, SUSPECTS_SHOWN)]);
  if (warnings.length > 0)
    pushAll(lines, [
      '',
      ...labelled('warning', `within the noise: ${tidy(warnings.join(', '))} (--strict fails for it)`),
    ]);
  if (notes.length > 0)
    pushAll(lines, [
      '',
      ...notes.flatMap((note, i) => labelled(i === 0 ? 'notes' : '', tidy(shortText(note, LONGEST_TEXT)))),
    ]);
  if (verdict === 'regression')
    pushAll(lines, ['', ...labelled('next', 'if the change is meant: the same command with --update')]);
  return screenText(lines);
}

const isWorse = ({ status, current }: CompareCheck): boolean =>
  status === 'regression' || (status === 'undecided' && current === null);

export function gateUpdateText({ file, runs }: GateUpdateResult): string {
  return `${printable(file)}: ${counted(runs, 'run')}\n`;
}
