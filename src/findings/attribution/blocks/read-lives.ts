/** Reads the {@link Lives} of a trace. */
import { STACK_ORIGINS } from '../../../allocator/walk/allocator-state.js';
import { roundTo512 } from '../../../allocator/walk/history-facts.js';
import { type Lives, NEVER } from '../../../attribution/blocks/lives.js';
import type { Store } from '../../../store/store.js';
import type { DeviceHistory } from '../../trace/walk-history.js';

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
/** Entries read at a time, while DuckDB reads the next. */
const WINDOW = 524_288;
const ALLOC_SPEC = { seq: 'i32', size_bytes: 'f64', stack_id: 'i32' } as const;
const FREE_SPEC = { seq: 'i32', alloc_seq: 'i32' } as const;

/** O(entries), in windows. Memory is 37 bytes a block beside 4 an entry. */
export async function readLives(store: Store, history: DeviceHistory): Promise<Lives> {
  const { trace, start, facts } = history;
  const { blocks, segments } = start;
  const starts = blocks.count;
  const rowOfSeq = new Int32Array(trace.events).fill(-1);
  let columns = new LifeColumns(starts + Math.ceil(trace.events / 2) + 16);
  const startAt = new Map<number, number>();
  for (let row = 0; row < starts; row += 1) {
    columns.allocSeq[row] = -1;
    columns.bytes[row] = blocks.sizeBytes[row]!;
    columns.requested[row] = blocks.requestedBytes[row]!;
    columns.stackId[row] = blocks.stackId[row]! < 0 ? -1 : blocks.stackId[row]!;
    columns.stackIsOfFree[row] = blocks.stackOrigin[row] === FREE_EVENT ? 1 : 0;
    columns.pool[row] = segments.pool[blocks.segment[row]!] ?? 0;
    startAt.set(blocks.address[row]!, row);
  }
  let count = starts;
  const free = history.freeCompletedRecorded ? 'free_completed' : 'free_requested';
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  for await (const { rows, columns: read } of inWindows(trace.events, (range) =>
    store.readQueryWhole('attribution.allocs', { ...id, ...range }, ALLOC_SPEC),
  )) {
    if (count + rows > columns.capacity) columns = columns.grown(2 * (count + rows));
    const { allocSeq, bytes, requested, stackId } = columns;
    for (let i = 0; i < rows; i += 1) {
      const seq = read.seq[i]!;
      const size = read.size_bytes[i]!;
      rowOfSeq[seq] = count;
      allocSeq[count] = seq;
      requested[count] = size;
      bytes[count] = roundTo512(size);
      // Entries without a stack hold NULL, the least integer.
      stackId[count] = read.stack_id[i]! < 0 ? -1 : read.stack_id[i]!;
      count += 1;
    }
  }
  const { freedSeq } = columns;
  for await (const { rows, columns: read } of inWindows(trace.events, (range) =>
    store.readQueryWhole('attribution.frees', { ...id, ...range, free }, FREE_SPEC),
  )) {
    for (let i = 0; i < rows; i += 1) {
      const made = read.alloc_seq[i]!;
      if (made >= 0) freedSeq[rowOfSeq[made]!] = read.seq[i]!;
    }
  }
  if (starts > 0)
    for (const { seq, addr } of await store.all('attribution.older_frees', { ...id, free })) {
      const row = startAt.get(Number(addr));
      // Only the first free at an address is of the block that stood there at the start.
      if (row !== undefined && freedSeq[row] === NEVER) freedSeq[row] = seq;
    }
  const { allocs } = facts;
  for (let i = 0; i < allocs.count; i += 1) {
    const row = rowOfSeq[allocs.seq[i]!]!;
    columns.bytes[row] = columns.bytes[row]! + allocs.excessBytes[i]!;
    columns.pool[row] = allocs.pool[i]!;
    if (columns.stackId[row]! < 0 && allocs.stackId[i]! >= 0) columns.stackId[row] = allocs.stackId[i]!;
  }
  return { count, starts, events: trace.events, rowOfSeq, ...columns.cut(count) };
}

interface SeqRange {
  readonly from_seq: number;
  readonly to_seq: number;
}

/** The rows of `read` for all entries, a window at a time, while DuckDB reads the next. */
async function* inWindows<Batch>(events: number, read: (range: SeqRange) => Promise<Batch>): AsyncGenerator<Batch> {
  const ask = (from: number): Promise<Batch> => read({ from_seq: from, to_seq: from + WINDOW });
  let next = events > 0 ? ask(0) : undefined;
  for (let from = 0; next !== undefined; from += WINDOW) {
    const batch = await next;
    next = from + WINDOW < events ? ask(from + WINDOW) : undefined;
    // Awaited in the next round; a failure of the caller's work must not leave it unhandled.
    next?.catch(() => undefined);
    yield batch;
  }
}

class LifeColumns {
  readonly capacity: number;
  readonly allocSeq: Int32Array;
  readonly freedSeq: Int32Array;
  readonly bytes: Float64Array;
  readonly requested: Float64Array;
  readonly stackId: Int32Array;
  readonly stackIsOfFree: Uint8Array;
  readonly pool: Int32Array;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.allocSeq = new Int32Array(capacity);
    this.freedSeq = new Int32Array(capacity).fill(NEVER);
    this.bytes = new Float64Array(capacity);
    this.requested = new Float64Array(capacity);
    this.stackId = new Int32Array(capacity);
    this.stackIsOfFree = new Uint8Array(capacity);
    this.pool = new Int32Array(capacity);
  }

  grown(capacity: number): LifeColumns {
    const larger = new LifeColumns(capacity);
    larger.allocSeq.set(this.allocSeq);
    larger.freedSeq.set(this.freedSeq);
    larger.bytes.set(this.bytes);
    larger.requested.set(this.requested);
    larger.stackId.set(this.stackId);
    larger.stackIsOfFree.set(this.stackIsOfFree);
    larger.pool.set(this.pool);
    return larger;
  }

  cut(count: number) {
    return {
      allocSeq: this.allocSeq.subarray(0, count),
      freedSeq: this.freedSeq.subarray(0, count),
      bytes: this.bytes.subarray(0, count),
      requested: this.requested.subarray(0, count),
      stackId: this.stackId.subarray(0, count),
      stackIsOfFree: this.stackIsOfFree.subarray(0, count),
      pool: this.pool.subarray(0, count),
    };
  }
}
