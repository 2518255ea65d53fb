/** What ingest found out about the whole trace of one device. */
import { type AllocatorSettings, settingsFromSnapshot } from '../../allocator/settings.js';
import type { Peak } from '../../allocator/walk/walk-input.js';
import type { TableRows } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import { type PoolNumbers, poolNumbers } from '../../model/pool-numbers.js';
import type { StepOrigin } from '../../model/results/timeline.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';

/** Which trace, and how walks number its pools. */
export interface TraceOfDevice {
  readonly snapshotId: number;
  readonly device: number;
  /** Number of entries; 0 without a trace. */
  readonly events: number;
  readonly pools: PoolNumbers;
  /** Whether its entries name other pools than the default one. */
  readonly pooled: boolean;
}

export interface DeviceHistory
  extends Pick<TableRows['derived_history'], 'holds' | 'startsEmpty' | 'violations' | 'uncertainBlocks'>,
    Pick<TableRows['derived_history'], 'uncertainBytes' | 'blocks' | 'bucketEntries'> {
  readonly trace: TraceOfDevice;
  readonly settings: AllocatorSettings;
  /** Largest Σ of actual block sizes, pending frees included. */
  readonly peak: Peak;
  readonly peakReserved: Peak;
  readonly freeRequestedRecorded: boolean;
  readonly freeCompletedRecorded: boolean;
  readonly steps: {
    /** Null: without annotations of steps. */
    readonly origin: StepOrigin | null;
    /** Distinct names of the annotations used. */
    readonly annotations: readonly string[];
    /** The device they name, where it is not the one asked for. */
    readonly annotationsOfDevice: number | null;
    /** Steps between the first and the last entry that have none. */
    readonly withoutEntries: number;
  };
}

export interface DeviceId {
  readonly snapshot_id: number;
  readonly device: number;
}

export function deviceHistory(store: Store, snapshotId: number, device: number): Promise<DeviceHistory> {
  return onceHistory(store, `${snapshotId} ${device}`);
}

const onceHistory = readOnce(async (store: Store, key: string): Promise<DeviceHistory> => {
  const [snapshot_id, device] = key.split(' ').map(Number) as [number, number];
  return (await deviceHistories(store, [{ snapshot_id, device }]))[0]!;
});

/** Of many devices, in their order. Throws MBF1002 where a snapshot does not have the device. */
export async function deviceHistories(store: Store, devices: readonly DeviceId[]): Promise<DeviceHistory[]> {
  const ids = devices.map(({ snapshot_id, device }) => ({ snapshot_id, device }));
  const rows = await store.allOf('state.history', ids);
  return ids.map((id, i) => historyOf(id, rows[i]![0]));
}

function historyOf({ snapshot_id, device }: DeviceId, row: QueryRow<'state.history'> | undefined): DeviceHistory {
  if (row === undefined) throw new MbfError('MBF1002', `snapshot ${snapshot_id} has no device ${device}`);
  const pools = JSON.parse(row.pools) as [number, number, number][];
  return {
    trace: {
      snapshotId: snapshot_id,
      device,
      events: row.events,
      pools: poolNumbers(new Map(pools.map(([pool, first, second]) => [pool, [first, second]]))),
      pooled: row.pooled,
    },
    settings: settingsFromSnapshot(new Map(JSON.parse(row.settings) as [string, string][])),
    holds: row.holds,
    startsEmpty: row.starts_empty,
    violations: row.violations,
    peak: { bytes: row.peak_active_bytes, seq: row.peak_active_seq },
    peakReserved: { bytes: row.peak_reserved_bytes, seq: row.peak_reserved_seq },
    uncertainBlocks: row.uncertain_blocks,
    uncertainBytes: row.uncertain_bytes,
    blocks: row.blocks,
    freeRequestedRecorded: row.requests_recorded,
    freeCompletedRecorded: row.completions_recorded,
    bucketEntries: row.bucket_entries,
    steps: {
      origin: row.steps_origin as StepOrigin | null,
      annotations: row.steps_annotations === null ? [] : (JSON.parse(row.steps_annotations) as string[]),
      annotationsOfDevice: row.steps_annotations_device,
      withoutEntries: row.steps_without_entries,
    },
  };
}
