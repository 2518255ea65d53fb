/** Lifetimes in the store against the walk that found them: the same state and the same totals after every entry. */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AllocatorSettings, readAllocConf, settingsFromSnapshot } from '../../src/allocator/settings.js';
import type { AllocatorState } from '../../src/allocator/walk/allocator-state.js';
import type { FinalState } from '../../src/allocator/walk/walk-input.js';
import { deriveOoms } from '../../src/ingest/derive/derive-ooms.js';
import { Traces } from '../../src/ingest/derive/derive-trace.js';
import { historyRow } from '../../src/ingest/derive/history-rows.js';
import { type DeviceLives, deriveLives } from '../../src/ingest/derive/trace-lives.js';
import { type ColumnBatch, ENUMS, LAYOUTS, type TableLayout } from '../../src/model/columns.js';
import { poolNumbers } from '../../src/model/pool-numbers.js';
import type { MempoolId } from '../../src/model/pool-words.js';
import type { TraceAction } from '../../src/model/vocabulary.js';
import type { Store } from '../../src/store/store.js';
import { eventRows, finalStateOf, type History, history, play as playHistory } from '../allocator/history.js';
import { dumpOf, play, SETTINGS_AND_STEPS, steps } from '../allocator/plays.js';
import { BackwardWalk, type WalkOptions } from '../allocator/walk/backward-walk.js';
import { ForwardWalk } from '../allocator/walk/forward-walk.js';
import { runs, SEED } from '../support/level.js';
import { withLibrary } from '../support/library-sql.js';
import { newStore } from '../support/new-store.js';
import { type EventRow, walkEvents } from '../support/snapshot-rows.js';
import { freeByClass, oversizeSlack, partsOf, powerRounding } from '../support/states/state-account.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { batchOf } from '../support/trace-entries.js';

/** One device of a snapshot; entries are numbered from 0. */
interface Sample {
  readonly final: FinalState;
  readonly entries: readonly EventRow[];
  readonly settings: AllocatorSettings;
  /** By number of the store. */
  readonly pools?: readonly MempoolId[];
  /** The pool of each entry, as the walk numbers them. */
  readonly poolOfEntry?: Int32Array | undefined;
}

/** Shrinking ends before vitest ends the test, which would leave the store in a transaction. */
const LIMITS = { seed: SEED, interruptAfterTimeLimit: runs(120_000, 400_000), markInterruptAsFailure: true };

const directory = temporaryDirectory();
let store: Store;
let snapshots = 0;
beforeAll(async () => {
  store = await newStore(join(directory, 'lives.duckdb'), { threads: 1 });
  const now = new Date(0);
  await store.insertRows('run', [{ run_id: 1, name: 'r', root_path: '/', created_at: now, touched_at: now }]);
});
afterAll(() => store.close());

/** As an allocator_settings dict of torch becomes rows. */
function exported(settings: AllocatorSettings): Map<string, string> {
  const { maxSplitBytes, roundupPower2Divisions, largeSegmentBytes, maxNonSplitRoundingBytes } = settings;
  const mib = (bytes: number): number => bytes / 2 ** 20;
  const conf = [
    `large_segment_size_mb:${mib(largeSegmentBytes)}`,
    ...(Number.isFinite(maxNonSplitRoundingBytes)
      ? [`max_non_split_rounding_mb:${mib(maxNonSplitRoundingBytes)}`]
      : []),
  ].join(',');
  const known = new Map([
    ['PYTORCH_CUDA_ALLOC_CONF', conf],
    ['expandable_segments', settings.expandableSegments ? 'True' : 'False'],
    ['max_split_size', Number.isFinite(maxSplitBytes) ? String(maxSplitBytes) : '-1'],
    ['garbage_collection_threshold', String(settings.garbageCollectionThreshold)],
    ...roundupPower2Divisions.map((division, i) => [`roundup_power2_divisions.${2 ** i}`, String(division)] as const),
  ]);
  expect(settingsFromSnapshot(known)).toEqual(settings);
  return known;
}

