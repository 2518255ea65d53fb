/** What the figures of a check are of, or why there is none, in words. */
import type { CheckReason, CompareCheck } from '../../model/results/compare.js';
import { statusWords } from '../../model/status-words.js';
import { formatBytes, formatCount } from '../../model/units.js';

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
  switch (why.code) {
    case 'ending': {
      const { ending, verdict, failure } = why.current;
      if (verdict !== null && ending === 'oom') return verdict.summary;
      return failure === null ? null : `${failure.file} line ${formatCount(failure.line)}: ${failure.text}`;
    }
    case 'all_lines':
      return 'largest over ranks; largest of all memory lines';
    case 'first_lines':
      return 'largest over ranks; first memory line of each: a side has no other';
    case 'ranks_of_stage':
      return 'largest over the ranks of the stage';
    case 'one_rank':
      return 'this rank';
    case 'snapshots':
    case 'snapshots_with_refused':
      return `snapshots of rank ${why.rank ?? 'unknown'}${why.code === 'snapshots' ? '' : '; with what was refused'}`;
    case 'depends_on_history':
      return 'informative: what is reserved depends on the history of the pool';
    case 'retries_of_rank':
      return 'num_alloc_retries, largest over ranks';
    case 'small_part':
      return `changes of less than ${formatBytes(why.least)} do not count`;
    case 'no_memory':
      return 'a side has neither memory lines nor a snapshot of the same rank';
    case 'no_steps':
      return `a side has fewer than ${why.least} steady iterations with a time`;
    case 'current_without_steps':
      return `the run has fewer than ${why.least} steady iterations with a time`;
    case 'steady_iterations':
      return `median of steady iterations ${why.from} to ${why.to}`;
    case 'disturbed':
      return `cannot be distinguished from ${why.kind}: ${why.text}`;
    case 'ended_early':
      return `not comparable: ended in ${why.iteration === null ? 'the first iteration' : `iteration ${formatCount(why.iteration)}`}`;
    case 'broken_loss':
      return 'every loss of the run is NaN, infinite or missing';
    case 'no_loss':
      return 'a side prints no loss';
    case 'no_common_loss':
      return 'no iteration has a loss on both sides';
    case 'last_common_loss':
      return `at iteration ${why.iteration}, the last that both have`;
  }
}
