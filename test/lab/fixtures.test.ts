/**
 * Recordings of PyTorch's own allocator code, one for each thing that no file has and a replay must find or take from
 * the record. Made on a runtime that only counts bytes: nothing in them is a model.
 */
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settingRows } from '../../src/derive/replay/ask.js';
import { questionOf } from '../../src/derive/replay/sweep-questions.js';
import { MIB } from '../../src/model/units.js';
import { openScratch } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { repoRoot } from '../store/scratch.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { deviceOf, isPerfect, type Recorded, replaysOf } from './lab-store.js';

const directory = temporaryDirectory();
const FIXTURES = join(repoRoot, 'test', 'fixtures', 'lab');

let store: Store;
let recorded: Map<string, Recorded>;

beforeAll(async () => {
  for (const file of readdirSync(FIXTURES)) {
    const run = join(directory, basename(file, '.pickle.gz'));
    mkdirSync(run);
    cpSync(join(FIXTURES, file), join(run, 'snapshot.pickle.gz'));
  }
  store = await openScratch();
  recorded = new Map((await replaysOf(store, [directory])).map((one) => [one.run, one]));
});

afterAll(() => store.close());

describe("recordings of PyTorch's own allocator", () => {
  it('replay exactly: every address, every driver call, the final state', () => {
    expect(recorded.size).toBe(readdirSync(FIXTURES).length);
    const expected = { status: 'exact', reason: '', perfect: true };
    for (const [run, { replay }] of recorded)
      expect({ run, status: replay.status, reason: replay.reason, perfect: isPerfect(replay) }).toEqual({
        run,
        ...expected,
      });
  });

  it('state what was taken from the record', () => {
    const from = (run: string) => recorded.get(run)!.replay.from_record;
    expect(from('pools-in-hash-order').pool_orders).toBeGreaterThan(0);
    expect(from('garbage-below-unknown-limit').garbage_segments).toBeGreaterThan(0);
    expect(from('garbage-and-waits').garbage_segments).toBeGreaterThan(0);
    const nothing = { settings: false, pool_orders: 0, garbage_segments: 0, inferred_pools: 0 };
    expect(from('unnamed-pools')).toEqual({ ...nothing, inferred_pools: 1 });
    expect(from('reservation-end')).toEqual(nothing);
  });

  it.each([
    ['no-settings-split', 'max_split_size_mb:128'],
    ['no-settings-roundup', 'roundup_power2_divisions:4'],
    ['no-settings-expandable', 'expandable_segments:True'],
  ])('find settings that the file does not have by what they do: %s', (run, text) => {
    const { settings, from_record } = recorded.get(run)!.replay;
    expect([settings, from_record.settings]).toEqual([text, true]);
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

it('what others hold of the device follows from where a reservation ends, to a large segment', async () => {
  const { outsideBytes } = (await deviceOf(store, recorded.get('reservation-end')!)).base.recording;
  expect(Math.abs(outsideBytes! - OTHERS_BYTES)).toBeLessThan(20 * MIB);
});

describe('what-if on a recording in which the program empties its cache', () => {
  it('gives what the allocator really does', async () => {
    const run = recorded.get('explicit-flush')!;
    expect(run.replay.flushes.explicit).toBe(1);
    const device = await deviceOf(store, run);
    for (const [conf, total, fits, peak] of AGAIN) {
      const question = questionOf(device.stored.recording.settings, conf, false);
      const [row, ...more] = settingRows(device, question, total - OTHERS_BYTES, null, null);
      expect(more).toEqual([]);
      expect([row!.outcome === 'fits', row!.robust], `${conf} ${total}`).toEqual([fits, true]);
      expect(row!.peak_reserved_least_bytes).toBeLessThanOrEqual(peak);
      expect(row!.peak_reserved_most_bytes).toBeGreaterThanOrEqual(peak);
    }
  });
});

describe('what-if with expandable segments on a device of known size', () => {
  it('reserves address space in proportion to the device, not to what the allocator may have of it', async () => {
    const device = await deviceOf(store, recorded.get('reservation-of-device')!);
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