/** Derives a sample into the store as a snapshot of its own. */
async function derive(sample: Sample): Promise<{ readonly snapshotId: number; readonly lives: DeviceLives }> {
  const { final, entries, pools = [], poolOfEntry } = sample;
  const snapshotId = ++snapshots;
  const numbers = poolNumbers(new Map(pools.entries()));
  const pooled = poolOfEntry?.map(numbers.fromWalk);
  const batch = batchOf(
    entries.map(({ action, address, bytes, stream = 0, stack = -1 }, i) => ({
      ...{
        action: ENUMS.trace_action.indexOf(action as TraceAction),
        address,
        sizeBytes: bytes ?? 0,
        stream,
        stackId: stack,
      },
      ...{ timeUs: 1000 * i, tail: [pooled?.[i] ?? -1, -1, -1] },
    })),
  );
  const traces = new Traces();
  traces.add(batch);
  const actions = new Map<TraceAction, number>();
  for (const { action } of entries) {
    const known = action as TraceAction;
    actions.set(known, (actions.get(known) ?? 0) + 1);
  }
  let lives: DeviceLives | undefined;
  await store.transaction(async () => {
    const putInto = async (layout: TableLayout) => {
      const appender = await store.appender(layout);
      return (batch: ColumnBatch) => {
        batch.i32('snapshot_id').fill(snapshotId);
        appender.append(batch);
      };
    };
    lives = deriveLives(
      {
        device: 0,
        traces,
        final: { ...final, segments: { ...final.segments, pool: final.segments.pool.map(numbers.fromWalk) } },
        settings: exported(sample.settings),
        pools: numbers,
        actions,
        annotations: [],
        beganEmpty: false,
      },
      {
        blockLives: await putInto(LAYOUTS.block_life),
        segmentLives: await putInto(LAYOUTS.segment_life),
        entries: await putInto(LAYOUTS.trace_entry),
        buckets: await putInto(LAYOUTS.derived_bucket),
      },
    );
    await store.insertRows('derived_history', [historyRow(snapshotId, lives)]);
  });
  return { snapshotId, lives: lives! };
}

interface Moment {
  readonly state: AllocatorState;
  readonly totals: readonly [allocated: number, active: number, reserved: number];
}

/** The walk there and back, with its state before the first entry and after each. */
function walked(sample: Sample, recorded: WalkOptions): { readonly moments: Moment[]; readonly back: BackwardWalk } {
  const { final, entries, settings, poolOfEntry } = sample;
  // Where all are of the default pool, ingest does without the column.
  const pool = poolOfEntry?.some((one) => one > 0) === true ? poolOfEntry : undefined;
  const events = { ...walkEvents(entries), pool };
  const back = new BackwardWalk(final, settings, recorded);
  back.undo(events);
  const walk = new ForwardWalk(back.finish(), settings, back.historyFacts(), recorded);
  const moment = (): Moment => ({
    state: walk.snapshot(),
    totals: [walk.allocatedBytes, walk.activeBytes, walk.reservedBytes],
  });
  const moments = [moment()];
  for (let row = 0; row < events.count; row += 1) {
    walk.apply(events, row, row + 1);
    moments.push(moment());
  }
  return { moments, back };
}

const wide = (value: unknown): number | null => (value === null ? null : Number(value));
const orNull = (value: number | null): number | null => (value === null || Number.isNaN(value) ? null : value);
const known = (value: number): number | null => (value < 0 ? null : value);

/** Blocks of the walk's state, as rows of `live_at`. */
function blocksOf({ segments, blocks }: AllocatorState, storedPool: (pool: number) => number | null) {
  return Array.from({ length: blocks.count }, (_, i) => ({
    address: blocks.address[i],
    requested_bytes: known(blocks.requestedBytes[i]!),
    actual_bytes: blocks.sizeBytes[i],
    least_bytes: blocks.minBytes[i],
    most_bytes: blocks.maxBytes[i],
    state: blocks.state[i] === 1 ? 'active_pending_free' : 'active_allocated',
    alloc_seq: known(blocks.allocSeq[i]!),
    stream: orNull(segments.stream[blocks.segment[i]!]!),
    pool: storedPool(segments.pool[blocks.segment[i]!]!),
    stack_id: known(blocks.stackId[i]!),
    stack_origin: ENUMS.stack_origin[blocks.stackOrigin[i]!],
  }));
}

