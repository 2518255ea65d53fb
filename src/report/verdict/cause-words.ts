/** Why a test holds or fails, or what it needs, by cause and reason; and the summary of verdicts without a test. */

import type { Figures } from '../../model/statement.js';
import type { CauseTest, Verdict } from '../../model/verdict.js';
import { fill, wordsOf, wordTable } from '../words/fill.js';

function figuresOf({ numbers, details }: CauseTest): Figures {
  const all: Figures['numbers'] = { ...details.numbers, ...numbers };
  const perStep = all['grown_bytes']! / (all['whole_steps']! - 1);
  return { ...details, numbers: { ...all, grown_bytes_per_whole_step: perStep } };
}

export function testText(test: CauseTest): string {
  return fill(wordsOf(wordTable('causes', test.cause), test.reason), figuresOf(test));
}

/** Evidence against the outcome of a test. */
export function doubtTexts(test: CauseTest): string[] {
  return test.doubts.map((doubt) => fill(wordsOf(wordTable('causes', 'doubts'), doubt), figuresOf(test)));
}

/** One line: what happened. */
export function summaryText({ summary, tests, cause }: Pick<Verdict, 'summary' | 'tests' | 'cause'>): string {
  if (summary !== null) return fill(wordsOf(wordTable('causes', 'summaries'), summary.kind), summary);
  return testText(tests.find((test) => test.outcome === 'holds' && test.cause === cause)!);
}

/** Where no run has a failure. */
export const NOTHING_READ = 'nothing to judge: no memory snapshot and no failure message was found';
