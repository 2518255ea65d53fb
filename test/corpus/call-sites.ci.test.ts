/** Every stack of the corpus: what names it, whatever layers it has. */
import { beforeAll, expect, it } from 'vitest';
import { callSite, type Frame, frameKind, siteFrames, visibleFrames } from '../../src/attribution/frames/call-site.js';
import { stackModule } from '../../src/attribution/frames/module-path.js';
import { readStacks } from '../../src/derive/stacks/read-stacks.js';
import type { PeakResult } from '../../src/model/results/common.js';
import { GROUP_KEYS } from '../../src/model/results/peak.js';
import { openStore } from '../../src/store/open-store.js';
import { corpusStore, validSnapshots } from '../support/stores.js';
import { askCorpus, corpusSuite, sum } from './corpus-suite.js';

const files = validSnapshots();

corpusSuite('stacks of the corpus', files, () => {
  let stacks: readonly (readonly Frame[])[] = [];
  let allocating: readonly (readonly Frame[])[] = [];

  beforeAll(async () => {
    const store = await openStore(corpusStore(), { mode: 'read' });
    try {
      const rows = await store.select('SELECT stack_id FROM stack WHERE depth > 0');
      const ids = rows.map((row) => Number(row['stack_id']));
      const byId = await readStacks(store, ids);
      stacks = [...byId.values()];
      const allocs = await store.select("SELECT DISTINCT stack_id FROM event WHERE action = 'alloc'");
      allocating = allocs.map((row) => byId.get(Number(row['stack_id'])) ?? []).filter((frames) => frames.length > 0);
    } finally {
      await store.close();
    }
  });

  const isPython = ({ filename }: Frame): boolean => /\.pyw?$|^</.test(filename);

  it('are many, with and without Python frames', () => {
    expect(stacks.length).toBeGreaterThan(1000);
    const python = stacks.filter((frames) => frames.some(isPython)).length;
    expect(python).toBeGreaterThan(0);
    expect(python).toBeLessThan(stacks.length);
  });

  it('are named by a Python frame wherever there is one, never by the unwinder or the allocator', () => {
    for (const frames of stacks) {
      const site = callSite(frames)!;
      expect(site).not.toMatch(/unwind|CapturedTraceback|CUDACachingAllocator|_start |PyEval|PyObject/);
      if (!frames.some(isPython)) continue;
      const [frame] = siteFrames(frames);
      expect(isPython(frame!)).toBe(true);
      expect(frames).toContain(frame);
      expect(stackModule(frames)).toMatch(/^[^/\\]+:\S+$/);
    }
  });

  it('are named by the innermost frame of code that is not torch, if there is one', () => {
    let torch = 0;
    for (const frames of stacks) {
      const own = frames.find((frame) => ['code', 'generated'].includes(frameKind(frame)));
      if (own === undefined) continue;
      expect(siteFrames(frames)[0]).toBe(own);
      expect(own.filename).not.toMatch(/-packages\/(?:torch|triton|IPython|ipykernel|einops)\/(?!distributed\/)/);
      const first = frames.find(isPython);
      if (first !== own) torch += 1;
    }
    // Otherwise the rule would not have been needed.
    expect(torch).toBeGreaterThan(100);
  });

  it('of C++ frames alone are named by the operator or the autograd node that allocated', () => {
    const native = allocating.filter((frames) => !frames.some(isPython));
    const named = native.filter((frames) => / \((?:autograd engine, )?no Python frames\)$/.test(callSite(frames)!));
    expect(named.length / native.length).toBeGreaterThan(0.95);
  });

  it('lose only machinery when shown', () => {
    for (const frames of stacks) {
      const shown = new Set(visibleFrames(frames));
      for (const frame of frames) if (isPython(frame)) expect(shown.has(frame)).toBe(true);
    }
  });

  it.each(GROUP_KEYS)('add up to what is live at the peak of every device, by %s', (by) => {
    const { snapshots } = askCorpus<PeakResult>('peak', '--by', by, '--limit', '3');
    for (const device of snapshots.flatMap(({ devices }) => devices)) {
      const all = [...device.groups, device.other_groups];
      expect(sum(all.map(({ bytes }) => bytes))).toBe(device.active_bytes);
      expect(sum(all.map(({ count }) => count))).toBe(device.blocks);
      for (const group of all) {
        const parts = [group.resident_bytes, group.transient_bytes, group.unknown_bytes];
        if (device.lifetime.rule === 'none') expect(parts).toEqual([null, null, null]);
        else expect(sum(parts as number[])).toBe(group.bytes);
      }
    }
  });
});
