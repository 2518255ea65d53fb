/**
 * Fills `derived_bucket`: least and most of a device's memory over runs of trace entries. A walk back
 * from the dump gives the true size of every block, one forward sums them up.
 */
import { BackwardWalk, type WalkEvents } from '../../allocator/backward-walk.js';
import { settingsFromSnapshot } from '../../allocator/settings.js';
import { BLOCK_STATES, TRACE_ACTIONS } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { readSettings } from '../device-walk.js';

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
  const { sizes, walk, holds } = await trueSizes(store, snapshotId, device);
  const end = sizes.length - 1;
  const first = range?.firstSeq ?? 0;
  const last = Math.min(range?.lastSeq ?? end, end);
  let width = 1;
  while (width * MAX_BUCKETS < last - first + 1) width *= 2;

  const start = walk.state();
  const size = new Map<number, number>();
  const pending = new Set<number>();
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
  const params = { snapshot_id: snapshotId, device };
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
  for await (const { rows, columns } of store.readColumns(EVENTS, params, SPEC)) {
    for (let i = 0; i < rows; i += 1) {
      const seq = columns.seq[i]!;
      if (seq > last) break;
      const address = columns.addr[i]!;
      const bytes = columns.size_bytes[i]!;
      const time = Number.isNaN(columns.time_us[i]!) ? null : columns.time_us[i]!;
      if (seq === first) look(seq, time);
      switch (columns.action[i]) {
        case ALLOC: {
          const actual = sizes[seq]!;
          active += actual - (size.get(address) ?? 0);
          size.set(address, actual);
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

const EVENTS = `SELECT seq, action, addr, size_bytes, stream, stack_id, time_us FROM event WHERE snapshot_id = $snapshot_id AND device = $device ORDER BY seq`;
const SPEC = {
  seq: 'i32',
  action: 'u8',
  addr: 'f64',
  size_bytes: 'f64',
  stream: 'f64',
  stack_id: 'i32',
  time_us: 'f64',
} as const;

/** Actual bytes of the block of each alloc entry: what undoing that entry takes away. One entry at a time, so that nothing else is in between. */
async function trueSizes(
  store: Store,
  snapshotId: number,
  device: number,
): Promise<{ readonly sizes: Float64Array; readonly walk: BackwardWalk; readonly holds: boolean }> {
  const params = { snapshot_id: snapshotId, device };
  const settings = settingsFromSnapshot(await readSettings(store, snapshotId));
  const batches: WalkEvents[] = [];
  let requests = 0;
  let completions = 0;
  for await (const { rows, columns } of store.readColumns(EVENTS, params, SPEC)) {
    for (let i = 0; i < rows; i += 1) {
      if (columns.action[i] === FREE_REQUESTED) requests += 1;
      else if (columns.action[i] === FREE_COMPLETED) completions += 1;
    }
    batches.push({
      count: rows,
      seq: columns.seq.slice(),
      action: columns.action.slice(),
      address: columns.addr.slice(),
      sizeBytes: columns.size_bytes.slice(),
      stream: columns.stream.slice(),
      stackId: columns.stack_id.slice(),
    });
  }
  const frees = requests + completions > 0;
  const segments = await store.all('snapshot.final_segments', params);
  const blocks = await store.all('snapshot.final_blocks', params);
  const walk = new BackwardWalk(
    {
      segments: {
        count: segments.length,
        address: Float64Array.from(segments, (row) => Number(row.address)),
        totalBytes: Float64Array.from(segments, (row) => row.total_bytes),
        stream: Float64Array.from(segments, (row) => (row.stream === null ? Number.NaN : Number(row.stream))),
        type: Uint8Array.from(segments, (row) =>
          row.segment_type === 'small' ? 0 : row.segment_type === 'large' ? 1 : 2,
        ),
        pool: new Int32Array(segments.length),
        expandable: Uint8Array.from(segments, (row) => row.is_expandable ?? 0),
      },
      blocks: {
        count: blocks.length,
        address: Float64Array.from(blocks, (row) => Number(row.address)),
        sizeBytes: Float64Array.from(blocks, (row) => row.size_bytes),
        requestedBytes: Float64Array.from(blocks, (row) => row.requested_bytes ?? -1),
        state: Uint8Array.from(blocks, (row) => BLOCK_STATES.indexOf(row.state as (typeof BLOCK_STATES)[number])),
        stackId: new Int32Array(blocks.length).fill(-1),
      },
    },
    settings,
    { freeRequestedRecorded: !frees || requests > 0, freeCompletedRecorded: !frees || completions > 0 },
  );
  const count = batches.reduce((sum, batch) => sum + batch.count, 0);
  const sizes = new Float64Array(count);
  for (const batch of batches.reverse()) {
    for (let i = batch.count - 1; i >= 0; i -= 1) {
      const before = walk.activeBytes;
      walk.undo({
        count: 1,
        seq: batch.seq.subarray(i),
        action: batch.action.subarray(i),
        address: batch.address.subarray(i),
        sizeBytes: batch.sizeBytes.subarray(i),
        stream: batch.stream.subarray(i),
        stackId: batch.stackId.subarray(i),
      });
      if (batch.action[i] === ALLOC) sizes[batch.seq[i]!] = before - walk.activeBytes;
    }
  }
  return { sizes, walk, holds: walk.impliedCompletions === 0 && walk.violationCount === walk.tailViolationCount };
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
