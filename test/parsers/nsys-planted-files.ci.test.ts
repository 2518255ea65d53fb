/**
 * The planted Nsight Systems exports are what they claim to be: sound databases, the planted rows and traps, snapshots
 * and a log that agree with them.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SqlResult } from '../../src/model/results/common.js';
import { GIB, MIB } from '../../src/model/units.js';
import { scratchDirectory } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { skipLoudly } from '../support/corpus.js';
import { writePlantedRun } from '../support/nsys/planted-run.js';
import { PIDS, plantedScenario } from '../support/nsys/scenario.js';
import {
  type ExportOptions,
  NSYS_SCHEMAS,
  type NsysSchema,
  sqlite3Program,
  WAL_TABLE,
  type WrittenExport,
  writeNsysExport,
} from '../support/nsys/write-export.js';

type Answer = Readonly<Record<string, number | string | null>>;

function query(path: string, sql: string): Answer[] {
  const run = spawnSync(sqlite3Program()!, ['-batch', '-json', path, sql], { encoding: 'utf8', maxBuffer: 1 << 28 });
  expect(run.stderr).toBe('');
  return run.stdout === '' ? [] : (JSON.parse(run.stdout) as Answer[]);
}

/** Rows by table, as SQLite counts them. */
function countRows(path: string): Record<string, unknown> {
  const names = query(path, "SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, query(path, `SELECT count(*) AS n FROM ${name}`)[0]!['n']]));
}

const SEED = 7;
const scenario = plantedScenario(SEED);
const { truth, recording } = scenario;
const scratchFile = (): string => join(scratchDirectory(), 'planted.sqlite');
const write = (schema: NsysSchema, options: ExportOptions = {}): WrittenExport =>
  writeNsysExport(scratchFile(), scenario, schema, options);

describe('the planted scenario', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(plantedScenario(SEED)).toEqual(scenario);
    expect(plantedScenario(SEED + 1).truth).not.toEqual(truth);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('runs out of memory as planned with seed %i', (seed) => {
    const { truth: other } = plantedScenario(seed);
    const { oom } = other;
    // A few GiB below the total: what is free, and what no event shows.
    const missing = oom.deviceTotalBytes - oom.driverLiveBytes;
    expect(missing).toBeGreaterThan(2 * GIB);
    expect(missing).toBeLessThan(5 * GIB);
    expect(oom.processBytes).toBe(oom.driverLiveBytes + oom.staticBytes + oom.invisibleBytes);
    expect(oom.processBytes - oom.reservedBytes).toBeGreaterThan(oom.nonTorchBytes);
    expect(oom.segmentBytes).toBeGreaterThan(oom.deviceFreeBytes);
    expect(other.torch[0]!.reservedBytes).toBe(oom.reservedBytes);
    expect(other.deviceOwners[0]!.atOom!.torch).toBe(oom.reservedBytes);
  });

  it('numbers the calls of both processes alike', () => {
    const [first, second] = PIDS.map(
      (pid) => new Set(recording.api.filter((call) => call.pid === pid).map(({ correlation }) => correlation)),
    );
    expect([...first!].filter((correlation) => second!.has(correlation)).length).toBeGreaterThan(100);
  });

  it('gives out the same addresses in both processes, to different owners', () => {
    const owners = (pid: number): Map<number, string> =>
      new Map(truth.allocations.filter((block) => block.pid === pid).map(({ address, owner }) => [address, owner]));
    const [first, second] = PIDS.map(owners);
    expect(
      [...first!].filter(([address, owner]) => second!.has(address) && second!.get(address) !== owner),
    ).not.toEqual([]);
  });

  it('gives one address to torch, to NCCL and to torch again', () => {
    for (const pid of PIDS) {
      const mine = truth.allocations.filter((block) => block.pid === pid);
      const handed = mine.flatMap((block, i) => {
        const [next, third] = mine.slice(i + 1).filter(({ address }) => address === block.address);
        const owners = [block.owner, next?.owner, third?.owner].join();
        return owners === 'torch,nccl,torch' && block.bytes === third!.bytes ? [[block.bytes, next!.bytes]] : [];
      });
      expect(handed).toHaveLength(1);
      expect(handed[0]![1]).toBeLessThan(handed[0]![0]!);
    }
  });

  it('has one allocation whose free was lost, and frees of what came before', () => {
    for (const pid of PIDS) {
      const replaced = truth.allocations.filter((block) => block.pid === pid && block.end === 'replaced');
      expect(replaced.map(({ owner, bytes }) => [owner, bytes])).toEqual([['nccl', 24 * MIB]]);
      const early = truth.preCaptureFrees.filter((free) => free.pid === pid);
      expect(early.map(({ owner }) => owner)).toEqual(['torch', 'nccl']);
      const device = truth.footprints.find((footprint) => footprint.pid === pid && footprint.kind === 'device')!;
      expect(device.startBytes).toBe(early.reduce((sum, { bytes }) => sum + bytes, 0));
    }
  });

  it('plants every owner, with the path of ranges that encloses the call', () => {
    expect(new Set(truth.allocations.map(({ owner }) => owner)).size).toBe(10);
    const foreign = truth.allocations.find(({ owner }) => owner === 'other')!;
    expect([foreign.nvtxPath, foreign.threadName, foreign.module]).toEqual([[], null, null]);
    const cublas = truth.allocations.find(({ owner }) => owner === 'cublas')!;
    expect(cublas.nvtxPath).toEqual(['iteration 101', 'forward', expect.stringMatching(/^aten::bmm, op_id = \d+$/)]);
    const nccl = truth.allocations.filter(({ owner }) => owner === 'nccl');
    const inRange = nccl.filter(({ nvtxPath }) => nvtxPath.at(-1) === 'ncclAllReduce');
    expect(new Set(inRange.map(({ threadName }) => threadName?.split(' ')[0]))).toEqual(
      new Set(['pt_main_thread', 'NCCL']),
    );
    expect(nccl.some(({ nvtxPath, threadName }) => nvtxPath.length === 0 && threadName?.startsWith('NCCL'))).toBe(true);
  });

  it('fails a retry, NCCL, the driver and torch, in this order', () => {
    expect(recording.failures.map(({ owner, api, threadName }) => [owner, api, threadName])).toEqual([
      ['torch', 'cudaMalloc_v3020', 'pt_main_thread'],
      ['nccl', 'cudaMalloc_v3020', 'NCCL Progress 0'],
      ['nccl', 'cuMemCreate', 'pt_main_thread'],
      ['torch', 'cudaMalloc_v3020', 'pt_main_thread'],
      ['torch', 'cudaMalloc_v3020', 'pt_main_thread'],
    ]);
    const [retry] = recording.failures;
    const calls = recording.api.filter(({ pid, startNs }) => pid === PIDS[0] && startNs > retry!.atNs);
    const storm = calls.findIndex(({ name }) => name !== 'cudaFree_v3020');
    expect(storm).toBeGreaterThanOrEqual(8);
    expect(calls[storm]).toMatchObject({ name: 'cudaMalloc_v3020', returnValue: 0 });
    expect(recording.api.filter(({ returnValue }) => returnValue === 600).length).toBeGreaterThan(20);
  });

  it('shows the segments of a snapshot at the times of their allocations, with a fixed skew', () => {
    for (const { pid, torch } of scenario.processes) {
      const facts = truth.torch.find((one) => one.pid === pid)!;
      expect(facts.segments.filter(({ isInTrace }) => !isInTrace)).toHaveLength(1);
      const allocations = truth.allocations.filter((block) => block.pid === pid && block.owner === 'torch');
      for (const { action, addr, sizeBytes, timeUs } of torch.trace.filter((entry) =>
        entry.action.startsWith('segment_'),
      )) {
        const time = (ns: number | null): number =>
          ns === null ? Number.NaN : Number((scenario.utcEpochNs + BigInt(ns)) / 1000n) + scenario.skewUs;
        const early = truth.preCaptureFrees.filter((free) => free.pid === pid && free.owner === 'torch');
        const moments =
          action === 'segment_alloc'
            ? allocations.map(({ address, bytes, startNs }) => [address, bytes, time(startNs)] as const)
            : [
                ...allocations.map(({ address, bytes, endNs }) => [address, bytes, time(endNs)] as const),
                ...early.map(({ address, bytes, freeNs }) => [address, bytes, time(freeNs)] as const),
              ];
        const here = moments.filter(([address, bytes]) => address === addr && bytes === sizeBytes);
        const delays = here.map(([, , us]) => timeUs! - us);
        expect(delays.some((delay) => delay >= 0 && delay <= scenario.jitterUs)).toBe(true);
      }
    }
    const last = scenario.processes[0]!.torch.trace.at(-1)!;
    expect([last.action, last.deviceFreeBytes]).toEqual(['oom', truth.oom.deviceFreeBytes]);
  });
});

