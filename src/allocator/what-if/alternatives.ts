/**
 * The program's side of a recording, once for each way it can have been: what decides between them is in no file. An
 * answer holds if it is the same for all.
 */
import { ALLOC, FREE_COMPLETED, FREE_REQUESTED } from '../../model/trace-action-codes.js';
import type { Recording } from '../replay/recording.js';
import type { ReleasedPool, ReplayOutcome } from '../replay/replay-outcome.js';
import type { AllocatorVariant } from '../variants.js';
import { forcedCompletions, type Operations, operationsOf, type ProgramFacts } from './operations.js';
import { simulate } from './simulate.js';

/** What a recording has lost of the program's side. */
export interface LostFacts {
  /** The program emptied its cache, so it may have done so unseen. */
  readonly flushes: boolean;
  /** Whether some flush was called or forced. */
  readonly unclearFlushes: boolean;
  /** From when on a private pool could be freed. */
  readonly privatePools: boolean;
  /** Most bytes that waited at once to be free: so many may be free earlier or later. 0: none ever waited. */
  readonly pendingBytes: number;
  /** Completions of the record were forced, by a wait that need not happen elsewhere. */
  readonly forcedWaits: boolean;
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
  // One at a time: each is rare, and a replay is needed for each.
  const variations: Partial<ProgramFacts>[] = completionCases(recording, forcedWaits);
  if (unclear.length > 0) variations.push({ explicitFlushes: [...explicit, ...unclear] });
  if (explicit.length + unclear.length > 0)
    for (const unseen of unseenFlushes(recording, likeliest, variant))
      variations.push({ explicitFlushes: [...explicit, ...unseen] });
  const held = [likeliest, ...variations.map((other) => ({ ...likeliest, ...other }))];
  const early = earlyReleases(recording);
  const cases = early.length === 0 ? held : [...held, ...held.map((one) => ({ ...one, releasedPools: early }))];
  return {
    cases: cases.map((facts) => operationsOf(recording, facts)),
    lost: {
      flushes: explicit.length + unclear.length > 0,
      unclearFlushes: unclear.length > 0,
      privatePools: early.length > 0,
      pendingBytes: mostPending(recording),
      forcedWaits: forcedWaits.length > 0,
    },
  };
}

/** Most requested bytes at once that were freed and waited. */
function mostPending({ events, allocation }: Recording): number {
  const waiting = new Map<number, number>();
  let bytes = 0;
  let most = 0;
  for (let i = 0; i < events.count; i += 1) {
    const id = allocation[i]!;
    if (events.action[i] === FREE_REQUESTED && allocation[i + 1] !== id) {
      waiting.set(id, events.sizeBytes[i]!);
      bytes += events.sizeBytes[i]!;
      most = Math.max(most, bytes);
    } else if (events.action[i] === FREE_COMPLETED) {
      bytes -= waiting.get(id) ?? 0;
      waiting.delete(id);
    }
  }
  return most;
}

/** Moments looked at. */
const MOST_MOMENTS = 64;
/** Of the moments at which a flush may have been, so many are tried alone. */
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
  simulate(recording, operations, {
    settings: recording.settings,
    variant,
    budgetBytes: Number.POSITIVE_INFINITY,
    start: 'recorded',
    direction: 'ascending',
    after: (seq, _, allocator) => {
      at += 1;
      if (at % stride === 0 && !allocator.hasReleasable()) moments.push(seq + 1);
    },
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
  if (!hasPending(events)) return [];
  const cases: CompletionCase[] = [{ completes: 'oldest' }];
  if (waits.length === 0 || forcedCompletions({ events }, waits).size === 0) return cases;
  return [
    ...cases,
    { forcedCompletions: 'next' },
    { forcedCompletions: 'never' },
    { completes: 'oldest', forcedCompletions: 'never' },
  ];
}

/** Whether any free waited for another stream. */
function hasPending({ action, address, count }: Recording['events']): boolean {
  for (let i = 0; i < count; i += 1)
    if (action[i] === FREE_REQUESTED && !(action[i + 1] === FREE_COMPLETED && address[i + 1] === address[i]))
      return true;
  return false;
}
