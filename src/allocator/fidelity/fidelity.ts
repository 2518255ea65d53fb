/**
 * How far a replay can be trusted: exact, approximate or refused, and why. Thresholds are those at which the model was
 * checked against real recordings.
 */

import { type Recording, recordedReserve } from '../replay/recording.js';
import type { ReplayOutcome } from '../replay/replay-outcome.js';
import { confText } from '../settings.js';
import { type Alternatives, alternativesOf } from '../what-if/alternatives.js';
import { operationsOf } from '../what-if/operations.js';
import { followRecording } from '../what-if/simulate.js';
import { type DumpedState, type FinalDifference, finalDifference } from './compare-final-state.js';
import { faults, replayBest } from './fit-replay.js';
import { inferSettings } from './infer-settings.js';

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

/** `dump`: null where the dumped blocks are not known. */
export function judgeReplay(given: Recording, dump: DumpedState | null, walk: WalkFindings): Fidelity {
  const { recording, outcome } = given.namesSettings === false ? inferSettings(given, dump) : replayBest(given);
  const difference = dump === null ? null : finalDifference(outcome.allocator.snapshot(), dump);
  const judged = judge(recording, outcome, difference, dump, walk);
  let alternatives: Alternatives | undefined;
  return {
    ...judged,
    recording,
    settingsInferred: given.namesSettings === false && confText(recording.settings) !== '',
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
  walked: WalkFindings,
): Pick<Fidelity, 'status' | 'reason' | 'freeRunError'> {
  // The walk back rounded without settings: a replay that found them, and explains all, refutes it.
  const isRefuted = difference === null && dump !== null && recording.settings.openDivisions !== undefined;
  const walk = isRefuted ? { ...walked, violations: 0, tailViolations: 0 } : walked;
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
