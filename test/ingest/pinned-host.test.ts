/** Pinned memory of the host (torch 2.14, `record_pinned_host_memory=True`): rows, the view, and the screens. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { describeSnapshots } from '../../src/findings/state/describe-snapshots.js';
import { MIB } from '../../src/model/units.js';
import { snapshotDocument } from '../../src/report/moment/snapshot-document.js';
import { documentText } from '../../src/report/render/text.js';
import { wordDiagnosis } from '../../src/report/verdict/word-verdict.js';
import { type Bench, openBench } from '../robustness/harness.js';
import { bytesSource, decode } from '../support/decode.js';
import { diagnoseText } from '../support/screen.js';
import { type Dict, entry, frame, hostEntry, hostSegment, snapshot, trace } from '../support/small-snapshot.js';
import { spellJson } from '../support/spell-json.js';

const [A, B, C] = [0x7e00_0000_0000, 0x7e10_0000_0000, 0x7e20_0000_0000] as const;
const T0 = 1_700_000_000_000_000;
const LOADER = [frame('pin', 'loader.py', 12)];

const EVENTS = [
  ['segment_alloc', B, 16 * MIB, T0],
  ['alloc', B, 16 * MIB, T0 + 1],
  ['free_requested', B, 16 * MIB, T0 + 6000],
  ['free_completed', B, 16 * MIB, T0 + 6001],
  ['segment_alloc', C, 32 * MIB, T0 + 7000],
  ['alloc', C, 32 * MIB, T0 + 7001],
] as const;

/** A is in use since before the trace, B was given back and waits for reuse, C is new. */
const HOST: Dict = {
  host_segments: [
    hostSegment(A, 64 * MIB, 'active_allocated', LOADER),
    hostSegment(B, 16 * MIB, 'inactive', []),
    hostSegment(C, 32 * MIB, 'active_pending_free'),
  ],
  host_traces: EVENTS.map(([action, addr, size, time]) => hostEntry(action, addr, size, time)),
};
const STEPS: Dict = {
  external_annotations: [7, 8].flatMap((step) =>
    ['START', 'END'].map((stage, end) => ({
      stage,
      name: `ProfilerStep#${step}`,
      device: 0,
      time_us: T0 + (step - 7 + end) * 5000,
    })),
  ),
};
const entries = trace(9).map((one, i) => ({ ...one, time_us: T0 + i * 1000 }));
const oom = entry('oom', 0, { device_free: 0, size: 4 * MIB, time_us: T0 + 9000 });
const recorded = snapshot({ ...HOST, ...STEPS, device_traces: [[...entries, oom]] });

/** The line of a row; what has 64 bits is text in it. */
const numbersOf = (line: string): unknown[] =>
  (JSON.parse(line) as unknown[]).map((cell) => (typeof cell === 'string' && /^\d+$/.test(cell) ? Number(cell) : cell));

describe('pinned memory of the host', () => {
  it('is rows of its own, and the devices are as without it', async () => {
    const got = await decode(bytesSource(pickled(recorded)));
    const without = await decode(bytesSource(pickled({ ...recorded, host_segments: [], host_traces: [] })));
    for (const table of ['segments', 'blocks', 'events'] as const) expect(got[table]).toEqual(without[table]);
    const pool = [0, 0];
    expect(got.hostSegments.map((line) => numbersOf(line).slice(0, -1))).toEqual([
      [0, A, 64 * MIB, 64 * MIB, 64 * MIB, pool],
      [1, B, 16 * MIB, 0, 0, pool],
      [2, C, 32 * MIB, 0, 32 * MIB, pool],
    ]);
    expect(got.hostEvents.map((line) => numbersOf(line).slice(0, 5))).toEqual(EVENTS.map((event, i) => [i, ...event]));
    expect(got.notes).toEqual([]);
    expect(got.summary.features).toContain('host_segments');
    expect([...got.summary.settings.keys()].some((key) => key.startsWith('host_'))).toBe(false);
  });

  it('is the same in JSON, and in any order of keys', async () => {
    const expected = await decode(bytesSource(pickled(recorded)));
    const reversed = Object.fromEntries(Object.entries(recorded).reverse());
    for (const bytes of [Buffer.from(spellJson(recorded, () => 0)), pickled(reversed)]) {
      const got = await decode(bytesSource(bytes));
      expect(got.hostEvents.length).toBe(expected.hostEvents.length);
      expect(got.hostSegments.map((line) => JSON.parse(line).slice(0, 5))).toEqual(
        expected.hostSegments.map((line) => JSON.parse(line).slice(0, 5)),
      );
    }
  });

  it.each([
    ['a segment of the host among the others', { segments: [hostSegment(A, MIB, 'inactive')] }],
    ['its segments elsewhere', { ...HOST, host_segments: [], elsewhere: HOST['host_segments']! }],
    ['no list', { host_segments: 5 }],
  ])('is refused where it is not in its list: %s', async (_, parts: Dict) => {
    await expect(decode(bytesSource(pickled(snapshot(parts))))).rejects.toMatchObject({ code: 'MBF2106' });
  });
});

describe('a store with pinned memory', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    const { source } = await bench.take('snapshot_0.pickle', pickled(recorded));
    expect(source.status).toBe('ingested');
  });
  afterAll(() => bench.close());

  it('shows which site allocated how much in which step', async () => {
    const rows = await bench.store.select(
      'SELECT address, size_bytes, alloc_seq, free_seq, step, site FROM pinned_allocation ORDER BY address',
    );
    expect(
      rows.map((row) => Object.values(row).map((value) => (typeof value === 'bigint' ? Number(value) : value))),
    ).toEqual([
      [A, 64 * MIB, null, null, null, expect.stringContaining('loader.py:12')],
      [B, 16 * MIB, 1, 3, 7, expect.stringContaining('mlp.py:42')],
      [C, 32 * MIB, 5, null, 8, expect.stringContaining('mlp.py:42')],
    ]);
  });

  it('has one line on the screens of the snapshot and of the diagnosis', async () => {
    const { snapshots } = await describeSnapshots(bench.store, { runId: 1 }, () => undefined);
    const pinned = { blocks: 3, total_bytes: 112 * MIB, active_bytes: 96 * MIB };
    expect(snapshots[0]!.pinned_host_memory).toMatchObject(pinned);
    const screen = documentText(snapshotDocument({ schema: 'mbforensics/snapshot@1', snapshots }));
    expect(screen).toMatch(
      /^host {6}112\.00 MiB pinned in 3 blocks, 96\.00 MiB in use; 64\.00 MiB from .*loader\.py:12/m,
    );
    const diagnosis = diagnoseText(wordDiagnosis(await diagnose(bench.store, 1, 'run')), { full: true });
    expect(diagnosis).toMatch(/^host +(?:rank 0: )?112\.00 MiB pinned in 3 blocks/m);
  });

  it('lacks that line without pinned memory', async () => {
    const { source } = await bench.take('snapshot_1.pickle', pickled(snapshot({ host_segments: [], host_traces: [] })));
    expect(source.status).toBe('ingested');
    const { snapshots } = await describeSnapshots(bench.store, { runId: 2 }, () => undefined);
    expect(snapshots[0]!.pinned_host_memory).toBeNull();
    expect(documentText(snapshotDocument({ schema: 'mbforensics/snapshot@1', snapshots }))).not.toContain('pinned');
  });
});
