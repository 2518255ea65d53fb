/** Sums and order of the entries of a trace, against an implementation that is too slow to be wrong. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeviceTrace, Traces } from '../../src/ingest/derive/derive-trace.js';
import { deriveLives } from '../../src/ingest/derive/trace-lives.js';
import { ColumnBatch, ENUMS, getI64, LAYOUTS, NULL_HIGH, putI64 } from '../../src/model/columns.js';
import { poolNumbers } from '../../src/model/pool-numbers.js';
import type { TraceAction } from '../../src/model/vocabulary.js';
import { SEED } from '../support/level.js';
import { finalState } from '../support/snapshot-rows.js';
import { batchOf } from '../support/trace-entries.js';

interface Event {
  readonly action: TraceAction;
  /** null: an entry without an address. */
  readonly addr: bigint | null;
  readonly size: number;
}

/** Feeds the events in batches of `batchRows`, one device after another. */
function derive(devices: readonly (readonly Event[])[], batchRows: number): Traces {
  const of = new Traces();
  const batch = new ColumnBatch(LAYOUTS.trace_entry, batchRows);
  const flush = (): void => {
    of.add(batch);
    batch.rows = 0;
  };
  devices.forEach((events, device) => {
    events.forEach((event, seq) => {
      const row = batch.rows++;
      batch.i32('device')[row] = device;
      batch.i32('seq')[row] = seq;
      batch.u8('action')[row] = ENUMS.trace_action.indexOf(event.action);
      const addr = batch.i64('addr');
      addr[row * 2] = event.addr === null ? 0 : Number(event.addr & 0xffffffffn);
      addr[row * 2 + 1] = event.addr === null ? NULL_HIGH : Number(event.addr >> 32n);
      putI64(batch.i64('size_bytes'), row, event.size);
      if (batch.rows === batch.capacity) flush();
    });
  });
  if (batch.rows > 0) flush();
  return of;
}

interface Naive extends DeviceTrace {
  readonly disorder: readonly number[];
}

function naive(device: number, events: readonly Event[]): Naive {
  const live = new Map<bigint, { owner: number | null; freeing: boolean }>();
  const disorder: number[] = [];
  const actions = new Map<TraceAction, number>();
  let [requested, peak, reserved, reservedPeak, unmatched] = [0, 0, 0, 0, 0];
  let peakSeq: number | null = null;
  events.forEach(({ action, addr, size }, seq) => {
    actions.set(action, (actions.get(action) ?? 0) + 1);
    const block = addr === null ? undefined : live.get(addr);
    if (action === 'alloc') {
      if (block !== undefined) disorder.push(seq);
      if (addr !== null) live.set(addr, { owner: seq, freeing: false });
      requested += size;
      if (requested > peak) [peak, peakSeq] = [requested, seq];
    } else if (action === 'free_requested') {
      if (block?.freeing === true) disorder.push(seq);
      if (addr !== null) live.set(addr, { owner: block?.owner ?? null, freeing: true });
    } else if (action === 'free_completed') {
      requested -= size;
      if ((block?.owner ?? null) === null) unmatched += size;
      if (addr !== null) live.delete(addr);
    } else if (action === 'segment_alloc' || action === 'segment_map') {
      reserved += size;
      reservedPeak = Math.max(reservedPeak, reserved);
    } else if (action === 'segment_free' || action === 'segment_unmap') reserved -= size;
  });
  return {
    device,
    disorder,
    events: events.length,
    actions,
    firstAction: events[0]!.action,
    lastAction: events.at(-1)!.action,
    unmatchedFreeBytes: unmatched,
    requestedDeltaBytes: requested,
    requestedDeltaPeakBytes: peak,
    requestedDeltaPeakSeq: peakSeq,
    reservedDeltaBytes: reserved,
    reservedDeltaPeakBytes: reservedPeak,
  };
}

function expectSame(devices: readonly (readonly Event[])[], batchRows: number): void {
  const of = derive(devices, batchRows);
  const expected = devices.flatMap((events, device) => (events.length === 0 ? [] : [naive(device, events)]));
  expect(of.devices()).toEqual(
    expected.map(({ disorder: _, ...device }) => ({
      ...device,
      actions: new Map(ENUMS.trace_action.filter((a) => device.actions.has(a)).map((a) => [a, device.actions.get(a)!])),
    })),
  );
  expect(of.notes().map(({ kind, device, seq, count }) => [kind, device, seq, count])).toEqual(
    expected
      .filter(({ disorder }) => disorder.length > 0)
      .map(({ device, disorder }) => ['invariant_alternation', device, disorder[0], disorder.length]),
  );
}

