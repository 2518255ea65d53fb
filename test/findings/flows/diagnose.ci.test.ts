/**
 * From files to verdicts: a generated sample, whose truth is known to the byte, whole and in parts; and runs made by
 * hand.
 */
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fragmentationSplitRemainder } from '../../../samples/generate/causes/fragmentation-split-remainder.js';
import type { GeneratedRun } from '../../../samples/generate/run.js';
import { runDirectory, TRUTH_NAME } from '../../../samples/generate/write/run-directory.js';
import type { DiagnoseOptions } from '../../../src/findings/flows/diagnose.js';
import { describePeaks } from '../../../src/findings/state/live/peaks.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../../src/model/results/common.js';
import { formatBytes, GIB, MIB } from '../../../src/model/units.js';
import { diagnoseText } from '../../../src/report/start/diagnose-text.js';
import type { Store } from '../../../src/store/store.js';
import { repoRoot, scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { BASE, type SmallEntry, type SmallSnapshot, smallSnapshot } from '../../support/small-snapshot.js';
import { diagnose } from '../verdict/worded.js';

const SAMPLE = join(repoRoot, 'samples', 'llama3-70b-fragmentation');
interface RankTruth {
  readonly rank: number;
  readonly device: number;
  readonly ending: string;
  readonly rounded_bytes: number;
  readonly segment_bytes: number;
  readonly device_total_bytes: number;
  readonly device_free_bytes: number;
  readonly non_torch_bytes: number;
  readonly reserved_bytes: number;
  readonly allocated_bytes: number;
  readonly largest_hole_bytes: number;
  readonly failing_function: string;
}
const sample = JSON.parse(readFileSync(join(SAMPLE, 'truth.json'), 'utf8')) as {
  readonly cause: string;
  readonly ranks: readonly RankTruth[];
};
/** The ranks that ran out of memory. */
const truth = { cause: sample.cause, ranks: sample.ranks.filter(({ ending }) => ending === 'oom') };

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Ingests the files as one run and works on its store. */
async function withRun<T>(files: Files, work: (store: Store, runId: number, run: string) => Promise<T>): Promise<T> {
  const root = realpathSync(scratchDirectory());
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(root, 'run', path)), { recursive: true });
    writeFileSync(join(root, 'run', path), bytes);
  }
  const { store, result } = await ingested(join(root, 'store.duckdb'), [join(root, 'run')]);
  try {
    expect(result.sources.filter(({ status }) => status === 'failed')).toEqual([]);
    const [run] = await store.all('store.runs', { run_id: null });
    return await work(store, run!.run_id, run!.name);
  } finally {
    await store.close();
  }
}

async function diagnosed(files: Files, options: DiagnoseOptions = {}): Promise<DiagnoseResult> {
  const result = await withRun(files, (store, runId, run) => diagnose(store, runId, run, options));
  for (const verdict of result.verdicts) expectSound(verdict);
  return result;
}

/** What holds for every verdict. */
function expectSound(verdict: Verdict): void {
  const sum = verdict.accounting.reduce((total, part) => total + part.bytes, 0);
  expect(sum).toBe(verdict.accounting_total?.bytes ?? 0);
  const ids = verdict.evidence.map(({ id }) => id);
  expect(ids).toEqual(ids.map((_, i) => `E${i + 1}`));
  expect(verdict.evidence.every(({ source }) => source !== '')).toBe(true);
  expect(verdict.ruled_out.map(({ cause }) => cause)).not.toContain(verdict.cause);
}

/** A generated run of which two ranks ran out of memory and one of them recorded. */
function fragmentedTwice(): GeneratedRun {
  for (let seed = 1; ; seed += 1) {
    const run = fragmentationSplitRemainder.build(seed);
    const failed = run.attempts[0]!.ranks.filter(({ ending }) => ending.kind === 'oom');
    if (run.attempts.length === 1 && failed.length === 2 && run.snapshots.length === 1) return run;
  }
}

const part = (verdict: Verdict, name: string): number =>
  verdict.accounting.find((item) => item.part === name)?.bytes ?? 0;

const sampleFiles = (wanted: (name: string) => boolean): Files =>
  Object.fromEntries(
    readdirSync(SAMPLE)
      .filter((name) => name !== 'truth.json' && wanted(name))
      .map((name) => [name, readFileSync(join(SAMPLE, name))]),
  );
const isPickle = (name: string): boolean => /\.pickle(\.gz)?$/.test(name);

