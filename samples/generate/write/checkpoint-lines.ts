/** What both frameworks print about checkpoints. Upstream: `checkpointing.py` of Megatron-LM and Megatron Bridge. */
import type { Attempt } from '../run.js';
import type { LogBook } from './log-book.js';
import type { RunFacts } from './run-facts.js';

/** What rank 0 prints when a run continues. */
export function loadLines(facts: RunFacts, attempt: Attempt): string {
  const { tensor, pipeline } = facts.plan.parallelism;
  const { checkpointDirectory } = facts;
  return [
    ` loading distributed checkpoint from ${checkpointDirectory} at iteration ${attempt.firstIteration}`,
    ' checkpoint version 3.0',
    `  successfully loaded checkpoint from ${checkpointDirectory} [ t 1/${tensor}, p 1/${pipeline} ] at iteration ${attempt.firstIteration}`,
  ].join('\n');
}

/** Rank 0's view of every save. */
export function checkpointLines(book: LogBook, facts: RunFacts, attempt: Attempt): void {
  const { tensor, pipeline } = facts.plan.parallelism;
  for (const { iteration, startUs, endUs } of attempt.checkpoints) {
    const at = String(iteration).padStart(7);
    book.print(startUs, 0, `saving checkpoint at iteration ${at} to ${facts.checkpointDirectory} in torch_dist format`);
    if (endUs === null) continue;
    const where = facts.plan.framework === 'megatron-lm' ? ` [ t 1/${tensor}, p 1/${pipeline} ]` : '';
    book.print(
      endUs,
      0,
      `  successfully saved checkpoint from iteration ${at} to ${facts.checkpointDirectory}${where}`,
    );
  }
}
