/** Histories in the store: what is kept is what was derived, every view of a moment agrees, and SQL sees the same. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { stateTotals } from '../../../src/allocator/walk/allocator-state.js';
import { deviceHistory } from '../../../src/derive/trace/device-history.js';
import { peakBetween, stateAt } from '../../../src/derive/trace/state-at.js';
import { blockLabels } from '../../../src/findings/run/names/block-labels.js';
import { describePeaks } from '../../../src/findings/state/live/peaks.js';
import { ingest } from '../../../src/ingest/ingest.js';
import { ENUMS } from '../../../src/model/columns.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { type History, history, play } from '../../allocator/history.js';
import { plainState } from '../../allocator/plain-state.js';
import { scratchDirectory } from '../../store/scratch.js';
import { SNAPSHOTS, skipLoudly } from '../../support/corpus.js';
import { type HistoryForm, historyPickle } from '../../support/history-pickle.js';
import { runs, SEED, sampled } from '../../support/level.js';
import { withLibrary } from '../../support/library-sql.js';
import { ingested, newStore } from '../../support/new-store.js';
import { validSnapshots } from '../../support/stores.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** Ingests one pickle into a store of its own; `use` gets it open for writing, then for reading. */
async function withSnapshot(bytes: Buffer, use: (store: Store) => Promise<void>): Promise<void> {
  const file = join(scratchDirectory(), 'snapshot_0.pickle');
  writeFileSync(file, bytes);
  await withFile(file, use);
}

async function withFile(file: string, use: (store: Store) => Promise<void>): Promise<void> {
  const db = join(scratchDirectory(), 'store.duckdb');
  for (const mode of ['write', 'read'] as const) {
    const store = await (mode === 'write' ? newStore(db, { threads: 1 }) : openStore(db, { mode, threads: 1 }));
    try {
      if (mode === 'write') await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [file], now: new Date() });
      await use(store);
    } finally {
      await store.close();
    }
  }
}

const played = (past: History) => play(past, () => {});
const pickleOf = (past: History, form: HistoryForm = {}): Buffer => historyPickle(played(past), past.conf, form);

async function expectSameViews(store: Store, device: number, seqs: readonly number[]): Promise<void> {
  const derived = await deviceHistory(store, 1, device);
  const { trace } = derived;
  for (const pick of seqs) {
    const seq = trace.events === 0 ? -1 : (pick % (trace.events + 1)) - 1;
    const { state } = await stateAt(store, 1, device, seq < 0 ? { kind: 'start' } : { kind: 'seq', seq });
    const { blocks } = state;
    const rows = await store.select(
      withLibrary(
        'SELECT address, actual_bytes, least_bytes, most_bytes, requested_bytes, alloc_seq FROM live_at(1, $device, $seq) AS life ORDER BY address',
      ),
      { device, seq },
    );
    const column = (name: string): number[] => rows.map((row) => Number(row[name] ?? -1));
    const { address, sizeBytes, minBytes, maxBytes, requestedBytes, allocSeq } = blocks;
    const walked = { address, actual_bytes: sizeBytes, least_bytes: minBytes, most_bytes: maxBytes };
    for (const [name, values] of Object.entries({ ...walked, requested_bytes: requestedBytes, alloc_seq: allocSeq }))
      expect([name, column(name)]).toEqual([name, [...values]]);
    const lives = await store.select(
      withLibrary(
        `SELECT block FROM allocation WHERE snapshot_id = 1 AND device = $device AND coalesce(alloc_seq, -1) <= $seq
           AND coalesce(free_completed_seq, CASE WHEN $requestsEnd THEN free_requested_seq END, 2147483647) > $seq
         ORDER BY address`,
      ),
      { device, seq, requestsEnd: !derived.freeCompletedRecorded },
    );
    expect(lives.map((row) => Number(row['block']))).toEqual([...blocks.block!]);
    const { firstBlock } = state.segments;
    expect(firstBlock.at(-1)).toBe(blocks.count);
  }
  // One peak, whoever is asked.
  const peak = await stateAt(store, 1, device, { kind: 'peak' });
  expect(stateTotals(peak.state).activeBytes).toBe(derived.peak.bytes);
  expect(peak.seq).toBe(derived.peak.seq);
  const { snapshots } = await describePeaks(store, { runId: 1 }, { sites: 0, stacks: 0 });
  const shown = snapshots[0]!.devices.find((one) => one.device === device)!;
  expect(shown.active_bytes).toBe(derived.peak.bytes);
  expect(shown.sites.reduce((sum, site) => sum + site.bytes, 0)).toBe(derived.peak.bytes);
  if (trace.events === 0) return;
  const [buckets] = await store.select(
    'SELECT max(active_max_bytes) AS active, max(reserved_max_bytes) AS reserved FROM derived_bucket WHERE device = $device',
    { device },
  );
  expect(Number(buckets!['active'])).toBe(derived.peak.bytes);
  expect(Number(buckets!['reserved'])).toBe(derived.peakReserved.bytes);
  if (derived.peak.seq !== null) expect(await peakBetween(store, derived, 0, trace.events - 1)).toBe(derived.peak.seq);
}

