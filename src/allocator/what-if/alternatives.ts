/**
 * The program's side of a recording, once for each way it can have been: what decides between them is in no file. An
 * answer holds if it is the same for all.
 */
import { FREE_COMPLETED, FREE_REQUESTED } from '../../model/trace-action-codes.js';
import type { Recording } from '../replay/recording.js';
import type { ReleasedPool, ReplayOutcome } from '../replay/replay-outcome.js';
import type { AllocatorVariant } from '../variants.js';
import { forcedCompletions, type Operations, operationsOf, type ProgramFacts } from './operations.js';
import { simulate } from './simulate.js';

/** The likeliest first. */
export function alternativesOf(recording: Recording, outcome: ReplayOutcome): Operations[] {
  const { flushes, lateWaits, releasedPools, variant } = outcome;
  const ofKind = (kind: string): number[] => flushes.filter((flush) => flush.kind === kind).map((flush) => flush.seq);
  const [explicit, unclear] = [ofKind('explicit'), ofKind('unclear')];
  const forcedWaits = flushes.filter(({ kind }) => kind !== 'explicit').map(({ beforeSeq }) => beforeSeq);
  const early = earlyReleases(recording);
  const alternatives: ProgramFacts[] = [];
  for (const explicitFlushes of unclear.length === 0 ? [explicit] : [explicit, [...explicit, ...unclear]])
    for (const released of early.length === 0 ? [releasedPools] : [releasedPools, early])
      for (const completions of completionCases(recording, forcedWaits))
        alternatives.push({ explicitFlushes, lateWaits, forcedWaits, ...completions, releasedPools: released });
  const [likeliest] = alternatives;
  for (const unseen of explicit.length + unclear.length === 0 ? [] : unseenFlushes(recording, likeliest!, variant))
    alternatives.push({ ...likeliest!, explicitFlushes: [...likeliest!.explicitFlushes, ...unseen] });
  return alternatives.map((facts) => operationsOf(recording, facts));
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
  for (const [seq, pool] of poolOf) last.set(pool, Math.max(seq, last.get(pool) ?? -1));
  const end = events.seq[events.count - 1] ?? -1;
  return [...last].filter(([, seq]) => seq < end).map(([pool, seq]) => ({ seq: seq + 1, pool }));
}

type CompletionCase = Pick<ProgramFacts, 'completes' | 'forcedCompletions'>;

/** When pending frees complete on a device that is waited for at other moments than the recorded one was. */
function completionCases({ events }: Recording, waits: readonly number[]): CompletionCase[] {
  const cases: CompletionCase[] = [{}];
  if (!hasPending(events)) return cases;
  cases.push({ completes: 'oldest' });
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
    if (action[i] === FREE_REQUESTED && !(action[i + 1] === FREE_COMPLETED && address[i + 1] === address[i])) return true;
  return false;
}