describe('the sample run', () => {
  it('has the cause it was made with, on every rank that failed, accounted for to the printed total', async () => {
    const { verdicts } = await diagnosed(sampleFiles(() => true));
    expect(verdicts.map(({ rank, device, cause }) => [rank, device, cause])).toEqual(
      truth.ranks.map(({ rank, device }) => [rank, device, truth.cause]),
    );
    for (const [i, verdict] of verdicts.entries()) {
      const rank = truth.ranks[i]!;
      expect(verdict.detail).toBe('split_remainder');
      expect(verdict.request).toMatchObject({ bytes: rank.rounded_bytes });
      expect(verdict.request!.site).toContain(rank.failing_function);
      expect(part(verdict, 'allocated') + part(verdict, 'pending_free')).toBe(rank.allocated_bytes);
      expect(part(verdict, 'device_free')).toBe(rank.device_free_bytes);
      const cached = ['cached_too_small', 'cached_other_stream', 'cached_other_size_class'];
      expect(cached.reduce((sum, name) => sum + part(verdict, name), 0)).toBe(
        rank.reserved_bytes - rank.allocated_bytes,
      );
      // Printed to two decimals of a GiB: total and process are each off by up to 5.4 MB.
      expect(Math.abs(part(verdict, 'outside_pytorch_this_process') - rank.non_torch_bytes)).toBeLessThan(0.011 * GIB);
      expect(Math.abs(verdict.accounting_total!.bytes - rank.device_total_bytes)).toBeLessThan(0.0051 * GIB);
      expect(Math.abs(part(verdict, 'rounding_of_message'))).toBeLessThan(0.0101 * GIB);
      expect(verdict.summary).toContain(formatBytes(rank.largest_hole_bytes));
      // Both witnesses are quoted.
      const sources = verdict.evidence.map(({ source }) => source).join('\n');
      expect(sources).toContain(`rank-${rank.rank}.pickle.gz entry`);
      expect(sources).toMatch(/\.out line \d/);
      expect(verdict.missing).toEqual([]);
      expect(verdict.ruled_out.map(({ cause }) => cause)).toEqual(
        expect.arrayContaining(['capacity', 'external_pressure']),
      );
    }
  });

  it('has the same cause without its log; then reserved + device free is the total', async () => {
    const { verdicts } = await diagnosed(sampleFiles(isPickle));
    expect(verdicts.map(({ rank, cause }) => [rank, cause])).toEqual(
      truth.ranks.map(({ rank }) => [rank, truth.cause]),
    );
    for (const [i, verdict] of verdicts.entries()) {
      const rank = truth.ranks[i]!;
      expect(verdict.accounting_total!.bytes).toBe(rank.reserved_bytes + rank.device_free_bytes);
      expect(part(verdict, 'rounding_of_message')).toBe(0);
      expect(verdict.missing).toEqual([expect.stringMatching(/^external pressure/)]);
    }
  });

  it('can be given the total that no file tells', async () => {
    const { verdicts } = await diagnosed(sampleFiles(isPickle), { capacityBytes: 84_942_979_072 });
    for (const [i, verdict] of verdicts.entries()) {
      expect(verdict.cause).toBe(truth.cause);
      expect(verdict.accounting_total!.bytes).toBe(84_942_979_072);
      expect(part(verdict, 'outside_pytorch')).toBe(truth.ranks[i]!.non_torch_bytes);
      expect(verdict.missing).toEqual([]);
    }
  });

  it('has the same cause from its log alone, with less confidence and less detail', async () => {
    const { verdicts } = await diagnosed(sampleFiles((name) => !isPickle(name)));
    expect(verdicts.map(({ rank, device, cause }) => [rank, device, cause])).toEqual(
      truth.ranks.map(({ rank, device }) => [rank, device, truth.cause]),
    );
    for (const verdict of verdicts) {
      expect(verdict.detail).toBeNull();
      expect(verdict.confidence).toBe('medium');
      expect(verdict.accounting_total!.text).toContain('printed');
      expect(verdict.missing.some((text) => text.includes('_record_memory_history'))).toBe(true);
    }
  });

  it('joins each rank with its own message also where only one of two left a snapshot', async () => {
    const run = fragmentedTwice();
    const [dumped] = run.snapshots;
    const failed = run.attempts[0]!.ranks.filter(({ ending }) => ending.kind === 'oom');
    const files = [...runDirectory(run)].filter(([name]) => name !== TRUTH_NAME);
    const { verdicts } = await diagnosed(Object.fromEntries(files));
    // The snapshot makes surer.
    expect(verdicts[0]!.rank).toBe(dumped!.rank);
    const byRank = verdicts.toSorted((a, b) => a.rank! - b.rank!);
    expect(byRank.map(({ rank, cause, detail }) => [rank, cause, detail])).toEqual(
      failed.map(({ rank }) => [rank, 'fragmentation', rank === dumped!.rank ? 'split_remainder' : null]),
    );
  });

  it('has at its peak every live byte once', async () => {
    await withRun(sampleFiles(isPickle), async (store, runId) => {
      const all = await describePeaks(store, { runId }, { sites: 0, stacks: 0 });
      const few = await describePeaks(store, { runId }, { sites: 3, stacks: 2 });
      for (const [i, snapshot] of all.snapshots.entries()) {
        for (const [j, device] of snapshot.devices.entries()) {
          const bytes = (groups: readonly { readonly bytes: number }[]): number =>
            groups.reduce((sum, g) => sum + g.bytes, 0);
          expect(bytes(device.sites)).toBe(device.active_bytes);
          expect(bytes(device.stacks)).toBe(device.active_bytes);
          expect(device.sites.reduce((sum, group) => sum + group.count, 0)).toBe(device.blocks);
          expect(device.other_sites).toEqual({ groups: 0, bytes: 0, count: 0 });
          expect(device.basis).toBe('actual');
          const limited = few.snapshots[i]!.devices[j]!;
          expect(limited.sites).toEqual(device.sites.slice(0, 3));
          expect(limited.stacks).toEqual(device.stacks.slice(0, 2));
          expect(bytes(limited.sites) + limited.other_sites.bytes).toBe(device.active_bytes);
          expect(bytes(limited.stacks) + limited.other_stacks.bytes).toBe(device.active_bytes);
          expect(limited.other_sites.groups).toBe(device.sites.length - 3);
        }
      }
    });
  });
});

