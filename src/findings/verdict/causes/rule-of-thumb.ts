/**
 * The tuning guides' rule for an OOM without figures: with expandable segments set, the device is full; without them,
 * one rank that fails while the others continue is fragmentation (Megatron Bridge, memory tuning: "OOM on one rank
 * while others have room"). It is a rule, not a proof: confidence is low, and the evidence that would prove it stays
 * listed as missing.
 */
import { formatBytes, formatCount } from '../../../model/units.js';
import { type OomFacts, sums } from '../facts.js';
import { ALIKE_RANKS_SHARE } from '../thresholds.js';
import type { KindVerdict } from './kind-verdict.js';

/** Null where figures decide, or neither rule applies. */
export function ruleOfThumb(facts: OomFacts): KindVerdict | null {
  if (facts.request === null || sums(facts) !== null) return null;
  const { allocator } = facts;
  const bystanders = facts.bystanders ?? null;
  if (allocator?.expandableSegments === true) {
    return {
      cause: 'capacity',
      detail: null,
      confidence: 'low',
      summary: 'the figures are missing; with expandable segments on, what fails is mostly a full device',
      missing: [],
      next: ['ingest the whole message, or a snapshot dumped at the OOM: the figures decide it'],
    };
  }
  const isUnset = allocator !== null || (bystanders?.environmentSource ?? null) !== null;
  if (!isUnset || bystanders === null || !bystanders.failedAlone || bystanders.ranks === 0) return null;
  const { ownReservedBytes: own, mostReservedBytes: most } = bystanders;
  // A first pipeline stage or an overloaded expert rank peaks alone; its device is then simply full.
  if (own !== null && most !== null && own > ALIKE_RANKS_SHARE * most) return null;
  const reservedText = most === null ? '' : ` (they reserved at most ${formatBytes(most)})`;
  return {
    cause: 'fragmentation',
    detail: null,
    confidence: 'low',
    summary: `the figures are missing; of ${formatCount(bystanders.ranks + 1)} ranks only this one failed${reservedText}, and expandable segments are not set: mostly fragmentation`,
    missing: [],
    next: ['PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True on every rank costs no throughput: try it first'],
  };
}
