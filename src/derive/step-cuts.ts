/** Where the course of a trace is cut so that figures of its steps are exact. */

/**
 * Where rows of `derived_bucket` have to end: a row of one entry at the end of each step, and before its first entry.
 * Ascending.
 */
export function stepCuts(steps: readonly { readonly first_seq: number; readonly last_seq: number }[]): number[] {
  const cuts = new Set<number>();
  for (const { first_seq, last_seq } of steps)
    for (const seq of [first_seq - 2, first_seq - 1, last_seq - 1, last_seq]) if (seq >= 0) cuts.add(seq);
  return [...cuts].sort((a, b) => a - b);
}