describe('a history', () => {
  it('is the same for SQL, the walk, the peak and the timeline, when it is derived and when it is read back', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.nat({ max: 60 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
        fc.constantFrom('2.6' as const, '2.12' as const),
        async (past, cut, picks, torch) => {
          const states: unknown[] = [];
          const maxEntries = Math.max(1, played(past).trace.length - cut);
          await withSnapshot(pickleOf(past, { maxEntries, torch }), async (store) => {
            if ((await store.all('snapshot.devices', { snapshot_id: 1 })).length === 0) return;
            await expectSameViews(store, 0, picks);
            const { trace } = await deviceHistory(store, 1, 0);
            const middle = Math.floor(trace.events / 2) - 1;
            const moment = middle < 0 ? ({ kind: 'start' } as const) : ({ kind: 'seq', seq: middle } as const);
            states.push(plainState((await stateAt(store, 1, 0, moment)).state));
            const [row] = await store.select('SELECT holds FROM derived_history');
            expect(row).toEqual({ holds: true });
          });
          expect(states[1]).toEqual(states[0]);
        },
      ),
      { numRuns: runs(4, 20), seed: SEED },
    );
  });

  it('has the states that the allocator had', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (past) => {
        const had: { seq: number; blocks: unknown; reserved: number }[] = [];
        const recorded = play(past, ({ allocator, trace }) => {
          const segments = allocator.snapshot();
          const active = segments.flatMap(({ blocks }) => blocks.filter(({ state }) => state !== 'inactive'));
          had.push({
            seq: trace.length - 1,
            blocks: active.map((block) => [block.addr, block.sizeBytes, block.requestedBytes, block.state]),
            reserved: allocator.statistics.reservedBytes.current,
          });
        });
        await withSnapshot(historyPickle(recorded, past.conf), async (store) => {
          if (recorded.trace.length === 0) return;
          for (const { seq, ...expected } of had) {
            const { state } = await stateAt(store, 1, 0, seq < 0 ? { kind: 'start' } : { kind: 'seq', seq });
            const { address, sizeBytes, requestedBytes, state: codes, count } = state.blocks;
            const blocks = Array.from({ length: count }, (_, i) => [
              address[i],
              sizeBytes[i],
              requestedBytes[i],
              ENUMS.block_state[codes[i]!],
            ]);
            expect({ blocks, reserved: stateTotals(state).reservedBytes }).toEqual(expected);
          }
        });
      }),
      { numRuns: runs(4, 20), seed: SEED },
    );
  });

  it('keeps the final state wherever the ring was cut, and reports that something is missing', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), fc.boolean(), async (past, pick, flagged) => {
        const { trace, allocator } = played(past);
        if (trace.length < 2) return;
        const maxEntries = 1 + (pick % (trace.length - 1));
        await withSnapshot(pickleOf(past, { maxEntries, ...(flagged ? { overflowed: true } : {}) }), async (store) => {
          const derived = await deviceHistory(store, 1, 0);
          const end = await stateAt(store, 1, 0, { kind: 'end' });
          const totals = stateTotals(end.state);
          for (const name of ['reservedBytes', 'activeBytes', 'allocatedBytes'] as const)
            expect([name, totals[name]]).toEqual([name, allocator.statistics[name].current]);
          expect(derived.holds).toBe(true);
          const notes = await store.select("SELECT kind FROM ingest_note WHERE kind = 'ring_truncated'");
          expect(notes).toHaveLength(flagged ? 1 : 0);
          // Without torch's own flag a cut shows only in what was live at it.
          const { segments, blocks } = (await stateAt(store, 1, 0, { kind: 'start' })).state;
          if (derived.startsEmpty) expect(segments.count + blocks.count).toBe(0);
          else expect(segments.count).toBeGreaterThan(0);
        });
      }),
      { numRuns: runs(4, 20), seed: SEED },
    );
  });

  it('names blocks as memory_viz does', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (past) => {
        await withSnapshot(pickleOf(past), async (store) => {
          const versions = new Map<number, number>();
          const expected: string[] = [];
          for (const { action, addr } of played(past).trace) {
            if (addr === null) continue;
            const version = versions.get(addr) ?? 0;
            if (action === 'alloc') expected.push(`b${addr.toString(16)}_${version}`);
            if (action === 'free_completed') versions.set(addr, version + 1);
          }
          const rows = await store.select(withLibrary('SELECT address, alloc_seq FROM allocation ORDER BY alloc_seq'));
          const blocks = rows.map((row) => ({ address: Number(row['address']), allocSeq: Number(row['alloc_seq']) }));
          expect(await blockLabels(store, 1, blocks)).toEqual(expected);
        });
      }),
      { numRuns: runs(4, 20), seed: SEED },
    );
  });

  it('goes with its source', async () => {
    const past = fc.sample(history, { numRuns: 1, seed: 5 })[0]!;
    const directory = scratchDirectory();
    const file = join(directory, 'snapshot_0.pickle');
    const store = await newStore(join(directory, 'store.duckdb'));
    try {
      for (const steps of [past.steps, past.steps.slice(0, 6)]) {
        writeFileSync(file, pickleOf({ ...past, steps }));
        await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [file], now: new Date() });
      }
      const [{ snapshot_id } = { snapshot_id: null }] = await store.all('snapshot.list', {
        run_id: null,
        handle: null,
      });
      for (const table of ['derived_history', 'derived_bucket', 'block_life', 'segment_life'])
        expect(await store.select(`SELECT DISTINCT snapshot_id FROM ${table}`)).toEqual([{ snapshot_id }]);
    } finally {
      await store.close();
    }
  });
});

