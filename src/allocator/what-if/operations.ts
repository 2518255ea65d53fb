/**
 * What the program asked of the allocator, without what the allocator made of it: the input of every what-if replay.
 */

import { groupBy } from '../../model/group-by.js';
import { minOf } from '../../model/lists.js';
import type { Recording } from '../replay/recording.js';
import type { ReleasedPool } from '../replay/replay-outcome.js';
import { ALLOC, FREE_COMPLETED, FREE_REQUESTED, isDriverEntry, OOM } from '../trace-action-codes.js';

export const OPERATION = {
  alloc: 0,
  /** A free that completed at once. */
  free: 1,
  /** A free that waits for other streams, and its completion. */
  requestFree: 2,
  completeFree: 3,
  /** `torch.cuda.empty_cache()`. */
  flush: 4,
  /** A request that failed in the record. */
  oom: 5,
  /** Nothing holds a private pool any more: a flush may free it. */
  releasePool: 6,
} as const;

/** Columns, one row an operation, in the order of the trace. */
export interface Operations {
  /**
   * A completion is that of the allocation it was recorded for, or of the oldest that waits on its stream: a device
   * that was waited for goes on with fewer events ahead of it.
   */
  readonly completes: 'recorded' | 'oldest';
  /** Entry of the first completion that a wait forced in the record; Infinity without one. */
  readonly firstForcedSeq: number;
  readonly count: number;
  readonly kind: Uint8Array;
  /** The allocation it is about, as `Recording.allocation` numbers them; −1 on flush and oom. */
  readonly allocation: Int32Array;
  /** Requested bytes of alloc and oom. */
  readonly bytes: Float64Array;
  readonly stream: Float64Array;
  /** Pool of alloc, oom and releasePool; 0 = default. */
  readonly pool: Int32Array;
  readonly seq: Int32Array;
}

/** What a verifying replay found of the program's side. */
export interface ProgramFacts {
  /** Entries at which the program emptied the cache. */
  readonly explicitFlushes: readonly number[];
  /**
   * Requests that waited for pending frees themselves; those frees complete after them here, unless the request under
   * other settings waits too.
   */
  readonly lateWaits: readonly number[];
  /** Requests before whose flush frees completed that would not have without it, and when they then do. */
  readonly forcedWaits?: readonly number[];
  readonly forcedCompletions?: 'recorded' | 'next' | 'never';
  readonly completes?: Operations['completes'];
  /** Entries before which nothing holds a private pool any more. */
  readonly releasedPools?: readonly ReleasedPool[];
}

export function operationsOf(recording: Recording, facts: ProgramFacts): Operations {
  const { events, allocation, poolOf } = recording;
  const { count, action, sizeBytes, stream, seq } = events;
  const flushes = new Set(facts.explicitFlushes);
  const waited = completionsOfWaits(recording, facts.lateWaits);
  const delay = facts.forcedCompletions ?? 'recorded';
  const forcedRows = forcedCompletions(recording, facts.forcedWaits ?? []);
  const forced = delay === 'recorded' ? new Set<number>() : forcedRows;
  const released = groupBy(facts.releasedPools ?? [], (one) => one.seq);
  // Most frees complete at once: two entries, one operation.
  let rows = flushes.size + (facts.releasedPools?.length ?? 0) + waited.size;
  for (let i = 0; i < count; i += 1) {
    const isSecond = i > 0 && action[i] === FREE_COMPLETED && action[i - 1] === FREE_REQUESTED;
    if (!(isSecond && allocation[i] === allocation[i - 1]) && !isDriverEntry(action[i]!)) rows += 1;
  }
  const operations = {
    kind: new Uint8Array(rows),
    allocation: new Int32Array(rows),
    bytes: new Float64Array(rows),
    stream: new Float64Array(rows),
    pool: new Int32Array(rows),
    seq: new Int32Array(rows),
  };
  let at = 0;
  const add = (i: number, kind: number, bytes: number): void => {
    operations.kind[at] = kind;
    operations.allocation[at] = allocation[i]!;
    operations.bytes[at] = bytes;
    operations.stream[at] = Number.isNaN(stream[i]!) ? 0 : stream[i]!;
    operations.seq[at] = seq[i]!;
    if (kind === OPERATION.alloc || kind === OPERATION.oom) operations.pool[at] = poolOf.get(seq[i]!) ?? 0;
    at += 1;
  };
  let late: number[] = [];
  let delayed: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const code = action[i]!;
    for (const { pool } of released.size === 0 ? [] : (released.get(seq[i]!) ?? [])) {
      add(i, OPERATION.releasePool, 0);
      operations.pool[at - 1] = pool;
    }
    if (flushes.size > 0 && flushes.has(seq[i]!)) add(i, OPERATION.flush, 0);
    if (code === ALLOC || code === OOM) {
      add(i, code === ALLOC ? OPERATION.alloc : OPERATION.oom, sizeBytes[i]!);
      for (const row of late) add(row, OPERATION.completeFree, 0);
      late = [];
    } else if (code === FREE_REQUESTED && allocation[i]! >= 0) {
      const isPair = i + 1 < count && action[i + 1] === FREE_COMPLETED && allocation[i + 1] === allocation[i];
      const isWhole = isPair && !waited.has(i + 1);
      add(i, isWhole ? OPERATION.free : OPERATION.requestFree, 0);
      if (isWhole) i += 1;
    } else if (waited.has(i)) late.push(i);
    else if (forced.has(i)) delayed.push(i);
    else if (code === FREE_COMPLETED && allocation[i]! >= 0) {
      if (delay === 'next') for (const row of delayed) add(row, OPERATION.completeFree, 0);
      if (delay === 'next') delayed = [];
      add(i, OPERATION.completeFree, 0);
    }
  }
  return {
    completes: facts.completes ?? 'recorded',
    firstForcedSeq: seq[minOf(forcedRows)] ?? Number.POSITIVE_INFINITY,
    count: at,
    kind: operations.kind.subarray(0, at),
    allocation: operations.allocation.subarray(0, at),
    bytes: operations.bytes.subarray(0, at),
    stream: operations.stream.subarray(0, at),
    pool: operations.pool.subarray(0, at),
    seq: operations.seq.subarray(0, at),
  };
}

/**
 * Rows of the frees that completed because a flush waited for the device, or freed, which waits too: the completions
 * before its request, and those that the next request found.
 */
export function forcedCompletions(
  recording: Pick<Recording, 'events'>,
  requests: readonly number[],
): ReadonlySet<number> {
  const { action, seq, count } = recording.events;
  const rows = new Set(completionsOfWaits(recording, requests));
  for (const request of requests)
    for (let i = request - (seq[0] ?? 0) + 1; i < count && action[i] !== ALLOC && action[i] !== OOM; i += 1)
      if (action[i] === FREE_COMPLETED) rows.add(i);
  return rows;
}

/**
 * Rows of the frees that completed in the waits of these requests: the completions in a row before them, driver entries
 * aside.
 */
function completionsOfWaits({ events }: Pick<Recording, 'events'>, lateWaits: readonly number[]): ReadonlySet<number> {
  const rows = new Set<number>();
  const first = events.seq[0] ?? 0;
  for (const request of lateWaits) {
    for (let i = request - first - 1; i >= 0; i -= 1) {
      const code = events.action[i]!;
      if (code === FREE_COMPLETED) rows.add(i);
      else if (!isDriverEntry(code)) break;
    }
  }
  return rows;
}
