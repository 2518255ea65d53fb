/** What the figures of a check are of, or why there is none, in words. */

import type { CheckReason, CompareCheck } from '../../model/results/compare.js';
import { statusWords } from '../../model/status-words.js';
import { formatCount } from '../../model/units.js';
import { figuresOf, fill, wordsOf, wordTable } from '../words/fill.js';
import { worded } from '../words/worded.js';

/** With `reason`, and with the endings of a status. */
export function wordedCheck(check: CompareCheck): CompareCheck {
  const { why, is_least } = check;
  if (why === null) return check;
  if (why.code === 'preset') return { ...check, reason: worded(why.text), why: null };
  const reason = reasonWords(why);
  return {
    ...check,
    ...(why.code === 'ending' ? { golden: statusWords(why.golden), current: statusWords(why.current) } : {}),
    reason: is_least ? `the run failed: it needs at least this; ${reason}` : reason,
  };
}

function reasonWords(why: Exclude<CheckReason, { code: 'preset' }>): string | null {
  if (why.code !== 'ending') return fill(wordsOf(wordTable('checks', 'reasons'), why.code), figuresOf(why));
  const { ending, verdict, failure } = why.current;
  if (verdict !== null && ending === 'oom') return verdict.summary;
  return failure === null ? null : `${failure.file} line ${formatCount(failure.line)}: ${failure.text}`;
}
