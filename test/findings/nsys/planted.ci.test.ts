/** Every planted byte, call, range and nanosecond is found again, and nothing that was not planted. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type {
  NsysDriverAccount,
  NsysReport,
  NsysResult,
  NsysRangeWork as Work,
} from '../../../src/model/results/nsys.js';
import { skipLoudly } from '../../support/corpus.js';
import { type PlantedRun, writePlantedRun } from '../../support/nsys/planted-run.js';
import type { Owner } from '../../support/nsys/rows.js';
import { snapshotBytes } from '../../support/nsys/snapshots.js';
import { type ExportOptions, NSYS_SCHEMAS, type NsysSchema, sqlite3Program } from '../../support/nsys/write-export.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { askedOf, onlyReport } from './described.js';
import {
  ALL_BUT_CHAINS,
  addGroup,
  budgetOf,
  byBytes,
  COPY_NAMES,
  curveOf,
  type Evidence,
  type GroupSums,
  groupsOf,
  memoryCallsOf,
  OWNER_NAMES,
  plainApi,
  rangeWorkOf,
  sharesAt,
  stormsOf,
  workOf,
} from './expected.js';

const root = temporaryDirectory();
let folders = 0;
/** A folder that lasts as long as the tests of this file. */
const folder = (): string => join(root, String(++folders));

function evidenceOf(schema: NsysSchema, omit: readonly string[] = []): Evidence {
  const has = (name: string): boolean => !omit.includes(name);
  return {
    ...{ hasSnapshots: true, hasCalls: has('CUPTI_ACTIVITY_KIND_RUNTIME'), hasRanges: has('NVTX_EVENTS') },
    ...{ hasChains: schema === '3.28' && has('CUDA_CALLCHAINS'), hasLibraries: has('CUBLAS_EVENTS') },
  };
}

const accountOf = ({ accounts }: NsysReport, pid: number): NsysDriverAccount =>
  accounts!.find((account) => account.pid === pid)!;
const peakOf = ({ scenario }: PlantedRun, pid: number): number =>
  scenario.truth.footprints.find((footprint) => footprint.pid === pid && footprint.kind === 'device')!.peakNs!;
/** By process, and by the kind of memory or the call. */
const byKey = <Row extends { readonly pid: number | null; readonly kind?: string; readonly api?: string }>(
  rows: readonly Row[],
): Row[] => [...rows].sort((a, b) => a.pid! - b.pid! || (`${a.kind} ${a.api}` < `${b.kind} ${b.api}` ? -1 : 1));
const isWithin = (value: number, low: number, high: number): void => {
  expect(value).toBeGreaterThanOrEqual(low);
  expect(value).toBeLessThanOrEqual(high);
};

/** Shares at every moment and sums by group are those that an honest reader with this evidence must find. */
function expectAccounts(run: PlantedRun, report: NsysReport, has: Evidence): void {
  const { scenario } = run;
  const { truth } = scenario;
  expect(report.accounts!.map(({ pid, device }) => [pid, device])).toEqual(
    scenario.processes.map(({ pid, device }) => [pid, device]),
  );
  for (const { pid } of scenario.processes) {
    const { moments, groups } = accountOf(report, pid);
    const isOut = truth.oom.pid === pid && has.hasCalls;
    const second = report.steps.filter((step) => step.pid === report.steps[0]!.pid)[1];
    expect(moments.map(({ moment, time_ns }) => [moment, time_ns])).toEqual([
      ...(second === undefined ? [] : [['first step', second.start_ns]]),
      ['peak', peakOf(run, pid)],
      ...(isOut ? [['oom', truth.oom.atNs]] : []),
      ['end', scenario.durationNs],
    ]);
    for (const { shares, time_ns, total_bytes } of moments) {
      expect(byBytes(shares)).toEqual(sharesAt(scenario, pid, time_ns, has));
      expect(shares.map(({ bytes }) => bytes)).toEqual([...shares].map(({ bytes }) => bytes).sort((a, b) => b - a));
      expect(total_bytes).toBe(sum(shares.map(({ bytes }) => bytes)));
    }
    const actual: Record<string, GroupSums> = {};
    for (const group of groups) {
      const { owner, api, thread, ranges, allocations, allocated_bytes: allocated, ...live } = group;
      const { live_at_peak_bytes: peak, live_at_oom_bytes: oom, live_at_end_bytes: end } = live;
      addGroup(actual, [owner, api, thread, ranges], { allocations, allocated, peak, oom, end });
    }
    expect(actual).toEqual(groupsOf(scenario, pid, peakOf(run, pid), has));
  }
}

