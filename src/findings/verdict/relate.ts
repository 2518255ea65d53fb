/**
 * Relates the verdicts on several ranks of one run: what a snapshot shows of one, a message of another cannot
 * contradict if it could not test it.
 */
import { groupBy } from '../../model/group-by.js';
import type { Verdict } from '../../model/results/common.js';
import { CONFIDENCES } from '../../model/vocabulary.js';
import { lowerConfidence } from './index.js';

/**
 * Ranks that fail together mostly fail alike. A verdict that could not test the cause that another rank's evidence
 * establishes is lowered by one level, with a note.
 */
export function relateVerdicts(verdicts: readonly Verdict[]): Verdict[] {
  const sure = verdicts.filter(
    ({ cause, confidence, tests }) =>
      CONFIDENCES.indexOf(confidence) <= CONFIDENCES.indexOf('medium') &&
      tests.some((test) => test.cause === cause && test.outcome === 'holds'),
  );
  // The first of each cause in the order of verdicts; thousands of ranks may have one.
  const established = [...groupBy(sure, ({ cause }) => cause).values()].map(([first]) => first!);
  return verdicts.map((verdict) => {
    const better = established.find(
      ({ cause }) =>
        cause !== verdict.cause &&
        verdict.tests.some((test) => test.cause === cause && test.outcome === 'not_testable'),
    );
    if (better === undefined || verdict.cause === 'undecided') return verdict;
    const who = better.rank === null ? 'another device' : `rank ${better.rank}`;
    return {
      ...verdict,
      confidence: lowerConfidence(verdict.confidence),
      combination: [
        ...verdict.combination,
        `The evidence of ${who} shows ${better.cause.replaceAll('_', ' ')}, which could not be tested here: one step less sure.`,
      ],
    };
  });
}
