/**
 * Live memory and the request exceed what the process could have at all: no allocator setting can help. The details
 * give the reason for the size.
 */

import { formatBytes } from '../../../model/units.js';
import {
  active,
  budget,
  type CauseTest,
  type EvidenceLog,
  numbersOf,
  type OomFacts,
  type Sums,
  slackMayDecide,
  sums,
  type TestOutcome,
} from '../facts.js';
import { FREE_BEYOND_REQUEST_BYTES } from '../thresholds.js';
import type { CapacityDetail } from './capacity-detail.js';
import { imbalanceOf } from './capacity-imbalance.js';
import { roundingOf } from './capacity-rounding.js';
import { spikeOf } from './capacity-spike.js';

/** For a device that is simply full, the advice is the same whatever the details. */
const LOWER_LIVE = 'no allocator setting can help here; see what is live with `mbforensics peak`, then lower that';
const RAISE_FRACTION =
  'raise the memory fraction (set_per_process_memory_fraction), or find who needs the rest of the device';

export const capacity: CauseTest = {
  cause: 'capacity',
  run(facts, evidence) {
    const { request } = facts;
    const need = facts.requestAtLeastBytes;
    if (request !== null && facts.total !== null && need > facts.total.bytes) return beyondDevice(facts, evidence);
    const limit = budget(facts);
    const live = active(facts);
    if (limit === null && live !== null && facts.total !== null && request !== null) {
      // Some messages (cudaMallocAsync) print no reserve; beyond the whole device no reserve can help.
      const short = live.bytes + need - facts.total.bytes;
      if (short > live.precisionBytes + facts.total.precisionBytes) {
        evidence.add(
          `${formatBytes(live.bytes)} live + ${formatBytes(need)} asked exceed the whole device of ${formatBytes(facts.total.bytes)}`,
          live.source,
        );
        return {
          outcome: 'holds',
          detail: null,
          confidence: 'medium',
          summary: `the device is full: ${formatBytes(short)} short of what is live and asked`,
          next: ['no allocator setting can help here; lower what is live, or ask for less at once'],
          numbers: { live_bytes: live.bytes, request_bytes: need, total_bytes: facts.total.bytes, short_bytes: short },
        };
      }
    }
    const sum = sums(facts);
    if (sum === null || request === null) {
      return {
        outcome: 'not_testable',
        needs: 'allocated, reserved and free bytes (a snapshot at the OOM, or the whole message)',
        capture: 'whole_oom_message',
      };
    }
    return fromSums(facts, sum, evidence);
  },
};

function beyondDevice({ request, total, requestAtLeastBytes }: OomFacts, evidence: EvidenceLog): TestOutcome {
  evidence.add(`${formatBytes(request!.bytes)} asked of a device of ${formatBytes(total!.bytes)}`, request!.source);
  return {
    outcome: 'holds',
    detail: 'impossible_request',
    confidence: 'high',
    summary: `the request of ${formatBytes(request!.bytes)} is larger than the whole device`,
    next: ['suspect a shape, not memory: look at the tensor this call makes'],
    numbers: { request_bytes: requestAtLeastBytes, total_bytes: total!.bytes },
  };
}

