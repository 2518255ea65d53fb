/**
 * Runs with planted memory outside PyTorch: files of monitors next to logs, metrics and snapshots, each read by its own
 * parser.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Gpu } from '../../../samples/generate/run.js';
import type { DeviceSample } from '../../../samples/generate/write/monitor/node-samples.js';
import { deviceTable, processTable } from '../../../samples/generate/write/monitor/nvidia-smi.js';
import { clock, padded } from '../../../samples/generate/write/python-text.js';
import { describeOutside as findOutside, type OutsideQuestion } from '../../../src/derive/outside/describe-outside.js';
import { describeMemory } from '../../../src/derive/run/memory.js';
import type { OutsideResult } from '../../../src/model/results/outside.js';
import { MIB } from '../../../src/model/units.js';
import { worded } from '../../../src/report/words/worded.js';
import type { Store } from '../../../src/store/store.js';
import { scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { smallSnapshot } from '../../support/small-snapshot.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { diagnose } from '../verdict/worded.js';

const describeOutside = async (...question: Parameters<typeof findOutside>) => worded(await findOutside(...question));

const TOTAL = 81_559;
const START_US = Date.UTC(2026, 10, 20, 10, 0, 0) * 1000;
const GPU = { name: 'NVIDIA H100 80GB HBM3', totalBytes: TOTAL * MIB } as Gpu;
const gpu = (device: number): string => `GPU-0000000${device}-1111-2222-3333-444444444444`;
const at = (second: number): number => START_US + second * 1_000_000;

interface Sampled {
  readonly seconds: readonly number[];
  readonly devices: number;
  /** MiB in use. */
  used(device: number, second: number): number;
  /** MiB by process. */
  processes?(device: number, second: number): readonly (readonly [pid: number, name: string, used: number])[];
}

/** A quarter of a second behind the lines of the log. */
function samplesOf({ seconds, devices, used, processes = () => [] }: Sampled): DeviceSample[][] {
  return seconds.map((second) =>
    Array.from({ length: devices }, (_, device) => ({
      ...{ timeUs: at(second) + 250_000, device, gpu: gpu(device), usedBytes: used(device, second) * MIB },
      utilization: 97,
      processes: processes(device, second).map(([pid, name, bytes]) => ({ pid, name, bytes: bytes * MIB })),
    })),
  );
}
const gpuCsv = (sampled: Sampled): string => deviceTable(samplesOf(sampled), GPU);
const appsCsv = (sampled: Sampled): string => processTable(samplesOf(sampled));

const iterationLine = (iteration: number, second: number): string =>
  ` [${clock(at(second))}] iteration ${padded(iteration, 8)}/     100 | consumed samples: ${padded(iteration * 16, 12)} | elapsed time per iteration (ms): 9876.5 | learning rate: 1.000000E-04 | global batch size:    16 | lm loss: 7.100000E+00 | loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |`;
const memoryLine = (rank: number, iteration: number, second: number, reserved: number, peak: number): string =>
  `[${clock(at(second))}] [Rank ${rank}] (after ${iteration} iterations) memory (MB) | allocated: 30000.00 | max allocated: 40000.00 | reserved: ${reserved}.00 | max reserved: ${peak}.00`;
const WORLD =
  'using world size: 2, data-parallel size: 1, context-parallel size: 1, hierarchical context-parallel sizes: None, tensor-model-parallel size: 2, pipeline-model-parallel size: 1';

type Files = Readonly<Record<string, string | Buffer>>;

async function withRun<T>(files: Files, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await storeWith(scratchDirectory(), files);
  return work(store).finally(() => store.close());
}

async function storeWith(directory: string, files: Files): Promise<Store> {
  const run = join(directory, 'run');
  mkdirSync(run);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(run, name), content);
  const { store, result } = await ingested(join(directory, 'store.duckdb'), [run]);
  const statuses = result.sources.map(({ status, path }) => [path, status]);
  expect(Object.fromEntries(statuses)).toEqual(
    Object.fromEntries(Object.keys(files).map((name) => [name, 'ingested'])),
  );
  return store;
}