function segmentsOf({ segments }: AllocatorState, storedPool: (pool: number) => number | null) {
  return Array.from({ length: segments.count }, (_, i) => ({
    address: segments.address[i],
    total_bytes: segments.totalBytes[i],
    stream: orNull(segments.stream[i]!),
    segment_type: ENUMS.segment_type[segments.small[i] === 1 ? 0 : 1],
    pool: storedPool(segments.pool[i]!),
    is_expandable: segments.expandable[i],
    is_inferred: segments.inferred[i],
  }));
}

/** Rows of a macro after each entry, in order of address; index 0 is before the first. */
async function atEachEntry(macro: 'live_at' | 'segments_at', snapshotId: number, entries: number) {
  const rows = await store.select(
    withLibrary(
      `SELECT moment.seq AS after_seq, life.* FROM (SELECT unnest(range(-1, $entries))::INTEGER AS seq) AS moment,
       LATERAL ${macro}(${snapshotId}, 0, moment.seq) AS life ORDER BY after_seq, life.address`,
    ),
    { entries },
  );
  const of = Array.from({ length: entries + 1 }, (): Record<string, unknown>[] => []);
  for (const { after_seq, address, stream, ...row } of rows) {
    const numbers = Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? wide(value) : value]);
    of[Number(after_seq) + 1]!.push({ ...Object.fromEntries(numbers), address: wide(address), stream: wide(stream) });
  }
  return of;
}

/** What `totals_between` is holds after each entry of `from` to `until`. */
async function totalsBetween(snapshotId: number, from: number, until: number): Promise<(readonly number[])[]> {
  const rows = await store.select(
    withLibrary(
      `SELECT * FROM totals_between(${snapshotId}, 0, $from::INTEGER, $until::INTEGER) AS total ORDER BY seq`,
    ),
    { from, until },
  );
  expect(rows[0]?.['seq']).toBe(from);
  const totals: (readonly number[])[] = [];
  for (const row of rows) {
    const held = totals.at(-1);
    while (totals.length < Number(row['seq']) - from) totals.push(held!);
    totals.push([row['allocated_bytes'], row['active_bytes'], row['reserved_bytes']].map(Number));
  }
  while (totals.length <= until - from) totals.push(totals.at(-1)!);
  return totals;
}

/** Figures of ranges of the trace against the totals entry by entry; index 0 is before the first. */
async function expectSameRanges(snapshotId: number, totals: Moment['totals'][], pick: number): Promise<void> {
  const id = { snapshot_id: snapshotId, device: 0 };
  const entries = totals.length - 1;
  const first = pick % entries;
  const width = 1 + (Math.floor(pick / entries) % 9);
  const ranges: [number, number][] = [];
  for (let from = first; from < entries; from += 2 * width) ranges.push([from, Math.min(from + width, entries) - 1]);
  const figures = await store.all('state.range_totals', {
    ...id,
    firsts: ranges.map(([from]) => from).join(','),
    lasts: ranges.map(([, to]) => to).join(','),
  });
  expect(figures.map((row) => Object.values(row).map(Number))).toEqual(
    ranges.map(([from, to], nth) => {
      const active = totals.slice(from + 1, to + 2).map((moment) => moment[1]);
      const peak = Math.max(...active);
      return [nth, peak, from + active.indexOf(peak), active.at(-1)];
    }),
  );
  const size = 2 ** (pick % 4);
  const cuts = ranges.map(([, to]) => to);
  const zoomed = await store.all('timeline.zoomed_rows', {
    ...id,
    first_seq: first,
    last_seq: entries - 1,
    entries: size,
    cuts: cuts.join(','),
  });
  const ends = Array.from({ length: entries - first }, (_, i) => first + i).filter(
    (seq) => (seq + 1) % size === 0 || cuts.includes(seq) || seq === entries - 1,
  );
  expect(zoomed.map((row) => row.last_seq)).toEqual(ends);
  zoomed.forEach((row, i) => {
    const from = i === 0 ? first : ends[i - 1]! + 1;
    const course = totals.slice(i === 0 ? from : from + 1, row.last_seq + 2);
    const [allocated, active, reserved] = [0, 1, 2].map((which) => course.map((moment) => moment[which]!));
    expect(row).toMatchObject({
      first_seq: from,
      bucket: i,
      allocated_min_bytes: Math.min(...allocated!),
      allocated_max_bytes: Math.max(...allocated!),
      active_min_bytes: Math.min(...active!),
      active_max_bytes: Math.max(...active!),
      reserved_min_bytes: Math.min(...reserved!),
      reserved_max_bytes: Math.max(...reserved!),
    });
  });
}

