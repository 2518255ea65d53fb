/** Histories in the `derived_*` tables: written once at the first use, read afterwards. */
import type { AllocatorState, StateBlocks, StateSegments } from '../../allocator/walk/allocator-state.js';
import { placeBlocks } from '../../allocator/walk/allocator-state.js';
import type { HistoryFacts } from '../../allocator/walk/history-facts.js';
import { ColumnBatch, NULL_I32, putI64, putNullI64, type TableLayout } from '../../model/columns.js';
import {
  ALLOC_FACT_LAYOUT,
  DERIVED_LAYOUTS,
  GROWTH_FACT_LAYOUT,
  HISTORY_RULES,
  START_BLOCK_LAYOUT,
  START_SEGMENT_LAYOUT,
} from '../../model/derived-tables.js';
import { BATCH_ROWS } from '../../model/tables.js';
import type { Store } from '../../store/store.js';
import type { TraceOfDevice } from './trace-events.js';
import type { HistorySummary } from './walk-history.js';

interface StoredHistory extends HistorySummary {
  readonly start: AllocatorState;
  readonly facts: HistoryFacts;
}

/** What the walk forward adds. */
interface ForwardResult {
  /** Forward from the start the trace ends in the dumped totals. */
  readonly endsInDump: boolean;
  readonly divergences: number;
  readonly bucketEntries: number;
  readonly buckets: ColumnBatch;
}

/** Index in SEGMENT_TYPES. */
const typeOf = (small: number): number => (small === 1 ? 0 : 1);

/** Undefined if the store has none, or one of other rules. */
export async function loadHistory(store: Store, trace: TraceOfDevice): Promise<StoredHistory | undefined> {
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  const row = await store.one('history.summary', { ...id, rules: HISTORY_RULES });
  if (row === undefined) return undefined;
  const segments = await readSegments(store, trace);
  const blocks = await readBlocks(store, trace);
  placeBlocks(segments, blocks);
  return {
    holds: row.holds,
    startsEmpty: row.starts_empty,
    violations: row.violations,
    impliedCompletions: row.implied_completions,
    peak: { bytes: row.peak_active_bytes, seq: row.peak_active_seq },
    peakReserved: { bytes: row.peak_reserved_bytes, seq: row.peak_reserved_seq },
    uncertainBlocks: row.uncertain_blocks,
    uncertainBytes: row.uncertain_bytes,
    start: { afterSeq: null, segments, blocks },
    facts: await readFacts(store, trace),
  };
}

async function readSegments(store: Store, { snapshotId, device, pools }: TraceOfDevice): Promise<StateSegments> {
  const columns = await gather(
    store.readQueryColumns(
      'history.start_segments',
      { snapshot_id: snapshotId, device },
      {
        address: 'f64',
        total_bytes: 'f64',
        stream: 'f64',
        segment_type: 'u8',
        pool: 'i32',
        is_expandable: 'u8',
        is_inferred: 'u8',
      },
    ),
  );
  const count = columns?.address.length ?? 0;
  return {
    count,
    address: columns?.address ?? new Float64Array(),
    totalBytes: columns?.total_bytes ?? new Float64Array(),
    stream: columns?.stream ?? new Float64Array(),
    small: columns?.segment_type.map((type) => (type === 0 ? 1 : 0)) ?? new Uint8Array(),
    pool: columns?.pool.map((pool) => Math.max(0, pools.toWalk(pool))) ?? new Int32Array(),
    expandable: columns?.is_expandable ?? new Uint8Array(),
    inferred: columns?.is_inferred ?? new Uint8Array(),
    firstBlock: new Int32Array(count + 1),
  };
}

async function readBlocks(store: Store, { snapshotId, device }: TraceOfDevice): Promise<StateBlocks> {
  const columns = await gather(
    store.readQueryColumns(
      'history.start_blocks',
      { snapshot_id: snapshotId, device },
      {
        address: 'f64',
        size_bytes: 'f64',
        least_bytes: 'f64',
        most_bytes: 'f64',
        requested_bytes: 'f64',
        state: 'u8',
        stack_id: 'i32',
        stack_origin: 'u8',
      },
    ),
  );
  const count = columns?.address.length ?? 0;
  return {
    count,
    address: columns?.address ?? new Float64Array(),
    sizeBytes: columns?.size_bytes ?? new Float64Array(),
    minBytes: columns?.least_bytes ?? new Float64Array(),
    maxBytes: columns?.most_bytes ?? new Float64Array(),
    requestedBytes: columns?.requested_bytes.map((bytes) => (Number.isNaN(bytes) ? -1 : bytes)) ?? new Float64Array(),
    state: columns?.state ?? new Uint8Array(),
    segment: new Int32Array(count),
    stackId: columns?.stack_id ?? new Int32Array(),
    stackOrigin: columns?.stack_origin ?? new Uint8Array(),
    allocSeq: new Int32Array(count).fill(-1),
  };
}

