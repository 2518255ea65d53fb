/** The sample with an Nsight Systems export: what `diagnose` and `nsys` make of it, against what was planted. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { NsysReport, NsysResult } from '../../src/model/results/nsys.js';
import { GIB } from '../../src/model/units.js';
import { buildCli } from '../support/cli.js';
import { truthOf } from '../support/run-truth.js';
import { samplePath, sampleStore } from '../support/stores.js';

const SAMPLE = samplePath('nccl-outside');
const EXPORT = 'nsys_rank0.sqlite.gz';
const MOST_BYTES = 150_000;

const truth = truthOf(SAMPLE);
const planted = truth.profiles![0]!;
const bytes = planted.driver_bytes_at_oom;

describe('samples/nccl-outside', () => {
  it('has a truth that adds up: what the driver gave, and what no event shows', () => {
    expect(truth.profiles!.map(({ file, rank }) => [file, rank])).toEqual([[EXPORT, 0]]);
    expect(bytes.torch).toBe(truth.ranks[0]!.reserved_bytes);
    expect(bytes.nccl + bytes.cublas + planted.unseen_bytes).toBe(truth.ranks[0]!.non_torch_bytes);
    expect(bytes.nccl).toBeGreaterThan(5 * GIB);
    expect(planted.unseen_bytes).toBeLessThan(GIB);
    expect(statSync(join(SAMPLE, EXPORT)).size).toBeLessThan(MOST_BYTES);
  });
});

describe('the tool on samples/nccl-outside', () => {
  let diagnosis: DiagnoseResult;
  let report: NsysReport;
  beforeAll(() => {
    const ask = (verb: string) => buildCli().expect(0, [verb, '--db', sampleStore('nccl-outside'), '--json=full']);
    diagnosis = ask('diagnose').json<DiagnoseResult>();
    [report] = ask('nsys').json<NsysResult>().reports as [NsysReport];
  });

  it('blames NCCL, whose memory the export shows', () => {
    const [verdict] = diagnosis.verdicts;
    expect(diagnosis.verdicts).toHaveLength(1);
    expect(verdict).toMatchObject({ rank: 0, cause: 'external_pressure', detail: 'nccl' });
    expect(verdict!.evidence.some(({ source }) => source === EXPORT)).toBe(true);
  });

  it('tells the memory outside PyTorch apart into the planted owners and what was not seen', () => {
    const parts = diagnosis.verdicts[0]!.accounting;
    const outside = parts.find(({ part }) => part === 'outside_pytorch_this_process')!;
    const shares = new Map(outside.of!.map(({ part, bytes: share }) => [part, share]));
    expect([...shares.keys()].sort()).toEqual(['driver_cublas', 'driver_nccl', 'driver_not_seen']);
    expect(shares.get('driver_nccl')).toBe(bytes.nccl);
    expect(shares.get('driver_cublas')).toBe(bytes.cublas);
    // The message prints hundredths of a GiB.
    expect(Math.abs(shares.get('driver_not_seen')! - planted.unseen_bytes)).toBeLessThanOrEqual(0.01 * GIB);
  });

  it('finds the planted owners in the export itself, to the byte', () => {
    const { pid, refused, mallocs, frees } = planted;
    const [account, ...others] = report.accounts!;
    expect(others).toEqual([]);
    expect(account).toMatchObject({ pid, rank: 0, device: 0, torch_unseen_bytes: 0, vmm_calls: 0 });
    const oom = account!.moments.find(({ moment }) => moment === 'oom')!;
    expect(Object.fromEntries(oom.shares.map(({ owner, bytes: share }) => [owner, share]))).toEqual(bytes);
    expect(oom.ranges.flatMap(({ texts }) => texts)).toEqual(['iteration 5', 'forward', 'decoder.layers.5', 'mlp']);
    const steps = planted.complete_steps.length - 1;
    const at = (moment: string) =>
      account!.moments.find((one) => one.moment === moment)!.shares.find(({ owner }) => owner === 'nccl')!.bytes;
    const grown = at('oom') - at('first step');
    expect(Math.abs(grown - steps * Number(truth.numbers['nccl_bytes_per_step']))).toBeLessThan(0.1 * GIB);
    const nccl = account!.groups.filter(({ owner }) => owner === 'nccl');
    expect(nccl.every(({ rule }) => rule === 'module:libnccl')).toBe(true);
    expect(new Set(nccl.map(({ thread }) => thread))).toEqual(new Set(['pt_main_thread', 'NCCL Service 0']));
    expect(nccl.some(({ ranges }) => ranges.includes('ncclCommInitRankConfig'))).toBe(true);
    expect(report.failed_calls).toMatchObject([{ api: 'cudaMalloc', count: refused, pid, is_oom: true }]);
    expect(report.device_memory).toMatchObject([{ kind: 'device', allocations: mallocs, frees, before_bytes: 0 }]);
  });

  it('lays the clocks side by side: no further apart than two clocks of one host', () => {
    const { alignment } = report.accounts![0]!;
    expect(alignment).toMatchObject({ by: 'pairs' });
    expect(alignment!.pairs).toBeGreaterThan(100);
    expect(Math.abs(alignment!.correction_us!)).toBeLessThan(500);
    expect(alignment!.error_us).toBeLessThan(200);
  });

  it('finds the steps, where the log has them', () => {
    const { complete_steps, ranges, kernels } = planted;
    expect(report.steps_by).toEqual({ by: 'range', text: 'iteration #' });
    expect(report.steps.map(({ index }) => index)).toEqual(complete_steps);
    expect(report).toMatchObject({ nvtx_ranges: ranges, kernels, rank: 0 });
    const log = readFileSync(join(SAMPLE, truth.logs[0]!), 'utf8');
    const printed = [...log.matchAll(/\[(\S+ \S+)\] iteration +\d+\//g)].map(([, time]) => Date.parse(`${time}Z`));
    const startMs = Date.parse(report.started_at!);
    // The log has whole seconds, and the callback after the line belongs to the range.
    const late = report.steps.map(({ end_ns }, i) => startMs + end_ns / 1e6 - printed[i]!);
    expect(printed).toHaveLength(complete_steps.length);
    for (const ms of late) {
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(1100);
    }
  });

  it('tells where the time of a step went, communication beside computation', () => {
    const [budget] = report.budgets!;
    const { window_ns, compute_ns, communication_ns, exposed_communication_ns, idle_ns } = budget!.per_step;
    expect(compute_ns).toBeGreaterThan(0.3 * window_ns);
    expect(idle_ns).toBeGreaterThan(0);
    // Some of it is hidden behind computation.
    expect(exposed_communication_ns).toBeGreaterThan(0.2 * window_ns);
    expect(communication_ns - exposed_communication_ns).toBeGreaterThan(20e6);
    expect(report.storms!.filter(({ is_retry }) => is_retry)).not.toHaveLength(0);
    expect(report.missing).toEqual([]);
  });
});
