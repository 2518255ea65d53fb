/** Histories in the store: what is kept is what was derived, every view of a moment agrees, and SQL sees the same. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { stateTotals } from '../../../src/allocator/walk/allocator-state.js';
import { describePeaks } from '../../../src/findings/state/live/peaks.js';
import { deviceHistory } from '../../../src/findings/trace/device-history.js';
import { peakBetween, stateAt } from '../../../src/findings/trace/state-at.js';
import { ingest } from '../../../src/ingest/ingest.js';
import { HISTORY_RULES } from '../../../src/model/derived-tables.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { type History, history, play } from '../../allocator/history.js';
import { plainState } from '../../allocator/plain-state.js';
import { scratchDirectory } from '../../store/scratch.js';
import { SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../../support/corpus.js';
import { type HistoryForm, historyPickle } from '../../support/history-pickle.js';
import { newStore } from '../../support/new-store.js';
import { describeFull } from '../../support/runs.js';

/** Ingests one pickle into a store of its own; `use` gets it open for writing, then for reading. */
async function withSnapshot(bytes: Buffer, use: (store: Store) => Promise<void>): Promise<void> {
  const directory = scratchDirectory();
  const file = join(directory, 'snapshot_0.pickle');
  writeFileSync(file, bytes);
  await withFile(file, join(directory, 'store.duckdb'), use);
}

async function withFile(file: string, db: string, use: (store: Store) => Promise<void>): Promise<void> {
  for (const mode of ['write', 'read'] as const) {
    const store = await (mode === 'write' ? newStore(db, { threads: 1 }) : openStore(db, { mode, threads: 1 }));
    try {
      if (mode === 'write') await ingest({ store, parsers: PARSERS, paths: [file], now: new Date() });
      await use(store);
    } finally {
      await store.close();
    }
  }
}

function pickleOf(past: History, form: HistoryForm = {}): Buffer {
  return historyPickle(
    play(past, () => {}),
    past.conf,
    form,
  );
}

/** Live rows of the view at an entry, as the walk has them. */
async function liveRows(store: Store, device: number, seq: number) {
  return store.select(
    'SELECT address, actual_bytes, requested_bytes, alloc_seq, uncertain_bytes FROM live_at(1, $device, $seq) ORDER BY address',
    { device, seq },
  );
}

