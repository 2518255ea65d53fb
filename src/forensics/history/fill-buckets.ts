/**
 * Fills `derived_bucket`: least and most of a device's memory over runs of trace entries. This version works forwards from the state before the
 * first entry: blocks that live to the end have their true size, others the rounded request.
 */
import { roundSize } from '../../allocator/rounding.js';
import { TRACE_ACTIONS } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { walkDevice } from '../device-walk.js';

/** Rows of a device at most, not counting those that {@link BucketRange.cuts} add. */
export const MAX_BUCKETS = 65_536;

export interface BucketRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** A row ends with each of these entries too, so that what happens between two of them can be told apart. Ascending. */
  readonly cuts?: readonly number[] | undefined;
}

export interface BucketFill {
  /** Entries of a whole row: a power of two, 1 = every entry has its row. */
  readonly entriesPerRow: number;
  /** Nothing in the trace contradicts the allocator's rules. */
  readonly holds: boolean;
}

const CREATE = `CREATE TEMP TABLE IF NOT EXISTS derived_bucket (
  snapshot_id INTEGER, device INTEGER, bucket INTEGER, first_seq INTEGER, last_seq INTEGER, first_time_us BIGINT, last_time_us BIGINT,
  allocated_min_bytes BIGINT, allocated_max_bytes BIGINT, active_min_bytes BIGINT, active_max_bytes BIGINT, reserved_min_bytes BIGINT, reserved_max_bytes BIGINT)`;

const COLUMNS = [
  'bucket',
  'first_seq',
  'last_seq',
  'first_time_us',
  'last_time_us',
  'allocated_min_bytes',
  'allocated_max_bytes',
  'active_min_bytes',
  'active_max_bytes',
  'reserved_min_bytes',
  'reserved_max_bytes',
] as const;
type Row = Record<(typeof COLUMNS)[number], number | null>;

/**
 * Sees to it that `derived_bucket` holds the rows of one device: of its whole trace, or of `range` only, as finely as {@link MAX_BUCKETS} allows.
 * The first row includes the state before its first entry. A device without a trace gets no rows.
 */