function fromSums(facts: OomFacts, sum: Sums, evidence: EvidenceLog): TestOutcome {
  const { liveBytes, needBytes, limitBytes, shortBytes, precisionBytes } = sum;
  const numbers = numbersOf(sum);
  const exact = precisionBytes === 0;
  const fits = (bytes: number): string =>
    `${formatBytes(bytes)} live and asked fit the ${formatBytes(limitBytes)} this process could have`;
  const hidden = hiddenLimit(facts, sum, evidence);
  if (hidden !== null) return hidden;
  // Rounding cuts both ways: printed figures that just fit do not rule it out either.
  if (shortBytes <= -precisionBytes) return { outcome: 'fails', why: fits(liveBytes + needBytes), numbers };
  if (shortBytes <= precisionBytes) {
    return {
      outcome: 'not_testable',
      needs: `exact figures: ${formatBytes(Math.abs(shortBytes))} ${shortBytes > 0 ? 'short' : 'to spare'} is below the message's rounding`,
      capture: 'snapshot_at_oom',
      numbers,
    };
  }
  const slack = facts.oversizeSlack?.bytes ?? 0;
  if (shortBytes <= slack) {
    return {
      outcome: 'fails',
      why: `${fits(liveBytes + needBytes - slack)}, were it not for the slack of oversize blocks`,
      numbers: { ...numbers, oversize_slack_bytes: slack },
    };
  }
  if (slackMayDecide(facts, sum)) {
    return {
      outcome: 'not_testable',
      needs: `a snapshot: max_split_size_mb is set, and how much of what is live was never asked for (blocks handed out whole) may be more than the ${formatBytes(shortBytes)} missing`,
      capture: 'snapshot_at_oom',
      numbers,
    };
  }
  const fraction = facts.allowed !== null && budget(facts) === facts.allowed;
  evidence.add(
    `${formatBytes(liveBytes)} live + ${formatBytes(needBytes)} asked exceed the ${formatBytes(limitBytes)} ${
      fraction ? 'its memory fraction allows' : 'this process could have (reserved + device free)'
    } by ${formatBytes(shortBytes)}`,
    sum.source,
  );
  const detail = detailOf(facts, sum, fraction, evidence);
  return {
    outcome: 'holds',
    detail: detail.detail,
    confidence: detail.confidence ?? (exact ? 'high' : 'medium'),
    summary: detail.summary,
    next: detail.next,
    numbers: { ...numbers, ...detail.numbers },
  };
}

/**
 * The first that explains most: a limit, then a shape, then a setting that wastes memory, then a short peak or a stage
 * that uses more than others. A checkpoint's copies come before a stage's share, since they are freed a moment later.
 */
function detailOf(facts: OomFacts, sum: Sums, fraction: boolean, evidence: EvidenceLog): CapacityDetail {
  const short = formatBytes(sum.shortBytes);
  if (fraction) {
    return {
      detail: 'fraction_limit',
      summary: `the process's memory fraction is used up: ${short} short`,
      next: [RAISE_FRACTION],
      numbers: { allowed_bytes: sum.limitBytes },
    };
  }
  const full = `the device is full: at least ${short} short even if every cached byte were usable`;
  if (sum.needBytes > sum.limitBytes)
    return { detail: 'impossible_request', summary: full, next: [LOWER_LIVE], numbers: {} };
  return (
    roundingOf(facts, sum, evidence) ??
    spikeOf(facts, sum, evidence) ??
    imbalanceOf(facts, sum, evidence) ?? { detail: null, summary: full, next: [LOWER_LIVE], numbers: {} }
  );
}

/**
 * The device had plenty free when the driver was asked for less: the refusal came from a limit that no snapshot
 * contains. The remaining explanations are unlikely: another allocator behind the pool, or frees of another thread at
 * that moment.
 */
function hiddenLimit(facts: OomFacts, sum: Sums, evidence: EvidenceLog): TestOutcome | null {
  const { deviceFree, segmentBytes, free, allowed } = facts;
  if (free === null || deviceFree === null || segmentBytes === null || allowed !== null) return null;
  if (deviceFree.precisionBytes > 0 || free.usable.largestBytes >= sum.needBytes) return null;
  if (deviceFree.bytes < segmentBytes + FREE_BEYOND_REQUEST_BYTES) return null;
  evidence.add(
    `the device had ${formatBytes(deviceFree.bytes)} free when ${formatBytes(segmentBytes)} were asked of it: a limit refused, not the device`,
    deviceFree.source,
  );
  return {
    outcome: 'holds',
    detail: 'fraction_limit',
    confidence: 'medium',
    summary: `a limit of the process is used up (a memory fraction, most likely): the device itself had ${formatBytes(deviceFree.bytes)} free`,
    next: [RAISE_FRACTION],
    numbers: { ...numbersOf(sum), device_free_bytes: deviceFree.bytes, segment_bytes: segmentBytes },
  };
}
