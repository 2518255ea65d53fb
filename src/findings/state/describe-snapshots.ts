/** `mbforensics snapshot`: what a snapshot holds, device by device. */

import { listSnapshots, notesOf, type SnapshotFilter } from '../../derive/run/names/snapshots.js';
import { pinnedOf } from '../../derive/state/pinned-host-memory.js';
import { type DeviceHistory, deviceHistories } from '../../derive/trace/device-history.js';
import { pick } from '../../model/pick.js';
import type { NoteResult, SnapshotDevice, SnapshotResult } from '../../model/results/common.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

export async function describeSnapshots(
  store: Store,
  filter: SnapshotFilter,
  torchAtLeast: (features: readonly string[]) => string | undefined,
): Promise<SnapshotResult> {
  const listed = await listSnapshots(store, filter);
  const ids = listed.map(({ snapshot_id }) => ({ snapshot_id }));
  const features = await store.allOf('snapshot.features', ids);
  const settings = await store.allOf('snapshot.settings_of', ids);
  const notes = await notesOf(
    store,
    listed.map(({ source_id }) => source_id),
  );
  const sums = await store.allOf('snapshot.devices', ids);
  const traced = ids.flatMap(({ snapshot_id }, i) =>
    sums[i]!.filter(({ events }) => events !== null).map(({ device }) => ({ snapshot_id, device })),
  );
  const histories = new Map(
    (await deviceHistories(store, traced)).map((history, i) => [
      `${traced[i]!.snapshot_id} ${traced[i]!.device}`,
      history,
    ]),
  );
  const pools = await store.allOf('snapshot.pools', ids);
  const actions = await store.allOf('snapshot.actions', ids);
  const ooms = await store.allOf('snapshot.ooms', ids);
  const pinned = await store.allOf(
    'snapshot.pinned_host_memory',
    ids.map((id) => ({ ...id, run_id: null })),
  );
  return {
    schema: 'mbforensics/snapshot@1',
    snapshots: listed.map((row, i) => {
      const names = features[i]!.map(({ feature }) => feature);
      const devices = sums[i]!.map((device) =>
        describeDevice(device, notes[i]!, {
          history: histories.get(`${row.snapshot_id} ${device.device}`) ?? null,
          pools: pools[i]!,
          actions: actions[i]!,
          ooms: ooms[i]!,
        }),
      );
      return {
        path: row.display_path,
        handle: row.handle,
        run: row.run,
        rank: row.rank,
        protocol: row.protocol,
        form: row.form,
        features: names,
        torch_at_least: torchAtLeast(names) ?? null,
        settings: Object.fromEntries(settings[i]!.map((setting) => [setting.key, setting.value])),
        invariants_hold:
          sums[i]!.every((device) => device.invariants_hold) &&
          devices.every((device) => (device.walk_violations ?? 0) === 0),
        notes: notes[i]!,
        devices,
        pinned_host_memory: pinnedOf(pinned[i]!),
      };
    }),
  };
}

interface OfSnapshot {
  /** Of the device; null without a trace. */
  readonly history: DeviceHistory | null;
  readonly pools: readonly QueryRow<'snapshot.pools'>[];
  readonly actions: readonly QueryRow<'snapshot.actions'>[];
  readonly ooms: readonly QueryRow<'snapshot.ooms'>[];
}

function describeDevice(
  row: QueryRow<'snapshot.devices'>,
  notes: readonly NoteResult[],
  { history, ...of }: OfSnapshot,
): SnapshotDevice {
  const here = <T extends { readonly device: number }>(rows: readonly T[]): T[] =>
    rows.filter((other) => other.device === row.device);
  const pools = here(of.pools).map((pool) => ({
    pool: [pool.pool_id_a ?? 0, pool.pool_id_b ?? 0] as const,
    segment_type: pool.segment_type,
    stream: pool.stream === null ? null : Number(pool.stream),
    expandable: pool.is_expandable === null ? null : pool.is_expandable === 1,
    ...pick(pool, ['segments', 'reserved_bytes', 'active_bytes']),
  }));
  const hasTrace = history !== null;
  const overwritten = notes.some((note) => note.kind === 'ring_truncated' && note.device === row.device);
  return {
    ...pick(row, ['device', 'segments', 'blocks', 'reserved_bytes', 'allocated_bytes', 'active_bytes']),
    ...pick(row, ['inactive_bytes', 'largest_inactive_block_bytes']),
    pools,
    events: row.events,
    actions: hasTrace ? Object.fromEntries(here(of.actions).map(({ action, count }) => [action, count])) : null,
    ...pick(row, ['unmatched_free_bytes', 'start_anchored_bytes', 'peak_anchored_bytes']),
    peak_active_bytes: history?.holds ? history.peak.bytes : null,
    peak_seq: history?.holds ? history.peak.seq : row.requested_delta_peak_seq,
    ...pick(row, ['start_reserved_bytes', 'peak_reserved_bytes']),
    ooms: hasTrace ? here(of.ooms).map((oom) => pick(oom, ['seq', 'requested_bytes', 'device_free_bytes'])) : null,
    start: history === null ? null : history.startsEmpty ? 'cold' : overwritten ? 'overwritten' : 'late',
    walk_violations: history?.violations ?? null,
    uncertain_blocks: history?.uncertainBlocks ?? null,
  };
}
