/**
 * What is known of one device's allocator over a whole trace: the start state found by walking back from the dump, and
 * the facts that make the walk forward exact. One source of truth for every view: peak, state at a moment, timeline,
 * diff, verdict.
 */

import { settingsFromSnapshot } from '../../allocator/settings.js';
import { type AllocatorState, STACK_ORIGINS, stateTotals } from '../../allocator/walk/allocator-state.js';
import { BackwardWalk } from '../../allocator/walk/backward-walk.js';
import type { Store } from '../../store/store.js';
import { readPoolNumbers } from '../run/names/pool-numbers.js';
import { bucketBatch, wholeTrace } from './bucket-rows.js';
import { BucketFiller } from './buckets.js';
import { readFinalState } from './final-state.js';
import { loadHistory, saveHistory } from './stored-history.js';
import { eachWindowBack, type TraceOfDevice } from './trace-events.js';
import { type DeviceHistory, totalsOf, walkForward } from './walk-history.js';

const known = new WeakMap<Store, Map<string, Promise<DeviceHistory>>>();

/**
 * The history of a device: from this process, from the store, or by walking the trace back now. Kept in the store if
 * that is open for writing.
 */
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
  const deviceInput = await readGiven(store, snapshotId, device);
  const stored = await loadHistory(store, deviceInput.trace);
  return stored === undefined ? deriveHistory(store, deviceInput) : { ...deviceInput, ...stored };
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
    freeCompletedRecorded: !frees || count('free_completed') > 0 || !(await leavesOutCompletions(store, id, device)),
  };
}

/** Of a trace without completions: true if they were left out of the recording, false if they are all outstanding. */
async function leavesOutCompletions(
  store: Store,
  id: { readonly snapshot_id: number },
  device: number,
): Promise<boolean> {
  return ((await store.one('history.lone_requests', { ...id, device }))?.count ?? 0) > 0;
}

/** Walks back over the whole trace. */
async function deriveHistory(store: Store, deviceInput: Given): Promise<DeviceHistory> {
  const walk = new BackwardWalk(await readFinalState(store, deviceInput.trace), deviceInput.settings, deviceInput);
  await eachWindowBack(store, deviceInput.trace, (events) => walk.undo(events));
  const start = walk.finish();
  await nameSubstitutes(store, deviceInput.trace, start);
  const { uncertainBlocks, uncertainBytes } = stateTotals(start);
  const history: DeviceHistory = {
    ...deviceInput,
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

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
const ALLOC_EVENT = STACK_ORIGINS.indexOf('alloc_event');
/** Entries that settle whether frees carry the stacks of their allocations. */
const STACKS_LOOKED_AT = 200_000;
/**
 * Equal stacks of so many different places are not a coincidence: a temporary is often freed on the line that made it,
 * but not all of them.
 */
const LEAST_STACKS = 3;

/**
 * Of memory from before the recording only the free has a stack. Unless recorded with context="all" that *is* the stack
 * of the allocation (torch `free` in CUDACachingAllocator.cpp passes the block's own context), and then it is not a
 * substitute.
 */
async function nameSubstitutes(store: Store, trace: TraceOfDevice, { blocks }: AllocatorState): Promise<void> {
  if (!blocks.stackOrigin.includes(FREE_EVENT)) return;
  const { snapshotId, device } = trace;
  const row = await store.one('history.free_stacks', { snapshot_id: snapshotId, device, before_seq: STACKS_LOOKED_AT });
  if (row === undefined || row.differing > 0 || row.stacks < LEAST_STACKS) return;
  for (let i = 0; i < blocks.count; i += 1)
    if (blocks.stackOrigin[i] === FREE_EVENT) blocks.stackOrigin[i] = ALLOC_EVENT;
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
