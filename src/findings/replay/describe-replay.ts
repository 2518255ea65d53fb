/** `mbforensics whatif replay`: whether the allocator model reproduces what was recorded, device by device. */
import { type Fidelity, judgeReplay } from '../../allocator/fidelity/fidelity.js';
import { confText } from '../../allocator/settings.js';
import { readRecording, type StoredRecording } from '../../derive/replay/read-recording.js';
import { listSnapshots, readNotes, type SnapshotFilter } from '../../derive/run/names/snapshots.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { MbfError } from '../../model/errors.js';
import type { ReplayDevice, ReplayRegime, ReplayResult, TraceEntryResult } from '../../model/results/replay.js';
import type { TraceAction } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { hex } from '../state/state-view.js';

/** Entries shown before and after a mismatch. */
const CONTEXT_ENTRIES = 4;

/** A snapshot's device with what names it. */
export type NamedDevice = Omit<ChosenDevice, 'others'>;

/** All devices with a trace. Throws MBF1002 if there is none. */
export async function describeReplays(
  store: Store,
  filter: SnapshotFilter,
  device: number | undefined,
): Promise<ReplayResult> {
  const snapshots: ReplayDevice[] = [];
  for (const row of await listSnapshots(store, filter)) {
    for (const sums of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (sums.events === null || sums.events === 0 || (device !== undefined && sums.device !== device)) continue;
      const named = {
        snapshotId: row.snapshot_id,
        sourceId: row.source_id,
        path: row.display_path,
        handle: row.handle,
        rank: row.rank,
        device: sums.device,
      };
      snapshots.push(await describeReplay(store, named));
    }
  }
  if (snapshots.length === 0)
    throw new MbfError('MBF1002', 'there is no trace to replay: no snapshot with a recorded history');
  return { schema: 'mbforensics/replay@1', snapshots };
}

async function describeReplay(store: Store, named: NamedDevice): Promise<ReplayDevice> {
  const stored = await readRecording(store, named.snapshotId, named.device);
  const { recording, dump, walk } = stored;
  const fidelity = judgeReplay(recording, dump, walk);
  const { outcome } = fidelity;
  return {
    path: named.path,
    handle: named.handle,
    rank: named.rank,
    device: named.device,
    regime: await regimeOf(store, named, stored),
    variant: outcome.variant.tieBreak,
    address_matches: outcome.addressMatches,
    address_total: outcome.allocs,
    reuse_matches: outcome.reuses,
    segment_events: outcome.driverEntries,
    segment_event_mismatches: outcome.driverEntryMismatches,
    reserved_at_end_bytes: outcome.reservedAtEndBytes,
    final_state_equal: dump !== null && fidelity.finalDifference === null && outcome.abandonedAt === null,
    status: fidelity.status,
    reason: fidelity.reason,
    free_run_error: fidelity.freeRunError,
    settings: confText(fidelity.recording.settings),
    flushes: {
      explicit: outcome.flushes.filter((flush) => flush.kind === 'explicit').length,
      forced: outcome.flushes.filter((flush) => flush.kind === 'forced').length,
      late_waits: outcome.lateWaits.length,
    },
    from_record: {
      settings: fidelity.settingsInferred,
      pool_orders: outcome.taken.poolOrders,
      garbage_segments: outcome.taken.garbageSegments,
      inferred_pools: outcome.taken.inferredPools,
    },
    ooms: outcome.ooms.map((oom) => ({
      seq: oom.seq,
      requested_bytes: oom.requestedBytes,
      repeated: oom.repeated,
      reserved_bytes: oom.reservedBytes,
      active_bytes: oom.activeBytes,
    })),
    uncertain_start_blocks: walk.uncertainBlocks,
    mismatches: outcome.mismatchCount,
    first_mismatch: await firstMismatch(store, named, fidelity),
  };
}

export async function regimeOf(
  store: Store,
  { sourceId, device }: NamedDevice,
  { history }: StoredRecording,
): Promise<ReplayRegime> {
  if (history.startsEmpty) return 'cold';
  const notes = await readNotes(store, sourceId);
  return notes.some((note) => note.device === device && note.kind === 'ring_truncated') ? 'wrapped' : 'late';
}

async function firstMismatch(
  store: Store,
  { snapshotId, device }: NamedDevice,
  { outcome }: Fidelity,
): Promise<ReplayDevice['first_mismatch']> {
  const [first] = outcome.mismatches;
  if (first === undefined) return null;
  const rows = await store.all('replay.entries_around', {
    snapshot_id: snapshotId,
    device,
    from_seq: first.seq - CONTEXT_ENTRIES,
    to_seq: first.seq + CONTEXT_ENTRIES,
  });
  const context = rows.map(
    (row): TraceEntryResult => ({
      seq: row.seq,
      action: row.action as TraceAction,
      address: row.addr === null ? null : hex(Number(row.addr)),
      size_bytes: row.size_bytes,
    }),
  );
  const address = (value: number | null): string | null => (value === null ? null : hex(value));
  return {
    seq: first.seq,
    kind: first.kind,
    requested_bytes: first.requestedBytes,
    predicted_address: address(first.predictedAddress),
    recorded_address: address(first.recordedAddress),
    context,
  };
}