async function readFacts(store: Store, { snapshotId, device, pools }: TraceOfDevice): Promise<HistoryFacts> {
  const id = { snapshot_id: snapshotId, device };
  const allocs = await gather(
    store.readQueryColumns('history.alloc_facts', id, {
      seq: 'i32',
      excess_bytes: 'f64',
      uncertain_bytes: 'f64',
      pool: 'i32',
      stack_id: 'i32',
      stack_origin: 'u8',
    }),
  );
  const growths = await gather(
    store.readQueryColumns('history.growth_facts', id, {
      seq: 'i32',
      segment_type: 'u8',
      pool: 'i32',
      is_inferred: 'u8',
    }),
  );
  const toWalk = (pool: number): number => Math.max(0, pools.toWalk(pool));
  return {
    allocs: {
      count: allocs?.seq.length ?? 0,
      seq: allocs?.seq ?? new Int32Array(),
      excessBytes: allocs?.excess_bytes ?? new Float64Array(),
      uncertainBytes: allocs?.uncertain_bytes ?? new Float64Array(),
      pool: allocs?.pool.map(toWalk) ?? new Int32Array(),
      stackId: allocs?.stack_id ?? new Int32Array(),
      stackOrigin: allocs?.stack_origin ?? new Uint8Array(),
    },
    growths: {
      count: growths?.seq.length ?? 0,
      seq: growths?.seq ?? new Int32Array(),
      small: growths?.segment_type.map((type) => (type === 0 ? 1 : 0)) ?? new Uint8Array(),
      pool: growths?.pool.map(toWalk) ?? new Int32Array(),
      inferred: growths?.is_inferred ?? new Uint8Array(),
    },
  };
}

/** All batches as one; undefined without a row. */
async function gather<Columns extends Readonly<Record<string, Float64Array | Int32Array | Uint8Array>>>(
  batches: AsyncIterable<{ readonly rows: number; readonly columns: Columns }>,
): Promise<Columns | undefined> {
  const parts: Columns[] = [];
  for await (const { columns } of batches) {
    parts.push(Object.fromEntries(Object.entries(columns).map(([name, array]) => [name, array.slice()])) as Columns);
  }
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first;
  return Object.fromEntries(
    Object.keys(first).map((name) => {
      const total = parts.reduce((sum, part) => sum + part[name]!.length, 0);
      const joined = new (first[name]!.constructor as new (length: number) => Float64Array)(total);
      let at = 0;
      for (const part of parts) {
        joined.set(part[name]! as Float64Array, at);
        at += part[name]!.length;
      }
      return [name, joined];
    }),
  ) as unknown as Columns;
}

/** Replaces what the store has of this device, in one transaction. */
export async function saveHistory(
  store: Store,
  trace: TraceOfDevice,
  history: StoredHistory,
  forward: ForwardResult,
): Promise<void> {
  const { snapshotId, device } = trace;
  const id = { snapshot_id: snapshotId, device };
  await store.transaction(async () => {
    for (const table of ['derived_history', ...DERIVED_LAYOUTS.map((layout) => layout.table)])
      await store.run(`DELETE FROM ${table} WHERE snapshot_id = $snapshot_id AND device = $device`, id);
    await write(store, START_SEGMENT_LAYOUT, history.start.segments.count, id, segmentRow(trace, history.start));
    await write(store, START_BLOCK_LAYOUT, history.start.blocks.count, id, blockRow(trace, history.start));
    await write(store, ALLOC_FACT_LAYOUT, history.facts.allocs.count, id, allocRow(trace, history.facts));
    await write(store, GROWTH_FACT_LAYOUT, history.facts.growths.count, id, growthRow(trace, history.facts));
    const appender = await store.appender(forward.buckets.layout);
    appender.append(forward.buckets);
    appender.close();
    await store.insertRows('derived_history', [
      {
        ...id,
        rules: HISTORY_RULES,
        events: trace.events,
        holds: history.holds,
        ends_in_dump: forward.endsInDump,
        starts_empty: history.startsEmpty,
        violations: history.violations,
        implied_completions: history.impliedCompletions,
        divergences: forward.divergences,
        peak_active_bytes: history.peak.bytes,
        peak_active_seq: history.peak.seq,
        peak_reserved_bytes: history.peakReserved.bytes,
        peak_reserved_seq: history.peakReserved.seq,
        uncertain_blocks: history.uncertainBlocks,
        uncertain_bytes: history.uncertainBytes,
        bucket_entries: forward.bucketEntries,
      },
    ]);
  });
}

