/**
 * From files to verdicts: a generated sample, whose truth is known to the byte, whole and in parts; and runs made by
 * hand.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fragmentationSplitRemainder } from '../../../samples/generate/causes/fragmentation-split-remainder.js';
import type { GeneratedRun } from '../../../samples/generate/run.js';
import { runDirectory, TRUTH_NAME } from '../../../samples/generate/write/run-directory.js';
import type { DiagnoseOptions } from '../../../src/findings/flows/diagnose.js';
import { describePeaks } from '../../../src/findings/state/live/peaks.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../../src/model/results/common.js';
import { formatBytes, GIB, MIB } from '../../../src/model/units.js';
import { type RankTruth, truthOf } from '../../support/run-truth.js';
import { diagnoseText } from '../../support/screen.js';
import { BASE, type SmallEntry, smallSnapshot } from '../../support/small-snapshot.js';
import { samplePath } from '../../support/stores.js';
import { type Files, runsOfFiles } from '../verdict/runs-of-files.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');
const sample = truthOf(SAMPLE);
interface FailedTruth extends RankTruth {
  readonly largest_hole_bytes: number;
  readonly failing_function: string;
}
/** The ranks that ran out of memory. */
const FAILED = sample.ranks.filter(({ ending }) => ending === 'oom') as unknown as readonly FailedTruth[];

const sampleFiles = (wanted: (name: string) => boolean): Files =>
  Object.fromEntries(
    readdirSync(SAMPLE)
      .filter((name) => name !== TRUTH_NAME && wanted(name))
      .map((name) => [name, readFileSync(join(SAMPLE, name))]),
  );
const isPickle = (name: string): boolean => /\.pickle(\.gz)?$/.test(name);

/** A generated run of which two ranks ran out of memory and one of them recorded. */
function fragmentedTwice(): GeneratedRun {
  for (let seed = 1; ; seed += 1) {
    const run = fragmentationSplitRemainder.build(seed);
    const failed = run.attempts[0]!.ranks.filter(({ ending }) => ending.kind === 'oom');
    if (run.attempts.length === 1 && failed.length === 2 && run.snapshots.length === 1) return run;
  }
}
const TWICE = fragmentedTwice();

// ---- by hand

const SEGMENT = 20 * MIB;
const ADDRESSES = [BASE, BASE + 2 ** 32];

/** A device of two segments: `live` MiB allocated in each, then an `oom` entry; dumped then, or after all was freed. */
function failing(live: number, requested: number, deviceFree: number, isFreed = false): Uint8Array {
  const size = live * MIB;
  const free = (addr: number): SmallEntry[] =>
    (['free_requested', 'free_completed'] as const).map((action) => ({ action, addr, size }));
  const held = { size, stack: ['model.py:7'] };
  return smallSnapshot({
    segments: ADDRESSES.map(() =>
      isFreed
        ? [{ size: SEGMENT, state: 'inactive' as const }]
        : [held, ...(size < SEGMENT ? [{ size: SEGMENT - size, state: 'inactive' as const }] : [])],
    ),
    entries: [
      ...ADDRESSES.flatMap((addr): SmallEntry[] => [
        { action: 'segment_alloc', addr, size: SEGMENT },
        { action: 'alloc', addr, size, stack: ['model.py:7'] },
      ]),
      { action: 'oom', size: requested * MIB, stack: ['loss.py:9'], extra: { device_free: deviceFree * MIB } },
      ...(isFreed ? ADDRESSES.flatMap(free) : []),
    ],
  });
}

type Figures = readonly [requested: string, total: string, free: string, process: string, live: string, cached: string];
const message = (rank: number, [requested, total, free, process, live, cached]: Figures): string =>
  `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${requested}. GPU 0 has a total capacity of ${total} of which ` +
  `${free} is free. Including non-PyTorch memory, this process has ${process} memory in use. Of the allocated memory ${live} is allocated ` +
  `by PyTorch, and ${cached} is reserved by PyTorch but unallocated.\n`;

