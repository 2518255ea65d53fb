/** A trace longer than what stays in memory reads back as it was added, in both directions. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SpooledEvents, TraceSpool } from '../../src/ingest/derive/trace-spool.js';
import { NULL_I32 } from '../../src/model/columns.js';
import { SEED } from '../support/level.js';
import { batchOf, type TraceEntry } from '../support/trace-entries.js';

/** Memory holds eight chunks. */
const CHUNK = 16;

const NO_TAIL = [-1, -1, -1] as const;
const entry: fc.Arbitrary<TraceEntry> = fc.record({
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

/** Copies: a window is valid during the call. */
function entriesOf(events: SpooledEvents): [number, TraceEntry][] {
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

function readBack(spool: TraceSpool, direction: 'forward' | 'backward'): [number, TraceEntry][] {
  const windows: [number, TraceEntry][][] = [];
  spool[direction]((events) => windows.push(entriesOf(events)));
  return (direction === 'forward' ? windows : windows.reverse()).flat();
}

function expectWhole(spool: TraceSpool, entries: readonly TraceEntry[]): void {
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
            spool.add(batchOf(part), 0, part.length);
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
    spool.add(batchOf(entries.slice(0, 250)), 0, 250);
    expectWhole(spool, entries.slice(0, 250));
    spool.add(batchOf(entries.slice(250)), 0, 150);
    expectWhole(spool, entries);
    spool.close();
  });

  it('stays in memory up to eight chunks', () => {
    const entries = fc.sample(entry, { numRuns: 8 * CHUNK + 1, seed: 3 });
    const spool = new TraceSpool(CHUNK);
    spool.add(batchOf(entries.slice(0, -1)), 0, 8 * CHUNK);
    expect(spool.isOnDisk).toBe(false);
    spool.add(batchOf(entries.slice(-1)), 0, 1);
    expect(spool.isOnDisk).toBe(true);
    spool.close();
  });
});