async function prepared(
  seed: number,
  schema: NsysSchema,
  options: ExportOptions = {},
  hasSnapshots = true,
): Promise<{ run: PlantedRun; report: NsysReport }> {
  const run = writePlantedRun(join(folder(), 'run'), seed, schema, options);
  if (!hasSnapshots) for (const path of run.snapshots) rmSync(path);
  return { run, report: await onlyReport(run.directory) };
}

const CASES = NSYS_SCHEMAS.map((schema, i) => ({ schema, seed: [1, 6, 6][i]! }));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Fields that are equal to the truth. */
function expectedReport({ scenario, export: written }: PlantedRun) {
  const { truth, recording, processes, gpus } = scenario;
  const lost = (kind: string) => `Not all ${kind} events might have been collected.`;
  const used = (pid: number): number =>
    Math.max(...recording.memory.flatMap(({ pid: own, pool }) => (own === pid && pool ? [pool.usedBytes] : [])));
  const last = (pid: number, api: string): number =>
    recording.failures.findLast((one) => one.pid === pid && one.api === api)!.atNs;
  return {
    ...{ path: 'planted.sqlite', form: 'sqlite', host: scenario.hostname, duration_ns: scenario.durationNs },
    schema_version: { '2.9': '2.9.1', '3.16': '3.16.1', '3.28': '3.28.1' }[written.schema],
    started_at: new Date(Number(scenario.utcEpochNs / 1_000_000n)).toISOString(),
    ...{ memory_events_collected: true, is_partial: false, tables: written.rows },
    nvtx_ranges: recording.nvtx.filter(({ type }) => type === 59 || type === 60).length,
    ...{ kernels: recording.kernels.length, copies: recording.copies.length },
    gpus: gpus.map(({ id, name, totalBytes }) => ({ id, name, total_bytes: totalBytes })),
    // Releases before 2024 wrote no diagnostics into the export.
    diagnostics:
      written.schema === '2.9'
        ? []
        : ['CUDA', 'NVTX'].map((kind) => ({ severity: 'warning', text: lost(kind), count: 1 })),
    device_memory: byKey(truth.footprints).map(({ startBytes, peakBytes, peakNs, endBytes, ...footprint }) => ({
      ...{ ...footprint, peak_bytes: peakBytes, peak_ns: peakNs, end_bytes: endBytes, before_bytes: startBytes },
    })),
    pools: truth.pools.map(({ pid, device, peakBytes, end }) => ({
      ...{ pid, device, peak_bytes: peakBytes, peak_used_bytes: used(pid) },
      ...{ end_bytes: end.bytes, end_used_bytes: end.usedBytes },
    })),
    // A query that finds the GPU busy is none.
    failed_calls: truth.failedCalls.map(({ pid, api, count, firstNs, returnValue }) => ({
      ...{ api: plainApi(api), count, first_ns: firstNs, last_ns: last(pid, api), pid },
      ...{ return_value: returnValue, error: 'out of memory', is_oom: true },
    })),
    memory_calls: byKey(memoryCallsOf(scenario)),
    storms: stormsOf(scenario),
    steps_by: { by: 'range', text: 'iteration #' },
    steps: processes.flatMap(({ pid }) =>
      truth.steps[pid]!.map(({ index, startNs, endNs }) => ({ index, start_ns: startNs, end_ns: endNs, pid })),
    ),
  };
}