/** An OOM after any entry, and the account of that moment, against the columns of the walk's state. */
async function expectSameAccount(
  { settings, pools = [] }: Sample,
  snapshotId: number,
  moments: readonly Moment[],
  pick: number,
): Promise<void> {
  const seq = pick % moments.length;
  const { state, totals } = moments[seq]!;
  const request = { bytes: 512 * (1 + (pick % 300_000)), stream: pick % 3 === 0 ? null : 0 };
  const id = { snapshot_id: snapshotId, device: 0 };
  const about = { source_id: 1, run_id: 1, handle: '', protocol: 4, form: 'dict', has_traces: true, last_is_oom: true };
  await store.insertRows('snapshot', [{ snapshot_id: snapshotId, ...about }]);
  await store.insertRows('trace_oom', [{ ...id, seq, requested_bytes: request.bytes }]);
  // In place of the entry that is there.
  await store.run('UPDATE block_life SET entries = 0 WHERE snapshot_id = $snapshotId', { snapshotId });
  await store.run('DELETE FROM trace_entry WHERE snapshot_id = $snapshotId', { snapshotId });
  await store.insertRows('trace_entry', [
    { ...id, seq, action: 'oom', size_bytes: request.bytes, stream: request.stream },
  ]);
  await store.insertRows(
    'snapshot_pool',
    pools.map(([a, b], pool) => ({ snapshot_id: snapshotId, pool, pool_id_a: a, pool_id_b: b })),
  );
  await deriveOoms(store, snapshotId);
  const sql = (name: string) => `SELECT part, sum(bytes) AS bytes FROM ${name} GROUP BY part`;
  const partsIn = async (name: string) =>
    new Map((await store.select(withLibrary(sql(name)))).map(({ part, bytes }) => [String(part), Number(bytes)]));
  expect(await partsIn(`account_at(${snapshotId}, 0, ${seq - 1})`)).toEqual(partsOf(state, settings, null));
  const rows = await store.all('verdict.oom_free', { run_id: 1 });
  const asked = rows.filter((row) => row.snapshot_id === snapshotId);
  const free = freeByClass(state, request);
  expect(new Map(asked.map((row) => [row.class, [row.bytes, row.pinned_segments, row.pinning_bytes]]))).toEqual(
    new Map([...free].map(([name, { bytes, pinned, pinning }]) => [name, [bytes, pinned.size, pinning]])),
  );
  const [sums] = await store.select(
    `SELECT allocated_bytes, allocated_bytes + pending_bytes AS active, reserved_bytes,
       (SELECT coalesce(max(oversize_slack_bytes), 0) FROM oom_rounding WHERE snapshot_id = $snapshotId) AS slack,
       (SELECT max(power2_rounding_bytes) FROM oom_rounding WHERE snapshot_id = $snapshotId) AS power2,
       (SELECT coalesce(sum(bytes), 0) FROM oom_hole WHERE snapshot_id = $snapshotId) AS free
     FROM oom_state WHERE snapshot_id = $snapshotId`,
    { snapshotId },
  );
  expect(Object.values(sums!).map(wide)).toEqual([
    ...totals,
    oversizeSlack(state, settings),
    powerRounding(state, settings),
    totals[2] - totals[1],
  ]);
}

