/**
 * What is known of one device's allocator over a whole trace: the start state found by walking back from the dump, and the facts that make the walk
 * forward exact. One source of truth for every view: peak, state at a moment, timeline, diff, verdict.
 */
import { stateTotals } from '../../allocator/allocator-state.js';
import { BackwardWalk } from '../../allocator/backward-walk.js';
import { settingsFromSnapshot } from '../../allocator/settings.js';
import type { Store } from '../../store/store.js';
import { bucketBatch, wholeTrace } from './bucket-rows.js';
import { BucketFiller } from './buckets.js';
import { readFinalState } from './final-state.js';
import { loadHistory, saveHistory } from './stored-history.js';
import { eachWindowBack, readPoolNumbers } from './trace-events.js';
import { type DeviceHistory, totalsOf, walkForward } from './walk-history.js';

const known = new WeakMap<Store, Map<string, Promise<DeviceHistory>>>();

/** The history of a device: from this process, from the store, or by walking the trace back now. Kept in the store if that is open for writing. */
export function deviceHistory(store: Store, snapshotId: number, device: number): Promise<DeviceHistory> {
  let ofStore = known.get(store);
  if (ofStore === undefined) {
    ofStore = new Map();
    known.set(store, ofStore);
  }
  const key = `${snapshotId} ${device}`;
  let history = ofStore.get(key);
  if (history === undefined) {
    history = findHistory(store, snapshotId, device);
    ofStore.set(key, history);
  }
  return history;
}

async function findHistory(store: Store, snapshotId: number, device: number): Promise<DeviceHistory> {
  const given = await readGiven(store, snapshotId, device);
  const stored = await loadHistory(store, given.trace);
  return stored === undefined ? deriveHistory(store, given) : { ...given, ...stored };
}

type Given = Pick<DeviceHistory, 'trace' | 'settings' | 'freeRequestedRecorded' | 'freeCompletedRecorded'>;

async function readGiven(store: Store, snapshotId: number, device: number): Promise<Given> {
  const id = { snapshot_id: snapshotId };
  const settings = new Map((await store.all('snapshot.settings', id)).map((row) => [row.key, row.value]));
  const actions = (await store.all('snapshot.actions', id)).filter((row) => row.device === device);
  const count = (action: string): number => actions.find((row) => row.action === action)?.count ?? 0;
  const frees = count('free_requested') + count('free_completed') > 0;
  return {
    trace: {
      snapshotId,
      device,
      events: actions.reduce((sum, row) => sum + row.count, 0),
      pools: await readPoolNumbers(store, snapshotId),
      pooled: (await store.one('history.has_pools', { ...id, device }))?.pooled ?? false,
    },
    settings: settingsFromSnapshot(settings),
    freeRequestedRecorded: !frees || count('free_requested') > 0,
    freeCompletedRecorded: !frees || count('free_completed') > 0,
  };
}

/** Walks back over the whole trace. */
async function deriveHistory(store: Store, given: Given): Promise<DeviceHistory> {
  const walk = new BackwardWalk(await readFinalState(store, given.trace), given.settings, given);
  await eachWindowBack(store, given.trace, (events) => walk.undo(events));
  const start = walk.finish();
  const { uncertainBlocks, uncertainBytes } = stateTotals(start);
  const history: DeviceHistory = {
    ...given,
    holds: walk.impliedCompletions === 0 && walk.violationCount === walk.tailViolationCount,
    startsEmpty: walk.empty,
    violations: walk.violationCount,
    impliedCompletions: walk.impliedCompletions,
    peak: walk.peak,
    peakReserved: walk.peakReserved,
    uncertainBlocks,
    uncertainBytes,
    start,
    facts: walk.historyFacts(),
  };
  if (store.mode === 'write') await keep(store, history);
  return history;
}

/** Writes the history and its buckets into the store. */
async function keep(store: Store, history: DeviceHistory): Promise<void> {
  const { trace } = history;
  const buckets = new BucketFiller(await wholeTrace(store, history), totalsOf(history.start));
  const walk = await walkForward(store, history, trace.events - 1, buckets);
  const final = stateTotals(new BackwardWalk(await readFinalState(store, trace), history.settings).state());
  const endsInDump =
    walk.divergences === 0 &&
    walk.reservedBytes === final.reservedBytes &&
    walk.activeBytes === final.activeBytes &&
    walk.pendingBytes === final.pendingBytes;
  await saveHistory(store, trace, history, {
    endsInDump,
    divergences: walk.divergences,
    bucketEntries: buckets.entries,
    buckets: await bucketBatch(store, history, buckets),
  });
}
