/**
 * Recordings of PyTorch's own allocator code, one for each thing that no file has and a replay must find or take from
 * the record. Made on a runtime that only counts bytes: nothing in them is a model.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replayDevice, settingRows } from '../../src/findings/replay/ask.js';
import { questionOf } from '../../src/findings/replay/sweep-questions.js';
import { listSnapshots } from '../../src/findings/run/names/snapshots.js';
import { openScratch } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { repoRoot } from '../store/scratch.js';
import { isPerfect, type Recorded, replaysOf } from './lab-store.js';

const FIXTURES = join(repoRoot, 'test', 'fixtures', 'lab');

let directory: string;
let store: Store;
let recorded: Map<string, Recorded>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'mbf-lab-'));
  for (const file of readdirSync(FIXTURES)) {
    const run = join(directory, basename(file, '.pickle.gz'));
    mkdirSync(run);
    cpSync(join(FIXTURES, file), join(run, 'snapshot.pickle.gz'));
  }
  store = await openScratch();
  recorded = new Map((await replaysOf(store, [directory])).map((one) => [one.run, one]));
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

describe("recordings of PyTorch's own allocator", () => {
  it('replay exactly: every address, every driver call, the final state', () => {
    expect(recorded.size).toBe(readdirSync(FIXTURES).length);
    for (const [run, { replay }] of recorded)
      expect({ run, status: replay.status, reason: replay.reason, perfect: isPerfect(replay) }).toEqual({
        run,
        status: 'exact',
        reason: '',
        perfect: true,
      });
  });

  it('state what was taken from the record', () => {
    const from = (run: string) => recorded.get(run)!.replay.from_record;
    expect(from('pools-in-hash-order').pool_orders).toBeGreaterThan(0);
    expect(from('garbage-below-unknown-limit').garbage_segments).toBeGreaterThan(0);
    expect(from('garbage-and-waits').garbage_segments).toBeGreaterThan(0);
    expect(from('unnamed-pools')).toEqual({ settings: false, pool_orders: 0, garbage_segments: 0, inferred_pools: 1 });
    expect(from('reservation-end')).toEqual({
      settings: false,
      pool_orders: 0,
      garbage_segments: 0,
      inferred_pools: 0,
    });
  });

  it('find settings that the file does not have by what they do', () => {
    const settings = (run: string) => {
      const { settings: text, from_record } = recorded.get(run)!.replay;
      return { text, inferred: from_record.settings };
    };
    expect(settings('no-settings-split')).toEqual({ text: 'max_split_size_mb:128', inferred: true });
    expect(settings('no-settings-roundup')).toEqual({ text: 'roundup_power2_divisions:4', inferred: true });
    expect(settings('no-settings-expandable')).toEqual({ text: 'expandable_segments:True', inferred: true });
  });
});

/** The same requests served by PyTorch's own allocator: the peak, and whether all were served. */
const AGAIN: readonly (readonly [conf: string, total: number, fits: boolean, peak: number])[] = [
  ['', 6121586688, false, 5125439488],
  ['', 7524581376, true, 6891241472],
  ['expandable_segments:True', 6121586688, false, 5368709120],
  ['expandable_segments:True', 6813646848, true, 5809111040],
  ['max_split_size_mb:128', 6813646848, true, 6041894912],
  ['roundup_power2_divisions:4', 6813646848, false, 5502926848],
  ['roundup_power2_divisions:4', 7130316800, true, 6442450944],
];
const OTHERS_BYTES = 629_145_600;

describe('what-if on a recording in which the program empties its cache', () => {
  it('gives what the allocator really does', async () => {
    const { replay } = recorded.get('explicit-flush')!;
    expect(replay.flushes.explicit).toBe(1);
    const [snapshot] = await listSnapshots(store, { runId: recorded.get('explicit-flush')!.runId });
    const device = await replayDevice(store, {
      snapshotId: snapshot!.snapshot_id,
      device: 0,
      rank: null,
      path: 'snapshot.pickle.gz',
    });
    for (const [conf, total, fits, peak] of AGAIN) {
      const question = questionOf(device.stored.recording.settings, conf, false);
      const [row, ...more] = settingRows(device, question, total - OTHERS_BYTES, null, null);
      expect(more).toEqual([]);
      expect({ conf, total, fits: row!.outcome === 'fits', robust: row!.robust }).toEqual({
        conf,
        total,
        fits,
        robust: true,
      });
      expect(row!.peak_reserved_least_bytes).toBeLessThanOrEqual(peak);
      expect(row!.peak_reserved_most_bytes).toBeGreaterThanOrEqual(peak);
    }
  });
});

describe('what-if with expandable segments on a device of known size', () => {
  it('reserves address space in proportion to the device, not to what the allocator may have of it', async () => {
    const run = recorded.get('reservation-of-device')!;
    const [snapshot] = await listSnapshots(store, { runId: run.runId });
    const place = { snapshotId: snapshot!.snapshot_id, device: 0, rank: null, path: 'snapshot.pickle.gz' };
    const device = await replayDevice(store, place);
    const recording = { ...device.base.recording, outsideBytes: OTHERS_BYTES };
    const conf = 'expandable_segments:True,max_split_size_mb:200';
    const question = questionOf(recording.settings, conf, false);
    const [total, peak] = [15_573_450_752, 14_912_847_872];
    const peakOf = (one: typeof device) =>
      settingRows(one, question, total - OTHERS_BYTES, null, null)[0]!.peak_reserved_bytes;
    expect(peakOf({ ...device, base: { ...device.base, recording } })).toBe(peak);
    expect(peakOf(device)).not.toBe(peak);
  });
});