if (sqlite3Program() === undefined) skipLoudly('planted captures', 'the sqlite3 program');
else {
  describe.each(CASES)('schema $schema, seed $seed', ({ schema, seed }) => {
    let run: PlantedRun;
    let report: NsysReport;
    const has = evidenceOf(schema);
    beforeAll(async () => {
      ({ run, report } = await prepared(seed, schema));
    });

    it.each([
      ...(['path', 'form', 'schema_version', 'host', 'started_at', 'duration_ns', 'memory_events_collected'] as const),
      ...([
        'is_partial',
        'nvtx_ranges',
        'kernels',
        'copies',
        'tables',
        'gpus',
        'diagnostics',
        'device_memory',
      ] as const),
      ...(['pools', 'failed_calls', 'memory_calls', 'storms', 'steps_by', 'steps'] as const),
    ])('has the planted %s', (field) => {
      const sorted = { device_memory: byKey(report.device_memory!), memory_calls: byKey(report.memory_calls!) };
      expect({ ...report, ...sorted }[field]).toEqual(expectedReport(run)[field]);
    });

    it('has the processes, with their ranks by the snapshots', () => {
      expect(report.processes.map(({ pid, rank, devices }) => [pid, rank, devices])).toEqual(
        run.scenario.processes.map(({ pid, rank, device }) => [pid, rank, [device]]),
      );
      for (const { rank_origin } of report.processes) expect(rank_origin).toContain('snapshot');
    });

    it('accounts for every byte of the driver, and invents none', () => {
      expectAccounts(run, report, has);
    });

    it('finds the planted owners of device memory at peak, out of memory and end', () => {
      const named = (bytes: object): object =>
        Object.fromEntries(Object.entries(bytes).map(([owner, sum]) => [OWNER_NAMES[owner as Owner], sum]));
      for (const { pid, rank, device, atPeak, atEnd, atOom } of run.scenario.truth.deviceOwners) {
        const account = accountOf(report, pid);
        expect([account.device, account.rank]).toEqual([device, rank]);
        const actual = account.moments.map(({ moment, shares }) => {
          // Managed memory and static variables are of other kinds than `device`, and what a pool keeps is no
          // allocation.
          const owned = shares.filter(({ owner }) => !['managed', 'static', 'async_pool_unused'].includes(owner));
          return [moment, Object.fromEntries(owned.map(({ owner, bytes }) => [owner, bytes]))];
        });
        const oom = atOom === null ? {} : { oom: named(atOom) };
        expect(Object.fromEntries(actual)).toMatchObject({ peak: named(atPeak), ...oom, end: named(atEnd) });
      }
    });

    it('adds up to what the driver gave when the process ran out', () => {
      const { oom } = run.scenario.truth;
      const { shares } = accountOf(report, oom.pid).moments.find(({ moment }) => moment === 'oom')!;
      const bytes = Object.fromEntries(shares.map((share) => [share.owner, share.bytes]));
      const all = sum(Object.values(bytes)) - bytes['managed']!;
      expect([bytes['torch'], bytes['static']]).toEqual([oom.reservedBytes, oom.staticBytes]);
      expect(all - oom.staticBytes).toBe(oom.driverLiveBytes);
      expect(all - oom.staticBytes - oom.reservedBytes).toBe(oom.nonTorchBytes);
    });

    it('reports the rule of each fact', () => {
      const rules = new Set(
        report.accounts!.flatMap(({ groups }) => groups.map(({ owner, rule }) => `${owner} ${rule}`)),
      );
      const common = [
        ...['torch segment', 'pinned_host kind:pinned', 'managed kind:managed', 'static kind:static'],
        ...['async_pool pool', 'graph api:graph', 'other none'],
      ];
      const libraries = has.hasChains
        ? ['nccl module:libnccl', 'cublas module:libcublas', 'cudnn module:libcudnn']
        : ['nccl range:nccl', 'nccl thread:nccl', 'cublas library:cublas', 'cudnn library:cudnn'];
      expect([...rules].sort()).toEqual([...common, ...libraries].sort());
    });

    it('shows what the program was doing at the peak and when it ran out', () => {
      const { recording, truth } = run.scenario;
      const { pid, atNs } = truth.oom;
      const open = (ns: number, tid: number): string[] =>
        recording.nvtx
          .filter((range) => range.pid === pid && range.tid === tid && range.type === 59)
          .filter(({ startNs, endNs }) => startNs <= ns && (endNs === null || endNs > ns))
          .map(({ text }) => text);
      const { moments } = accountOf(report, pid);
      const [peak, oom, end] = moments.filter(({ moment }) => moment !== 'first step');
      expect(oom!.ranges).toEqual([{ tid: pid, thread: 'pt_main_thread', texts: open(atNs, pid) }]);
      expect(oom!.ranges[0]!.texts).toEqual(recording.failures.at(-1)!.nvtxPath);
      expect(peak!.ranges.find(({ tid }) => tid === pid)!.texts).toEqual(open(peak!.time_ns, pid));
      expect(end!.ranges).toEqual([]);
    });

    it('lays the clocks side by side', () => {
      const { skewUs, jitterUs, processes, truth } = run.scenario;
      for (const { pid, rank } of processes) {
        const account = accountOf(report, pid);
        expect(account.snapshot).toBe(`run/${rank}/snapshot#1`);
        expect(account.torch_unseen_bytes).toBe(0);
        const { by, pairs, correction_us, error_us } = account.alignment!;
        expect(by).toBe('pairs');
        // A time of the snapshot is cut to whole µs, one of the report is not.
        isWithin(correction_us!, skewUs - 1, skewUs + jitterUs);
        isWithin(error_us!, 0, jitterUs);
        const ofTorch = truth.allocations.filter((block) => block.pid === pid && block.owner === 'torch');
        isWithin(pairs, 3, ofTorch.length);
        expect(account.vmm_calls).toBe(0);
      }
    });

    it('has a burst of frees that was a retry', () => {
      const { failures } = run.scenario.recording;
      const retries = stormsOf(run.scenario).filter(({ is_retry }) => is_retry);
      expect(retries.length).toBeGreaterThan(0);
      const isAfter = (ns: number) => failures.some(({ atNs }) => ns - atNs > 0 && ns - atNs < 2_000_000);
      for (const { start_ns } of retries) expect(isAfter(start_ns)).toBe(true);
    });

    it('divides the time of every step', () => {
      const { truth, processes } = run.scenario;
      expect(report.budgets!.map(({ pid, device }) => [pid, device])).toEqual(
        processes.map(({ pid, device }) => [pid, device]),
      );
      for (const { pid, steps, per_step } of report.budgets!) {
        const work = workOf(run.scenario, pid!);
        const budget = (startNs: number, endNs: number) => budgetOf(work, startNs, endNs);
        const expected = truth.steps[pid!]!.map((step) => ({ index: step.index, ...budget(step.startNs, step.endNs) }));
        expect(steps).toEqual(expected);
        for (const { window_ns, compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns } of [
          ...steps,
          per_step,
        ])
          expect(sum([compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns])).toBeCloseTo(window_ns, 5);
        const counted = expected.slice(1);
        for (const key of Object.keys(per_step) as (keyof typeof per_step)[])
          expect(per_step[key]).toBeCloseTo(sum(counted.map((step) => step[key])) / counted.length, 5);
      }
    });

    it('counts copies by direction and by what lies at both ends', () => {
      const { copies, memsets } = run.scenario.recording;
      const groups = report.copy_groups!.filter(({ operation }) => operation === 'memcpy');
      const actual = groups.map(({ direction, source_kind, count, bytes }) => [direction, source_kind, count, bytes]);
      const keys = new Set(copies.map(({ copyKind, sourceKind }) => `${COPY_NAMES[copyKind]} ${sourceKind}`));
      const expected = [...keys].map((key) => {
        const mine = copies.filter(({ copyKind, sourceKind }) => key === `${COPY_NAMES[copyKind]} ${sourceKind}`);
        return [...key.split(' '), mine.length, sum(mine.map(({ bytes }) => bytes))];
      });
      expect(actual.map(String).sort()).toEqual(expected.map(String).sort());
      const busy = run.scenario.processes.map(({ pid }) => {
        return budgetOf({ copy: memsets.filter((set) => set.pid === pid) }, 0, Number.MAX_SAFE_INTEGER).copy_ns;
      });
      expect(report.copy_groups!.find(({ operation }) => operation === 'memset')).toEqual({
        ...{ operation: 'memset', direction: null, source_kind: null, target_kind: 'device' },
        ...{ count: memsets.length, bytes: sum(memsets.map(({ bytes }) => bytes)), busy_ns: sum(busy) },
      });
    });

    it('counts kernels by name', () => {
      const { kernels } = run.scenario.recording;
      for (const { name, count, total_ns, median_ns } of report.kernel_groups!) {
        const mine = kernels.filter(({ shortName }) => shortName === name);
        const lengths = mine.map(({ startNs, endNs }) => endNs - startNs).sort((a, b) => a - b);
        const half = lengths.length / 2;
        const median = (lengths[Math.ceil(half) - 1]! + lengths[Math.floor(half)]!) / 2;
        expect([count, total_ns, median_ns]).toEqual([mine.length, sum(lengths), median]);
      }
      expect(report.kernel_groups).toHaveLength(new Set(kernels.map(({ shortName }) => shortName)).size);
    });

    it('reports what was not captured, and nothing else', () => {
      expect(report.missing.map(({ what, state, option }) => [what, state, option])).toEqual([
        // These captures do not list what they were to trace.
        ...(has.hasChains ? [] : [['which library made each allocation', 'unknown', null]]),
        // The old release says nowhere how it traced graphs.
        ...(schema === '2.9' ? [] : [['kernels inside CUDA graphs', 'off', '--cuda-graph-trace=node']]),
      ]);
    });
  });

  describe('a capture that lacks something', () => {
    const SEED = 3;

    it.each(NSYS_SCHEMAS)('without snapshots calls nothing torch (%s)', async (schema) => {
      const { run, report } = await prepared(SEED, schema, {}, false);
      expectAccounts(run, report, { ...evidenceOf(schema), hasSnapshots: false });
      for (const { snapshot, alignment, torch_unseen_bytes, rank } of report.accounts!)
        expect([snapshot, alignment, torch_unseen_bytes, rank]).toEqual([null, null, null, null]);
      for (const { rank } of report.processes) expect(rank).toBeNull();
    });

    it.each(['3.16', '3.28'] as const)('does not swear to what a late recording missed (%s)', async (schema) => {
      const run = writePlantedRun(join(folder(), 'run'), SEED, schema);
      const { scenario } = run;
      const begins = scenario.processes.map((process, rank) => {
        const { trace } = process.torch;
        const cut = { ...process.torch, trace: trace.slice(Math.floor(trace.length * 0.55)) };
        writeFileSync(run.snapshots[rank]!, snapshotBytes(scenario, { ...process, torch: cut }));
        return { pid: process.pid, fromUs: cut.trace[0]!.timeUs! };
      });
      const toUs = (ns: number): number => Number((scenario.utcEpochNs + BigInt(ns)) / 1000n) + scenario.skewUs;
      const has: Evidence = {
        ...evidenceOf(schema),
        records: (pid, endNs) => endNs === null || toUs(endNs) >= begins.find((one) => one.pid === pid)!.fromUs,
      };
      const report = await onlyReport(run.directory);
      expectAccounts(run, report, has);
      const missed = report.accounts!.flatMap(({ groups }) =>
        groups.filter(({ owner }) => owner === 'torch_unmatched'),
      );
      expect(missed.length).toBeGreaterThan(0);
      // What it holds at the dump it knows all the same.
      for (const { pid, atEnd } of scenario.truth.deviceOwners) {
        const end = accountOf(report, pid).moments.at(-1)!;
        expect(end.shares.find(({ owner }) => owner === 'torch')!.bytes).toBe(atEnd.torch);
      }
    });

    it.each([
      { schema: '3.16', omit: ['NVTX_EVENTS'] },
      { schema: '3.28', omit: ['NVTX_EVENTS'] },
      { schema: '2.9', omit: ['CUPTI_ACTIVITY_KIND_RUNTIME'] },
      { schema: '3.28', omit: ['CUPTI_ACTIVITY_KIND_RUNTIME'] },
      { schema: '3.28', omit: ['CUPTI_ACTIVITY_KIND_RUNTIME', 'NVTX_EVENTS'] },
      { schema: '2.9', omit: ['CUBLAS_EVENTS', 'CUDNN_EVENTS'] },
      { schema: '3.28', omit: ['CUDA_CALLCHAINS'] },
    ] as const)('accounts for every byte without $omit ($schema)', async ({ schema, omit }) => {
      const { run, report } = await prepared(SEED, schema, { omit });
      expectAccounts(run, report, evidenceOf(schema, omit));
      for (const { pid, alignment } of report.accounts!) expect([pid, alignment!.by]).toEqual([pid, 'pairs']);
    });

    const BOTH = ['Cuda', 'NvtxEvents'];
    const MEMORY = ['CUDA_GPU_MEMORY_USAGE_EVENTS', 'CUDA_GPU_MEMORY_POOL_EVENTS'];
    it.each<[omit: string[], eventTypes: string[], option: string | null, nothing: Partial<NsysReport>]>([
      [['NVTX_EVENTS'], ['Cuda'], '--trace=cuda,nvtx', { nvtx_ranges: null, steps: [], steps_by: null }],
      [['CUPTI_ACTIVITY_KIND_RUNTIME'], BOTH, null, { failed_calls: null, memory_calls: null, storms: null }],
      [MEMORY, BOTH, null, { device_memory: null, pools: null, accounts: null }],
      [['CUBLAS_EVENTS', 'CUDNN_EVENTS'], BOTH, '--trace=cuda,nvtx,cublas,cudnn', {}],
      [['CUPTI_ACTIVITY_KIND_KERNEL'], [], null, { kernels: null, kernel_groups: null, budgets: null }],
    ])('says null, never 0, without %o', async (omit, eventTypes, option, nothing) => {
      const { report } = await prepared(SEED, '3.28', { omit, eventTypes });
      for (const [key, value] of Object.entries(nothing)) expect(report[key as keyof NsysReport]).toEqual(value);
      const lacks = report.missing.filter(({ what }) => what !== 'kernels inside CUDA graphs');
      expect(lacks.map((one) => one.option)).toEqual([option]);
    });

    it('reports null, never 0, of copies that no table has', async () => {
      const omit = ['CUPTI_ACTIVITY_KIND_MEMCPY', 'CUPTI_ACTIVITY_KIND_MEMSET'];
      const { report } = await prepared(SEED, '3.28', { omit });
      expect([report.copies, report.copy_groups]).toEqual([null, null]);
    });

    it('distinguishes disabled memory events from those that are not there', async () => {
      const { report } = await prepared(SEED, '3.16', { collectsMemory: false });
      expect(report).toMatchObject({ memory_events_collected: false, device_memory: null, accounts: null });
      const [off] = report.missing;
      expect(off).toEqual({
        what: 'allocations of the driver',
        state: 'off',
        option: '--cuda-memory-usage=true',
        reasons: ['COLLECT_GPU_MEMORY_USAGE is false'],
      });
      const left = await prepared(SEED, '3.16', { omit: ['CUDA_GPU_MEMORY_USAGE_EVENTS'] });
      expect(left.report.memory_events_collected).toBe(true);
      expect(left.report.missing[0]).toMatchObject({ state: 'on', option: null });
      expect(left.report.missing[0]!.reasons.join()).toContain('mapped memory page by page');
      // Failures are seen all the same.
      expect(report.failed_calls!.map(({ api, count }) => [api, count])).toEqual([
        ['cudaMalloc', 4],
        ['cuMemCreate', 1],
      ]);
    });

    it('divides the whole capture where no step is known', async () => {
      const { run, report } = await prepared(SEED, '3.28', {
        omit: ['NVTX_EVENTS', 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE'],
      });
      const { recording } = run.scenario;
      const work = [...recording.kernels, ...recording.copies, ...recording.memsets];
      const from = Math.min(...work.map(({ startNs }) => startNs));
      const to = Math.max(...work.map(({ endNs }) => endNs));
      for (const { pid, steps, per_step } of report.budgets!) {
        expect(steps).toEqual([]);
        expect(per_step).toEqual(budgetOf(workOf(run.scenario, pid!, false), from, to));
      }
      for (const { per_step } of report.memory_calls!) expect(per_step).toBeNull();
    });

    it('reports that an export of some tables is partial', async () => {
      const tables = ['StringIds', 'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUDA_GPU_MEMORY_USAGE_EVENTS'];
      const { run, report } = await prepared(SEED, '3.16', { tables });
      expect(report).toMatchObject({ is_partial: true, kernels: null, nvtx_ranges: null, host: null, gpus: [] });
      expect(report.missing.map(({ option }) => option)).toContain('nsys export without --tables and --times');
      // Without its clock the addresses alone must do.
      expect(report.started_at).toBeNull();
      for (const { pid, device, atEnd } of run.scenario.truth.deviceOwners) {
        const { moments, alignment } = accountOf(report, pid);
        expect([device, alignment!.by]).toEqual([device, 'pairs']);
        const end = moments.find(({ moment }) => moment === 'end')!;
        expect(end.shares.find(({ owner }) => owner === 'torch')!.bytes).toBe(atEnd.torch);
      }
    });
  });

  describe('questions about a capture', () => {
    const RANGES = [
      ...['forward', 'backward', 'Optimizer.STEP', 'iteration 102', 'aten::mm', 'ncclallreduce', 'e', 'nothing at all'],
    ];
    const SLICES = [1, 7, 72, 5000];
    let run: PlantedRun;
    const answers = new Map<string | number, NsysResult>();
    beforeAll(async () => {
      run = writePlantedRun(join(folder(), 'run'), 5, '3.28');
      await askedOf(run.directory, async (ask) => {
        for (const range of RANGES) answers.set(range, await ask({ range }));
        for (const slices of SLICES) answers.set(slices, await ask({ slices }));
      });
    });
    const sorted = <Row extends { readonly work: string; readonly name: string }>(rows: readonly Row[]): Row[] =>
      [...rows].sort((a, b) => (`${a.work} ${a.name}` < `${b.work} ${b.name}` ? -1 : 1));

    it.each(RANGES)('finds the work launched inside "%s"', (range) => {
      const [{ path, text, work }] = answers.get(range)!.range_work as [{ path: string; text: string; work: Work[] }];
      expect([path, text]).toEqual(['planted.sqlite', range]);
      expect(sorted(work)).toEqual(sorted(rangeWorkOf(run.scenario, range.toLowerCase())));
    });

    it.each(SLICES)('follows memory in %i slices', (slices) => {
      const { curves, reports } = answers.get(slices)!;
      const { series } = curves![0]!;
      const { footprints } = run.scenario.truth;
      const keys = (rows: readonly { pid: number | null; device: number | null; kind: string }[]) =>
        byKey(rows).map(({ pid, device, kind }) => [pid, device, kind]);
      expect(keys(series)).toEqual(keys(footprints));
      for (const footprint of footprints) {
        const { times_ns, bytes } = series.find(({ pid, kind }) => pid === footprint.pid && kind === footprint.kind)!;
        expect(times_ns).toHaveLength(slices);
        expect(times_ns).toEqual([...times_ns].sort((a, b) => a - b));
        expect(Math.max(...bytes)).toBe(footprint.peakBytes);
        expect(bytes).toEqual(curveOf(run.scenario, footprint, slices));
      }
      expect(reports).toHaveLength(1);
    });
  });

  describe('the same capture exported in other ways', () => {
    const SEED = 4;

    it.each(['3.16', '3.28'] as const)('says the same of a normalised and of a shifted export (%s)', async (schema) => {
      const { report: plain } = await prepared(SEED, schema);
      const ways =
        schema === '3.16'
          ? [{ isNormalized: true }, { timeShiftNs: 7_654_321_000 }]
          : [{ timeShiftNs: -1_000_000_007 }, { isNormalized: true, timeShiftNs: 123_456_789 }];
      for (const options of ways) {
        const { report } = await prepared(SEED, schema, options);
        expect({ ...report, clock_origin: null }).toEqual({ ...plain, clock_origin: null });
      }
    });

    it('keeps the exports of one run apart', async () => {
      const directory = folder();
      const first = writePlantedRun(join(directory, 'a'), 1, '3.28');
      const second = writePlantedRun(join(directory, 'b'), 2, '3.16');
      for (const path of second.snapshots) rmSync(path);
      const { reports } = await askedOf(directory, (ask) => ask());
      expect(reports.map(({ path }) => path)).toEqual(['a/planted.sqlite', 'b/planted.sqlite']);
      expectAccounts(first, reports[0]!, evidenceOf('3.28'));
      // The snapshots are of the other capture, whose processes have the same numbers and addresses.
      expectAccounts(second, reports[1]!, { ...ALL_BUT_CHAINS, hasSnapshots: false });
      for (const { rank } of reports[1]!.processes) expect(rank).toBeNull();
    });
  });
}
