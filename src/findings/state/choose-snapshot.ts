/** Which snapshot and device a question about one allocator means, where the operand names several. */
import { MbfError } from '../../model/errors.js';
import type { Store } from '../../store/store.js';
import { listSnapshots, type SnapshotFilter } from '../run/names/snapshots.js';
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

/**
 * For `oom` the first rank with an OOM entry, and of it the device that ran out; else the first rank, its snapshot with
 * the longest trace, and of it the device with most reserved memory. `device` overrides. Throws MBF1002 if nothing
 * fits.
 */
export async function chooseDevice(
  store: Store,
  filter: SnapshotFilter,
  moment: Moment,
  device: number | undefined,
): Promise<ChosenDevice> {
  const snapshots = await listSnapshots(store, filter);
  if (snapshots.length === 0) throw new MbfError('MBF1002', 'there is no memory snapshot to look at');
  const candidates: { readonly chosen: ChosenDevice; readonly weight: readonly number[] }[] = [];
  for (const [order, row] of snapshots.entries()) {
    const ooms = await store.all('snapshot.ooms', { snapshot_id: row.snapshot_id });
    for (const sums of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (device !== undefined && sums.device !== device) continue;
      if (sums.segments === 0 && sums.events === null) continue;
      const ran = moment.kind === 'oom' && ooms.some((oom) => oom.device === sums.device);
      const firstRank = row.rank === snapshots[0]!.rank;
      candidates.push({
        chosen: {
          snapshotId: row.snapshot_id,
          sourceId: row.source_id,
          handle: row.handle,
          path: row.display_path,
          rank: row.rank,
          device: sums.device,
          others: snapshots.length - 1,
        },
        weight: [
          ran ? 1 : 0,
          firstRank ? 1 : 0,
          Math.min(1, sums.events ?? 0),
          sums.events ?? 0,
          sums.reserved_bytes,
          -order,
        ],
      });
    }
  }
  candidates.sort((a, b) => compare(b.weight, a.weight));
  const [first] = candidates;
  if (first === undefined) {
    const what = device === undefined ? 'no device of it was ever used' : `it has no device ${device}`;
    throw new MbfError('MBF1002', `${snapshots[0]!.handle}: ${what}`);
  }
  return first.chosen;
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return 0;
}
