/** The OOM entries of a run's traces, each with the allocator's state just before it. */
import { stateTotals } from '../../allocator/walk/allocator-state.js';
import { formatCount } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { listSnapshots } from '../run/names/snapshots.js';
import { NO_FRAMES, readStacks, siteOf } from '../stacks/read-stacks.js';
import { deviceHistory } from '../trace/device-history.js';
import { stateAt } from '../trace/state-at.js';
import { bytesFreedByLastWait } from './last-wait.js';
import type { TracedOom } from './oom-facts.js';
import { readTraceFacts } from './trace-facts.js';

/** An OOM entry and its snapshot. */
export interface SnapshotOom extends TracedOom {
  readonly snapshotId: number;
  readonly handle: string;
  readonly path: string;
  /** Length of the device's trace. */
  readonly entries: number;
}

/** Up to so many snapshots, the traces of ranks that did not fail are also walked, to compare ranks. */
export const MOST_COMPARED_SNAPSHOTS = 8;

/** The last OOM entry of every device: earlier ones were survived. */
export async function readTracedOoms(store: Store, runId: number): Promise<SnapshotOom[]> {
  const traced: SnapshotOom[] = [];
  for (const snapshot of await listSnapshots(store, { runId })) {
    const ooms = await store.all('snapshot.ooms', { snapshot_id: snapshot.snapshot_id });
    for (const device of new Set(ooms.map((oom) => oom.device))) {
      const oom = ooms.filter((row) => row.device === device).at(-1)!;
      const { state, settings } = await stateAt(store, snapshot.snapshot_id, device, { kind: 'oom' });
      const { holds, violations } = await deviceHistory(store, snapshot.snapshot_id, device);
      const totals = stateTotals(state);
      const stackId = oom.stack_id ?? -1;
      const site = siteOf(stackId, await readStacks(store, [stackId]));
      const source = `${snapshot.display_path} entry ${formatCount(oom.seq)}`;
      traced.push({
        snapshotId: snapshot.snapshot_id,
        handle: snapshot.handle,
        path: snapshot.display_path,
        entries: oom.last_seq + 1,
        rank: snapshot.rank,
        device,
        seq: oom.seq,
        requestedBytes: oom.requested_bytes,
        deviceFreeBytes: oom.device_free_bytes,
        stream: oom.stream === null ? null : Number(oom.stream),
        site: stackId < 0 || site === NO_FRAMES ? null : site,
        source,
        state,
        settings,
        walk: {
          exact: holds,
          violations,
          uncertainBlocks: totals.uncertainBlocks,
          uncertainBytes: totals.uncertainBytes,
        },
        freedByWaitBytes: await bytesFreedByLastWait(store, snapshot.snapshot_id, device, oom.seq),
        freedAfterOom: oom.last_seq > oom.seq,
        trace: await readTraceFacts(store, snapshot.snapshot_id, { device, seq: oom.seq, stackId, state, source }),
      });
    }
  }
  return distinct(traced);
}

/**
 * A dump is often kept twice (a copy, a later dump of the same process): one OOM is one verdict. Without a rank, equal
 * OOMs may be of two ranks.
 */
function distinct(ooms: readonly SnapshotOom[]): SnapshotOom[] {
  const key = (oom: TracedOom): string =>
    [oom.rank, oom.device, oom.seq, oom.requestedBytes, oom.deviceFreeBytes].join(' ');
  const first = new Map<string, SnapshotOom>();
  for (const [i, oom] of ooms.entries()) {
    const name = oom.rank === null ? `unknown ${i}` : key(oom);
    if (!first.has(name)) first.set(name, oom);
  }
  return [...first.values()];
}
