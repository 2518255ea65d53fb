/**
 * How far a replay can be trusted: exact, approximate or refused, and why. Thresholds are those at which the model was
 * checked against real recordings.
 */

import { pushAll } from '../../model/lists.js';
import { SEGMENT_ALLOC, SEGMENT_MAP } from '../../model/trace-action-codes.js';
import { freedPools, withFreedPools } from '../replay/infer-pools.js';
import { type Recording, recordedReserve } from '../replay/recording.js';
import type { ReplayOutcome } from '../replay/replay-outcome.js';
import { verifyingReplay } from '../replay/verifying-replay.js';
import { readAllocConf } from '../settings.js';
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../variants.js';
import { type Alternatives, alternativesOf } from '../what-if/alternatives.js';
import { operationsOf } from '../what-if/operations.js';
import { followRecording } from '../what-if/simulate.js';
import { type DumpedState, type FinalDifference, finalDifference } from './compare-final-state.js';

export type ReplayStatus = 'exact' | 'approximate' | 'refused';

/** The results of the walks over the same trace. */
export interface WalkFindings {
  /** Contradictions other than those of the last few entries, which a dump that is not atomic explains. */
  readonly violations: number;
  readonly tailViolations: number;
  readonly freeRequestedRecorded: boolean;
  readonly freeCompletedRecorded: boolean;
  /** Blocks of the start state whose size is only bounded. */
  readonly uncertainBlocks: number;
}

export interface Fidelity {
  readonly status: ReplayStatus;
  /** One sentence; empty if exact. */
  readonly reason: string;
  /** The recording given, with what the replay found out of it. */
  readonly recording: Recording;
  /** The file contains no settings; those of the recording were found by their consequences. */
  readonly settingsInferred: boolean;
  readonly outcome: ReplayOutcome;
  readonly finalDifference: FinalDifference | null;
  /**
   * Largest difference of the reserve from the recorded one in a run that is never set right; null where it was not
   * needed.
   */
  readonly freeRunError: number | null;
  /** What the program asked for, in each way that it can have been; the likeliest first. Made when first asked for. */
  readonly alternatives: Alternatives;
}

/**
 * A model with a wrong rule still reaches 99.98 % of the addresses, so below this something is wrong from the ground
 * up.
 */
const LEAST_REUSE_SHARE = 0.99;
/** Wrong ties cost addresses but hardly any reserve: beyond this the reserve is not that of the recording. */
const MOST_RESERVE_ERROR = 0.01;

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

/** Searched with fewer entries than this only: each candidate is a replay of its own, though a wrong one ends early. */
const MOST_SEARCHED_ENTRIES = 500_000;

/**
 * The recording with settings that fit, where the file has none: releases before 2.2 write none. Mapped pages prove
 * expandable segments; of the others the usual values are tried, and accepted only if they explain every decision.
 */
function withSettings(given: Recording): FittedReplay {
  const isMapped =
    given.events.action.includes(SEGMENT_MAP) || given.start.segments.expandable.some((flag) => flag === 1);
  const recording = isMapped ? { ...given, settings: { ...given.settings, expandableSegments: true } } : given;
  const plain = replayBest(recording);
  if (faults(plain.outcome) === 0 || given.events.count > MOST_SEARCHED_ENTRIES) return plain;
  for (const text of LIKELY_SETTINGS) {
    const { settings } = readAllocConf(text, recording.settings);
    const fitted = replayBest({ ...recording, settings });
    if (faults(fitted.outcome) > 0) continue;
    // The threshold is any: that there is one is seen, its value is not.
    const known = { ...fitted.recording.settings, garbageCollectionThreshold: 0 };
    return { ...fitted, recording: { ...fitted.recording, settings: known } };
  }
  return plain;
}

const LIKELY_SETTINGS: readonly string[] = (() => {
  // Which segments garbage collection frees is taken from the record, so any threshold will do.
  const garbage = 'garbage_collection_threshold:0.8';
  const splits = [20, 32, 64, 100, 128, 200, 256, 400, 500, 512, 1024, 2048].map((mb) => `max_split_size_mb:${mb}`);
  const divisions = [2, 4, 8, 16].map((count) => `roundup_power2_divisions:${count}`);
  const single = [garbage, ...divisions, ...splits];
  const pairs = [...divisions, ...splits].map((text) => `${garbage},${text}`);
  return [...single, ...pairs, ...divisions.flatMap((division) => splits.map((split) => `${division},${split}`))];
})();

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