export async function ensureBuckets(
  store: Store,
  snapshotId: number,
  device: number,
  range?: BucketRange,
): Promise<BucketFill> {
  const { walk, settings, holds } = await walkDevice(store, snapshotId, device);
  const end = walk.lastSeq ?? -1;
  const first = range?.firstSeq ?? 0;
  const last = Math.min(range?.lastSeq ?? end, end);
  let width = 1;
  while (width * MAX_BUCKETS < last - first + 1) width *= 2;

  const start = walk.state();
  const size = new Map<number, number>();
  const pending = new Set<number>();
  const lasting = new Map<number, number>();
  let active = 0;
  let waiting = 0;
  for (let i = 0; i < start.blocks.count; i += 1) {
    const bytes = start.blocks.sizeBytes[i]!;
    size.set(start.blocks.address[i]!, bytes);
    active += bytes;
    if (start.blocks.state[i] === 1) {
      pending.add(start.blocks.address[i]!);
      waiting += bytes;
    }
  }
  let reserved = 0;
  for (let i = 0; i < start.segments.count; i += 1) reserved += start.segments.totalBytes[i]!;
  for (const block of await store.all('snapshot.final_blocks', { snapshot_id: snapshotId, device }))
    lasting.set(Number(block.address), block.size_bytes);
  const lastAlloc = new Map<number, number>();
  const spec = { seq: 'i32', action: 'u8', addr: 'f64', size_bytes: 'f64', time_us: 'f64' } as const;
  const sql = `SELECT seq, action, addr, size_bytes, time_us FROM event WHERE snapshot_id = $snapshot_id AND device = $device ORDER BY seq`;
  const params = { snapshot_id: snapshotId, device };
  for await (const { rows, columns } of store.readColumns(sql, params, spec))
    for (let i = 0; i < rows; i += 1) if (columns.action[i] === ALLOC) lastAlloc.set(columns.addr[i]!, columns.seq[i]!);

  const out: Row[] = [];
  const cuts = range?.cuts ?? [];
  let cut = 0;
  let row: Row | undefined;
  const look = (seq: number, time: number | null): void => {
    const allocated = active - waiting;
    if (row === undefined) {
      row = {
        bucket: out.length,
        first_seq: seq,
        last_seq: seq,
        first_time_us: time,
        last_time_us: time,
        allocated_min_bytes: allocated,
        allocated_max_bytes: allocated,
        active_min_bytes: active,
        active_max_bytes: active,
        reserved_min_bytes: reserved,
        reserved_max_bytes: reserved,
      };
    }
    row.last_seq = seq;
    row.last_time_us = time;
    row.allocated_min_bytes = Math.min(row.allocated_min_bytes!, allocated);
    row.allocated_max_bytes = Math.max(row.allocated_max_bytes!, allocated);
    row.active_min_bytes = Math.min(row.active_min_bytes!, active);
    row.active_max_bytes = Math.max(row.active_max_bytes!, active);
    row.reserved_min_bytes = Math.min(row.reserved_min_bytes!, reserved);
    row.reserved_max_bytes = Math.max(row.reserved_max_bytes!, reserved);
  };
  for await (const { rows, columns } of store.readColumns(sql, params, spec)) {
    for (let i = 0; i < rows; i += 1) {
      const seq = columns.seq[i]!;
      if (seq > last) break;
      const address = columns.addr[i]!;
      const bytes = columns.size_bytes[i]!;
      const time = Number.isNaN(columns.time_us[i]!) ? null : columns.time_us[i]!;
      if (seq === first) look(seq, time);
      switch (columns.action[i]) {
        case ALLOC: {
          const kept = lastAlloc.get(address) === seq ? lasting.get(address) : undefined;
          const rounded = kept ?? roundSize(Math.max(1, bytes), settings);
          active += rounded - (size.get(address) ?? 0);
          size.set(address, rounded);
          break;
        }
        case FREE_REQUESTED:
          if (size.has(address) && !pending.has(address)) {
            pending.add(address);
            waiting += size.get(address)!;
          }
          break;
        case FREE_COMPLETED:
          if (pending.delete(address)) waiting -= size.get(address) ?? 0;
          active -= size.get(address) ?? 0;
          size.delete(address);
          break;
        case SEGMENT_ALLOC:
        case SEGMENT_MAP:
          reserved += bytes;
          break;
        case SEGMENT_FREE:
        case SEGMENT_UNMAP:
          reserved -= bytes;
      }
      if (seq < first) continue;
      look(seq, time);
      while (cut < cuts.length && cuts[cut]! < seq) cut += 1;
      if ((seq + 1) % width === 0 || cuts[cut] === seq || seq === last) {
        if (row !== undefined) out.push(row);
        row = undefined;
      }
    }
  }
  await store.run(CREATE);
  await store.run('DELETE FROM temp.derived_bucket WHERE snapshot_id = $snapshot_id AND device = $device', params);
  for (let from = 0; from < out.length; from += 8192) {
    const part = out.slice(from, from + 8192);
    const lists = COLUMNS.map((name) => [name, `[${part.map((item) => item[name] ?? 'NULL').join(',')}]`] as const);
    await store.run(
      `INSERT INTO temp.derived_bucket SELECT $snapshot_id, $device, ${COLUMNS.map((name) => `unnest($${name}::BIGINT[])`).join(', ')}`,
      { ...params, ...Object.fromEntries(lists) },
    );
  }
  return { entriesPerRow: width, holds };
}

const [ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP] = (
  [
    'alloc',
    'free_requested',
    'free_completed',
    'segment_alloc',
    'segment_free',
    'segment_map',
    'segment_unmap',
  ] as const
).map((action) => TRACE_ACTIONS.indexOf(action)) as [number, number, number, number, number, number, number];
