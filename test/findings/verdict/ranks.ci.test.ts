/**
 * Ranks next to each other: peaks by stage, who alone is fragmented, which call sites pin on all of them; and hundreds
 * of ranks.
 */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import { MIB } from '../../../src/model/units.js';
import { diagnoseText } from '../../../src/report/start/diagnose-text.js';
import { repoRoot, scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { expectScreen } from '../../support/screen.js';
import { BASE, type SmallEntry, type SmallSnapshot, smallSnapshot } from '../../support/small-snapshot.js';
import { diagnose } from './worded.js';

async function diagnosed(files: Readonly<Record<string, string | Uint8Array>> | string): Promise<DiagnoseResult> {
  const root = realpathSync(scratchDirectory());
  let path = join(root, 'run');
  if (typeof files === 'string') path = files;
  else {
    mkdirSync(path);
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(path, name), bytes);
  }
  const { store } = await ingested(join(root, 'store.duckdb'), [path]);
  try {
    const result = await diagnose(store, 1, 'run');
    expectScreen(result);
    return result;
  } finally {
    await store.close();
  }
}

/** Figures in MiB, as Megatron-LM prints them. */
const memory = (rank: number, allocated: number, reserved: number): string =>
  `[Rank ${rank}] (after 2 iterations) memory (MB) | allocated: ${(allocated / 2).toFixed(2)} | max allocated: ${allocated.toFixed(2)} | reserved: ${reserved.toFixed(2)} | max reserved: ${reserved.toFixed(2)}\n`;
const oom = (rank: number): string =>
  `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU ${rank % 8} has a total capacity of 79.11 GiB of which 1.00 GiB is free. ` +
  'Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 16.00 GiB is reserved by PyTorch but unallocated.\n';

describe('peaks by stage', () => {
  it('have least, median and most of every stage, and who has the most', async () => {
    const { ranks } = await diagnosed(join(repoRoot, 'samples', 'llama3-70b-fragmentation'));
    expect(ranks).toMatchObject({ world_size: 32, snapshots_left_out: 0 });
    expect(ranks!.stages.map(({ pp }) => pp)).toEqual([0, 1, 2, 3]);
    for (const { ranks: members, peak_allocated_bytes: peak } of ranks!.stages) {
      expect(peak!.ranks).toBe(members.length);
      expect(peak!.least).toBeLessThanOrEqual(peak!.median);
      expect(peak!.median).toBeLessThanOrEqual(peak!.most);
      expect(members).toContain(peak!.most_rank);
    }
    // The trace of rank 0 saw more than its memory lines did.
    expect(ranks!.stages[0]!.peak_allocated_bytes).toMatchObject({ most: 72_756_518_400, most_rank: 0 });
  });

  it('are of all ranks together where the layout is not known, and none without a rank', async () => {
    const { ranks } = await diagnosed({
      'train.log': [0, 1, 2].map((rank) => memory(rank, 1000 * (rank + 1), 4000)).join(''),
    });
    expect(ranks!.stages).toEqual([
      {
        pp: null,
        ranks: [0, 1, 2],
        peak_allocated_bytes: { ranks: 3, least: 1000 * MIB, median: 2000 * MIB, most: 3000 * MIB, most_rank: 2 },
        peak_reserved_bytes: { ranks: 3, least: 4000 * MIB, median: 4000 * MIB, most: 4000 * MIB, most_rank: 0 },
      },
    ]);
    expect((await diagnosed({ 'train.log': 'RuntimeError: CUDA error: out of memory\n' })).ranks).toBeNull();
  });
});

describe('fragmentation of the failed rank', () => {
  const lines = (gaps: readonly number[]): string =>
    gaps.map((gap, rank) => memory(rank, 60_000, 60_000 + gap)).join('');
  it('is its own where the others have far less, and not where they have as much', async () => {
    const alone = await diagnosed({ 'train.log': `${lines([400, 500, 600, 16_000])}${oom(3)}` });
    expect(alone.ranks!.fragmentation).toMatchObject({
      from: 'log',
      failed: { rank: 3, gap_bytes: 16_000 * MIB },
      others: { ranks: 3, least: 400 * MIB, median: 500 * MIB, most: 600 * MIB, most_rank: 2 },
      only_failed: true,
    });
    const alike = await diagnosed({ 'train.log': `${lines([15_000, 14_000, 16_000, 16_000])}${oom(3)}` });
    expect(alike.ranks!.fragmentation!.only_failed).toBe(false);
    const between = await diagnosed({ 'train.log': `${lines([500, 600, 9_000, 16_000])}${oom(3)}` });
    expect(between.ranks!.fragmentation!.only_failed).toBeNull();
    const nobody = await diagnosed({ 'train.log': oom(3) });
    expect(nobody.ranks?.fragmentation ?? null).toBeNull();
  });
});

const SEGMENT = 20 * MIB;

/** One segment of 20 MiB with `live` in it, and an OOM if asked. */
function pinned(live: number, stack: string, fails: boolean): SmallSnapshot {
  const entries: SmallEntry[] = [
    { action: 'segment_alloc', addr: BASE, size: SEGMENT },
    { action: 'alloc', addr: BASE, size: live, stack: [stack] },
  ];
  if (fails) entries.push({ action: 'oom', size: 18 * MIB, stack: ['loss.py:9'], extra: { device_free: 4 * MIB } });
  return {
    segments: [
      [
        { size: live, stack: [stack] },
        { size: SEGMENT - live, state: 'inactive' },
      ],
    ],
    entries,
  };
}

describe('sites that pin', () => {
  it('are counted over the ranks that have snapshots', async () => {
    const { ranks } = await diagnosed({
      'snapshot_0.pickle': smallSnapshot(pinned(4 * MIB, 'model.py:7', true)),
      'snapshot_1.pickle': smallSnapshot(pinned(5 * MIB, 'model.py:7', false)),
      'snapshot_2.pickle': smallSnapshot(pinned(6 * MIB, 'other.py:3', false)),
    });
    expect(ranks!.pinning!.ranks).toEqual([0, 1, 2]);
    expect(ranks!.pinning!.sites).toMatchObject([
      { site: expect.stringContaining('model.py:7'), ranks: 2, segments: 2, bytes: 9 * MIB },
      { site: expect.stringContaining('other.py:3'), ranks: 1, segments: 1, bytes: 6 * MIB },
    ]);
    expect(ranks!.fragmentation).toMatchObject({ from: 'snapshot', failed: { rank: 0, moment: 'oom' } });
  });
});

describe('hundreds of ranks', () => {
  it('of a log are one screen', async () => {
    const ranks = Array.from({ length: 512 }, (_, rank) => rank);
    const result = await diagnosed({
      'train.log': `${ranks.map((rank) => memory(rank, 60_000 + rank, 70_000)).join('')}${ranks.map(oom).join('')}`,
    });
    expect(result.verdicts).toHaveLength(512);
    expect(expectScreen(result)).toContain('other ranks or devices: the same verdict (511)');
    expect(diagnoseText(result, { full: true })).toContain('1-511');
  });

  it('of snapshots: those beyond a few are left out of the comparison, and that is said', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 12 }, (_, rank) => [
        `snapshot_${rank}.pickle`,
        smallSnapshot(pinned((4 + rank) * MIB, 'model.py:7', rank === 5)),
      ]),
    );
    const { ranks, verdicts } = await diagnosed(files);
    expect(verdicts).toHaveLength(1);
    expect(ranks!.snapshots_left_out).toBe(4);
    expect(ranks!.pinning!.ranks).toContain(5);
  });
});
