/** What is known of one device's allocator over a whole trace, and the walk forward that it makes exact. */

import type { AllocatorSettings } from '../../allocator/settings.js';
import { type AllocatorState, stateTotals } from '../../allocator/walk/allocator-state.js';
import type { Peak } from '../../allocator/walk/backward-walk.js';
import { ForwardWalk, type TotalsObserver } from '../../allocator/walk/forward-walk.js';
import type { HistoryFacts } from '../../allocator/walk/history-facts.js';
import type { Store } from '../../store/store.js';
import { eachForward, type TraceOfDevice } from './trace-events.js';

/** What the walks over a trace found out, without the state itself. */
export interface HistorySummary {
  /** The walk back holds, or is contradicted only by the last few entries, which a dump that is not atomic explains. */
  readonly holds: boolean;
  /** The allocator was empty before the first entry: nothing of the run is missing from the trace. */
  readonly startsEmpty: boolean;
  readonly violations: number;
  readonly impliedCompletions: number;
  /** Largest Σ of actual block sizes, pending frees included. */
  readonly peak: Peak;
  readonly peakReserved: Peak;
  /** Blocks of the start state whose size is only bounded, and Σ of (most − least). */
  readonly uncertainBlocks: number;
  readonly uncertainBytes: number;
}

export interface DeviceHistory extends HistorySummary {
  readonly trace: TraceOfDevice;
  readonly settings: AllocatorSettings;
  /** Before the first entry; the dumped state without a trace. */
  readonly start: AllocatorState;
  readonly facts: HistoryFacts;
  readonly freeRequestedRecorded: boolean;
  readonly freeCompletedRecorded: boolean;
}

export function totalsOf(state: AllocatorState) {
  const { allocatedBytes, activeBytes, reservedBytes } = stateTotals(state);
  return { allocatedBytes, activeBytes, reservedBytes };
}

/**
 * The walk from the start state to after entry `lastSeq` (−1: the start itself). `observer` sees the totals after every
 * entry.
 */
export async function walkForward(
  store: Store,
  history: DeviceHistory,
  lastSeq: number,
  observer?: TotalsObserver,
): Promise<ForwardWalk> {
  const walk = new ForwardWalk(history.start, history.settings, history.facts, history);
  for await (const events of eachForward(store, history.trace, 0, lastSeq + 1)) {
    walk.apply(events, 0, events.count, observer);
  }
  return walk;
}