// ---- by hand
// ---------------------------------------------------------------------------------------------------------------------

const SEGMENT = 20 * MIB;

/** A device of two segments: `live` bytes allocated in each, then an `oom` entry; dumped at that moment. */
function failing(
  live: number,
  requested: number,
  deviceFree: number,
  after: readonly SmallEntry[] = [],
): SmallSnapshot {
  const addresses = [BASE, BASE + 2 ** 32];
  return {
    segments: addresses.map(() => [
      { size: live, stack: ['model.py:7'] },
      ...(live < SEGMENT ? [{ size: SEGMENT - live, state: 'inactive' as const }] : []),
    ]),
    entries: [
      ...addresses.flatMap((addr): SmallEntry[] => [
        { action: 'segment_alloc', addr, size: SEGMENT },
        { action: 'alloc', addr, size: live, stack: ['model.py:7'] },
      ]),
      { action: 'oom', size: requested, stack: ['loss.py:9'], extra: { device_free: deviceFree } },
      ...after,
    ],
  };
}

const message = (
  rank: number,
  requested: string,
  total: string,
  free: string,
  process: string,
  allocated: string,
  cached: string,
): string =>
  `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${requested}. GPU 0 has a total capacity of ${total} of which ` +
  `${free} is free. Including non-PyTorch memory, this process has ${process} memory in use. Of the allocated memory ${allocated} is allocated ` +
  `by PyTorch, and ${cached} is reserved by PyTorch but unallocated.\n`;

