/** Which snapshot and device a question about one allocator means, where the operand names several. */
import { MbfError } from '../../model/errors.js';
import { maxOf } from '../../model/lists.js';
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
 * For `oom` the first rank with an OOM entry; else the first rank, and its snapshot with the longest trace, then the
 * most live memory. Of it the device that ran out, else the one with most live memory: at the peak of its trace, or at
 * the dump. `device` overrides. Throws MBF1002 if nothing fits.
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
    const devices = await store.all('snapshot.devices', { snapshot_id: row.snapshot_id });
    const longest = maxOf(devices.map(({ events }) => events ?? 0));
    const live = (sums: (typeof devices)[number]): number => sums.peak_anchored_bytes ?? sums.active_bytes;
    const mostLive = maxOf(devices.map(live));
    for (const sums of devices) {
      if (device !== undefined && sums.device !== device) continue;
      if (sums.segments === 0 && sums.events === null) continue;
      const ranOut = ooms.some((oom) => oom.device === sums.device);
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
          moment.kind === 'oom' && ranOut ? 1 : 0,
          firstRank ? 1 : 0,
          longest,
          mostLive,
          -order,
          ranOut ? 1 : 0,
          live(sums),
          sums.events ?? 0,
          sums.reserved_bytes,
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
