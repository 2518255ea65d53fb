/** A healthy run ends where `exit_interval` made it. Upstream: `checkpoint_and_decide_exit` of both frameworks. */
import type { Attempt } from '../run.js';
import type { LogBook } from './log-book.js';
import { completedIterations, type RunFacts } from './run-facts.js';
import { datetimeLine } from './setup-lines.js';

export function exitLines(book: LogBook, facts: RunFacts, attempt: Attempt): void {
  if (!attempt.ranks.every(({ ending }) => ending.kind === 'completed')) return;
  const iteration = attempt.firstIteration + completedIterations(attempt);
  const endUs = Math.max(...attempt.ranks.map((rank) => rank.endUs)) + 2_000;
  book.print(endUs, 0, datetimeLine(facts, `exiting program at iteration ${iteration}`, endUs));
}
