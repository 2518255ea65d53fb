/** Replays a recording with the variant, the reservations and the private pools that fit best. */

import { pushAll } from '../../model/lists.js';
import { freedPools, withFreedPools } from '../replay/infer-pools.js';
import type { Recording } from '../replay/recording.js';
import type { ReplayOutcome } from '../replay/replay-outcome.js';
import { verifyingReplay } from '../replay/verifying-replay.js';
import { SEGMENT_ALLOC } from '../trace-action-codes.js';
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../variants.js';

/** Searched with fewer entries than this only: each candidate is a replay of its own, though a wrong one ends early. */
export const MOST_SEARCHED_ENTRIES = 500_000;

/**
 * Replays with the variant that fits best. Releases before torch 2.12 do not write pools into entries and break ties by
 * address; where entries have pools the counters of 2.12 and 2.13 are tried first. The first that fits in everything is
 * taken, for ties are all they differ in.
 */
export function replayBest(recording: Recording): FittedReplay {
  const newest = [ALLOCATOR_VARIANTS['2.13'], ALLOCATOR_VARIANTS['2.12'], ALLOCATOR_VARIANTS['2.7']];
  const oldest = [ALLOCATOR_VARIANTS['2.7'], ALLOCATOR_VARIANTS['2.13'], ALLOCATOR_VARIANTS['2.12']];
  let best: FittedReplay | undefined;
  for (const variant of recording.namesPools === true ? newest : oldest) {
    const fitted = fitUnknowns(recording, variant);
    if (best === undefined || faults(fitted.outcome) < faults(best.outcome)) best = fitted;
    if (faults(best.outcome) === 0) break;
  }
  return withPools(best!);
}

/** Of each pool, how many small segments are its own is tried one after the other. */
const MOST_TRIED_POOLS = 32;

/**
 * Where entries do not name their private pools: with those that flushes show, if that explains every decision. Small
 * segments are tried from none of those before the pool's large ones to all.
 */
function withPools(plain: FittedReplay): FittedReplay {
  const { recording, outcome } = plain;
  if (faults(outcome) === 0 || recording.namesPools !== false || recording.events.count > MOST_SEARCHED_ENTRIES)
    return plain;
  const pools = freedPools(recording);
  const tries = pools.reduce((sum, { small }) => sum + small.length + 1, 0);
  if (pools.length === 0 || tries > MOST_TRIED_POOLS) return plain;
  const smalls = pools.map(() => 0);
  let best: FittedReplay | undefined;
  for (const [i, { small }] of pools.entries()) {
    let chosen = 0;
    for (let count = 0; count <= small.length; count += 1) {
      smalls[i] = count;
      const fitted = fitUnknowns(withFreedPools(recording, pools, smalls), outcome.variant);
      if (faults(fitted.outcome) === 0) return fitted;
      if (best === undefined || firstFault(fitted.outcome) > firstFault(best.outcome)) {
        best = fitted;
        chosen = count;
      }
    }
    smalls[i] = chosen;
  }
  return plain;
}

export interface FittedReplay {
  /** With the address space of reservations that fits. */
  readonly recording: Recording;
  readonly outcome: ReplayOutcome;
}

/** Each round learns from the differences of the one before; a few suffice for what can be learnt. */
const MAX_ROUNDS = 16;

/**
 * Finds what no file has and only its consequences show: where reservations end, and in which order older segments
 * were created. What was learnt must explain more than it was learnt from: a round that is not better is the last.
 */
function fitUnknowns(recording: Recording, variant: AllocatorVariant): FittedReplay {
  if (variant.tieBreak !== 'segment_counter' || recording.start.segments.count === 0)
    return fitRounds(recording, variant);
  const order = likelyOrder(recording);
  const fitted = fitRounds({ ...recording, segmentOrder: order }, variant);
  if (faults(fitted.outcome) === 0) return fitted;
  const reversed = fitRounds({ ...recording, segmentOrder: order.toReversed() }, variant);
  return faults(reversed.outcome) < faults(fitted.outcome) ? reversed : fitted;
}

export function fitRounds(recording: Recording, variant: AllocatorVariant, mostMismatches?: number): FittedReplay {
  let fitted: FittedReplay = { recording, outcome: verifyingReplay(recording, variant, mostMismatches) };
  const pairs: (readonly [number, number])[] = [];
  for (let round = 0; round < MAX_ROUNDS && faults(fitted.outcome) > 0; round += 1) {
    const { impliedReservationBytes, olderSegments } = fitted.outcome;
    let next = fitted.recording;
    const learns = next.segmentOrder !== undefined && olderSegments.length > 0;
    if (impliedReservationBytes === null && !learns) break;
    if (impliedReservationBytes !== null) next = { ...next, reservationBytes: impliedReservationBytes };
    if (learns) {
      pushAll(pairs, olderSegments);
      next = { ...next, segmentOrder: reordered(next.segmentOrder!, pairs) };
    }
    const outcome = verifyingReplay(next, variant, mostMismatches);
    if (firstFault(outcome) <= firstFault(fitted.outcome) && faults(outcome) >= faults(fitted.outcome)) break;
    fitted = { recording: next, outcome };
  }
  return fitted;
}

/** Addresses of the older segments as cudaMalloc went through the recording: up, or on real devices mostly down. */
function likelyOrder({ start, events }: Recording): number[] {
  const order = Array.from(start.segments.address.subarray(0, start.segments.count)).sort((a, b) => a - b);
  let last: number | undefined;
  let rises = 0;
  let pairs = 0;
  for (let i = 0; i < events.count; i += 1) {
    if (events.action[i] !== SEGMENT_ALLOC) continue;
    if (last !== undefined) {
      pairs += 1;
      if (events.address[i]! > last) rises += 1;
    }
    last = events.address[i]!;
  }
  return 2 * rises < pairs ? order.reverse() : order;
}

/** Over all pairs; one that contradicts the others would change the order for ever. */
const MOST_PASSES = 10;

/** The order with each first of a pair before its second, as far as the pairs do not contradict each other. */
function reordered(order: readonly number[], pairs: readonly (readonly [number, number])[]): number[] {
  const result = [...order];
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    let isChanged = false;
    for (const [older, newer] of pairs) {
      const from = result.indexOf(older);
      const to = result.indexOf(newer);
      if (to < 0 || from <= to) continue;
      result.splice(from, 1);
      result.splice(to, 0, older);
      isChanged = true;
    }
    if (!isChanged) break;
  }
  return result;
}

export function firstFault(outcome: ReplayOutcome): number {
  return outcome.mismatches[0]?.seq ?? Number.POSITIVE_INFINITY;
}

export function faults(outcome: ReplayOutcome): number {
  if (outcome.abandonedAt !== null) return Number.POSITIVE_INFINITY;
  return outcome.mismatchCount + outcome.driverEntryMismatches + outcome.impossiblePlacements;
}
