/**
 * Relates the verdicts on several ranks of one run: what a snapshot shows of one, a message of another cannot
 * contradict if it could not test it.
 */
import type { Verdict } from '../../model/results/common.js';
import { CONFIDENCES } from '../../model/vocabulary.js';
import { lowerConfidence } from './index.js';

/**
 * Ranks that fail together mostly fail alike. A verdict that could not test the cause that another rank's evidence
 * establishes is lowered by one level, with a note.
 */
export function relateVerdicts(verdicts: readonly Verdict[]): Verdict[] {
  return verdicts.map((verdict) => {
    const better = verdicts.find((other) => {
      if (other === verdict || other.cause === verdict.cause) return false;
      const untested = verdict.tests.some((test) => test.cause === other.cause && test.outcome === 'not_testable');
      const sure = CONFIDENCES.indexOf(other.confidence) <= CONFIDENCES.indexOf('medium');
      return untested && sure && other.tests.some((test) => test.cause === other.cause && test.outcome === 'holds');
    });
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
