/** `mbforensics snapshot`: what a snapshot holds, device by device. */

import { listSnapshots, readNotes, type SnapshotFilter } from '../../derive/run/names/snapshots.js';
import { mostPinned } from '../../derive/state/pinned-host-memory.js';
import { deviceHistory } from '../../derive/trace/device-history.js';
import { pick } from '../../model/pick.js';
import type { NoteResult, SnapshotDevice, SnapshotInfo, SnapshotResult } from '../../model/results/common.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

export async function describeSnapshots(
  store: Store,
  filter: SnapshotFilter,
  torchAtLeast: (features: readonly string[]) => string | undefined,
): Promise<SnapshotResult> {
  const snapshots: SnapshotInfo[] = [];
  for (const row of await listSnapshots(store, filter)) {
    const id = { snapshot_id: row.snapshot_id };
    const features = (await store.all('snapshot.features', id)).map((feature) => feature.feature);
    const settings = await store.all('snapshot.settings', id);
    const notes = await readNotes(store, row.source_id);
    const devices: SnapshotDevice[] = [];
    const sums = await store.all('snapshot.devices', id);
    for (const device of sums) devices.push(await describeDevice(store, row.snapshot_id, device, notes));
    snapshots.push({
      path: row.display_path,
      handle: row.handle,
      run: row.run,
      rank: row.rank,
      protocol: row.protocol,
      form: row.form,
      features,
      torch_at_least: torchAtLeast(features) ?? null,
      settings: Object.fromEntries(settings.map((setting) => [setting.key, setting.value])),
      invariants_hold:
        sums.every((device) => device.invariants_hold) &&
        devices.every((device) => (device.walk_violations ?? 0) === 0),
      notes,
      devices,
      pinned_host_memory: await mostPinned(store, { snapshotId: row.snapshot_id }),
    });
  }
  return { schema: 'mbforensics/snapshot@1', snapshots };
}

async function describeDevice(
  store: Store,
  snapshotId: number,
  row: QueryRow<'snapshot.devices'>,
  notes: readonly NoteResult[],
): Promise<SnapshotDevice> {
  const id = { snapshot_id: snapshotId };
  const here = <T extends { readonly device: number }>(rows: readonly T[]): T[] =>
    rows.filter((other) => other.device === row.device);
  const pools = here(await store.all('snapshot.pools', id)).map((pool) => ({
    pool: [pool.pool_id_a ?? 0, pool.pool_id_b ?? 0] as const,
    segment_type: pool.segment_type,
    stream: pool.stream === null ? null : Number(pool.stream),
    expandable: pool.is_expandable === null ? null : pool.is_expandable === 1,
    ...pick(pool, ['segments', 'reserved_bytes', 'active_bytes']),
  }));
  const hasTrace = row.events !== null;
  const history = hasTrace ? await deviceHistory(store, snapshotId, row.device) : null;
  const overwritten = notes.some((note) => note.kind === 'ring_truncated' && note.device === row.device);
  const actions = hasTrace ? here(await store.all('snapshot.actions', id)) : [];
  const ooms = hasTrace ? here(await store.all('snapshot.ooms', id)) : [];
  return {
    ...pick(row, ['device', 'segments', 'blocks', 'reserved_bytes', 'allocated_bytes', 'active_bytes']),
    ...pick(row, ['inactive_bytes', 'largest_inactive_block_bytes']),
    pools,
    events: row.events,
    actions: hasTrace ? Object.fromEntries(actions.map(({ action, count }) => [action, count])) : null,
    ...pick(row, ['unmatched_free_bytes', 'start_anchored_bytes', 'peak_anchored_bytes']),
    peak_active_bytes: history?.holds ? history.peak.bytes : null,
    peak_seq: history?.holds ? history.peak.seq : row.requested_delta_peak_seq,
    ...pick(row, ['start_reserved_bytes', 'peak_reserved_bytes']),
    ooms: hasTrace ? ooms.map((oom) => pick(oom, ['seq', 'requested_bytes', 'device_free_bytes'])) : null,
    start: history === null ? null : history.startsEmpty ? 'cold' : overwritten ? 'overwritten' : 'late',
    walk_violations: history?.violations ?? null,
    uncertain_blocks: history?.uncertainBlocks ?? null,
  };
}