const outsideOf = (files: Files, question: OutsideQuestion = {}) =>
  withRun(files, (store) => describeOutside(store, 1, 'run', question));
const deviceOf = (result: OutsideResult, rank: number) => result.devices.find((device) => device.rank === rank)!;

/** Two ranks of a node; outside PyTorch 2,500 MiB and 20 more a second; a notebook comes to device 1 in second 26. */
const SECONDS = Array.from({ length: 62 }, (_, second) => second);
const reserved = (rank: number): number => 45_000 + rank * 100;
const ownValues = (rank: number, second: number): number => reserved(rank) + 2000 + 20 * second;
const NOTEBOOK = 30_000;
const comesAt = 26;
const notebookAt = (device: number, second: number) =>
  device === 1 && second >= comesAt ? [[9999, 'jupyter-kernel', NOTEBOOK] as const] : [];
const SAMPLED: Sampled = {
  seconds: SECONDS,
  devices: 2,
  used: (device, second) => ownValues(device, second) + 500 + (notebookAt(device, second).length > 0 ? NOTEBOOK : 0),
  processes: (device, second) => [
    [100 + device, '/usr/bin/python3', ownValues(device, second)],
    ...notebookAt(device, second),
  ],
};
const TWO_RANKS = {
  'train.log': [
    WORLD,
    ...[1, 2, 3, 4, 5].flatMap((step) => [
      iterationLine(step, step * 10),
      ...[0, 1].map((rank) => memoryLine(rank, step, step * 10, reserved(rank), 61_000)),
    ]),
    '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.11 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 47.50 GiB memory in use. Of the allocated memory 40.00 GiB is allocated by PyTorch, and 4.04 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.',
    '',
  ].join('\n'),
  'gpu.csv': gpuCsv(SAMPLED),
  'apps.csv': appsCsv(SAMPLED),
} as const;

