/**
 * What the program may have asked of the allocator: one case for each fact that the file has lost. An answer holds if
 * all cases give it.
 */

import type { Recording } from '../replay/recording.js';
import type { ReleasedPool, ReplayOutcome } from '../replay/replay-outcome.js';
import { allocationSize, roundSize } from '../rounding.js';
import { ALLOC, FREE_COMPLETED, FREE_REQUESTED } from '../trace-action-codes.js';
import type { AllocatorVariant } from '../variants.js';
import { forcedCompletions, type Operations, operationsOf, type ProgramFacts } from './operations.js';
import { followRecording } from './simulate.js';

/** What a recording has lost of the program's side. */
export interface LostFacts {
  /** The program emptied its cache, so it may have done so unseen. */
  readonly flushes: boolean;
  /** Whether some flush was called or forced. */
  readonly unclearFlushes: boolean;
  /** From when on a private pool could be freed. */
  readonly privatePools: boolean;
  /**
   * Most bytes that waited at once to be free, as segments of their own: so many may be free earlier or later. 0: none
   * ever waited.
   */
  readonly pendingBytes: number;
  /** Which divisions of `roundup_power2_divisions` some requests were rounded by. */
  readonly divisions: boolean;
  /** The recording is too long for all cases: some were not replayed. */
  readonly isCut: boolean;
}

export interface Alternatives {
  /** The likeliest first. */
  readonly cases: readonly Operations[];
  readonly lost: LostFacts;
}

export function alternativesOf(recording: Recording, outcome: ReplayOutcome): Alternatives {
  const { flushes, lateWaits, releasedPools, variant } = outcome;
  const ofKind = (kind: string): number[] => flushes.filter((flush) => flush.kind === kind).map((flush) => flush.seq);
  const [explicit, unclear] = [ofKind('explicit'), ofKind('unclear')];
  const forcedWaits = flushes.filter(({ kind }) => kind !== 'explicit').map(({ beforeSeq }) => beforeSeq);
  const likeliest: ProgramFacts = { explicitFlushes: explicit, lateWaits, forcedWaits, releasedPools };
  const pendingBytes = mostPending(recording);
  const most = Math.max(1, Math.floor(MOST_OPERATIONS / recording.events.count));
  // One at a time: each is rare, and a replay is needed for each.
  const variations: Partial<ProgramFacts>[] = pendingBytes > 0 ? completionCases(recording, forcedWaits) : [];
  if (unclear.length > 0) variations.push({ explicitFlushes: [...explicit, ...unclear] });
  const empties = explicit.length + unclear.length > 0;
  if (empties && variations.length < most)
    for (const unseen of unseenFlushes(recording, likeliest, variant))
      variations.push({ explicitFlushes: [...explicit, ...unseen] });
  const lateReleases = [likeliest, ...variations.map((other) => ({ ...likeliest, ...other }))];
  const early = earlyReleases(recording);
  const cases =
    early.length === 0 ? lateReleases : lateReleases.flatMap((one) => [one, { ...one, releasedPools: early }]);
  return {
    cases: cases.slice(0, most).map((facts) => operationsOf(recording, facts)),
    lost: {
      flushes: empties,
      unclearFlushes: unclear.length > 0,
      privatePools: early.length > 0,
      pendingBytes,
      divisions: (recording.settings.openDivisions?.otherTables ?? []).length > 0,
      isCut: cases.length > most || (empties && variations.length >= most),
    },
  };
}

/** Operations of all cases together: a first screen replays them for two questions, at about a microsecond each. */
export const MOST_OPERATIONS = 1_500_000;

/** Most bytes at once that were freed and waited: of each block, the segment that it would take alone. */
function mostPending({ events, allocation, start, settings }: Recording): number {
  const waiting = new Map<number, number>();
  let bytes = 0;
  let most = 0;
  const wait = (id: number, requestedBytes: number): void => {
    const alone = allocationSize(roundSize(Math.max(1, requestedBytes), settings), settings);
    waiting.set(id, alone);
    bytes += alone;
    most = Math.max(most, bytes);
  };
  for (let row = 0; row < start.blocks.count; row += 1)
    if (start.blocks.state[row] === PENDING) wait(row, start.blocks.requestedBytes[row]!);
  for (let i = 0; i < events.count; i += 1) {
    const id = allocation[i]!;
    if (events.action[i] === FREE_REQUESTED && allocation[i + 1] !== id) wait(id, events.sizeBytes[i]!);
    else if (events.action[i] === FREE_COMPLETED) {
      bytes -= waiting.get(id) ?? 0;
      waiting.delete(id);
    }
  }
  return most;
}

/** Index in ENUMS.block_state. */
const PENDING = 1;

/** Moments looked at. */
const MOST_MOMENTS = 64;
/** Unseen flushes at so many of them are tried one at a time. */
const MOST_ALONE = 8;

/**
 * A flush that gives nothing back leaves no entry, but may give something back under other settings. Sets of entries
 * before which the program may have emptied its cache unseen.
 */
function unseenFlushes(recording: Recording, facts: ProgramFacts, variant: AllocatorVariant): number[][] {
  const operations = operationsOf(recording, facts);
  const stride = Math.max(1, Math.floor(operations.count / MOST_MOMENTS));
  const moments: number[] = [];
  let at = 0;
  followRecording(recording, operations, variant, (seq, _, allocator) => {
    at += 1;
    if (at % stride === 0 && !allocator.hasReleasable()) moments.push(seq + 1);
  });
  if (moments.length === 0) return [];
  const every = (step: number, first: number): number[] => moments.filter((_, i) => i % step === first);
  const alone = every(Math.ceil(moments.length / MOST_ALONE), 0).map((seq) => [seq]);
  return [moments, every(2, 0), every(2, 1), every(4, 1), every(4, 3), ...alone];
}

/** Entries behind the last request of each private pool: from there on the graph may be gone. */
function earlyReleases({ poolOf, events }: Recording): ReleasedPool[] {
  const last = new Map<number, number>();
  for (let i = 0; poolOf.size > 0 && i < events.count - 1; i += 1) {
    const pool = events.action[i] === ALLOC ? poolOf.get(events.seq[i]!) : undefined;
    if (pool !== undefined) last.set(pool, events.seq[i + 1]!);
  }
  return [...last].map(([pool, seq]) => ({ seq, pool }));
}

type CompletionCase = Pick<ProgramFacts, 'completes' | 'forcedCompletions'>;

/** When pending frees complete on a device that is waited for at other moments than the recorded one was. */
function completionCases({ events }: Recording, waits: readonly number[]): CompletionCase[] {
  const cases: CompletionCase[] = [{ completes: 'oldest' }];
  if (waits.length === 0 || forcedCompletions({ events }, waits).size === 0) return cases;
  return [
    ...cases,
    { forcedCompletions: 'next' },
    { forcedCompletions: 'never' },
    { completes: 'oldest', forcedCompletions: 'never' },
  ];
}
