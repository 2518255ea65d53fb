/**
 * The program's side of a recording, once for each way it can have been: what decides between them is in no file. An
 * answer holds if it is the same for all.
 */
import type { Recording } from '../replay/recording.js';
import type { ReleasedPool, ReplayOutcome } from '../replay/replay-outcome.js';
import { completionsOfWaits, type Operations, operationsOf, type ProgramFacts } from './operations.js';

/** The likeliest first. */
export function alternativesOf(recording: Recording, outcome: ReplayOutcome): Operations[] {
  const { flushes, lateWaits, releasedPools } = outcome;
  const ofKind = (kind: string): number[] => flushes.filter((flush) => flush.kind === kind).map((flush) => flush.seq);
  const [explicit, unclear] = [ofKind('explicit'), ofKind('unclear')];
  const forcedWaits = flushes.filter(({ kind }) => kind !== 'explicit').map(({ beforeSeq }) => beforeSeq);
  const early = earlyReleases(recording);
  const alternatives: ProgramFacts[] = [];
  for (const explicitFlushes of unclear.length === 0 ? [explicit] : [explicit, [...explicit, ...unclear]])
    for (const released of early.length === 0 ? [releasedPools] : [releasedPools, early])
      for (const forcedCompletions of hasPending(recording, forcedWaits)
        ? (['recorded', 'next', 'never'] as const)
        : (['recorded'] as const))
        alternatives.push({ explicitFlushes, lateWaits, forcedWaits, forcedCompletions, releasedPools: released });
  return alternatives.map((facts) => operationsOf(recording, facts));
}

/** Entries behind the last request of each private pool: from there on the graph may be gone. */
function earlyReleases({ poolOf, events }: Recording): ReleasedPool[] {
  const last = new Map<number, number>();
  for (const [seq, pool] of poolOf) last.set(pool, Math.max(seq, last.get(pool) ?? -1));
  const end = events.seq[events.count - 1] ?? -1;
  return [...last].filter(([, seq]) => seq < end).map(([pool, seq]) => ({ seq: seq + 1, pool }));
}

function hasPending({ events }: Recording, waits: readonly number[]): boolean {
  return waits.length > 0 && completionsOfWaits({ events }, waits).size > 0;
}
