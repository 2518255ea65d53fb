/** A store with handmade traces and annotations, for questions that need nothing else of a snapshot. */
import { join } from 'node:path';
import { Traces } from '../../../src/ingest/derive/derive-trace.js';
import { historyRow, stepRows } from '../../../src/ingest/derive/history-rows.js';
import { type Annotation, marksStep } from '../../../src/ingest/derive/steps.js';
import { deriveLives } from '../../../src/ingest/derive/trace-lives.js';
import { ENUMS } from '../../../src/model/columns.js';
import { poolNumbers } from '../../../src/model/pool-numbers.js';
import type { TraceAction } from '../../../src/model/vocabulary.js';
import type { Store } from '../../../src/store/store.js';
import { scratchDirectory } from '../../store/scratch.js';
import { newStore } from '../../support/new-store.js';
import { finalState } from '../../support/snapshot-rows.js';
import { batchOf } from '../../support/trace-entries.js';

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

/** The steps that ingest derives of traces, once their annotations are there too. */
export async function deriveTraces(store: Store): Promise<void> {
  const rows = await store.all('peak.annotations', { snapshot_id: SNAPSHOT });
  const annotations = rows.filter(({ name }) => marksStep(name)) as Annotation[];
  for (const table of ['derived_history', 'trace_step']) await store.run(`DELETE FROM ${table}`);
  for (const { device, start_reserved_bytes } of await store.all('snapshot.devices', { snapshot_id: SNAPSHOT })) {
    const traces = new Traces();
    const actions = new Map<TraceAction, number>();
    const entries = (await store.select('FROM event WHERE device = $device ORDER BY seq', { device })).map((row) => {
      const action = row['action'] as TraceAction;
      actions.set(action, (actions.get(action) ?? 0) + 1);
      const timeUs = row['time_us'] === null ? null : Number(row['time_us']);
      return {
        ...{
          action: ENUMS.trace_action.indexOf(action),
          address: Number(row['addr']),
          sizeBytes: Number(row['size_bytes']),
        },
        ...{ stream: Number(row['stream']), timeUs, stackId: -1, tail: [-1, -1, -1] as const },
      };
    });
    const batch = batchOf(entries);
    batch.i32('device').fill(device);
    traces.add(batch);
    const none = { segments: [], blocks: [] };
    const beganEmpty = start_reserved_bytes === 0;
    const of = { device, traces, settings: new Map(), pools: poolNumbers(new Map()), actions, annotations, beganEmpty };
    const ignore = () => {};
    const out = { blockLives: ignore, segmentLives: ignore, entries: ignore, buckets: ignore };
    const lives = deriveLives({ ...of, final: finalState(none) }, out);
    await store.insertRows('derived_history', [historyRow(SNAPSHOT, lives)]);
    await store.insertRows('trace_step', stepRows(SNAPSHOT, lives));
  }
}

export async function addTrace(
  store: Store,
  device: number,
  entries: readonly TraceEntry[],
  startReservedBytes = 1,
): Promise<void> {
  await store.insertRows(
    'trace_entry',
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