function fitRounds(recording: Recording, variant: AllocatorVariant): FittedReplay {
  let fitted: FittedReplay = { recording, outcome: verifyingReplay(recording, variant) };
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
    const outcome = verifyingReplay(next, variant);
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

function firstFault(outcome: ReplayOutcome): number {
  return outcome.mismatches[0]?.seq ?? Number.POSITIVE_INFINITY;
}

function faults(outcome: ReplayOutcome): number {
  if (outcome.abandonedAt !== null) return Number.POSITIVE_INFINITY;
  return outcome.mismatchCount + outcome.driverEntryMismatches + outcome.impossiblePlacements;
}

/** `dump`: null where the dumped blocks are not known. */
export function judgeReplay(given: Recording, dump: DumpedState | null, walk: WalkFindings): Fidelity {
  const { recording, outcome } = given.namesSettings === false ? withSettings(given) : replayBest(given);
  const difference = dump === null ? null : finalDifference(outcome.allocator.snapshot(), dump);
  const judged = judge(recording, outcome, difference, dump, walk);
  let alternatives: Alternatives | undefined;
  return {
    ...judged,
    recording,
    settingsInferred: given.namesSettings === false && recording.settings !== given.settings,
    outcome,
    finalDifference: difference,
    get alternatives() {
      alternatives ??= alternativesOf(recording, outcome);
      return alternatives;
    },
  };
}

function judge(
  recording: Recording,
  outcome: ReplayOutcome,
  difference: FinalDifference | null,
  dump: DumpedState | null,
  walk: WalkFindings,
): Pick<Fidelity, 'status' | 'reason' | 'freeRunError'> {
  const refusal = whyRefused(recording, outcome, walk);
  if (refusal !== null) return { status: 'refused', reason: refusal, freeRunError: null };
  const doubts = whyInexact(recording, outcome, difference, dump, walk);
  const isPerfect = faults(outcome) === 0 && difference === null && outcome.ooms.every((oom) => oom.repeated);
  if (doubts.length === 0) return { status: 'exact', reason: '', freeRunError: null };
  const freeRunError = isPerfect ? 0 : freeRun(recording, outcome);
  if (freeRunError > MOST_RESERVE_ERROR) {
    const share = `${(100 * freeRunError).toFixed(1)} %`;
    return {
      status: 'refused',
      reason: `left alone, the model's reserve differs from the recorded one by up to ${share}; ${doubts[0]!}`,
      freeRunError,
    };
  }
  return { status: 'approximate', reason: doubts.join('; '), freeRunError };
}

function whyRefused(recording: Recording, outcome: ReplayOutcome, walk: WalkFindings): string | null {
  if (outcome.allocs === 0) return 'the trace holds no allocation';
  if (walk.violations > walk.tailViolations)
    return `the trace contradicts itself: ${walk.violations} of its entries cannot have happened before the state of the dump`;
  if (outcome.abandonedAt !== null) {
    const { mismatchCount, mismatches } = outcome;
    // The driver is asked although a free block fits: the request is of a pool that does not have the block.
    if (recording.namesPools === false && mismatches[0]?.kind === 'reuse_predicted')
      return `the entries do not name their private pool, and no flush shows it: ${mismatchCount} mismatches up to entry ${outcome.abandonedAt}`;
    return `the model does not describe this recording: ${mismatchCount} mismatches up to entry ${outcome.abandonedAt}`;
  }
  // Recorded with `skip_actions`, or by a converter that drops them.
  if (outcome.driverEntries === 0 && outcome.mismatches.some((mismatch) => mismatch.kind === 'growth_predicted'))
    return 'the recording leaves out the calls to the driver (segment entries)';
  if (outcome.impossiblePlacements > 0)
    return `${outcome.impossiblePlacements} recorded allocations are where the model has no free block`;
  const share = outcome.addressMatches / outcome.allocs;
  if (share < LEAST_REUSE_SHARE) return `only ${(100 * share).toFixed(2)} % of the addresses are those recorded`;
  return null;
}

function whyInexact(
  { customPools }: Recording,
  outcome: ReplayOutcome,
  difference: FinalDifference | null,
  dump: DumpedState | null,
  walk: WalkFindings,
): string[] {
  const doubts: string[] = [];
  const { mismatchCount, driverEntryMismatches } = outcome;
  if (mismatchCount > 0) {
    const uncertain =
      walk.uncertainBlocks > 0 ? `; ${walk.uncertainBlocks} blocks of the start are of uncertain size` : '';
    doubts.push(`${mismatchCount} of the model's decisions differ from the record${uncertain}`);
  }
  if (driverEntryMismatches > 0) doubts.push(`${driverEntryMismatches} calls to the driver differ`);
  if (outcome.ooms.some((oom) => !oom.repeated)) doubts.push('a recorded OOM does not happen in the model');
  if (dump === null) doubts.push('the final blocks are not known');
  else if (difference !== null) doubts.push('the replay does not end in the dumped blocks');
  if (walk.tailViolations > 0) doubts.push('the dump is a few entries older or newer than the trace');
  if (!walk.freeCompletedRecorded) doubts.push('completions of frees were not recorded');
  if (!walk.freeRequestedRecorded) doubts.push('requests of frees were not recorded');
  if (outcome.unknownFrees > 0) doubts.push(`${outcome.unknownFrees} frees of memory that nothing accounts for`);
  const unseen: string[] = [];
  if (outcome.variant.tieBreak === 'block_counter')
    unseen.push('the order of torch 2.12 among free blocks of one size');
  if (customPools.size > 0) unseen.push('pools with an allocator of their own');
  if (unseen.length > 0) {
    const isAll = doubts.length === 0 ? 'all addresses match, but the rules for ' : 'the rules for ';
    doubts.push(`${isAll}${unseen.join(' and ')} have not been compared with PyTorch's own allocator`);
  }
  return doubts;
}

/**
 * Relative to the recorded reserve at its peak: the largest difference at any entry, of the model without corrections.
 * It flushes where the record does, since a model without a limit cannot know which requests the driver refused.
 */
function freeRun(recording: Recording, { flushes, variant }: ReplayOutcome): number {
  const explicitFlushes = flushes.map((flush) => flush.seq);
  const operations = operationsOf(recording, { explicitFlushes, lateWaits: [] });
  const reserved = recordedReserve(recording);
  let peak = 1;
  for (const bytes of reserved) if (bytes > peak) peak = bytes;
  let worst = 0;
  const { seq } = recording.events;
  const first = seq[0] ?? 0;
  followRecording(recording, operations, variant, (at, bytes) => {
    const difference = Math.abs(bytes - (reserved[at - first] ?? bytes));
    if (difference > worst) worst = difference;
  });
  return worst / peak;
}
