/** Enough is free inside the reserve and on the device together, but not in one piece that the request may use. */

import { formatBytes, formatCount } from '../../../model/units.js';
import type { CauseDetail } from '../../../model/vocabulary.js';
import {
  budget,
  type CauseTest,
  type EvidenceLog,
  type FreeSpace,
  numbersOf,
  type OomFacts,
  type Sums,
  slackMayDecide,
  sums,
  type TestOutcome,
} from '../facts.js';
import { CHECKPOINT_IN_THE_MAKING_SHARE, NEARLY_FULL_BYTES, NEARLY_FULL_SHARE } from '../thresholds.js';

export const fragmentation: CauseTest = {
  cause: 'fragmentation',
  run(facts, evidence) {
    const sum = sums(facts);
    if (sum === null || facts.request === null || facts.reserved === null) {
      return {
        outcome: 'not_testable',
        needs: 'allocated, reserved and free bytes (a snapshot at the OOM, or the whole message)',
        capture: 'whole_oom_message',
      };
    }
    const need = sum.needBytes;
    const cached = facts.reserved.bytes - sum.liveBytes;
    const slack = facts.oversizeSlack?.bytes ?? 0;
    const numbers = { ...numbersOf(sum), cached_bytes: cached };
    if (sum.shortBytes > 0 && sum.shortBytes <= slack) return oversizeSlack(facts, sum, slack, evidence);
    if (slackMayDecide(facts, sum)) {
      return {
        outcome: 'not_testable',
        needs: `a snapshot: with max_split_size_mb, more than the ${formatBytes(sum.shortBytes)} missing may lie unused inside blocks that were handed out whole`,
        capture: 'snapshot_at_oom',
        numbers,
      };
    }
    if (sum.shortBytes > 0) {
      const share = formatBytes(Math.max(0, cached));
      return { outcome: 'fails', why: `only ${share} of the reserve are free: too little even in one piece`, numbers };
    }
    if (facts.free === null) return fromMessage(facts, sum, cached, evidence);
    const { free } = facts;
    const pieces = {
      ...numbers,
      largest_usable_bytes: free.usable.largestBytes,
      free_too_small_bytes: free.usable.bytes,
      free_other_stream_bytes: free.otherStream.bytes,
      free_other_class_bytes: free.otherClass.bytes,
    };
    if (free.usable.largestBytes >= need) {
      if (Number.isFinite(facts.allocator?.maxSplitBytes ?? Number.POSITIVE_INFINITY)) {
        evidence.add(
          `a free block of ${formatBytes(free.usable.largestBytes)} exists, but max_split_size_mb reserves it for larger requests`,
          facts.reserved.source,
        );
        return {
          outcome: 'holds',
          detail: 'oversize_rule',
          confidence: 'high',
          summary: 'max_split_size_mb kept a block that fits out of reach',
          next: ['raise or drop max_split_size_mb; expandable_segments:True makes it unnecessary'],
          numbers: pieces,
        };
      }
      return {
        outcome: 'fails',
        why: `a free block of ${formatBytes(free.usable.largestBytes)} would have served the request`,
        numbers: pieces,
      };
    }
    const detail = mainReason(free, facts.allocator?.expandableSegments ?? false);
    evidence.add(
      `${formatBytes(sum.liveBytes)} live + ${formatBytes(need)} asked fit the ${formatBytes(sum.limitBytes)} this process could have; ${formatBytes(cached)} of it are free in pieces`,
      facts.reserved.source,
    );
    if (free.pinnedSegments > 0) {
      evidence.add(
        `${formatCount(free.pinnedSegments)} segments cannot go back to the driver: ${formatBytes(free.pinningBytes)} of live blocks sit in them`,
        facts.reserved.source,
      );
    }
    return {
      outcome: 'holds',
      detail,
      confidence: facts.walk?.exact === true && facts.walk.uncertainBytes < need ? 'high' : 'medium',
      summary: `enough is free inside PyTorch, but not in one piece: ${formatBytes(need)} asked, largest usable piece ${formatBytes(free.usable.largestBytes)}`,
      next: nextSteps(facts, detail),
      numbers: pieces,
      doubts: [...nearlyFull(sum), ...withinFraction(facts), ...inTheMaking(facts, sum)],
    };
  },
};

/** Whether it matters much that the bytes are in pieces. */
function nearlyFull(sum: Sums): readonly string[] {
  const spare = -sum.shortBytes;
  if (spare >= Math.max(NEARLY_FULL_BYTES, NEARLY_FULL_SHARE * sum.limitBytes)) return [];
  return [
    `even in one piece only ${formatBytes(spare)} of ${formatBytes(sum.limitBytes)} would be left: the device is as good as full`,
  ];
}

/**
 * The free pieces add up to the request, but the driver would also have served it without a memory fraction. Either
 * would be enough, and the limit is the simpler explanation.
 */
