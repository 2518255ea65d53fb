/**
 * memory_viz's own definitions, as an independent oracle, against ours for every recording of the corpus: the plotted
 * peak, what it takes for initially allocated, the labels it prints, and its Allocator State History at random moments.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { stateAt } from '../../src/derive/trace/state-at.js';
import type { PeakResult } from '../../src/model/results/common.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { decode, type Recording } from '../allocator/corpus-recordings.js';
import { hasPython, SNAPSHOTS, snapshotPickles, truthOf } from '../support/corpus.js';
import { vizEvents, vizFragmentation, vizState, vizTimeline } from '../support/memory-viz-oracle.js';
import { vizSnapshot } from '../support/snapshot-rows.js';
import { corpusStore } from '../support/stores.js';
import { askCorpus, corpusSuite, sum, THE_CORPUS } from './corpus-suite.js';

/** `decode` leaves out shorter traces. */
const RECORDED = 50;
const MOMENTS = 20;

const files = snapshotPickles().filter((name) =>
  Object.values(truthOf(name).traces ?? {}).some((trace) => trace.entries >= RECORDED),
);

corpusSuite('memory_viz', hasPython ? files : [], tests, hasPython ? THE_CORPUS : 'python3');

function tests(): void {
  let store: Store;
  let answers: PeakResult['snapshots'] = [];
  const recordings = new Map<string, readonly Recording[]>();

  beforeAll(async () => {
    answers = askCorpus<PeakResult>('peak', '--grouping', 'memory_viz', '--limit', '1').snapshots;
    store = await openStore(corpusStore(), { mode: 'read' });
    for (const name of files) recordings.set(name, decode(join(SNAPSHOTS, name)).recordings);
  });
  afterAll(() => store?.close());

  const snapshotId = async (name: string): Promise<number> => {
    const rows = await store.all('snapshot.list', { run_id: null, handle: null });
    return rows.find((row) => row.display_path === name)!.snapshot_id;
  };
  /**
   * The one file of the corpus that contradicts itself is a generator's: its blocks do not fill their segments, so no
   * state is to be had.
   */
  const consistent = async (name: string): Promise<boolean> => {
    const devices = await store.all('snapshot.devices', { snapshot_id: await snapshotId(name) });
    return devices.every((device) => device.invariants_hold);
  };

  const figuresOf = (name: string, device: number) =>
    answers.find(({ path }) => path === name)!.memory_viz!.find((figures) => figures.device === device)!;

  it.each(files)('%s: the peak it plots is of requested bytes, as are the elements it assumes', (name) => {
    for (const recording of recordings.get(name)!) {
      const { plottedPeak, initially } = vizTimeline(vizSnapshot(recording));
      const ours = figuresOf(name, recording.device);
      expect(ours.plotted_peak_bytes).toBe(plottedPeak);
      expect(ours.initially_allocated).toBe(initially.length);
      expect(ours.initially_allocated_bytes).toBe(sum(initially.map(({ size }) => size)));
    }
  });

  it.each(files)('%s: requested bytes peak below or at actual ones', (name) => {
    const answer = answers.find((candidate) => candidate.path === name)!;
    for (const device of answer.devices) {
      if (device.basis !== 'actual') continue;
      expect(figuresOf(name, device.device).plotted_peak_bytes).toBeLessThanOrEqual(device.active_bytes);
    }
  });

  it.each(files)('%s: labels are the address and how often it was freed before', async (name) => {
    const snapshot = await snapshotId(name);
    for (const recording of recordings.get(name)!) {
      const theirs = vizEvents(vizSnapshot(recording)).labels;
      const rows = await store.select(
        `SELECT seq, printf('b%x_%d', addr, (count(*) FILTER (action = 'free_completed') OVER (PARTITION BY addr ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))) AS label
         FROM event WHERE snapshot_id = $snapshot AND device = $device AND action IN ('alloc', 'free_requested', 'free_completed') ORDER BY seq`,
        { snapshot, device: recording.device },
      );
      const ours = rows.map((row) => [Number(row['seq']), row['label']]);
      expect(ours).toEqual([...theirs.entries()].filter(([, label]) => label?.startsWith('b') === true));
    }
  });

  it.each(files)('%s: its fragmentation index of the dump', async (name) => {
    if (!(await consistent(name))) return;
    for (const recording of recordings.get(name)!) {
      expect(figuresOf(name, recording.device).fragmentation_index).toBeCloseTo(
        vizFragmentation(vizSnapshot(recording)),
        12,
      );
    }
  });

  it.each(files)('%s: its Allocator State History at random moments', async (name) => {
    if (!(await consistent(name))) return;
    const snapshot = await snapshotId(name);
    for (const recording of recordings.get(name)!) {
      const viz = vizSnapshot(recording);
      const { events } = vizEvents(viz);
      const picks = fc.sample(fc.integer({ min: 0, max: events.length - 1 }), { numRuns: MOMENTS, seed: 20_261_121 });
      for (const index of picks) {
        const theirs = vizState(viz, index)!;
        expect(theirs).toBeDefined();
        const { state } = await stateAt(store, snapshot, recording.device, { kind: 'seq', seq: theirs.afterSeq });
        expect(stateTotals(state).reservedBytes).toBe(theirs.reserved);
        const { blocks } = state;
        const ours = Array.from({ length: blocks.count }, (_, row) => ({
          addr: blocks.address[row],
          requested: blocks.requestedBytes[row]! < 0 ? theirs.blocks[row]?.requested : blocks.requestedBytes[row],
          pending: blocks.state[row] === 1,
        }));
        expect(ours).toEqual(theirs.blocks);
      }
    }
  });
}