describe('moments', () => {
  const directory = temporaryDirectory();
  let store: Store;
  const past = fc.sample(history, { numRuns: 1, seed: 11 })[0]!;
  const { trace } = played(past);
  beforeAll(async () => {
    const file = join(directory, 'snapshot_0.pickle');
    writeFileSync(file, pickleOf(past));
    ({ store } = await ingested(join(directory, 's.duckdb'), [file]));
  });
  afterAll(() => store.close());

  it('end is the last entry, start is before the first', async () => {
    expect((await stateAt(store, 1, 0, { kind: 'end' })).seq).toBe(trace.length - 1);
    const start = await stateAt(store, 1, 0, { kind: 'start' });
    expect([start.seq, start.state.blocks.count]).toEqual([null, 0]);
  });

  it('a time means the last entry at or before it', async () => {
    const at = 1_700_000_000_000_000;
    expect(await stateAt(store, 1, 0, { kind: 'time', timeUs: at + 34 })).toMatchObject({ seq: 3, timeUs: at + 30 });
    expect((await stateAt(store, 1, 0, { kind: 'time', timeUs: at + 10 ** 9 })).seq).toBe(trace.length - 1);
    await expect(stateAt(store, 1, 0, { kind: 'time', timeUs: at - 1 })).rejects.toMatchObject({ code: 'MBF1002' });
  });

  it('that do not exist are refused with the reason', async () => {
    await expect(stateAt(store, 1, 0, { kind: 'seq', seq: trace.length })).rejects.toThrow(
      `its last entry is ${trace.length - 1}`,
    );
    if (!trace.some((entry) => entry.action === 'oom'))
      await expect(stateAt(store, 1, 0, { kind: 'oom' })).rejects.toThrow('no entry of it is an OOM');
    await expect(stateAt(store, 1, 0, { kind: 'step', step: 1 })).rejects.toMatchObject({ code: 'MBF1002' });
  });
});

describe('histories of the corpus', () => {
  const files = validSnapshots();
  if (files.length === 0) {
    skipLoudly('histories', 'the corpus (set MBF_CORPUS)');
    return;
  }
  it.each(sampled(files, 4))('%s: every view agrees', async (name) => {
    await withFile(join(SNAPSHOTS, name), async (store) => {
      for (const { device, invariants_hold } of await store.all('snapshot.devices', { snapshot_id: 1 })) {
        const { holds, trace } = await deviceHistory(store, 1, device);
        // Where the file breaks the allocator's own rules its rows cannot all agree.
        if (!holds || !invariants_hold) continue;
        await expectSameViews(store, device, [0, 7, Math.floor(trace.events / 3), trace.events]);
      }
    });
  });
});
