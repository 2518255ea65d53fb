/** Which snapshot and device a question about one allocator means, where the operand names several. */
import { MbfError } from '../../model/errors.js';
import type { Store } from '../../store/store.js';
import type { SnapshotFilter } from '../run/names/snapshots.js';
import type { Moment } from '../trace/moment.js';

export interface ChosenDevice {
  readonly snapshotId: number;
  readonly sourceId: number;
  readonly handle: string;
  readonly path: string;
  readonly rank: number | null;
  readonly device: number;
  /** The other snapshots that the operand names. */
  readonly others: number;
}

/** See the query. `device` overrides. Throws MBF1002 if nothing fits. */
export async function chooseDevice(
  store: Store,
  { runId, handle }: SnapshotFilter,
  moment: Moment,
  device: number | undefined,
): Promise<ChosenDevice> {
  const snapshots = { run_id: runId ?? null, handle: handle ?? null };
  const question = { ...snapshots, asked_device: device ?? null, wants_oom: moment.kind === 'oom' };
  const chosen = await store.one('state.chosen_device', question);
  if (chosen !== undefined) {
    const { snapshot_id: snapshotId, source_id: sourceId, ...names } = chosen;
    return { snapshotId, sourceId, ...names };
  }
  const [first] = await store.all('snapshot.list', snapshots);
  if (first === undefined) throw new MbfError('MBF1002', 'there is no memory snapshot to look at');
  const what = device === undefined ? 'no device of it was ever used' : `it has no device ${device}`;
  throw new MbfError('MBF1002', `${first.handle}: ${what}`);
}
