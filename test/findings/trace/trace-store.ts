/** A store with handmade traces and annotations, for questions that need nothing else of a snapshot. */
import { join } from 'node:path';
import { deriveStored } from '../../../src/ingest/derive/derive-stored.js';
import type { Store } from '../../../src/store/store.js';
import { scratchDirectory } from '../../store/scratch.js';
import { newStore } from '../../support/new-store.js';

export const SNAPSHOT = 1;

export interface TraceEntry {
  readonly action: string;
  readonly size?: number;
  readonly addr?: number;
  /** Default: 1,000 µs after the entry before it. */
  readonly time?: number | null;
}

export interface Note {
  readonly stage: 'START' | 'END';
  readonly name: string;
  readonly time: number;
  readonly device?: number;
}

export interface Bucket {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly first_time_us?: number | null;
  readonly last_time_us?: number | null;
  readonly allocated?: readonly [number, number];
  readonly active: readonly [number, number];
  readonly reserved?: readonly [number, number];
}

/** Closed, and removed, with the test. */
export function emptyStore(): Promise<Store> {
  return newStore(join(scratchDirectory(), 'trace.duckdb'));
}

/** What ingest derives of traces, once their annotations are there too; {@link addBuckets} has rows of its own. */
export async function deriveTraces(store: Store): Promise<void> {
  for (const { device } of await store.all('snapshot.devices', { snapshot_id: SNAPSHOT }))
    await deriveStored(store, { snapshot_id: SNAPSHOT, device });
}

export async function addTrace(
  store: Store,
  device: number,
  entries: readonly TraceEntry[],
  startReservedBytes = 1,
): Promise<void> {
  await store.insertRows(
    'event',
    entries.map(({ action, addr, size = 512, time }, seq) => ({
      ...{ snapshot_id: SNAPSHOT, device, seq, action, addr: addr ?? seq * 512, size_bytes: size, stream: 0 },
      time_us: time === undefined ? seq * 1000 : time,
    })),
  );
  const bytes = { reserved_bytes: startReservedBytes, inactive_bytes: startReservedBytes };
  await store.insertRows('snapshot_device', [
    {
      ...{ snapshot_id: SNAPSHOT, device, segments: 1, blocks: 0, allocated_bytes: 0, active_bytes: 0, ...bytes },
      ...{ events: entries.length, reserved_delta_bytes: 0, invariants_hold: true },
    },
  ]);
}

export async function addAnnotations(store: Store, notes: readonly Note[]): Promise<void> {
  const names = [...new Set(notes.map((note) => note.name))];
  await store.insertRows(
    'text_value',
    names.map((text, text_id) => ({ text_id, text })),
  );
  await store.insertRows(
    'annotation',
    notes.map(({ stage, name, device = 0, time }, ordinal) => ({
      ...{ snapshot_id: SNAPSHOT, ordinal, stage, name_id: names.indexOf(name), device, time_us: time },
    })),
  );
}

export async function addBuckets(store: Store, device: number, buckets: readonly Bucket[]): Promise<void> {
  const range = (name: string, [least, most]: readonly [number, number]) => ({
    ...{ [`${name}_min_bytes`]: least, [`${name}_max_bytes`]: most },
  });
  await store.insertRows(
    'derived_bucket',
    buckets.map(({ active, allocated = active, reserved = active, ...row }, bucket) => ({
      ...{
        snapshot_id: SNAPSHOT,
        device,
        bucket,
        first_time_us: row.first_seq * 1000,
        last_time_us: row.last_seq * 1000,
      },
      ...{ ...row, ...range('allocated', allocated), ...range('active', active), ...range('reserved', reserved) },
    })),
  );
}