/** Lifetimes and what they do not restore are the trace again. */
async function expectSameEntries({ entries, pools = [], poolOfEntry }: Sample, snapshotId: number): Promise<void> {
  const { fromWalk } = poolNumbers(new Map(pools.entries()));
  const rows = await store.select(
    withLibrary('SELECT * EXCLUDE (snapshot_id, device) FROM event WHERE snapshot_id = $snapshotId ORDER BY seq'),
    { snapshotId },
  );
  expect(rows.map((row) => ({ ...row, addr: wide(row['addr']), size_bytes: wide(row['size_bytes']) }))).toMatchObject(
    entries.map(({ action, address, bytes, stack = -1 }, seq) => ({
      ...{ seq, action, addr: address, size_bytes: bytes ?? 0, stack_id: stack < 0 ? null : stack },
      ...{ pool: poolOfEntry === undefined ? null : known(fromWalk(poolOfEntry[seq]!)), compile_context_id: null },
    })),
  );
  expect(rows.map((row) => [wide(row['time_us']), wide(row['stream'])])).toEqual(
    entries.map(({ stream = 0 }, seq) => [1000 * seq, orNull(stream)]),
  );
}

async function expectSameCourse(sample: Sample, pick: number): Promise<DeviceLives> {
  const { entries, pools = [], poolOfEntry } = sample;
  const { snapshotId, lives } = await derive(sample);
  const { moments, back } = walked(sample, {
    freeRequestedRecorded: lives.requestsRecorded,
    freeCompletedRecorded: lives.completionsRecorded,
  });
  const { fromWalk } = poolNumbers(new Map(pools.entries()));
  const storedPool = (pool: number): number | null => known(fromWalk(pool));
  await expectSameEntries(sample, snapshotId);
  const live = await atEachEntry('live_at', snapshotId, entries.length);
  const extents = await atEachEntry('segments_at', snapshotId, entries.length);
  const numberOf = new Map<string, { readonly from: number; readonly address: number; readonly block: number }>();
  moments.forEach(({ state }, i) => {
    const rows = live[i]!.map(({ block, alloc_us, free_us: _, label: __, ...row }) => {
      // A block keeps its number as long as it lives.
      const seq = row['alloc_seq'];
      const life = { from: seq === null ? -1 : Number(seq), address: Number(row['address']), block: Number(block) };
      const key = `${life.from} ${life.address}`;
      expect(numberOf.get(key)?.block ?? block).toBe(block);
      numberOf.set(key, life);
      expect(alloc_us).toBe(seq === null ? null : 1000 * life.from);
      return row;
    });
    expect(rows, `blocks after entry ${i - 1}`).toEqual(
      // Where the segment is a guess of the walk, an allocation's own facts are better.
      blocksOf(state, storedPool).map((block, row) => ({
        ...block,
        stream: block.alloc_seq === null ? block.stream : rows[row]!['stream'],
        pool: block.alloc_seq === null ? block.pool : rows[row]!['pool'],
      })),
    );
    expect(extents[i], `segments after entry ${i - 1}`).toEqual(
      // Where an extent touched a known one earlier, the walk back comes to that later: the walk forward starts with
      // it. What is stored without it is a guess, and must be the right one.
      segmentsOf(state, storedPool).map((segment, row) => ({
        ...segment,
        is_inferred: Math.max(segment.is_inferred!, Number(extents[i]![row]?.['is_inferred'])),
      })),
    );
  });
  // From before the first entry by address, then the allocations in order.
  const inOrder = [...numberOf.values()]
    .sort((a, b) => a.from - b.from || a.address - b.address)
    .map(({ block }) => block);
  expect(inOrder.every((block, i) => i === 0 || block > inOrder[i - 1]!)).toBe(true);
  const last = entries.length - 1;
  const totals = moments.map((moment) => moment.totals);
  expect(await totalsBetween(snapshotId, -1, last)).toEqual(totals);
  const from = -1 + (pick % totals.length);
  const until = from + (Math.floor(pick / totals.length) % (last - from + 1));
  expect(await totalsBetween(snapshotId, from, until)).toEqual(totals.slice(from + 1, until + 2));
  if (entries.length > 0) await expectSameRanges(snapshotId, totals, pick);
  await expectSameAccount(sample, snapshotId, moments, pick);
  expect(lives).toMatchObject({
    events: entries.length,
    peakActiveBytes: Math.max(...totals.map(([, active]) => active)),
    peakReservedBytes: Math.max(...totals.map(([, , reserved]) => reserved)),
    violations: back.violationCount,
    pooled: poolOfEntry?.some((pool) => pool > 0) ?? false,
    startsEmpty: back.empty,
  });
  const [most] = await store.select(
    'SELECT min(allocated_min_bytes), max(allocated_max_bytes), min(active_min_bytes), max(active_max_bytes), min(reserved_min_bytes), max(reserved_max_bytes) FROM derived_bucket WHERE snapshot_id = $snapshotId',
    { snapshotId },
  );
  if (entries.length > 0)
    expect(Object.values(most!).map(Number)).toEqual(
      [0, 1, 2].flatMap((which) => {
        const course = totals.map((moment) => moment[which]!);
        return [Math.min(...course), Math.max(...course)];
      }),
    );
  return lives;
}

