/** What the figures of a check are of, or why there is none, in words. */

import { figuresOf, fill, wordsOf, wordTable } from '../../knowledge/words.js';
import type { CheckReason, CompareCheck } from '../../model/results/compare.js';
import { statusWords } from '../../model/status-words.js';
import { formatCount } from '../../model/units.js';

/** With `reason`, and with the endings of a status. A check of a preset has upstream's words already. */
export function wordedCheck(check: CompareCheck): CompareCheck {
  const { why, is_least } = check;
  if (why === null) return check;
  const reason = reasonWords(why);
  return {
    ...check,
    ...(why.code === 'ending' ? { golden: statusWords(why.golden), current: statusWords(why.current) } : {}),
    reason: is_least ? `the run failed: it needs at least this; ${reason}` : reason,
  };
}

function reasonWords(why: CheckReason): string | null {
  if (why.code !== 'ending') return fill(wordsOf(wordTable('checks', 'reasons'), why.code), figuresOf(why));
  const { ending, verdict, failure } = why.current;
  if (verdict !== null && ending === 'oom') return verdict.summary;
  return failure === null ? null : `${failure.file} line ${formatCount(failure.line)}: ${failure.text}`;
}