describe('a planted export', () => {
  if (sqlite3Program() === undefined) {
    skipLoudly('planted exports', 'the sqlite3 program');
    return;
  }

  it.each(NSYS_SCHEMAS)('of schema %s is sound and has the planted rows', (schema) => {
    const written = write(schema);
    expect(query(written.path, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const counted = countRows(written.path);
    expect(counted).toEqual(written.rows);
    const expected = Object.entries(truth.rows).filter(([table]) => table in counted);
    expect(expected.length).toBeGreaterThan(15);
    expect(Object.fromEntries(expected.map(([table]) => [table, counted[table]]))).toEqual(
      Object.fromEntries(expected),
    );
    expect('META_DATA_CAPTURE' in counted).toBe(schema !== '2.9');
    expect('CUDA_CALLCHAINS' in counted).toBe(schema === '3.28');
    expect('ENUM_CUDA_MEM_KIND' in counted).toBe(schema !== '2.9');
  });

  it.each(NSYS_SCHEMAS)('of schema %s is the same file each time', (schema) => {
    expect(readFileSync(write(schema).path).equals(readFileSync(write(schema).path))).toBe(true);
  });

  it('has the bytes of the truth, as SQLite adds them up', () => {
    const { path } = write('3.28');
    const sums = query(
      path,
      `SELECT (globalPid >> 24) & 16777215 AS pid, memKind, sum(CASE memoryOperationType WHEN 0 THEN bytes ELSE -bytes END) AS bytes
       FROM CUDA_GPU_MEMORY_USAGE_EVENTS GROUP BY ALL ORDER BY ALL`.replaceAll('ALL', '1, 2'),
    );
    const kinds = ['', 'pinned', 'device', '', 'managed', 'device_static'];
    for (const { pid, memKind, bytes } of sums) {
      const footprint = truth.footprints.find((one) => one.pid === pid && one.kind === kinds[Number(memKind)])!;
      const lost = truth.allocations.filter(
        (block) => block.pid === pid && block.end === 'replaced' && block.kind === footprint.kind,
      );
      const lostBytes = lost.reduce((sum, block) => sum + block.bytes, 0);
      expect(Number(bytes) + footprint.startBytes - lostBytes).toBe(footprint.endBytes);
    }
    expect(sums).toHaveLength(truth.footprints.length);
  });

  it.each(NSYS_SCHEMAS)('of schema %s holds secrets, so that a store without them means something', (schema) => {
    const bytes = readFileSync(write(schema).path);
    const held = scenario.secrets.filter((secret) => bytes.includes(secret));
    // The environment of the launched process is not in the old one.
    expect(held.length).toBe(schema === '2.9' ? scenario.secrets.length - 2 : scenario.secrets.length);
  });

  it('can leave tables out, with or without a note', () => {
    const omitted = write('3.28', { omit: ['NVTX_EVENTS', 'CUDA_GPU_MEMORY_POOL_EVENTS'] });
    expect(Object.keys(countRows(omitted.path))).not.toContain('NVTX_EVENTS');
    const setting = "SELECT DISTINCT value FROM META_DATA_CAPTURE WHERE name LIKE '%COLLECT_GPU_MEMORY_USAGE'";
    expect(query(omitted.path, setting)).toEqual([{ value: 'true' }]);
    const off = write('3.16', { collectsMemory: false });
    expect(Object.keys(off.rows)).not.toContain('CUDA_GPU_MEMORY_USAGE_EVENTS');
    expect(query(off.path, setting)).toEqual([{ value: 'false' }]);
    const partial = write('3.28', { tables: ['CUPTI_ACTIVITY_KIND_KERNEL', 'CUDA_GPU_MEMORY_USAGE_EVENTS'] });
    expect(Object.keys(partial.rows)).toHaveLength(4);
    const listed = query(
      partial.path,
      "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PARAM_TABLES_TO_EXPORT'",
    );
    expect(listed).toEqual([{ value: 'CUPTI_ACTIVITY_KIND_KERNEL,CUDA_GPU_MEMORY_USAGE_EVENTS' }]);
  });

  it('can have normalised and shifted times', () => {
    const first = 'SELECT CAST(min(start) AS TEXT) AS start FROM CUPTI_ACTIVITY_KIND_RUNTIME';
    const plain = BigInt(query(write('3.28').path, first)[0]!['start']!);
    const normalised = BigInt(query(write('3.28', { isNormalized: true }).path, first)[0]!['start']!);
    const shifted = BigInt(query(write('3.28', { timeShiftNs: -5_000_000_000 }).path, first)[0]!['start']!);
    expect(normalised - plain).toBe(scenario.utcEpochNs);
    expect(plain - shifted).toBe(5_000_000_000n);
  });

  it('can have other pages, and rows in a write-ahead log only', () => {
    expect(query(write('3.16', { pageBytes: 512 }).path, 'PRAGMA page_size')).toEqual([{ page_size: 512 }]);
    const { path, rows } = write('3.28', { leavesWal: true });
    expect(existsSync(`${path}-wal`)).toBe(true);
    // Format versions of the header: write and read.
    expect([...readFileSync(path).subarray(18, 20)]).toEqual([2, 2]);
    const ahead = readFileSync(`${path}-wal`);
    expect(ahead.length).toBeGreaterThan(4096);
    const alone = `${path}.alone`;
    copyFileSync(path, alone);
    expect(query(alone, `SELECT count(*) AS n FROM ${WAL_TABLE}`)).toEqual([{ n: 0 }]);
    expect(query(path, `SELECT count(*) AS n FROM ${WAL_TABLE}`)).toEqual([{ n: rows[WAL_TABLE] }]);
  });

  describe('in the folder of its run', () => {
    const cli = buildCli();

    it('has snapshots and a log that the tool reads as planted', () => {
      const run = writePlantedRun(join(scratchDirectory(), 'run'), SEED, '3.28');
      // This tests the files next to the export.
      rmSync(run.export.path);
      const db = join(scratchDirectory(), 'store.duckdb');
      const { sources } = cli.expect(0, ['ingest', run.directory, '--db', db, '--json=full']).json<{
        readonly sources: readonly { readonly path: string; readonly status: string; readonly rank: number | null }[];
      }>();
      expect(sources.map(({ status }) => status)).toEqual(['ingested', 'ingested', 'ingested']);
      const select = (sql: string): SqlResult['rows'] =>
        cli.expect(0, ['sql', sql, '--db', db, '--json=full']).json<SqlResult>().rows;
      const reserved = select(
        `SELECT source.rank, segment.device, count(*)::INTEGER, sum(total_bytes)::BIGINT
         FROM segment JOIN snapshot USING (snapshot_id) JOIN source USING (source_id) GROUP BY ALL ORDER BY ALL`,
      );
      expect(reserved.map((row) => row.map(Number))).toEqual(
        truth.torch.map(({ rank, device, segments, reservedBytes }) => [rank, device, segments.length, reservedBytes]),
      );
      const [message] = select("SELECT rank, device, text FROM incident WHERE kind = 'cuda_oom'");
      expect(message).toEqual([0, 0, expect.stringContaining('79.11 GiB')]);
    });
  });
});
