/**
 * One run judged for `git bisect run`: the judgement, what it rests on, and the same once more in a sentence that
 * closes the output.
 */
import type { TriageResult } from '../../model/results/compare.js';
import { as, code, column, type Document, document, paragraph, quote, t, table } from '../document/document.js';
import { judgementMark } from './bisect-document.js';
import { shortCommit } from './check-words.js';
import { longText } from './difference.js';

export function triageDocument(result: TriageResult): Document {
  const { schema, judgement, criterion, reason, run, commit, golden, evidence } = result;
  const at = commit === null ? '' : t` (commit ${code(shortCommit(commit))})`;
  return {
    ...document(
      schema,
      t`${as('judgement', judgementMark(judgement))} (${as('criterion', criterion)})`,
      paragraph(longText(reason), { style: 'lead', key: 'reason' }),
      paragraph(t`run ${as('run', code(run))}${at}, golden ${as('golden', code(golden))}`),
      table(evidence, [column('text', ({ text, source }) => `${longText(text)} [${source}]`, { title: 'evidence' })], {
        key: 'evidence',
        fields: ({ text, source }) => ({ text, source }),
      }),
      quote([judgementSentence(result)]),
    ),
    fields: { commit },
  };
}

/** `bad: peak allocated …`. On one line, however long: scripts, and readers of a bisection's log, look for it. */
export const judgementSentence = ({ judgement, reason }: Pick<TriageResult, 'judgement' | 'reason'>): string =>
  `${judgement}: ${reason.replaceAll(/\s+/g, ' ').trim()}`;
