/**
 * A random history as a replay is given it: the trace, or what a ring buffer has left of it, and the dump at its end.
 */

import type { PoolId } from '../../../src/allocator/caching/block.js';
import type { TraceEntry } from '../../../src/allocator/caching/caching-allocator.js';
import type { DumpedState } from '../../../src/allocator/fidelity/compare-final-state.js';
import type { WalkFindings } from '../../../src/allocator/fidelity/fidelity.js';
import { prepareRecording, type Recording } from '../../../src/allocator/replay/recording.js';
import type { AllocatorSettings } from '../../../src/allocator/settings.js';
import type { AllocatorState } from '../../../src/allocator/walk/allocator-state.js';
import type { FinalState, WalkEvents } from '../../../src/allocator/walk/walk-input.js';
import { eventsOf, finalStateOf, type History, type Played } from '../history.js';
import { BackwardWalk } from '../walk/backward-walk.js';

export interface PreparedRecording {
  readonly recording: Recording;
  readonly dump: DumpedState;
  readonly walk: WalkFindings;
  /** What the walk back found before the first entry that is left. */
  readonly start: AllocatorState;
  readonly back: BackwardWalk;
}

/** Of the entries that `torch.cuda.empty_cache()` causes. */
const EMPTY_CACHE_STACK = 1;

/** Whether the release of the history writes the pool of an entry. */
export function writesPools({ release }: History): boolean {
  return release === '2.12' || release === '2.13';
}

/** Without the steps that begin and end captures and uses of a pool. */
export function withoutPools(past: History): History {
  return { ...past, steps: past.steps.filter(({ kind }) => kind !== 'pool' && kind !== 'release_pool') };
}

/**
 * `skip`: so many of the first entries are lost. `withStacks`: stacks show which segments the program itself gave back.
 * Everything else comes from the walk back, as it does for a file.
 */
export function recordPlayed(
  { allocator, trace, settings }: Played,
  past: History,
  options: { readonly skip?: number; readonly withStacks?: boolean } = {},
): PreparedRecording {
  const numbers = new PoolNumbers();
  const final = finalStateOf(allocator);
  allocator.snapshot().forEach(({ poolId }, i) => {
    final.segments.pool[i] = numbers.of(poolId);
  });
  const kept = trace.slice(options.skip ?? 0);
  const events: WalkEvents = {
    ...eventsOf(kept),
    ...(writesPools(past) ? { pool: poolColumn(kept, numbers) } : {}),
  };
  for (let i = 0; i < events.count; i += 1) {
    events.seq[i] = i + (options.skip ?? 0);
    if (options.withStacks === true && past.steps[kept[i]!.timeUs ?? -1]?.kind === 'flush')
      events.stackId[i] = EMPTY_CACHE_STACK;
  }
  return prepare(final, events, settings, (pool) => numbers.id(pool), allocator.allowedBytes ?? undefined);
}

/** The walk back, and what a replay is given of it. */
export function prepare(
  final: FinalState,
  events: WalkEvents,
  settings: AllocatorSettings,
  poolId: (pool: number) => PoolId,
  allowedBytes?: number,
): PreparedRecording {
  const back = new BackwardWalk(final, settings);
  back.undo(events);
  const start = back.finish();
  const recording = prepareRecording({
    settings,
    start,
    events,
    ...ownersOf(back),
    emptyCacheStacks: new Set([EMPTY_CACHE_STACK]),
    poolId,
    ...(allowedBytes === undefined ? {} : { allowedBytes }),
  });
  const { minBytes, maxBytes, count } = start.blocks;
  let uncertainBlocks = 0;
  for (let row = 0; row < count; row += 1) if (maxBytes[row]! > minBytes[row]!) uncertainBlocks += 1;
  return {
    recording,
    dump: dumpOf(final),
    walk: {
      violations: back.violationCount,
      tailViolations: back.violationCount === back.tailViolationCount ? back.violationCount : 0,
      freeRequestedRecorded: true,
      freeCompletedRecorded: true,
      uncertainBlocks,
    },
    start,
    back,
  };
}

/** As the store has them of each life. */
function ownersOf(back: BackwardWalk): Pick<Recording, 'poolOfSeq' | 'growths'> {
  const { allocs, growths } = back.historyFacts();
  const poolOfSeq = new Map<number, number>();
  for (let i = 0; i < allocs.count; i += 1) if (allocs.pool[i]! > 0) poolOfSeq.set(allocs.seq[i]!, allocs.pool[i]!);
  const grown = Array.from({ length: growths.count }, (_, i) => {
    const owner = { small: growths.small[i]!, pool: growths.pool[i]! };
    return [growths.seq[i]!, owner] as const;
  });
  return { poolOfSeq, growths: new Map(grown) };
}

/** Both lists in ascending order of address. */
function dumpOf({ segments, blocks }: FinalState): DumpedState {
  const inOrder = (addresses: Float64Array): number[] =>
    Array.from(addresses, (_, i) => i).sort((a, b) => addresses[a]! - addresses[b]!);
  const bySegment = inOrder(segments.address);
  const byBlock = inOrder(blocks.address);
  return {
    segments: {
      count: segments.count,
      address: Float64Array.from(bySegment, (i) => segments.address[i]!),
      totalBytes: Float64Array.from(bySegment, (i) => segments.totalBytes[i]!),
    },
    blocks: {
      count: blocks.count,
      address: Float64Array.from(byBlock, (i) => blocks.address[i]!),
      sizeBytes: Float64Array.from(byBlock, (i) => blocks.sizeBytes[i]!),
      state: Uint8Array.from(byBlock, (i) => blocks.state[i]!),
    },
  };
}

/** Pools numbered as they are met; 0 = default. */
class PoolNumbers {
  private readonly ids: PoolId[] = [[0, 0]];

  of(id: PoolId): number {
    const at = this.ids.findIndex((known) => known[0] === id[0] && known[1] === id[1]);
    return at >= 0 ? at : this.ids.push(id) - 1;
  }

  id(pool: number): PoolId {
    return this.ids[pool] ?? [pool, -1];
  }
}

function poolColumn(trace: readonly TraceEntry<number>[], numbers: PoolNumbers): Int32Array {
  return Int32Array.from(trace, ({ poolId }) => numbers.of(poolId));
}
