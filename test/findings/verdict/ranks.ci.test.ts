/**
 * Ranks next to each other: peaks by stage, who alone is fragmented, which call sites pin on all of them; and hundreds
 * of ranks.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { allFailures } from '../../../src/model/all-failures.js';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import { MIB } from '../../../src/model/units.js';
import { diagnoseText, expectScreen } from '../../support/screen.js';
import { BASE, type SmallEntry, smallSnapshot } from '../../support/small-snapshot.js';
import { samplePath } from '../../support/stores.js';
import { memoryLine, oomLine } from './log-lines.js';
import { type Files, runsOfFiles } from './runs-of-files.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');
const sampleNames = readdirSync(SAMPLE).filter((name) => name !== 'truth.json');

/** Figures in MiB, as Megatron-LM prints them. */
const memory = (rank: number, allocated: number, reserved: number): string =>
  memoryLine(rank, 2, allocated / 2, allocated, reserved);
const oom = (rank: number): string => oomLine(rank, '60.00', '16.00');
const log = (...lines: readonly string[]): Files => ({ 'train.log': `${lines.join('\n')}\n` });
const gaps = (...all: readonly number[]): Files =>
  log(...all.map((gap, rank) => memory(rank, 60_000, 60_000 + gap)), oom(3));

const SEGMENT = 20 * MIB;
/** One segment of 20 MiB with `live` in it, and an OOM if requested. */
function pinned(live: number, stack: string, fails: boolean): Uint8Array {
  const entries: SmallEntry[] = [
    { action: 'segment_alloc', addr: BASE, size: SEGMENT },
    { action: 'alloc', addr: BASE, size: live, stack: [stack] },
  ];
  if (fails) entries.push({ action: 'oom', size: 18 * MIB, stack: ['loss.py:9'], extra: { device_free: 4 * MIB } });
  const segment = [
    { size: live, stack: [stack] },
    { size: SEGMENT - live, state: 'inactive' as const },
  ];
  return smallSnapshot({ segments: [segment], entries });
}

const HUNDREDS = Array.from({ length: 512 }, (_, rank) => rank);
const runs = {
  sample: Object.fromEntries(sampleNames.map((name) => [name, readFileSync(join(SAMPLE, name))])),
  together: log(...[0, 1, 2].map((rank) => memory(rank, 1000 * (rank + 1), 4000))),
  'without-rank': log('RuntimeError: CUDA error: out of memory'),
  alone: gaps(400, 500, 600, 16_000),
  alike: gaps(15_000, 14_000, 16_000, 16_000),
  between: gaps(500, 600, 9_000, 16_000),
  'no-memory': log(oom(3)),
  sites: {
    'snapshot_0.pickle': pinned(4 * MIB, 'model.py:7', true),
    'snapshot_1.pickle': pinned(5 * MIB, 'model.py:7', false),
    'snapshot_2.pickle': pinned(6 * MIB, 'other.py:3', false),
  },
  hundreds: log(...HUNDREDS.map((rank) => memory(rank, 60_000 + rank, 70_000)), ...HUNDREDS.map(oom)),
  snapshots: Object.fromEntries(
    HUNDREDS.slice(0, 12).map((rank) => [
      `snapshot_${rank}.pickle`,
      pinned((4 + rank) * MIB, 'model.py:7', rank === 5),
    ]),
  ),
};
const { diagnosed } = runsOfFiles(runs);

async function ranksOf(run: keyof typeof runs): Promise<DiagnoseResult['ranks']> {
  const result = await diagnosed(run);
  expectScreen(result);
  return result.ranks;
}
const fragmentation = async (run: keyof typeof runs) => (await ranksOf(run))!.fragmentation;

it('peaks have least, median and most of every stage, and the rank with the most', async () => {
  const ranks = await ranksOf('sample');
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

it('peaks are of all ranks together where the layout is not known, and none without a rank', async () => {
  const stats = (least: number, median: number, most: number, most_rank: number) => ({
    ...{ ranks: 3, least: least * MIB, median: median * MIB, most: most * MIB, most_rank },
  });
  expect((await ranksOf('together'))!.stages).toEqual([
    {
      ...{ pp: null, ranks: [0, 1, 2], peak_allocated_bytes: stats(1000, 2000, 3000, 2) },
      peak_reserved_bytes: stats(4000, 4000, 4000, 0),
    },
  ]);
  expect(await ranksOf('without-rank')).toBeNull();
});

it('fragmentation is of the failed rank alone where the others have far less, and not where they have as much', async () => {
  expect(await fragmentation('alone')).toMatchObject({
    ...{ from: 'log', failed: { rank: 3, gap_bytes: 16_000 * MIB }, only_failed: true },
    others: { ranks: 3, least: 400 * MIB, median: 500 * MIB, most: 600 * MIB, most_rank: 2 },
  });
  expect((await fragmentation('alike'))!.only_failed).toBe(false);
  expect((await fragmentation('between'))!.only_failed).toBeNull();
  expect((await ranksOf('no-memory'))?.fragmentation ?? null).toBeNull();
});

it('sites that pin are counted over the ranks that have snapshots', async () => {
  const ranks = await ranksOf('sites');
  expect(ranks!.pinning!.ranks).toEqual([0, 1, 2]);
  expect(ranks!.pinning!.sites).toMatchObject([
    { site: expect.stringContaining('model.py:7'), ranks: 2, segments: 2, bytes: 9 * MIB },
    { site: expect.stringContaining('other.py:3'), ranks: 1, segments: 1, bytes: 6 * MIB },
  ]);
  expect(ranks!.fragmentation).toMatchObject({ from: 'snapshot', failed: { rank: 0, moment: 'oom' } });
});

it('hundreds of ranks of a log are one screen', async () => {
  const result = await diagnosed('hundreds');
  // The first ones have evidence; the others are counted with those that are alike.
  expect(result.verdicts).toHaveLength(16);
  expect(allFailures(result.verdicts)).toHaveLength(512);
  expect(expectScreen(result)).toContain('other ranks or devices: the same verdict (511)');
  expect(diagnoseText(result, { full: true })).toContain('1-511');
});

it('snapshots beyond a few are left out of the comparison, with a note', async () => {
  const { ranks, verdicts } = await diagnosed('snapshots');
  expect(verdicts).toHaveLength(1);
  expect(ranks!.snapshots_left_out).toBe(4);
  expect(ranks!.pinning!.ranks).toContain(5);
});
