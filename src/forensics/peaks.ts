/** `mbforensics peak`: the live set at the moment of most actual bytes in use. */
import { stateTotals } from '../allocator/allocator-state.js';
import type { PeakDevice, PeakResult } from '../model/results.js';
import type { Store } from '../store/store.js';
import { stateAt } from './history/state-at.js';
import { type LiveSet, liveSet } from './live-set.js';
import { listSnapshots, type SnapshotFilter } from './snapshots.js';

export interface PeakLimits {
  /** Groups shown; 0 = all. */
  readonly sites: number;
  readonly stacks: number;
}

export async function describePeaks(store: Store, filter: SnapshotFilter, limits: PeakLimits): Promise<PeakResult> {
  const snapshots: PeakResult['snapshots'][number][] = [];
  for (const row of await listSnapshots(store, filter)) {
    const devices: PeakDevice[] = [];
    for (const device of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (device.segments === 0 && device.events === null) continue;
      devices.push(await devicePeak(store, row.snapshot_id, device.device, device.events !== null, limits));
    }
    snapshots.push({ path: row.display_path, handle: row.handle, rank: row.rank, devices });
  }
  return { schema: 'mbforensics/peak@1', snapshots };
}

async function devicePeak(
  store: Store,
  snapshotId: number,
  device: number,
  hasTrace: boolean,
  limits: PeakLimits,
): Promise<PeakDevice> {
  const { state, seq, holds } = await stateAt(store, snapshotId, device, { kind: 'peak' });
  const live = await liveSet(store, state);
  return {
    device,
    seq,
    moment: hasTrace ? 'peak' : 'dump',
    active_bytes: live.bytes,
    reserved_bytes: stateTotals(state).reservedBytes,
    basis: holds ? 'actual' : 'approximate',
    blocks: live.blocks,
    ...limited(live, limits),
  };
}

function limited(live: LiveSet, limits: PeakLimits) {
  const cut = <T extends { readonly bytes: number; readonly count: number }>(groups: readonly T[], limit: number) => {
    const shown = limit === 0 ? groups : groups.slice(0, limit);
    const rest = groups.slice(shown.length);
    const sum = (pick: (group: T) => number): number => rest.reduce((total, group) => total + pick(group), 0);
    return {
      shown,
      rest: { groups: rest.length, bytes: sum((group) => group.bytes), count: sum((group) => group.count) },
    };
  };
  const sites = cut(live.sites, limits.sites);
  const stacks = cut(live.stacks, limits.stacks);
  return { sites: sites.shown, stacks: stacks.shown, other_sites: sites.rest, other_stacks: stacks.rest };
}
