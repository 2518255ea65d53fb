/**
 * What both frameworks print of an evaluation. Upstream: `evaluate` and `evaluate_and_print_results` of Megatron-LM and
 * Megatron Bridge.
 */
import type { Attempt } from '../run.js';
import { lastRank, lossRecord } from './iteration-line.js';
import type { LogBook } from './log-book.js';
import { scientific } from './python-text.js';
import type { RunFacts } from './run-facts.js';
import { timersBlock } from './timers.js';

export function evaluationLines(book: LogBook, facts: RunFacts, attempt: Attempt): void {
  for (const { iteration, evaluationIterations, startUs, endUs } of attempt.evaluations ?? []) {
    const samples = evaluationIterations * facts.plan.globalBatchSize;
    book.print(startUs, 0, `Evaluating on ${samples} samples\nEvaluating iter 1/${evaluationIterations}`);
    if (endUs === null) continue;
    const last = lastRank(facts);
    const duration = endUs - startUs;
    for (let done = 1; done < evaluationIterations; done += 1) {
      const timeUs = startUs + Math.round((duration * done) / evaluationIterations);
      book.print(timeUs, 0, `Evaluating iter ${done + 1}/${evaluationIterations}`);
    }
    const { loss } = lossRecord(facts, iteration);
    const result =
      ` validation loss at iteration ${iteration} on validation set | lm loss value: ${scientific(loss)} | ` +
      `lm loss PPL: ${scientific(Math.exp(Math.min(20, loss)))} | `;
    const rule = '-'.repeat(result.length + 1);
    book.print(endUs, last, timersBlock([{ name: 'evaluate', minUs: duration, maxUs: duration }]));
    book.print(endUs + 200, last, [rule, result, rule].join('\n'));
  }
}