describe('a run made by hand', () => {
  it('is capacity where live memory and the request exceed all there is', async () => {
    const { verdicts } = await diagnosed({ 'snapshot_1.pickle': smallSnapshot(failing(18 * MIB, 12 * MIB, 4 * MIB)) });
    expect(verdicts).toMatchObject([
      {
        rank: 1,
        device: 0,
        cause: 'capacity',
        detail: null,
        // Without the device's total it is unknown who else was there.
        confidence: 'medium',
        request: { bytes: 12 * MIB, site: expect.stringContaining('loss.py:9') },
        accounting_total: { bytes: 44 * MIB },
      },
    ]);
    expect(part(verdicts[0]!, 'allocated')).toBe(36 * MIB);
    expect(part(verdicts[0]!, 'cached_too_small')).toBe(4 * MIB);
  });

  it('is fragmentation where it would fit in one piece', async () => {
    const { verdicts } = await diagnosed({ 'snapshot_1.pickle': smallSnapshot(failing(12 * MIB, 14 * MIB, 4 * MIB)) });
    expect(verdicts).toMatchObject([
      { cause: 'fragmentation', detail: 'split_remainder', accounting_total: { bytes: 44 * MIB } },
    ]);
  });

  it('is an impossible request where that is larger than the device', async () => {
    const snapshot = smallSnapshot(failing(12 * MIB, 64 * GIB, 4 * MIB));
    expect((await diagnosed({ 'snapshot_1.pickle': snapshot })).verdicts).toMatchObject([
      { cause: 'capacity', detail: 'impossible_request' },
    ]);
    expect((await diagnosed({ 'snapshot_1.pickle': snapshot }, { capacityBytes: 32 * GIB })).verdicts).toMatchObject([
      { cause: 'capacity', detail: 'impossible_request' },
    ]);
  });

  it('is judged by the state at the OOM, not by the one that was dumped after the exception', async () => {
    const addresses = [BASE, BASE + 2 ** 32];
    const base = failing(
      18 * MIB,
      12 * MIB,
      4 * MIB,
      addresses.flatMap((addr): SmallEntry[] => [
        { action: 'free_requested', addr, size: 18 * MIB },
        { action: 'free_completed', addr, size: 18 * MIB },
      ]),
    );
    const freed = { ...base, segments: addresses.map(() => [{ size: SEGMENT, state: 'inactive' as const }]) };
    const { verdicts } = await diagnosed({ 'snapshot_1.pickle': smallSnapshot(freed) });
    expect(verdicts).toMatchObject([{ cause: 'capacity', accounting_total: { bytes: 44 * MIB } }]);
    expect(part(verdicts[0]!, 'allocated')).toBe(36 * MIB);
    expect(verdicts[0]!.evidence.some(({ text }) => text.includes('walked back'))).toBe(true);
  });

  it('is joined with its message, which is then not counted again', async () => {
    // 12 MiB is printed as it is asked of the driver.
    const text = message(1, '12.00 MiB', '45.00 MiB', '4.00 MiB', '41.00 MiB', '36.00 MiB', '4.00 MiB');
    const files = {
      'snapshot_1.pickle': smallSnapshot(failing(18 * MIB, 12 * MIB, 4 * MIB)),
      'train.log': `starting\n${text}Traceback again:\n${text}`,
    };
    const { verdicts } = await diagnosed(files);
    expect(verdicts).toMatchObject([
      { rank: 1, cause: 'capacity', confidence: 'proven', accounting_total: { bytes: 45 * MIB } },
    ]);
    expect(part(verdicts[0]!, 'outside_pytorch_this_process')).toBe(MIB);
    expect(verdicts[0]!.evidence.some(({ source }) => source.includes('train.log line 2'))).toBe(true);
  });

  it('dumped twice is one verdict; two ranks without a name stay two', async () => {
    const dump = smallSnapshot(failing(15 * MIB, 30 * MIB, MIB));
    const matching = await diagnosed({
      'snapshot_oom_rank-3.pickle': dump,
      'copy/snapshot_oom_rank-3.pickle': Buffer.concat([dump, Buffer.from('.')]),
    });
    expect(matching.verdicts.map(({ rank }) => rank)).toEqual([3]);
    const twins = await diagnosed({ 'a.pickle': dump, 'b.pickle': Buffer.concat([dump, Buffer.from('.')]) });
    expect(twins.verdicts.map(({ rank }) => rank)).toEqual([null, null]);
  });

  it('of two ranks has a verdict for each, who failed first in front, and one each', async () => {
    const text = (rank: number): string =>
      message(rank, '2.00 GiB', '79.11 GiB', '1.00 GiB', '78.00 GiB', '75.00 GiB', '512.00 MiB');
    const { verdicts } = await diagnosed({ 'train.log': `${text(5)}${text(2)}${text(5)}` });
    expect(verdicts.map(({ rank, cause }) => [rank, cause])).toEqual([
      [5, 'capacity'],
      [2, 'capacity'],
    ]);
  });

  it('that failed for another reason is not an OOM', async () => {
    const log = 'RuntimeError: CUDA error: an illegal memory access was encountered\n';
    expect((await diagnosed({ 'train.log': log })).verdicts).toMatchObject([{ cause: 'not_oom' }]);
    const both = await diagnosed({ 'train.log': log, 'snapshot_0.pickle': smallSnapshot() });
    expect(both.verdicts).toMatchObject([{ cause: 'not_oom', rank: 0 }]);
    expect(both.verdicts[0]!.summary).toContain('failed');
  });

  it('that did not fail reports what its peak was, and how much was left if the total is given', async () => {
    const files = { 'snapshot_0.pickle': smallSnapshot({ segments: [[{ size: SEGMENT }]] }) };
    const { verdicts } = await diagnosed(files);
    expect(verdicts).toMatchObject([
      {
        cause: 'not_oom',
        confidence: 'low',
        accounting_total: null,
        missing: [expect.stringContaining('no trace'), expect.stringContaining('--capacity')],
      },
    ]);
    const known = await diagnosed(files, { capacityBytes: GIB });
    expect(known.verdicts).toMatchObject([
      { cause: 'not_oom', missing: [expect.stringContaining('no trace')], accounting_total: { bytes: GIB } },
    ]);
    expect(part(known.verdicts[0]!, 'reserved_at_dump')).toBe(SEGMENT);
  });

  it('and whose files record no OOM is not said to be without one', async () => {
    const entries = (handler: string, times = 1): SmallEntry[] =>
      Array.from({ length: 200 }, (_, i) => ({
        action: i % 2 === 0 ? 'alloc' : 'free_completed',
        addr: BASE,
        size: 512,
        stack: [i >= 200 - times ? `${handler} a/train.py:7` : 'forward a/model.py:3', 'main a/train.py:1'],
      }));
    const segments = [[{ size: SEGMENT }]];
    const traced = (handler: string, times?: number): Uint8Array =>
      smallSnapshot({ segments, entries: entries(handler, times) });
    const silent: Files[] = [
      { 'snapshot_0.pickle': smallSnapshot({ segments }) },
      { 'mem_8192.pickle': traced('forward') },
      // A wrapper around every step is on every stack.
      { 'mem_8192.pickle': traced('retry_on_oom', 200) },
      { 'mem_8192.pickle': traced('zoom_out') },
    ];
    for (const files of silent) {
      const result = await diagnosed(files);
      expect(result.verdicts).toMatchObject([{ cause: 'not_oom', confidence: 'low' }]);
      expect(diagnoseText(result)).toMatch(/^NO OOM RECORDED .*\nVERDICT {2}no OOM recorded in this file\n/);
      expect(diagnoseText(result)).toMatch(/UNKNOWN +whether an OOM occurred/);
    }
    const nothing = await diagnosed({ 'snapshot_0.pickle': smallSnapshot({ segments: [] }) });
    expect(nothing.verdicts).toMatchObject([{ cause: 'undecided', rank: 0, device: null }]);
    expect(diagnoseText(nothing)).toContain('the snapshot is empty');
    const suspicious: Files[] = [
      { 'oom_rank-3_snapshot.pickle': smallSnapshot({ segments }) },
      { 'snapshot_oom_rank_3.pickle': traced('forward') },
      { 'memory_snapshot/iteration_7_exit/rank3_memory_snapshot.pickle': traced('forward') },
      { 'step_000000000012_exit/000003_step_12.pickle': smallSnapshot({ segments }) },
      { 'oom_20260906-1201/torch_memory_rank3_pid9.pickle': smallSnapshot({ segments }) },
      { 'crash_rank3.pickle': smallSnapshot({ segments }) },
      { 'rank3.pickle': traced('_oom_observer') },
      { 'rank3.pickle': traced('log_uncaught_excepthook') },
      { 'rank3.pickle': traced('OOMHandler.dump', 3) },
    ];
    for (const files of suspicious) {
      const result = await diagnosed(files);
      expect([files, result.verdicts]).toMatchObject([files, [{ cause: 'undecided', rank: 3 }]]);
      expect(diagnoseText(result)).toMatch(/^NO OOM RECORDED .*rank 3.*\nVERDICT {2}undecided\n/);
    }
  });

  it('has the device with the most live memory in front, and a dump at a failure before it', async () => {
    const dump = (mib: number, device = 0): Uint8Array =>
      smallSnapshot({ device, segments: [[{ size: mib * MIB }, { size: 500 * MIB, state: 'inactive' }]] });
    const empty = smallSnapshot({ segments: [[{ size: 2000 * MIB, state: 'inactive' }]] });
    const files = {
      'rank0.pickle': empty,
      'rank1.pickle': dump(20),
      'rank2.pickle': dump(60, 2),
      'rank3.pickle': dump(40),
    };
    const order = async (more: Files): Promise<(number | null)[]> =>
      (await diagnosed({ ...files, ...more })).verdicts.map(({ rank }) => rank);
    expect(await order({})).toEqual([2, 3, 1, 0]);
    expect(await order({ 'oom_rank4.pickle': dump(2) })).toEqual([4, 2, 3, 1, 0]);
  });

  it('without figures stays undecided and reports what would settle it', async () => {
    const { verdicts } = await diagnosed({ 'train.log': 'RuntimeError: CUDA error: out of memory\n' });
    expect(verdicts).toMatchObject([{ cause: 'undecided', accounting_total: null, request: null }]);
    expect(verdicts[0]!.missing.length).toBeGreaterThan(0);
    expect(verdicts[0]!.next.length).toBeGreaterThan(0);
  });
});
