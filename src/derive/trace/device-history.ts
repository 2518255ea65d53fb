/** What ingest found out about the whole trace of one device. */
import { type AllocatorSettings, settingsFromSnapshot } from '../../allocator/settings.js';
import type { Peak } from '../../allocator/walk/backward-walk.js';
import type { TableRows } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import type { StepOrigin } from '../../model/results/timeline.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';
import { type PoolNumbers, readPoolNumbers } from '../run/names/pool-numbers.js';

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

export function deviceHistory(store: Store, snapshotId: number, device: number): Promise<DeviceHistory> {
  return onceHistory(store, `${snapshotId} ${device}`);
}

const onceHistory = readOnce(async (store: Store, key: string): Promise<DeviceHistory> => {
  const [snapshotId, device] = key.split(' ').map(Number) as [number, number];
  const id = { snapshot_id: snapshotId };
  const row = await store.one('state.history', { ...id, device });
  if (row === undefined) throw new MbfError('MBF1002', `snapshot ${snapshotId} has no device ${device}`);
  const settings = new Map((await store.all('snapshot.settings', id)).map(({ key: name, value }) => [name, value]));
  return {
    trace: {
      snapshotId,
      device,
      events: row.events,
      pools: await readPoolNumbers(store, snapshotId),
      pooled: row.pooled,
    },
    settings: settingsFromSnapshot(settings),
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
});
