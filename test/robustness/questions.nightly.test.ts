/**
 * Snapshots whose entries make no sense, and damaged real ones: whatever is ingested can be asked everything, and no
 * answer is a bug of ours.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PyTuple, type PyValue, pickled } from '../../samples/generate/write/pickle-writer.js';
import { listSnapshots } from '../../src/derive/run/names/snapshots.js';
import type { Moment } from '../../src/derive/trace/moment.js';
import { describeDiff } from '../../src/findings/diff/describe-diff.js';
import { listCandidates, readSide } from '../../src/findings/diff/side.js';
import { useSides } from '../../src/findings/diff/use-sides.js';
import { liveStacks } from '../../src/findings/export/export-live-stacks.js';
import { exportSnapshot } from '../../src/findings/export/export-snapshot.js';
import { describeSeries } from '../../src/findings/snapshots/describe-series.js';
import { describeAllocations } from '../../src/findings/state/allocations.js';
import { describeSnapshots } from '../../src/findings/state/describe-snapshots.js';
import { describeState } from '../../src/findings/state/describe-state.js';
import { drawSegments } from '../../src/findings/state/draw-segments.js';
import { describePeaks } from '../../src/findings/state/live/peaks.js';
import { describeTimelines } from '../../src/findings/timeline/timeline.js';
import { ENUMS } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import { GROUP_KEYS, GROUPINGS } from '../../src/model/results/peak.js';
import { MIB } from '../../src/model/units.js';
import type { Store } from '../../src/store/store.js';
import { diagnose } from '../findings/verdict/worded.js';
import { scratchDirectory } from '../store/scratch.js';
import { skipLoudly } from '../support/corpus.js';
import { SEED } from '../support/level.js';
import { ingested } from '../support/new-store.js';
import { BASE, type Dict, entry, frame, segment, snapshot } from '../support/small-snapshot.js';
import { corpusPickles, seeded } from './harness.js';

/** A question's answer, or the sentence why there is none; anything else fails the test. */
async function ask<Answer>(question: () => Promise<Answer> | Answer): Promise<Answer | string> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof MbfError && error.kind === 'usage') return error.message;
    throw error;
  }
}

const MOMENTS: readonly Moment[] = [
  { kind: 'start' },
  { kind: 'peak' },
  { kind: 'oom' },
  { kind: 'end' },
  { kind: 'seq', seq: 3 },
  { kind: 'time', timeUs: 1_700_000_000_000_005 },
  { kind: 'step', step: 1 },
];

async function askEverything(store: Store, thorough: boolean): Promise<number> {
  let asked = 0;
  for (const row of await listSnapshots(store, {})) {
    const target = { snapshotId: row.snapshot_id, path: row.display_path, handle: row.handle, rank: row.rank };
    await ask(() => describeSnapshots(store, { handle: row.handle }, () => undefined));
    await ask(() =>
      describeTimelines(
        store,
        { handle: row.handle },
        { columns: 40, by: 'index', device: undefined, zoom: { from: undefined, to: undefined }, annotations: '' },
      ),
    );
    for (const by of thorough ? GROUP_KEYS : (['site', 'stage'] as const))
      await ask(() => describePeaks(store, { handle: row.handle }, { sites: 5, stacks: 2 }, { by }));
    for (const grouping of thorough ? GROUPINGS : [])
      await ask(() => describePeaks(store, { handle: row.handle }, { sites: 5, stacks: 2 }, { grouping }));
    for (const { device } of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      const chosen = { ...target, sourceId: row.source_id, device, others: 0 };
      for (const moment of MOMENTS) {
        const state = await ask(() => describeState(store, chosen, moment, { limit: 3 }));
        if (typeof state !== 'string') {
          expect(state.reserved_bytes).toBe(state.active_bytes + state.inactive_bytes);
          const sites = state.sites.reduce((sum, site) => sum + site.bytes, 0) + state.other_sites.bytes;
          expect(sites).toBe(state.active_bytes);
        }
        await ask(() => drawSegments(store, chosen, moment, { cells: 20, limit: 3 }));
        await ask(() =>
          liveStacks(store, { ...target, device }, moment, {
            rawFrames: false,
            holes: true,
            segments: true,
          }),
        );
        asked += 1;
      }
      await ask(() => describeAllocations(store, chosen, { sort: 'lifetime', limit: 5 }));
    }
    const exported = await ask(() =>
      exportSnapshot(store, { ...target, device: undefined, form: row.form }, undefined),
    );
    if (typeof exported !== 'string') {
      let text = '';
      for await (const piece of exported.pieces) text += piece;
      expect(() => JSON.parse(text)).not.toThrow();
    }
  }
  await ask(() => diagnose(store, 1, 'run'));
  await ask(() => describeSeries(store, { runId: 1, run: 'run', sites: 3 }));
  for (const candidate of await listCandidates(store, 1, undefined)) {
    for (const { device } of candidate.devices) {
      const side = await ask(() => readSide(store, 'x', candidate, device, { kind: 'end' }, () => undefined));
      if (typeof side === 'string') continue;
      const diff = await describeDiff(
        store,
        await useSides(store, side, side),
        side,
        side,
        { sites: 5, minBytes: 0, maxGrowth: undefined },
        { devices: [], ranks: [], ranksWithoutMoment: [] },
      );
      expect(diff.total_delta_bytes).toBe(0);
    }
  }
  return asked;
}