function withinFraction(facts: OomFacts): readonly string[] {
  const { allowed, deviceFree, segmentBytes } = facts;
  if (allowed === null || budget(facts) !== allowed || deviceFree === null || segmentBytes === null) return [];
  if (deviceFree.bytes < segmentBytes) return [];
  return [
    `a memory fraction allows ${formatBytes(allowed.bytes)}, and the device itself had ${formatBytes(deviceFree.bytes)} free: without that limit the request is served`,
  ];
}

/**
 * In the middle of a checkpoint the copies made so far may fit while the remaining ones do not. A traceback alone shows
 * that a checkpoint was in progress, not its size.
 */
function inTheMaking({ trace, run }: OomFacts, sum: Sums): readonly string[] {
  const activity = trace?.activity ?? run?.activity ?? null;
  if (activity !== 'checkpoint_save' && activity !== 'checkpoint_load') return [];
  if (trace?.activity == null) return ['a checkpoint was in the making, whose copies would have grown on'];
  if (trace.activityBytes < CHECKPOINT_IN_THE_MAKING_SHARE * sum.limitBytes) return [];
  return [`${formatBytes(trace.activityBytes)} are copies of a checkpoint in the making, which would have grown on`];
}

/**
 * A request of at least `max_split_size` takes a whole cached block, up to `max_non_split_rounding_mb` larger than it
 * needs.
 */
function oversizeSlack(facts: OomFacts, sum: Sums, slack: number, evidence: EvidenceLog): TestOutcome {
  evidence.add(
    `${formatBytes(slack)} inside live blocks of at least max_split_size were never asked for; without them the request fits`,
    sum.source,
  );
  return {
    outcome: 'holds',
    detail: 'oversize_rule',
    confidence: facts.walk?.exact === true ? 'high' : 'medium',
    summary: `max_split_size_mb hands oversize blocks out whole: ${formatBytes(slack)} of what is live was never asked for`,
    next: ['lower max_non_split_rounding_mb, or drop max_split_size_mb; expandable_segments:True makes it unnecessary'],
    numbers: { ...numbersOf(sum), oversize_slack_bytes: slack },
  };
}

/** The reason with the most unusable free memory. */
function mainReason(free: FreeSpace, expandable: boolean): CauseDetail {
  const reasons: readonly (readonly [CauseDetail, number])[] = [
    [expandable ? 'page_pinning' : 'split_remainder', free.usable.bytes],
    ['other_stream', free.otherStream.bytes],
    ['small_large_pool', free.otherClass.bytes],
  ];
  return reasons.reduce((best, reason) => (reason[1] > best[1] ? reason : best))[0];
}

function fromMessage(facts: OomFacts, sum: Sums, cached: number, evidence: EvidenceLog): TestOutcome {
  const source = facts.reserved?.source ?? '';
  const spare = -sum.shortBytes;
  const numbers = { ...numbersOf(sum), cached_bytes: cached };
  if (facts.deviceFree !== null && facts.segmentBytes !== null && facts.deviceFree.bytes >= facts.segmentBytes) {
    return {
      outcome: 'not_testable',
      needs: 'a snapshot: the device had more free than was asked, which a message alone cannot explain',
      capture: 'snapshot_at_oom',
      numbers,
    };
  }
  if (spare <= sum.precisionBytes) {
    return {
      outcome: 'not_testable',
      needs: 'exact figures: it fits or not within the rounding of the message',
      capture: 'snapshot_at_oom',
      numbers,
    };
  }
  evidence.add(
    `${formatBytes(cached)} are reserved by PyTorch but free; with the device's free memory that is ${formatBytes(spare)} more than was asked`,
    source,
  );
  return {
    outcome: 'holds',
    detail: null,
    confidence: 'medium',
    summary: `${formatBytes(cached)} are free inside PyTorch and the request still failed: no piece of it was large enough`,
    next: nextSteps(facts, null),
    numbers,
    doubts: [...nearlyFull(sum), ...withinFraction(facts), ...inTheMaking(facts, sum)],
  };
}

function nextSteps(facts: OomFacts, detail: CauseDetail | null): string[] {
  if (facts.allocator?.expandableSegments === true) {
    return [
      "expandable segments are already on: PyTorch's own hint does not apply",
      'see what pins the segments with `mbforensics peak`; free or move those buffers, or make the request smaller',
    ];
  }
  const steps = [
    'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True on every rank, at no throughput cost (not with NCCL user buffers; with CUDA graphs also NCCL_GRAPH_REGISTER=0)',
  ];
  if (facts.allocator === null) steps.unshift('check that expandable segments are not on already: no snapshot says so');
  if (detail === 'other_stream')
    steps.push('allocate on the stream that frees: memory of another stream is never reused');
  return steps;
}
