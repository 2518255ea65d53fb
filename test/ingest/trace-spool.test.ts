/** A trace longer than what stays in memory reads back as it was added, in both directions. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SpooledEvents, TraceSpool } from '../../src/ingest/derive/trace-spool.js';
import { ColumnBatch, NULL_I32, putI64, putNullI64 } from '../../src/model/columns.js';
import { EVENT_LAYOUT } from '../../src/model/tables.js';
import { SEED } from '../support/level.js';

/** Memory holds eight chunks. */
const CHUNK = 16;

interface Entry {
  readonly action: number;
  readonly address: number | null;
  readonly sizeBytes: number;
  readonly stream: number | null;
  readonly timeUs: number | null;
  readonly stackId: number;
  /** Pool, compile context and user metadata; −1 = none. */
  readonly tail: readonly [number, number, number];
}

const NO_TAIL = [-1, -1, -1] as const;
const entry: fc.Arbitrary<Entry> = fc.record({
  action: fc.nat(8),
  address: fc.option(fc.nat(2 ** 50), { freq: 10 }),
  sizeBytes: fc.nat(2 ** 45),
  stream: fc.option(fc.integer({ min: -5, max: 5 }), { freq: 10 }),
  timeUs: fc.option(fc.integer({ min: -1e15, max: 2e15 }), { freq: 10 }),
  stackId: fc.integer({ min: -1, max: 1000 }),
  tail: fc.constant(NO_TAIL),
});
const orNone = (max: number) => fc.integer({ min: -1, max });
const tail = fc.tuple(orNone(3), orNone(9), orNone(9));

/** Long stretches without pools and texts, which the file leaves out, and some with. */
const trace = fc
  .array(fc.tuple(fc.array(entry, { maxLength: 70, size: 'max' }), fc.option(tail)), { maxLength: 12, size: 'max' })
  .map((parts) => parts.flatMap(([entries, of]) => entries.map((one) => (of === null ? one : { ...one, tail: of }))));

const orNaN = (value: number | null): number => value ?? Number.NaN;

function batchOf(entries: readonly Entry[]): ColumnBatch {
  const batch = new ColumnBatch(EVENT_LAYOUT, Math.max(1, entries.length));
  batch.rows = entries.length;
  const put = (name: string, row: number, value: number | null): void => {
    if (value === null) putNullI64(batch.i64(name), row);
    else putI64(batch.i64(name), row, value);
  };
  entries.forEach((one, row) => {
    batch.u8('action')[row] = one.action;
    put('addr', row, one.address);
    put('size_bytes', row, one.sizeBytes);
    put('stream', row, one.stream);
    put('time_us', row, one.timeUs);
    batch.i32('stack_id')[row] = one.stackId;
    const [pool, context, metadata] = one.tail;
    batch.i32('pool')[row] = pool;
    batch.i32('compile_context_id')[row] = context;
    batch.i32('user_metadata_id')[row] = metadata;
  });
  return batch;
}

const columnsOf = (entries: readonly Entry[]): Omit<SpooledEvents, 'count' | 'seq'> => ({
  action: Uint8Array.from(entries, (one) => one.action),
  address: Float64Array.from(entries, (one) => orNaN(one.address)),
  sizeBytes: Float64Array.from(entries, (one) => one.sizeBytes),
  stream: Float64Array.from(entries, (one) => orNaN(one.stream)),
  timeUs: Float64Array.from(entries, (one) => orNaN(one.timeUs)),
  stackId: Int32Array.from(entries, (one) => one.stackId),
  pool: Int32Array.from(entries, (one) => one.tail[0]),
  compileContext: Int32Array.from(entries, (one) => one.tail[1]),
  userMetadata: Int32Array.from(entries, (one) => one.tail[2]),
});

/** Copies: a window is valid during the call. */
function entriesOf(events: SpooledEvents): [number, Entry][] {
  const known = (value: number): number | null => (Number.isNaN(value) ? null : value);
  return Array.from({ length: events.count }, (_, i) => [
    events.seq[i]!,
    {
      action: events.action[i]!,
      address: known(events.address[i]!),
      sizeBytes: events.sizeBytes[i]!,
      stream: known(events.stream[i]!),
      timeUs: known(events.timeUs[i]!),
      stackId: events.stackId[i]!,
      tail: [events.pool[i]!, events.compileContext[i]!, events.userMetadata[i]!],
    },
  ]);
}

function readBack(spool: TraceSpool, direction: 'forward' | 'backward'): [number, Entry][] {
  const windows: [number, Entry][][] = [];
  spool[direction]((events) => windows.push(entriesOf(events)));
  return (direction === 'forward' ? windows : windows.reverse()).flat();
}

function expectWhole(spool: TraceSpool, entries: readonly Entry[]): void {
  const expected = entries.map((one, seq) => [seq, one]);
  for (const direction of ['backward', 'forward', 'backward'] as const)
    expect(readBack(spool, direction), direction).toEqual(expected);
  expect(spool.count).toBe(entries.length);
  const times = entries.flatMap(({ timeUs }) => timeUs ?? []);
  expect(spool.firstTimeUs).toBe(times.length === 0 ? null : Math.min(...times));
  const pools = new Set(entries.map((one) => one.tail[0]));
  pools.delete(NULL_I32);
  expect([...spool.poolsNamed].sort()).toEqual([...pools].sort());
}

describe('the spool of a trace', () => {
  it('gives back what was added in batches, from the file and from memory', () => {
    fc.assert(
      fc.property(trace, fc.array(fc.nat(200), { minLength: 1, maxLength: 5 }), (entries, sizes) => {
        const spool = new TraceSpool(CHUNK);
        try {
          for (let from = 0, i = 0; from < entries.length; i += 1) {
            const rows = 1 + sizes[i % sizes.length]!;
            const part = entries.slice(from, from + rows);
            if (i % 2 === 0) spool.add(batchOf(part), 0, part.length);
            else spool.push(columnsOf(part), part.length);
            from += rows;
          }
          expectWhole(spool, entries);
          expect(spool.isOnDisk).toBe(entries.length > 8 * CHUNK);
        } finally {
          spool.close();
        }
      }),
      { numRuns: 150, seed: SEED },
    );
  });

  it('takes the rows of one device from a batch', () => {
    const entries = fc.sample(entry, { numRuns: 300, seed: 1 });
    const spool = new TraceSpool(CHUNK);
    spool.add(batchOf(entries), 20, 50);
    spool.add(batchOf(entries), 130, 300);
    expectWhole(spool, [...entries.slice(20, 50), ...entries.slice(130, 300)]);
    spool.close();
  });

  it('goes on after it was read', () => {
    const entries = fc.sample(entry, { numRuns: 400, seed: 2 });
    const spool = new TraceSpool(CHUNK);
    spool.push(columnsOf(entries.slice(0, 250)), 250);
    expectWhole(spool, entries.slice(0, 250));
    spool.push(columnsOf(entries.slice(250)), 150);
    expectWhole(spool, entries);
    spool.close();
  });

  it('stays in memory up to eight chunks', () => {
    const entries = fc.sample(entry, { numRuns: 8 * CHUNK + 1, seed: 3 });
    const spool = new TraceSpool(CHUNK);
    spool.push(columnsOf(entries.slice(0, -1)), 8 * CHUNK);
    expect(spool.isOnDisk).toBe(false);
    spool.push(columnsOf(entries.slice(-1)), 1);
    expect(spool.isOnDisk).toBe(true);
    spool.close();
  });
});
