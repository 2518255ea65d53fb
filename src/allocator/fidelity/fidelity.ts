/**
 * How far a replay can be trusted: exact, approximate or refused, and why. Thresholds are those at which the model was
 * checked against real recordings.
 */

import { type Recording, recordedReserve } from '../replay/recording.js';
import type { ReplayOutcome, UnconfirmedFeature } from '../replay/replay-outcome.js';
import { verifyingReplay } from '../replay/verifying-replay.js';
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../variants.js';
import { type Operations, operationsOf } from '../what-if/operations.js';
import { simulate } from '../what-if/simulate.js';
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
  readonly outcome: ReplayOutcome;
  readonly finalDifference: FinalDifference | null;
  /**
   * Largest difference of the reserve from the recorded one in a run that is never set right; null where it was not
   * needed.
   */
  readonly freeRunError: number | null;
  /** Made when it is first asked for. */
  readonly operations: Operations;
}

/**
 * A model with a wrong rule still reaches 99.98 % of the addresses, so below this something is wrong from the ground
 * up.
 */
const LEAST_REUSE_SHARE = 0.99;
/** Wrong ties cost addresses but hardly any reserve: beyond this the reserve is not that of the recording. */
const MOST_RESERVE_ERROR = 0.01;

const FEATURE_WORDS: Readonly<Record<UnconfirmedFeature, string>> = {
  several_streams: 'several streams',
  pending_frees: 'frees that wait for other streams',
  private_pools: 'private pools',
  max_split_size: 'max_split_size_mb',
  roundup_power2: 'roundup_power2_divisions',
  garbage_collection: 'garbage_collection_threshold',
  large_segment_size: 'large_segment_size_mb',
};

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
    const fitted = fitReservation(recording, variant);
    if (best === undefined || faults(fitted.outcome) < faults(best.outcome)) best = fitted;
    if (faults(best.outcome) === 0) break;
  }
  return best!;
}

export interface FittedReplay {
  /** With the address space of reservations that fits. */
  readonly recording: Recording;
  readonly outcome: ReplayOutcome;
}

/**
 * Each round leaves less address space than the one before; a real one has one size, so a few bounds find it closely
 * enough.
 */
const MAX_ROUNDS = 8;

function fitReservation(recording: Recording, variant: AllocatorVariant): FittedReplay {
  let fitted: FittedReplay = { recording, outcome: verifyingReplay(recording, variant) };
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const { impliedReservationBytes } = fitted.outcome;
    if (impliedReservationBytes === null) break;
    const tighter = { ...recording, reservationBytes: impliedReservationBytes };
    const outcome = verifyingReplay(tighter, variant);
    if (firstFault(outcome) <= firstFault(fitted.outcome)) break;
    fitted = { recording: tighter, outcome };
  }
  return fitted;
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
  const { recording, outcome } = replayBest(given);
  const difference = dump === null ? null : finalDifference(outcome.allocator.snapshot(), dump);
  const judged = judge(recording, outcome, difference, dump, walk);
  let operations: Operations | undefined;
  return {
    ...judged,
    recording,
    outcome,
    finalDifference: difference,
    get operations() {
      operations ??= operationsOf(
        recording,
        outcome.flushes.filter((flush) => flush.kind === 'explicit').map((flush) => flush.seq),
        outcome.lateWaits,
      );
      return operations;
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
  const refusal = whyRefused(outcome, walk);
  if (refusal !== null) return { status: 'refused', reason: refusal, freeRunError: null };
  const doubts = whyInexact(outcome, difference, dump, walk);
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

function whyRefused(outcome: ReplayOutcome, walk: WalkFindings): string | null {
  if (outcome.allocs === 0) return 'the trace holds no allocation';
  if (walk.violations > walk.tailViolations)
    return `the trace contradicts itself: ${walk.violations} of its entries cannot have happened before the state of the dump`;
  if (outcome.abandonedAt !== null) {
    const { mismatchCount } = outcome;
    return `the model does not describe this recording: ${mismatchCount} mismatches up to entry ${outcome.abandonedAt}`;
  }
  // Recorded with `skip_actions`, or by a converter that drops them.
  if (outcome.driverEntries === 0 && outcome.mismatches.some((mismatch) => mismatch.kind === 'growth_predicted'))
    return 'the recording leaves out the calls to the driver (segment entries)';
  if (outcome.impossiblePlacements > 0)
    return `${outcome.impossiblePlacements} recorded allocations lie where the model has no free block`;
  const share = outcome.addressMatches / outcome.allocs;
  if (share < LEAST_REUSE_SHARE) return `only ${(100 * share).toFixed(2)} % of the addresses are those recorded`;
  return null;
}

function whyInexact(
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
  const features = [...outcome.features].map((feature) => FEATURE_WORDS[feature]);
  if (outcome.variant.tieBreak !== 'address')
    features.push('the order of torch 2.12 and newer among blocks of one size');
  if (features.length > 0) {
    const isAll = doubts.length === 0 ? 'all addresses match, but the rules for ' : 'the rules for ';
    doubts.push(`${isAll}${features.join(', ')} have not been confirmed on recordings of real devices`);
  }
  return doubts;
}

/**
 * Relative to the recorded reserve at its peak: the largest difference at any entry, of the model without corrections.
 * It flushes where the record does, since a model without a limit cannot know which requests the driver refused.
 */
function freeRun(recording: Recording, { flushes, variant }: ReplayOutcome): number {
  const operations = operationsOf(
    recording,
    flushes.map((flush) => flush.seq),
    [],
  );
  const reserved = recordedReserve(recording);
  let peak = 1;
  for (const bytes of reserved) if (bytes > peak) peak = bytes;
  let worst = 0;
  const { seq } = recording.events;
  const first = seq[0] ?? 0;
  simulate(recording, operations, {
    settings: recording.settings,
    variant,
    budgetBytes: Number.POSITIVE_INFINITY,
    start: 'recorded',
    direction: 'ascending',
    after: (at, bytes) => {
      const difference = Math.abs(bytes - (reserved[at - first] ?? bytes));
      if (difference > worst) worst = difference;
    },
  });
  return worst / peak;
}