const CAPACITY = failing(18, 12, 4);
// 12 MiB is printed as it is requested of the driver.
const ITS_MESSAGE = message(1, ['12.00 MiB', '45.00 MiB', '4.00 MiB', '41.00 MiB', '36.00 MiB', '4.00 MiB']);
const FULL: Figures = ['2.00 GiB', '79.11 GiB', '1.00 GiB', '78.00 GiB', '75.00 GiB', '512.00 MiB'];
const ILLEGAL = 'RuntimeError: CUDA error: an illegal memory access was encountered\n';
const DUMP = failing(15, 30, 1);
const COPY = Buffer.concat([DUMP, Buffer.from('.')]);
const segments = [[{ size: SEGMENT }]];
const UNTRACED = smallSnapshot({ segments });

/** 200 entries, the last `times` of them in `handler`. */
function traced(handler: string, times = 1): Uint8Array {
  const entries = Array.from({ length: 200 }, (_, i): SmallEntry => {
    const stack = [i >= 200 - times ? `${handler} a/train.py:7` : 'forward a/model.py:3', 'main a/train.py:1'];
    return { action: i % 2 === 0 ? 'alloc' : 'free_completed', addr: BASE, size: 512, stack };
  });
  return smallSnapshot({ segments, entries });
}

/** No OOM is recorded, and nothing suggests one. */
const SILENT: readonly Files[] = [
  { 'snapshot_0.pickle': UNTRACED },
  { 'mem_8192.pickle': traced('forward') },
  // A wrapper around every step is on every stack.
  { 'mem_8192.pickle': traced('retry_on_oom', 200) },
  { 'mem_8192.pickle': traced('zoom_out') },
];
/** No OOM is recorded, but names suggest one. */
const SUSPICIOUS: readonly Files[] = [
  { 'oom_rank-3_snapshot.pickle': UNTRACED },
  { 'snapshot_oom_rank_3.pickle': traced('forward') },
  { 'memory_snapshot/iteration_7_exit/rank3_memory_snapshot.pickle': traced('forward') },
  { 'step_000000000012_exit/000003_step_12.pickle': UNTRACED },
  { 'oom_20260906-1201/torch_memory_rank3_pid9.pickle': UNTRACED },
  { 'crash_rank3.pickle': UNTRACED },
  { 'rank3.pickle': traced('_oom_observer') },
  { 'rank3.pickle': traced('log_uncaught_excepthook') },
  { 'rank3.pickle': traced('OOMHandler.dump', 3) },
];
const numbered = (name: string, all: readonly Files[]) => all.map((files, i) => [`${name}-${i}`, files] as const);

const dump = (mib: number, device = 0): Uint8Array =>
  smallSnapshot({ device, segments: [[{ size: mib * MIB }, { size: 500 * MIB, state: 'inactive' }]] });
const FINISHED: Files = {
  'rank0.pickle': smallSnapshot({ segments: [[{ size: 2000 * MIB, state: 'inactive' }]] }),
  ...{ 'rank1.pickle': dump(20), 'rank2.pickle': dump(60, 2), 'rank3.pickle': dump(40) },
};

const runs = {
  ...{ whole: sampleFiles(() => true), pickles: sampleFiles(isPickle), logs: sampleFiles((name) => !isPickle(name)) },
  'failed-twice': Object.fromEntries([...runDirectory(TWICE)].filter(([name]) => name !== TRUTH_NAME)),
  capacity: { 'snapshot_1.pickle': CAPACITY },
  fragmentation: { 'snapshot_1.pickle': failing(12, 14, 4) },
  impossible: { 'snapshot_1.pickle': failing(12, 64 * 1024, 4) },
  freed: { 'snapshot_1.pickle': failing(18, 12, 4, true) },
  joined: {
    'snapshot_1.pickle': CAPACITY,
    'train.log': `starting\n${ITS_MESSAGE}Traceback again:\n${ITS_MESSAGE}`,
  },
  copies: { 'snapshot_oom_rank-3.pickle': DUMP, 'copy/snapshot_oom_rank-3.pickle': COPY },
  twins: { 'a.pickle': DUMP, 'b.pickle': COPY },
  'two-ranks': { 'train.log': [5, 2, 5].map((rank) => message(rank, FULL)).join('') },
  illegal: { 'train.log': ILLEGAL },
  'illegal-dumped': { 'train.log': ILLEGAL, 'snapshot_0.pickle': smallSnapshot() },
  empty: { 'snapshot_0.pickle': smallSnapshot({ segments: [] }) },
  ...Object.fromEntries([...numbered('silent', SILENT), ...numbered('suspicious', SUSPICIOUS)]),
  ...{ finished: FINISHED, 'dumped-at-failure': { ...FINISHED, 'oom_rank4.pickle': dump(2) } },
  bare: { 'train.log': 'RuntimeError: CUDA error: out of memory\n' },
} satisfies Readonly<Record<string, Files>>;

