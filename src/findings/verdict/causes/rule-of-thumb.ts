/**
 * What the tuning guides say of an OOM without figures: with expandable segments set it is a full device; without them, one rank that fails while the others
 * go on is fragmentation (Megatron Bridge, memory tuning: "OOM on one rank while others have room"). A rule, no proof: confidence is low, and what would
 * prove it stays listed as missing.
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
  // A first pipeline stage or an overloaded expert rank peaks alone, and then is merely full.
  if (own !== null && most !== null && own > ALIKE_RANKS_SHARE * most) return null;
  const room = most === null ? '' : ` (they reserved at most ${formatBytes(most)})`;
  return {
    cause: 'fragmentation',
    detail: null,
    confidence: 'low',
    summary: `the figures are missing; of ${formatCount(bystanders.ranks + 1)} ranks only this one failed${room}, and expandable segments are not set: mostly fragmentation`,
    missing: [],
    next: ['PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True on every rank costs no throughput: try it first'],
  };
}
