/** The reading order of verdicts. */
import type { FirstFailureResult } from '../../model/first-failure.js';
import type { Verdict } from '../../model/results/common.js';
import { CONFIDENCES } from '../../model/vocabulary.js';

/**
 * The most confident first (ranks that fail together fail alike, and one of them left a snapshot). Of several, the one
 * with the first failure comes first, then by rank and device.
 */
export function orderVerdicts(verdicts: readonly Verdict[], first: FirstFailureResult | null): Verdict[] {
  const doubt = (verdict: Verdict): number => CONFIDENCES.indexOf(verdict.confidence);
  const isFirst = (verdict: Verdict): number =>
    first !== null && verdict.rank === first.rank && (first.device === null || verdict.device === first.device) ? 0 : 1;
  const causeOfFirst = verdicts.find((verdict) => isFirst(verdict) === 0)?.cause;
  const kinship = (verdict: Verdict): number => (verdict.cause === causeOfFirst ? 0 : 1);
  return verdicts.toSorted(
    (a, b) =>
      doubt(a) - doubt(b) ||
      kinship(a) - kinship(b) ||
      isFirst(a) - isFirst(b) ||
      (a.rank ?? -1) - (b.rank ?? -1) ||
      (a.device ?? -1) - (b.device ?? -1),
  );
}