describe('memory outside PyTorch', () => {
  const directory = temporaryDirectory();
  let two: Store;
  let result: OutsideResult;
  beforeAll(async () => {
    two = await storeWith(directory, TWO_RANKS);
    result = await describeOutside(two, 1, 'run');
  });
  afterAll(() => two.close());

  it('is what the driver counts less what PyTorch reserved, at every memory line, by process', () => {
    expect(result.limits).toEqual([]);
    for (const rank of [0, 1]) {
      const device = deviceOf(result, rank);
      expect(device).toMatchObject({ device: rank, gpu: gpu(rank), total_bytes: TOTAL * MIB });
      expect(device.monitor).toMatchObject({ file: 'gpu.csv', samples: 62, interval_us: 1_000_000, clock: 'printed' });
      const lines = device.points.filter(({ kind }) => kind === 'memory line');
      expect(lines.map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4, 5]);
      for (const point of lines) {
        const second = point.iteration! * 10;
        const otherBytes = rank === 1 && second >= comesAt ? NOTEBOOK : 0;
        expect(point).toMatchObject({
          used_bytes: (ownValues(rank, second) + 500 + otherBytes) * MIB,
          outside_bytes: (2500 + 20 * second + otherBytes) * MIB,
          ...{ reserved_bytes: reserved(rank) * MIB, process_bytes: ownValues(rank, second) * MIB },
          ...{ others_bytes: otherBytes * MIB, apart_us: 250_000 },
        });
      }
    }
    const { outside } = deviceOf(result, 0);
    expect(outside).toMatchObject({ first_bytes: 2700 * MIB, last_bytes: 3500 * MIB, growth_r2: expect.closeTo(1, 9) });
    expect(outside!.growth_bytes! / (20 * 40 * MIB)).toBeCloseTo(1, 6);
    expect(outside!.growth_us).toBe(40_000_000);
  });

  it('knows the own process by what it held, and names the other', () => {
    const device = deviceOf(result, 1);
    expect(device.processes.map(({ pid, process, is_own }) => [pid, process, is_own])).toEqual([
      [101, '/usr/bin/python3', true],
      [9999, 'jupyter-kernel', false],
    ]);
    expect(device.processes[1]).toMatchObject({ samples: 62 - comesAt, last_bytes: NOTEBOOK * MIB });
  });

  it('holds an OOM message against itself', () => {
    const failure = deviceOf(result, 1).points.find(({ kind }) => kind === 'failure message')!;
    expect(failure).toMatchObject({ apart_us: null, line: 17, file: 'train.log' });
    expect(failure.used_bytes / 1024 ** 3).toBeCloseTo(79.11 - 1.1, 6);
    expect(failure.reserved_bytes / 1024 ** 3).toBeCloseTo(44.04, 6);
    expect(failure.process_bytes! / 1024 ** 3).toBeCloseTo(47.5, 6);
  });

  it('reports how far the samples fall short of the peak that PyTorch counted itself', () => {
    // 61,000 MiB at the peak and at least 2,700 next to it, against 48,720 in the largest sample.
    expect(deviceOf(result, 0).missed_bytes).toBe((61_000 + 2700 - 48_720) * MIB);
    // The notebook's memory makes the other device's largest sample larger than that.
    expect(deviceOf(result, 1).missed_bytes).toBeNull();
  });

  it('keeps samples out of the memory lines', async () => {
    const memory = await describeMemory(two, 1, 'run', { layout: null, origin: null });
    expect(memory.ranks.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)).sort()).toEqual(
      ['allocated', 'max_allocated', 'max_reserved', 'reserved'].flatMap((metric) => [metric, metric]),
    );
    expect(memory.sampled).toEqual({
      devices: 2,
      samples: 124,
      max_used_bytes: (ownValues(1, 61) + 500 + NOTEBOOK) * MIB,
      files: ['gpu.csv'],
    });
    const readings = await two.select(
      'SELECT reading, count(*) AS rows FROM memory_sample GROUP BY reading ORDER BY reading',
    );
    expect(readings.map(({ reading, rows }) => [reading, Number(rows)])).toEqual([
      ['moment', 20],
      ['peak', 20],
      // Of two devices the total, once, and what is in use and free; and the processes.
      ['sampled', 2 + 2 * 124 + 124 + (62 - comesAt)],
    ]);
  });

  it('lets a diagnosis name the process that no message names', async () => {
    const [verdict] = (await diagnose(two, 1, 'run')).verdicts;
    expect(verdict).toMatchObject({ cause: 'external_pressure', detail: 'other_process', rank: 1 });
    expect(verdict!.summary).toContain('pid 9999 (jupyter-kernel)');
    expect(verdict!.next.join('\n')).toContain('pid 9999 (jupyter-kernel)');
    const told = verdict!.evidence.map(({ text, source }) => `${text} [${source}]`).join('\n');
    expect(told).toMatch(/held 29\.30 GiB when last seen: pid 9999 jupyter-kernel \[apps\.csv line \d+\]/);
    // A message is compared with its own total, not with the driver's.
    expect(told).toMatch(/the device had 78\.01 GiB of 79\.11 GiB in use when it failed.*\[train\.log line 17\]/);
  });

  it('is exact at every sample within a recording, once the zone of the printed clock is known', async () => {
    const segment = 1024 * MIB;
    const entries = Array.from({ length: 6 }, (_, n) => ({
      ...{ action: 'segment_alloc', addr: 0x7f0000000000 + n * 2 ** 32, size: segment },
      extra: { time_us: at(10 * n) - 3_600_000_000 },
    }));
    const segments = Array.from({ length: 6 }, () => [{ size: segment, state: 'inactive' as const }]);
    const used = (_: number, second: number): number => 1024 * (Math.floor(second / 10) + 1) + 700 + second;
    const files = {
      'snapshot_0.pickle': smallSnapshot({ segments, entries }),
      // The host's clock is an hour ahead of UTC.
      'gpu.csv': gpuCsv({ seconds: [5, 15, 25, 35, 45], devices: 1, used }),
    };
    const unknown = await outsideOf(files);
    expect(unknown.clock.shift_us).toBeNull();
    expect(unknown.limits.join('\n')).toContain('--utc-offset');
    expect(unknown.devices[0]).toMatchObject({ rank: 0, moments: 0 });
    const known = await outsideOf(files, { shiftUs: -3_600_000_000 });
    expect(known.devices[0]!.points.map(({ kind, outside_bytes }) => [kind, outside_bytes])).toEqual(
      [5, 15, 25, 35, 45].map((second) => ['trace', (700 + second) * MIB]),
    );
    // The wrong zone lays no sample within the recording.
    expect((await outsideOf(files, { shiftUs: 3_600_000_000 })).devices[0]!.moments).toBe(0);
  });

  it('needs no monitor where a line says both, and reports what is missing where nothing does', async () => {
    const line =
      '[Rank 3] (after 2 iterations) memory (MB) | allocated: 30000.00 | max allocated: 40000.00 | reserved: 50000.00 | max reserved: 61000.00 | total device memory used: 53500.00';
    // SkyRL prints what is free instead of what is used.
    const free = '[rank4]: After step - Allocated: 30.00 GiB, Reserved: 50.00 GiB, Free: 20.00 GiB, Total: 80.00 GiB';
    const both = await outsideOf({ 'train.log': `${iterationLine(2, 20)}\n${line}\n${free}\n` });
    expect(both.devices).toHaveLength(2);
    expect(both.devices[0]).toMatchObject({ rank: 3, monitor: null, moments: 1 });
    expect(both.devices[0]!.points[0]).toMatchObject({ outside_bytes: 3500 * MIB, apart_us: null });
    expect(both.devices[1]).toMatchObject({ rank: 4, moments: 1, outside: { max_bytes: 10 * 1024 * MIB } });
    const nothing = await outsideOf({ 'train.log': `${iterationLine(2, 20)}\n` });
    expect(nothing.devices).toEqual([]);
    expect(nothing.limits.join('\n')).toMatch(/nvidia-smi --query-gpu/);
    expect(nothing.limits.join('\n')).toMatch(/the memory of PyTorch is unknown/);
  });

  it('does not take the only process of a list for its own, as a container may hide that', async () => {
    const hidden = { ...TWO_RANKS, 'apps.csv': appsCsv({ ...SAMPLED, processes: notebookAt }) };
    await withRun(hidden, async (store) => {
      const device = deviceOf(await describeOutside(store, 1, 'run'), 1);
      expect(device.processes.map(({ pid, is_own }) => [pid, is_own])).toEqual([[9999, null]]);
      const [verdict] = (await diagnose(store, 1, 'run')).verdicts;
      expect(verdict).toMatchObject({ cause: 'external_pressure', detail: 'other_process' });
    });
  });

  it('counts a device once that two monitors watched, of which one names the host', async () => {
    const series = (device: number) => ({
      metric: { __name__: 'DCGM_FI_DEV_FB_USED', gpu: String(device), UUID: gpu(device), Hostname: 'node-1' },
      values: [0, 15, 30].map((second) => [at(second) / 1e6, '47000']),
    });
    const data = { resultType: 'matrix', result: [series(0), series(1)] };
    const both = await outsideOf({ ...TWO_RANKS, 'dcgm.json': JSON.stringify({ status: 'success', data }) });
    expect(both.devices.map(({ rank, monitor }) => [rank, monitor?.file])).toEqual([
      [0, 'gpu.csv'],
      [1, 'gpu.csv'],
    ]);
  });

  it('takes no sample that is too far away in time', async () => {
    const far = { ...TWO_RANKS, 'gpu.csv': gpuCsv({ seconds: [0, 1, 2, 3], devices: 2, used: () => 50_000 }) };
    const device = deviceOf(await outsideOf(far), 0);
    expect(device.monitor).toMatchObject({ samples: 4 });
    expect(device.points).toEqual([]);
  });
});