/** Fills row `row` of a batch from item `i`. */
type PutRow = (batch: ColumnBatch, row: number, i: number) => void;

async function write(
  store: Store,
  layout: TableLayout,
  count: number,
  id: { readonly snapshot_id: number; readonly device: number },
  put: PutRow,
): Promise<void> {
  if (count === 0) return;
  const appender = await store.appender(layout);
  const batch = new ColumnBatch(layout, Math.min(count, BATCH_ROWS));
  batch.i32('snapshot_id').fill(id.snapshot_id);
  batch.i32('device').fill(id.device);
  for (let from = 0; from < count; from += batch.capacity) {
    batch.rows = Math.min(batch.capacity, count - from);
    for (let row = 0; row < batch.rows; row += 1) put(batch, row, from + row);
    appender.append(batch);
  }
  appender.close();
}

function putOptional(array: Uint32Array, row: number, value: number): void {
  if (Number.isNaN(value) || value < 0) putNullI64(array, row);
  else putI64(array, row, value);
}

/** Streams are pointers and may be any integer; NaN = unknown. */
function putStream(array: Uint32Array, row: number, value: number): void {
  if (Number.isNaN(value)) putNullI64(array, row);
  else putI64(array, row, value);
}

function segmentRow({ pools }: TraceOfDevice, { segments }: AllocatorState): PutRow {
  return (batch, row, i) => {
    putI64(batch.i64('address'), row, segments.address[i]!);
    putI64(batch.i64('total_bytes'), row, segments.totalBytes[i]!);
    putStream(batch.i64('stream'), row, segments.stream[i]!);
    batch.u8('segment_type')[row] = typeOf(segments.small[i]!);
    batch.i32('pool')[row] = pools.fromWalk(segments.pool[i]!);
    batch.u8('is_expandable')[row] = segments.expandable[i]!;
    batch.u8('is_inferred')[row] = segments.inferred[i]!;
  };
}

function blockRow({ pools }: TraceOfDevice, { segments, blocks }: AllocatorState): PutRow {
  return (batch, row, i) => {
    const segment = blocks.segment[i]!;
    putI64(batch.i64('address'), row, blocks.address[i]!);
    putI64(batch.i64('size_bytes'), row, blocks.sizeBytes[i]!);
    putI64(batch.i64('least_bytes'), row, blocks.minBytes[i]!);
    putI64(batch.i64('most_bytes'), row, blocks.maxBytes[i]!);
    putOptional(batch.i64('requested_bytes'), row, blocks.requestedBytes[i]!);
    batch.u8('state')[row] = blocks.state[i]!;
    batch.i32('stack_id')[row] = blocks.stackId[i]! < 0 ? NULL_I32 : blocks.stackId[i]!;
    batch.u8('stack_origin')[row] = blocks.stackOrigin[i]!;
    putStream(batch.i64('stream'), row, segments.stream[segment]!);
    batch.u8('segment_type')[row] = typeOf(segments.small[segment]!);
    batch.i32('pool')[row] = pools.fromWalk(segments.pool[segment]!);
  };
}

function allocRow({ pools }: TraceOfDevice, { allocs }: HistoryFacts): PutRow {
  return (batch, row, i) => {
    batch.i32('seq')[row] = allocs.seq[i]!;
    putI64(batch.i64('excess_bytes'), row, allocs.excessBytes[i]!);
    putI64(batch.i64('uncertain_bytes'), row, allocs.uncertainBytes[i]!);
    batch.i32('pool')[row] = pools.fromWalk(allocs.pool[i]!);
    batch.i32('stack_id')[row] = allocs.stackId[i]!;
    batch.u8('stack_origin')[row] = allocs.stackOrigin[i]!;
  };
}

function growthRow({ pools }: TraceOfDevice, { growths }: HistoryFacts): PutRow {
  return (batch, row, i) => {
    batch.i32('seq')[row] = growths.seq[i]!;
    batch.u8('segment_type')[row] = typeOf(growths.small[i]!);
    batch.i32('pool')[row] = pools.fromWalk(growths.pool[i]!);
    batch.u8('is_inferred')[row] = growths.inferred[i]!;
  };
}