async function withIngested(bytes: Buffer, work: (store: Store) => Promise<void>): Promise<void> {
  const directory = scratchDirectory();
  const file = join(directory, 'snapshot_0.pickle');
  writeFileSync(file, bytes);
  const { store, result } = await ingested(join(directory, 's.duckdb'), [file], { threads: 1 });
  try {
    if (result.sources.some((source) => source.status === 'ingested')) await work(store);
  } finally {
    await store.close();
  }
}

const size = fc.oneof(
  fc.constantFrom(0, 1, 512, 513, MIB, MIB + 1, 2 * MIB, 20 * MIB, 2 ** 40, 2 ** 50),
  fc.integer({ min: 0, max: 64 * MIB }),
);
const address = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((n) => BASE + n * 512),
  fc.integer({ min: 0, max: 20 }).map((n) => BASE + n * MIB),
  fc.constantFrom(0, 1, 2 ** 47, 2 ** 52),
);
const event: fc.Arbitrary<Dict> = fc
  .record({
    action: fc.constantFrom(...ENUMS.trace_action, 'invented'),
    at: address,
    bytes: size,
    stream: fc.constantFrom(0, 7, 2 ** 46),
    pool: fc.constantFrom<readonly [number, number]>([0, 0], [0, 1], [3, 0]),
    time: fc.integer({ min: -5, max: 50 }),
    bare: fc.boolean(),
  })
  .map(({ action, at, bytes, stream, pool, time, bare }, i = 0) =>
    entry(action, i, {
      addr: at,
      size: bytes,
      stream,
      time_us: 1_700_000_000_000_000 + time,
      ...(bare ? {} : { pool_id: new PyTuple(...pool) }),
      ...(action === 'oom' ? { device_free: bytes } : {}),
    }),
  );
const anySegment: fc.Arbitrary<Dict> = fc
  .record({
    at: address,
    bytes: size,
    expandable: fc.boolean(),
    live: size,
    state: fc.constantFrom('active_allocated', 'active_pending_free', 'inactive'),
  })
  .map(({ at, bytes, expandable, live, state }) =>
    segment({
      address: at,
      total_size: bytes,
      is_expandable: expandable,
      segment_type: bytes > 2 * MIB ? 'large' : 'small',
      blocks: [
        { address: at, size: live, requested_size: live, state, frames: [frame('f')] },
        { address: at + live, size: Math.max(0, bytes - live), requested_size: 0, state: 'inactive', frames: [] },
      ],
    }),
  );
const mark = fc
  .record({
    stage: fc.constantFrom('START', 'END', 'odd'),
    name: fc.constantFrom('ProfilerStep#1', 'ProfilerStep#2', 'Optimizer.step#Adam.step', 'x'),
    time: fc.integer({ min: 0, max: 50 }),
  })
  .map(({ stage, name, time }): PyValue => ({ stage, name, device: 0, time_us: 1_700_000_000_000_000 + time }));

it.each(Array.from({ length: 12 }, (_, i) => i))('traces that make no sense, seed %i', async (seed) => {
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(anySegment, { maxLength: 4 }),
      fc.array(event, { maxLength: 40 }),
      fc.array(mark, { maxLength: 8 }),
      async (segments, events, external_annotations) => {
        const bytes = pickled(snapshot({ segments, device_traces: [events], external_annotations }));
        await withIngested(bytes, async (store) => {
          asked += await askEverything(store, true);
        });
      },
    ),
    { numRuns: 5, seed: SEED + seed },
  );
  expect(asked).toBeGreaterThan(0);
});

describe('damaged recordings', () => {
  const small = corpusPickles().filter(({ bytes }) => bytes.length < 400_000);
  if (small.length === 0) return skipLoudly('recordings to damage', 'the corpus (set MBF_CORPUS)');

  it.each(Array.from({ length: 12 }, (_, i) => i))('of seed %i', async (seed) => {
    const random = seeded(seed);
    const bytes = Buffer.from(small[Math.floor(random() * small.length)]!.bytes);
    // Digits of numbers: the structure stays whole, the figures do not.
    for (let edit = 0; edit < 40; edit += 1) {
      const at = Math.floor(random() * (bytes.length - 8));
      if (bytes[at] === 0x8a || bytes[at] === 0x4a) bytes[at + 2] = Math.floor(random() * 256);
    }
    await withIngested(bytes, async (store) => {
      await askEverything(store, false);
    });
  });
});
