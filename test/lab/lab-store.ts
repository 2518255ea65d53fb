/** Recordings of PyTorch's own allocator, in a store of their own. */

import { replayDevice } from '../../src/derive/replay/ask.js';
import { listSnapshots } from '../../src/derive/run/names/snapshots.js';
import { describeReplays } from '../../src/findings/replay/describe-replay.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { ReplayDevice } from '../../src/model/results/replay.js';
import type { Store } from '../../src/store/store.js';

export interface Recorded {
  readonly run: string;
  readonly runId: number;
  readonly replay: ReplayDevice;
}

/** `paths`: each a run of its own. */
export async function replaysOf(store: Store, paths: readonly string[]): Promise<Recorded[]> {
  await ingest({ store, paths, each: true, now: new Date(0) });
  const recorded: Recorded[] = [];
  for (const { run_id: runId, name } of await store.all('store.runs', { run_id: null })) {
    const { snapshots } = await describeReplays(store, { runId }, undefined);
    for (const replay of snapshots) recorded.push({ run: name, runId, replay });
  }
  return recorded;
}

/** Every address, every call to the driver in its order, every OOM, and the final state. */
export function isPerfect(replay: ReplayDevice): boolean {
  return (
    replay.address_matches === replay.address_total &&
    replay.segment_event_mismatches === 0 &&
    replay.final_state_equal &&
    replay.ooms.every(({ repeated }) => repeated)
  );
}

/** The replay of the only device of a run, which questions are asked of. */
export async function deviceOf(store: Store, { run, runId }: Pick<Recorded, 'run' | 'runId'>) {
  const [snapshot] = await listSnapshots(store, { runId });
  return replayDevice(store, { snapshotId: snapshot!.snapshot_id, device: 0, rank: null, path: run });
}