/** What a ring of entries has left, `cut` entries lost. */
function cutTo(sample: Sample, cutPick: number): Sample {
  const cut = cutPick % (sample.entries.length + 1);
  return { ...sample, entries: sample.entries.slice(cut), poolOfEntry: sample.poolOfEntry?.slice(cut) };
}

function sampleOf(past: History): Sample {
  const { allocator, trace, settings } = playHistory(past, () => {});
  const pools: MempoolId[] = [[0, 0]];
  const numberOf = (id: MempoolId): number => {
    const at = pools.findIndex((pool) => pool[0] === id[0] && pool[1] === id[1]);
    return poolNumbers(new Map(pools.entries())).toWalk(at < 0 ? pools.push(id) - 1 : at);
  };
  const final = finalStateOf(allocator);
  allocator.snapshot().forEach(({ poolId }, i) => {
    final.segments.pool[i] = numberOf(poolId);
  });
  const writesPools = past.release === '2.12' || past.release === '2.13';
  const poolOfEntry = writesPools ? Int32Array.from(trace, ({ poolId }) => numberOf(poolId)) : undefined;
  return { final, entries: eventRows(trace), settings, pools, poolOfEntry };
}

describe('lifetimes in the store', () => {
  for (const [name, settings, list] of SETTINGS_AND_STEPS) {
    it(`give the walk's state and totals after every entry, wherever the trace is cut (${name})`, async () => {
      await fc.assert(
        fc.asyncProperty(list, fc.nat(), fc.nat(), async (chosen, cut, pick) => {
          const played = play(settings, chosen);
          await expectSameCourse(
            cutTo({ final: dumpOf(played.moments.at(-1)!), entries: played.events, settings }, cut),
            pick,
          );
        }),
        { numRuns: runs(6, 30), ...LIMITS },
      );
    });
  }

  it('do so for histories over all settings, streams, private pools and torch versions', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), fc.nat(), async (past, cut, pick) => {
        await expectSameCourse(cutTo(sampleOf(past), cut), pick);
      }),
      { numRuns: runs(25, 150), ...LIMITS },
    );
  });

  it('do so without free_requested and without free_completed entries', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.constantFrom('free_requested', 'free_completed'),
        fc.nat(),
        async (list, left, pick) => {
          const { settings } = readAllocConf('');
          const played = play(
            settings,
            list.filter((step) => step.kind !== 'defer'),
          );
          const entries = played.events.filter((event) => event.action !== left);
          const hasFrees = entries.some(({ action }) => action.startsWith('free_'));
          expect(
            await expectSameCourse({ final: dumpOf(played.moments.at(-1)!), entries, settings }, pick),
          ).toMatchObject({
            requestsRecorded: !hasFrees || left !== 'free_requested',
            completionsRecorded: !hasFrees || left !== 'free_completed',
          });
        },
      ),
      { numRuns: runs(6, 30), ...LIMITS },
    );
  });

  it('of a snapshot without a trace are those of its dump', async () => {
    const past = fc.sample(history, { numRuns: 1, seed: 3 })[0]!;
    await expectSameCourse({ ...sampleOf(past), entries: [], poolOfEntry: undefined }, 0);
  });
});