async function expectSameViews(store: Store, device: number, seqs: readonly number[]): Promise<void> {
  const derived = await deviceHistory(store, 1, device);
  const { trace, facts, start } = derived;
  for (const pick of seqs) {
    const seq = trace.events === 0 ? -1 : (pick % (trace.events + 1)) - 1;
    const { state } = await stateAt(store, 1, device, seq < 0 ? { kind: 'start' } : { kind: 'seq', seq });
    const rows = await liveRows(store, device, seq);
    expect(rows.map((row) => Number(row['address']))).toEqual([...state.blocks.address]);
    expect(rows.map((row) => Number(row['actual_bytes']))).toEqual([...state.blocks.sizeBytes]);
    expect(rows.map((row) => (row['requested_bytes'] === null ? -1 : Number(row['requested_bytes'])))).toEqual([
      ...state.blocks.requestedBytes,
    ]);
    expect(rows.map((row) => Number(row['alloc_seq'] ?? -1))).toEqual([...state.blocks.allocSeq]);
    const widths = Array.from(
      { length: state.blocks.count },
      (_, i) => state.blocks.maxBytes[i]! - state.blocks.minBytes[i]!,
    );
    expect(rows.map((row) => Number(row['uncertain_bytes']))).toEqual(widths);
  }
  // One peak, whoever is asked.
  const peak = await stateAt(store, 1, device, { kind: 'peak' });
  expect(stateTotals(peak.state).activeBytes).toBe(derived.peak.bytes);
  expect(peak.seq).toBe(derived.peak.seq);
  const shown = (await describePeaks(store, { runId: 1 }, { sites: 0, stacks: 0 })).snapshots[0]!.devices.find(
    (one) => one.device === device,
  )!;
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
  // What the store keeps gives the same walk.
  expect([start.blocks.count, facts.allocs.count, facts.growths.count]).toEqual([
    start.blocks.address.length,
    derived.facts.allocs.seq.subarray(0, facts.allocs.count).length,
    facts.growths.count,
  ]);
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
          await withSnapshot(
            pickleOf(past, { maxEntries: Math.max(1, play(past, () => {}).trace.length - cut), torch }),
            async (store) => {
              if ((await store.all('snapshot.devices', { snapshot_id: 1 })).length === 0) return;
              await expectSameViews(store, 0, picks);
              const { trace } = await deviceHistory(store, 1, 0);
              const middle = Math.floor(trace.events / 2) - 1;
              const { state } = await stateAt(
                store,
                1,
                0,
                middle < 0 ? { kind: 'start' } : { kind: 'seq', seq: middle },
              );
              states.push(plainState(state));
              const [row] = await store.select('SELECT ends_in_dump, holds, rules FROM derived_history');
              expect(row).toEqual({ ends_in_dump: true, holds: true, rules: HISTORY_RULES });
            },
          );
          expect(states[1]).toEqual(states[0]);
        },
      ),
      { numRuns: 8 },
    );
  });

  it('keeps the final state wherever the ring was cut, and reports that something is missing', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), fc.boolean(), async (past, pick, flagged) => {
        const played = play(past, () => {});
        if (played.trace.length < 2) return;
        const kept = 1 + (pick % (played.trace.length - 1));
        const form: HistoryForm = { maxEntries: kept, ...(flagged ? { overflowed: true } : {}) };
        await withSnapshot(historyPickle(played, past.conf, form), async (store) => {
          const derived = await deviceHistory(store, 1, 0);
          const end = await stateAt(store, 1, 0, { kind: 'end' });
          const totals = stateTotals(end.state);
          const { statistics } = played.allocator;
          expect(totals.reservedBytes).toBe(statistics.reservedBytes.current);
          expect(totals.activeBytes).toBe(statistics.activeBytes.current);
          expect(totals.allocatedBytes).toBe(statistics.allocatedBytes.current);
          expect(derived.holds).toBe(true);
          const notes = await store.select("SELECT kind FROM ingest_note WHERE kind = 'ring_truncated'");
          expect(notes).toHaveLength(flagged ? 1 : 0);
          // Without torch's own flag a cut shows only in what was live at it.
          if (derived.startsEmpty) expect(derived.start.segments.count + derived.start.blocks.count).toBe(0);
          else expect(derived.start.segments.count).toBeGreaterThan(0);
        });
      }),
      { numRuns: 8 },
    );
  });

  it('names blocks as memory_viz does', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (past) => {
        const played = play(past, () => {});
        await withSnapshot(historyPickle(played, past.conf), async (store) => {
          await deviceHistory(store, 1, 0);
          const versions = new Map<number, number>();
          const expected: string[] = [];
          for (const { action, addr } of played.trace) {
            if (addr === null) continue;
            const version = versions.get(addr) ?? 0;
            if (action === 'alloc') expected.push(`b${addr.toString(16)}_${version}`);
            if (action === 'free_completed') versions.set(addr, version + 1);
          }
          const rows = await store.select('SELECT label FROM allocation ORDER BY alloc_seq');
          expect(rows.map((row) => row['label'])).toEqual(expected);
        });
      }),
      { numRuns: 6 },
    );
  });

  it('of other rules is derived anew', async () => {
    const past = fc.sample(history, { numRuns: 1, seed: 4 })[0]!;
    const directory = scratchDirectory();
    const file = join(directory, 'snapshot_0.pickle');
    writeFileSync(file, pickleOf(past));
    const db = join(directory, 'store.duckdb');
    await withFile(file, db, async (store) => {
      if (store.mode === 'read') return;
      await deviceHistory(store, 1, 0);
      await store.run('UPDATE derived_history SET rules = 0, peak_active_bytes = 1');
    });
    const store = await openStore(db, { mode: 'write' });
    try {
      const { peak } = await deviceHistory(store, 1, 0);
      expect(peak.bytes).toBe(play(past, () => {}).allocator.statistics.activeBytes.peak);
      expect(await store.select('SELECT rules, count(*) AS n FROM derived_history GROUP BY ALL')).toEqual([
        { rules: HISTORY_RULES, n: 1 },
      ]);
    } finally {
      await store.close();
    }
  });

  it('goes with its source', async () => {
    const past = fc.sample(history, { numRuns: 1, seed: 5 })[0]!;
    const directory = scratchDirectory();
    const file = join(directory, 'snapshot_0.pickle');
    const store = await openStore(join(directory, 'store.duckdb'), { mode: 'write' });
    try {
      writeFileSync(file, pickleOf(past));
      await ingest({ store, parsers: PARSERS, paths: [file], now: new Date() });
      await deviceHistory(store, 1, 0);
      writeFileSync(file, pickleOf({ ...past, steps: past.steps.slice(0, 6) }));
      await ingest({ store, parsers: PARSERS, paths: [file], now: new Date() });
      for (const table of ['derived_history', 'derived_bucket', 'derived_growth'])
        expect(await store.select(`SELECT count(*) AS n FROM ${table}`)).toEqual([{ n: 0 }]);
    } finally {
      await store.close();
    }
  });
});

describe('moments', () => {
  let directory = '';
  let store: Store;
  const past = fc.sample(history, { numRuns: 1, seed: 11 })[0]!;
  const { trace } = play(past, () => {});
  beforeAll(async () => {
    const { mkdtempSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    directory = mkdtempSync(join(tmpdir(), 'mbf-moments-'));
    const file = join(directory, 'snapshot_0.pickle');
    writeFileSync(file, pickleOf(past));
    store = await newStore(join(directory, 's.duckdb'));
    await ingest({ store, parsers: PARSERS, paths: [file], now: new Date() });
  });
  afterAll(async () => {
    await store.close();
    const { rmSync } = await import('node:fs');
    rmSync(directory, { recursive: true, force: true });
  });

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

describeFull('histories of the corpus', () => {
  const files = snapshotPickles().filter((name) => truthOf(name).valid !== false);
  if (files.length === 0) {
    skipLoudly('histories', 'the corpus (set MBF_CORPUS)');
    return;
  }
  it.each(files)('%s: every view agrees', async (name) => {
    const db = join(scratchDirectory(), 'store.duckdb');
    await withFile(join(SNAPSHOTS, name), db, async (store) => {
      for (const { device, invariants_hold } of await store.all('snapshot.devices', { snapshot_id: 1 })) {
        const { holds, trace } = await deviceHistory(store, 1, device);
        // Where the file breaks the allocator's own rules its rows cannot all agree.
        if (!holds || !invariants_hold) continue;
        await expectSameViews(store, device, [0, 7, Math.floor(trace.events / 3), trace.events]);
      }
    });
  });
});
