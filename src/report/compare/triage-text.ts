/**
 * One run judged for `git bisect run`: the judgement, what it rests on, and the same once more in a sentence that
 * closes the output.
 */
import type { TriageResult } from '../../model/results/compare.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { printable } from '../table.js';
import { paragraph, shortText, wrapped } from '../text-pieces.js';
import { shortCommit } from './check-words.js';

export function triageText(result: TriageResult): string {
  const { judgement, criterion, reason, run, commit, golden, evidence } = result;
  const of = `${tidy(run)}${commit === null ? '' : ` (commit ${shortCommit(commit)})`}`;
  const lines = [
    ...paragraph(`${judgement}  (${printable(criterion)})  ${tidy(reason)}`),
    ...wrapped(`  run ${of}, golden ${shortText(golden, 60)}`),
    ...evidence.flatMap(({ text, source }) => paragraph(`  ${tidy(text)}  [${tidy(source)}]`)),
  ];
  return `${screenText(lines)}${judgementSentence(result)}\n`;
}

/**
 * `bad: peak allocated …`. Never broken or cut, however long: scripts, and the readers of a bisection's log, look for
 * it in the last line.
 */
export function judgementSentence({ judgement, reason }: Pick<TriageResult, 'judgement' | 'reason'>): string {
  return `${judgement}: ${printable(reason.replaceAll(/\s+/g, ' ').trim())}`;
}