const asked = runsOfFiles(runs);
async function diagnosed(run: string, options: DiagnoseOptions = {}): Promise<DiagnoseResult> {
  const result = await asked.diagnosed(run, options);
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

const part = (verdict: Verdict, name: string): number =>
  verdict.accounting.find((item) => item.part === name)?.bytes ?? 0;

describe('the sample run', () => {
  const causes = FAILED.map(({ rank, device }) => [rank, device, sample.cause]);
  const causesOf = (verdicts: readonly Verdict[]) => verdicts.map(({ rank, device, cause }) => [rank, device, cause]);

  it('has the cause it was made with, on every rank that failed, accounted for to the printed total', async () => {
    const { verdicts } = await diagnosed('whole');
    expect(causesOf(verdicts)).toEqual(causes);
    for (const [i, verdict] of verdicts.entries()) {
      const rank = FAILED[i]!;
      expect(verdict).toMatchObject({ detail: 'split_remainder', request: { bytes: rank.rounded_bytes }, missing: [] });
      expect(verdict.request!.site).toContain(rank.failing_function);
      expect(part(verdict, 'allocated') + part(verdict, 'pending_free')).toBe(rank.allocated_bytes);
      expect(part(verdict, 'device_free')).toBe(rank.device_free_bytes);
      const cached = ['cached_too_small', 'cached_other_stream', 'cached_other_size_class'];
      const cachedBytes = cached.reduce((sum, name) => sum + part(verdict, name), 0);
      expect(cachedBytes).toBe(rank.reserved_bytes - rank.allocated_bytes);
      // Printed to two decimals of a GiB: total and process are each off by up to 5.4 MB.
      expect(Math.abs(part(verdict, 'outside_pytorch_this_process') - rank.non_torch_bytes)).toBeLessThan(0.011 * GIB);
      expect(Math.abs(verdict.accounting_total!.bytes - rank.device_total_bytes)).toBeLessThan(0.0051 * GIB);
      expect(Math.abs(part(verdict, 'rounding_of_message'))).toBeLessThan(0.0101 * GIB);
      expect(verdict.summary).toContain(formatBytes(rank.largest_hole_bytes));
      // Both sources are quoted.
      const sources = verdict.evidence.map(({ source }) => source).join('\n');
      expect(sources).toContain(`rank-${rank.rank}.pickle.gz entry`);
      expect(sources).toMatch(/\.out line \d/);
      const ruledOut = verdict.ruled_out.map(({ cause }) => cause);
      expect(ruledOut).toEqual(expect.arrayContaining(['capacity', 'external_pressure']));
    }
  });

  it('has the same cause without its log; then reserved + device free is the total', async () => {
    const { verdicts } = await diagnosed('pickles');
    expect(causesOf(verdicts)).toEqual(causes);
    for (const [i, verdict] of verdicts.entries()) {
      expect(verdict.accounting_total!.bytes).toBe(FAILED[i]!.reserved_bytes + FAILED[i]!.device_free_bytes);
      expect(part(verdict, 'rounding_of_message')).toBe(0);
      expect(verdict.missing).toEqual([expect.stringMatching(/^external pressure/)]);
    }
  });

  it('can be given the total that no file has', async () => {
    const { verdicts } = await diagnosed('pickles', { capacityBytes: 84_942_979_072 });
    for (const [i, verdict] of verdicts.entries()) {
      expect(verdict).toMatchObject({ cause: sample.cause, accounting_total: { bytes: 84_942_979_072 }, missing: [] });
      expect(part(verdict, 'outside_pytorch')).toBe(FAILED[i]!.non_torch_bytes);
    }
  });

  it('has the same cause from its log alone, with less confidence and less detail', async () => {
    const { verdicts } = await diagnosed('logs');
    expect(causesOf(verdicts)).toEqual(causes);
    for (const verdict of verdicts) {
      expect(verdict).toMatchObject({ detail: null, confidence: 'medium' });
      expect(verdict.accounting_total!.text).toContain('printed');
      expect(verdict.missing.some((text) => text.includes('_record_memory_history'))).toBe(true);
    }
  });

  it('joins each rank with its own message also where only one of two left a snapshot', async () => {
    const [dumped] = TWICE.snapshots;
    const failed = TWICE.attempts[0]!.ranks.filter(({ ending }) => ending.kind === 'oom');
    const { verdicts } = await diagnosed('failed-twice');
    // The snapshot gives more confidence.
    expect(verdicts[0]!.rank).toBe(dumped!.rank);
    const byRank = verdicts.toSorted((a, b) => a.rank! - b.rank!);
    expect(byRank.map(({ rank, cause, detail }) => [rank, cause, detail])).toEqual(
      failed.map(({ rank }) => [rank, 'fragmentation', rank === dumped!.rank ? 'split_remainder' : null]),
    );
  });

  it('has at its peak every live byte once', async () => {
    const runId = asked.idOf('pickles');
    const all = await describePeaks(asked.store(), { runId }, { sites: 0, stacks: 0 });
    const few = await describePeaks(asked.store(), { runId }, { sites: 3, stacks: 2 });
    const bytes = (groups: readonly { readonly bytes: number }[]): number =>
      groups.reduce((sum, g) => sum + g.bytes, 0);
    for (const [i, snapshot] of all.snapshots.entries()) {
      for (const [j, device] of snapshot.devices.entries()) {
        expect([bytes(device.sites), bytes(device.stacks)]).toEqual([device.active_bytes, device.active_bytes]);
        expect(device.sites.reduce((sum, group) => sum + group.count, 0)).toBe(device.blocks);
        expect(device).toMatchObject({ other_sites: { groups: 0, bytes: 0, count: 0 }, basis: 'actual' });
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

describe('a run made by hand', () => {
  const impossible = [{ cause: 'capacity', detail: 'impossible_request' }];
  const NO_TRACE = expect.stringContaining('no trace');
  // Without the device's total it is unknown what others held.
  const full = { rank: 1, device: 0, cause: 'capacity', detail: null, confidence: 'medium' };
  const request = { bytes: 12 * MIB, site: expect.stringContaining('loss.py:9') };

  it.each<[string, string, readonly object[], Readonly<Record<string, number>>?, number?]>([
    [
      'is capacity where live memory and the request exceed all there is',
      'capacity',
      [{ ...full, request, accounting_total: { bytes: 44 * MIB } }],
      { allocated: 36 * MIB, cached_too_small: 4 * MIB },
    ],
    [
      'is fragmentation where it would fit in one piece',
      'fragmentation',
      [{ cause: 'fragmentation', detail: 'split_remainder', accounting_total: { bytes: 44 * MIB } }],
    ],
    ['is an impossible request where that is larger than the device', 'impossible', impossible],
    ['is one as well where the total is given', 'impossible', impossible, {}, 32 * GIB],
    [
      'is judged by the state at the OOM, not by the one that was dumped after the exception',
      'freed',
      [{ cause: 'capacity', accounting_total: { bytes: 44 * MIB } }],
      { allocated: 36 * MIB },
    ],
    [
      'is joined with its message, which is then not counted again',
      'joined',
      [{ rank: 1, cause: 'capacity', confidence: 'proven', accounting_total: { bytes: 45 * MIB } }],
      { outside_pytorch_this_process: MIB },
    ],
    ['dumped twice is one verdict', 'copies', [{ rank: 3 }]],
    ['of two ranks without a name stays two', 'twins', [{ rank: null }, { rank: null }]],
    [
      'of two ranks has one verdict for each, the first failure in front',
      'two-ranks',
      [5, 2].map((rank) => ({ rank, cause: 'capacity' })),
    ],
    ['that failed for another reason is not an OOM', 'illegal', [{ cause: 'not_oom' }]],
    [
      'that failed for another reason next to a snapshot is not an OOM',
      'illegal-dumped',
      [{ cause: 'not_oom', rank: 0, summary: expect.stringContaining('failed') }],
    ],
    [
      'that did not fail reports what its peak was',
      'silent-0',
      [
        {
          ...{ cause: 'not_oom', confidence: 'low', accounting_total: null },
          missing: [NO_TRACE, expect.stringContaining('--capacity')],
        },
      ],
    ],
    [
      'that did not fail reports how much was left if the total is given',
      'silent-0',
      [{ cause: 'not_oom', missing: [NO_TRACE], accounting_total: { bytes: GIB } }],
      { reserved_at_dump: SEGMENT },
      GIB,
    ],
  ])('%s', async (_, run, expected, parts = {}, capacityBytes) => {
    const { verdicts } = await diagnosed(run, capacityBytes === undefined ? {} : { capacityBytes });
    expect(verdicts).toMatchObject(expected);
    for (const [name, bytes] of Object.entries(parts)) expect(part(verdicts[0]!, name), name).toBe(bytes);
    const { evidence } = verdicts[0]!;
    if (run === 'freed') expect(evidence.some(({ text }) => text.includes('walked back'))).toBe(true);
    if (run === 'joined') expect(evidence.some(({ source }) => source.includes('train.log line 2'))).toBe(true);
  });

  it.each(SILENT.map((_, i) => `silent-${i}`))(
    'whose files record no OOM is not reported as without one: %s',
    async (run) => {
      const result = await diagnosed(run);
      expect(result.verdicts).toMatchObject([{ cause: 'not_oom', confidence: 'low' }]);
      expect(diagnoseText(result)).toMatch(/^NO OOM RECORDED .*\nVERDICT {2}no OOM recorded in this file\n/);
      expect(diagnoseText(result)).toMatch(/UNKNOWN +whether an OOM occurred/);
    },
  );

  it.each(SUSPICIOUS.map((files, i) => [Object.keys(files).join(), i]))(
    'whose names suggest an OOM is undecided: %s',
    async (_, i) => {
      const result = await diagnosed(`suspicious-${i}`);
      expect(result.verdicts).toMatchObject([{ cause: 'undecided', rank: 3 }]);
      expect(diagnoseText(result)).toMatch(/^NO OOM RECORDED .*rank 3.*\nVERDICT {2}undecided\n/);
    },
  );

  it('of an empty snapshot is undecided', async () => {
    const result = await diagnosed('empty');
    expect(result.verdicts).toMatchObject([{ cause: 'undecided', rank: 0, device: null }]);
    expect(diagnoseText(result)).toContain('the snapshot is empty');
  });

  it('has the device with the most live memory in front, and a dump at a failure before it', async () => {
    const order = async (run: string) => (await diagnosed(run)).verdicts.map(({ rank }) => rank);
    expect(await order('finished')).toEqual([2, 3, 1, 0]);
    expect(await order('dumped-at-failure')).toEqual([4, 2, 3, 1, 0]);
  });

  it('without figures stays undecided and reports what would settle it', async () => {
    const { verdicts } = await diagnosed('bare');
    expect(verdicts).toMatchObject([{ cause: 'undecided', accounting_total: null, request: null }]);
    expect(verdicts[0]!.missing.length).toBeGreaterThan(0);
    expect(verdicts[0]!.next.length).toBeGreaterThan(0);
  });
});
