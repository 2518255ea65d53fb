/** Notes where the evidence of one rank contradicts the verdict on another, which could not test that cause. */
import type { Verdict } from '../../model/results/common.js';
import type { Judged } from './combine.js';

/** Ranks that fail together mostly fail alike; the view `verdict` lowered the confidence. */
export function relateVerdicts(verdicts: readonly Verdict[], judged: readonly Judged[]): Verdict[] {
  return verdicts.map((verdict, i) => {
    const failure = judged[i]?.contradicted_by ?? null;
    if (failure === null) return verdict;
    const better = verdicts[failure]!;
    const who = better.rank === null ? 'another device' : `rank ${better.rank}`;
    return {
      ...verdict,
      combination: [
        ...verdict.combination,
        `The evidence of ${who} shows ${better.cause.replaceAll('_', ' ')}, which could not be tested here: one step less sure.`,
      ],
    };
  });
}
