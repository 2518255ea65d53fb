/**
 * What the samples of the formats around Megatron cannot show: prefixes and colours, ranks that interleave, and that
 * the facts known of the corpus's logs come out.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OTHER_FORMATS } from '../../parsers/log/formats/other.js';
import { readLogBytes } from '../../parsers/log/read-log.js';
import { type LogRow, placedRow } from '../../src/model/log-rows.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

function rowsOf(log: string | Buffer): LogRow[] {
  const rows: LogRow[] = [];
  readLogBytes(Buffer.from(log), {
    incident() {},
    note() {},
    logRow: (finding, place) => rows.push(placedRow(finding, place)),
  });
  return rows;
}

const memoryOf = (rows: readonly LogRow[]) => rows.filter((row) => row.row === 'memory');
const valuesOf = (rows: readonly LogRow[], name: string) =>
  rows.filter((row) => row.row === 'value').filter((row) => row.name === name);

describe('formats around Megatron', () => {
  it('have ids of their own and anchors that do not slow every line down', () => {
    const ids = OTHER_FORMATS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { anchors } of OTHER_FORMATS)
      for (const anchor of anchors) {
        expect(Buffer.byteLength(anchor)).toBeGreaterThanOrEqual(8);
        // Nearly every line of NCCL, of a Python logger and of DeepSpeed contains these.
        for (const common of ['NCCL INFO', '[INFO] [logging.py', ' - INFO - ']) expect(common).not.toContain(anchor);
      }
  });

  it("give the moment of DeepSpeed's memory despite its logger's prefixes and a warning in between", () => {
    const stamp = (line: number, text: string) =>
      `2: [2023-05-01 10:00:00,12${line % 10}] [INFO] [utils.py:${line}:see_memory_usage] ${text}`;
    const rows = rowsOf(
      [
        stamp(781, 'Before initializing optimizer states'),
        '2: /opt/torch/cuda/memory.py:373: FutureWarning: memory_cached has been renamed',
        '2:   warnings.warn(',
        '3: unrelated',
        stamp(782, 'MA 1.5 GB         Max_MA 2.0 GB         CA 3.25 GB         Max_CA 3 GB '),
        stamp(789, 'CPU Virtual Memory:  used = 40.5 GB, percent = 8.0%'),
        '2: MA 1.5 GB         Max_MA 2.0 GB         CA 3.25 GB         Max_CA 3 GB ',
      ].join('\n'),
    );
    const memory = memoryOf(rows);
    const moment = 'see_memory_usage: Before initializing optimizer states';
    expect(memory.map((row) => [row.metric, row.moment, row.rank])).toEqual([
      ...['allocated', 'max_allocated', 'reserved', 'max_reserved', 'host_used'].map((metric) => [metric, moment, 2]),
      ...['allocated', 'max_allocated', 'reserved', 'max_reserved'].map((metric) => [metric, undefined, 2]),
    ]);
    // `2.0` is round(2.004, 2) as well as round(1.995, 2).
    expect(memory[1]).toMatchObject({ bytes: 2 * 1024 ** 3, precisionBytes: 0.005 * 1024 ** 3 });
    expect(memory[3]).toMatchObject({ bytes: 3 * 1024 ** 3, precisionBytes: 0.5 * 1024 ** 3 });
  });

  it("read torchtitan's coloured step lines", () => {
    const csi = String.fromCharCode(27);
    const colour = (code: number, text: string) => `${csi}[${code}m${text}`;
    const rows = rowsOf(
      `[rank5]:[titan] 2025-12-01 01:02:03,456 - root - INFO - ${[
        colour(31, 'step: 10  '),
        colour(32, 'loss:  9.5000  '),
        colour(38, 'grad_norm:  2.2500  '),
        colour(36, 'memory: 70.25GiB(88.70%)  '),
        colour(34, 'tps: 12,345  '),
        colour(35, 'tflops: 410.50  '),
        colour(33, 'mfu: 41.50%'),
      ].join('')}${csi}[39m`,
    );
    expect(rows).toMatchObject([
      { row: 'iteration', iteration: 10, loss: 9.5, gradNorm: 2.25, tflopsPerGpu: 410.5, rank: 5 },
      { row: 'memory', metric: 'max_reserved', bytes: Math.round(70.25 * 1024 ** 3), iteration: 10, rank: 5 },
    ]);
  });

  it('separate the memory summaries of two ranks', () => {
    const table = (allocated: number) => [
      '|===========================================================================|',
      '|                  PyTorch CUDA memory summary, device ID 0                 |',
      '|---------------------------------------------------------------------------|',
      '|            CUDA OOMs: 0            |        cudaMalloc retries: 2         |',
      '|===========================================================================|',
      '|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |',
      '|---------------------------------------------------------------------------|',
      `| Allocated memory      |  ${allocated} MiB |  50000 MiB |   1000 GiB |    900 GiB |`,
      '|===========================================================================|',
    ];
    const [one, two] = [table(11_111), table(22_222)];
    const rows = rowsOf(one!.flatMap((line, index) => [`0: ${line}`, `1: ${two![index]}`]).join('\n'));
    const allocated = memoryOf(rows).filter((row) => row.metric === 'allocated');
    expect(allocated.map((row) => [row.rank, row.value])).toEqual([
      [0, 11_111],
      [1, 22_222],
    ]);
    expect(memoryOf(rows).filter((row) => row.metric === 'alloc_retries')).toHaveLength(2);
  });
});

interface Facts {
  readonly deepspeed_see_memory_usage?: {
    readonly count: number;
    readonly first: readonly string[];
    readonly last: readonly string[];
    readonly max_Max_CA: number;
  };
  readonly deepspeed_cpu_vm?: { readonly count: number; readonly max_used_GB: number };
  readonly mllog_records?: number;
  readonly mllog_key_counts?: Readonly<Record<string, number>>;
  readonly mllog_values?: Readonly<Record<string, number | string>>;
  readonly hf_train_runtime_s?: number;
  readonly step_lines?: number;
  readonly first_step?: number;
  readonly last_step?: number;
  readonly peak_memory_GiB?: number;
  readonly peak_memory_pct?: number;
  readonly markers?: { readonly overflow_skip?: number };
}

describe('logs of the corpus', () => {
  const folder = join(CORPUS, 'logs');
  const metas = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.meta.json')) : [];
  if (metas.length === 0) {
    skipLoudly('logs of the corpus', 'the corpus');
    return;
  }
  const logs = metas.map((meta) => {
    const { expected } = JSON.parse(readFileSync(join(folder, meta), 'utf8')) as { readonly expected: Facts };
    return { expected, rows: rowsOf(readFileSync(join(folder, meta.replace(/\.meta\.json$/, '')))) };
  });

  it("give DeepSpeed's memory reports", () => {
    let seen = 0;
    for (const { expected, rows } of logs) {
      const { deepspeed_see_memory_usage: usage, deepspeed_cpu_vm: host, markers } = expected;
      if (markers?.overflow_skip !== undefined)
        expect(valuesOf(rows, 'overflow.skipped_step')).toHaveLength(markers.overflow_skip);
      if (usage === undefined) continue;
      seen += 1;
      const memory = memoryOf(rows).filter((row) => row.format.startsWith('deepspeed.'));
      const of = (metric: string) => memory.filter((row) => row.metric === metric);
      expect(of('allocated')).toHaveLength(usage.count);
      const printed = (index: number) =>
        ['allocated', 'max_allocated', 'reserved', 'max_reserved'].map((metric) => of(metric).at(index)?.value);
      const numbers = (texts: readonly string[]) => texts.filter((text) => /^\d/.test(text)).map(Number);
      expect(printed(0)).toEqual(numbers(usage.first));
      expect(printed(-1)).toEqual(numbers(usage.last));
      expect(Math.max(...of('max_reserved').map(({ value }) => value))).toBe(usage.max_Max_CA);
      expect(of('allocated').every(({ moment }) => moment !== undefined)).toBe(true);
      if (host === undefined) continue;
      expect(of('host_used')).toHaveLength(host.count);
      expect(Math.max(...of('host_used').map(({ value }) => value))).toBe(host.max_used_GB);
    }
    expect(seen).toBeGreaterThan(0);
  });

  it('give the run time of the HF Trainer', () => {
    const known = logs.filter(({ expected }) => expected.hf_train_runtime_s !== undefined);
    for (const { expected, rows } of known)
      expect(valuesOf(rows, 'hf.train_runtime').map(({ value }) => value)).toContain(expected.hf_train_runtime_s);
    expect(known.length).toBeGreaterThan(0);
  });

  it('give every MLPerf record', () => {
    const known = logs.filter(({ expected }) => expected.mllog_records !== undefined);
    for (const { expected, rows } of known) {
      const records = rows
        .filter((row) => row.row === 'value')
        .filter(({ name }) => /^mllog\.\w+\.time_ms$/.test(name))
        .map(({ name }) => name.split('.')[1]!);
      expect(records).toHaveLength(expected.mllog_records!);
      const counts: Record<string, number> = {};
      for (const key of records) counts[key] = (counts[key] ?? 0) + 1;
      expect(counts).toEqual(expected.mllog_key_counts);
      for (const [key, wanted] of Object.entries(expected.mllog_values ?? {})) {
        if (key.startsWith('tracked_stats_')) {
          const rates = valuesOf(rows, 'mllog.tracked_stats.throughput').map(({ value }) => value ?? Number.NaN);
          const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
          if (key === 'tracked_stats_count') expect(rates).toHaveLength(Number(wanted));
          else expect(mean).toBeCloseTo(Number(wanted), 4);
        } else {
          const row = valuesOf(rows, `mllog.${key}`).at(-1);
          expect(typeof wanted === 'number' ? row?.value : row?.text).toBe(wanted);
        }
      }
      expect(rows.some((row) => row.row === 'phase' && row.phase === 'training')).toBe(true);
    }
    expect(known.length).toBeGreaterThan(0);
  });

  it("give torchtitan's steps and peaks", () => {
    const known = logs.filter(({ expected }) => expected.step_lines !== undefined);
    for (const { expected, rows } of known) {
      const steps = rows.filter((row) => row.row === 'iteration');
      expect(steps.map(({ iteration }) => iteration).at(0)).toBe(expected.first_step);
      expect(steps.map(({ iteration }) => iteration).at(-1)).toBe(expected.last_step);
      expect(steps).toHaveLength(expected.step_lines!);
      const peaks = memoryOf(rows).filter(({ metric }) => metric === 'max_reserved');
      expect(Math.max(...peaks.map(({ value }) => value))).toBe(expected.peak_memory_GiB);
      if (expected.peak_memory_pct !== undefined) {
        const shares = steps.map(({ others }) => others?.find(({ name }) => name === 'memory_percent')?.value ?? 0);
        expect(Math.max(...shares)).toBe(expected.peak_memory_pct);
      }
    }
    expect(known.length).toBeGreaterThan(0);
  });
});