/** Few addresses, so that they are reused; some differ in one half only, some pass 2^53 and 2^63. */
const HALF = 1n << 32n;
const addresses = [0n, 512n, HALF, HALF + 512n, 0x7f0000000000n, 0x7f0000000200n, 1n << 54n, (1n << 63n) + 512n];
const event: fc.Arbitrary<Event> = fc.record({
  action: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<TraceAction>('alloc', 'free_requested', 'free_completed') },
    { weight: 1, arbitrary: fc.constantFrom<TraceAction>(...ENUMS.trace_action) },
  ),
  addr: fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...addresses) }, { weight: 1, arbitrary: fc.constant(null) }),
  size: fc.oneof(fc.nat(4096), fc.integer({ min: 0, max: 2 ** 40 })),
});

describe('derived columns of a trace', () => {
  it('equal the naive ones for any sequence of entries', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(event, { maxLength: 60 }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        expectSame,
      ),
      { numRuns: 300, seed: SEED },
    );
  });

  it('hold with more addresses than the table begins with', () => {
    const events: Event[] = [];
    const addr = (n: number): bigint => 0x7f0000000000n + BigInt(n) * 512n + (BigInt(n % 3) << 40n);
    for (let n = 0; n < 30_000; n++) events.push({ action: 'alloc', addr: addr(n), size: n });
    for (let n = 0; n < 30_000; n += 2) {
      events.push({ action: 'free_requested', addr: addr(n), size: n });
      events.push({ action: 'free_completed', addr: addr(n), size: n });
    }
    for (let n = 0; n < 30_000; n += 4) events.push({ action: 'alloc', addr: addr(n), size: 1 });
    expectSame([events], 4096);
  });

  it('have every entry as it was, with more addresses, sizes and stacks than 16 bits can number', () => {
    const count = 70_000;
    const entries = Array.from({ length: count }, (_, n) => ({
      ...{
        action: ENUMS.trace_action.indexOf('alloc'),
        address: 0x7f0000000000 + n * 512,
        sizeBytes: n + 1,
        stream: 0,
      },
      ...{ timeUs: n, stackId: n % 7 === 0 ? -1 : n, tail: [-1, -1, -1] as const },
    }));
    const traces = new Traces();
    for (const half of [entries.slice(0, count / 2), entries.slice(count / 2)]) traces.add(batchOf(half));
    const seen: number[][] = [];
    // Without a block of the dump none of them begins a lifetime.
    deriveLives(
      {
        ...{ device: 0, traces, final: finalState({ segments: [], blocks: [] }), settings: new Map() },
        ...{ pools: poolNumbers(new Map()), actions: new Map([['alloc', count]]), annotations: [], beganEmpty: true },
      },
      {
        ...{ blockLives: () => {}, segmentLives: () => {}, buckets: () => {} },
        entries(batch) {
          const { seq, addr, size_bytes, stack_id } = batch.columns(LAYOUTS.trace_entry);
          for (let row = 0; row < batch.rows; row += 1)
            seen.push([seq[row]!, getI64(addr, row), getI64(size_bytes, row), stack_id[row]!]);
        },
      },
    );
    expect(seen).toEqual(entries.map(({ address, sizeBytes, stackId }, seq) => [seq, address, sizeBytes, stackId]));
  });

  /** `action address size`, one a word. */
  const eventsOf = (text: string): Event[] =>
    text.split(' ').map((word) => {
      const [action, addr = '', size] = word.split(':');
      return { action: action as TraceAction, addr: BigInt(addr), size: Number(size) };
    });

  it('count from 0 and go below it where memory of before the trace is freed', () => {
    const freed =
      'free_requested:512:100 free_completed:512:100 alloc:512:30 segment_free:0:2048 free_completed:512:30';
    const of = derive([eventsOf(freed)], 2);
    expect(of.devices()[0]).toMatchObject({
      ...{
        unmatchedFreeBytes: 100,
        requestedDeltaBytes: -100,
        requestedDeltaPeakBytes: 0,
        requestedDeltaPeakSeq: null,
      },
      ...{ reservedDeltaBytes: -2048, reservedDeltaPeakBytes: 0 },
    });
    expect(of.notes()).toEqual([]);
  });

  it('report an address that is allocated twice', () => {
    const of = derive([eventsOf('alloc:512:1 alloc:512:1 free_requested:512:1 free_requested:512:1')], 10);
    expect(of.notes()).toMatchObject([{ kind: 'invariant_alternation', device: 0, seq: 1, count: 2 }]);
  });
});
