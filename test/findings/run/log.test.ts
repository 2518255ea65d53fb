/** From text rows to results: what `log`, `iterations`, `memory` tell of rows written by hand. */
import { describe, expect, it } from 'vitest';
import { describeLog } from '../../../src/findings/run/describe-log.js';
import { describeIterations } from '../../../src/findings/run/iterations.js';
import { readLogFacts } from '../../../src/findings/run/log-facts.js';
import { describeMemory } from '../../../src/findings/run/memory.js';
import type { LogRow } from '../../../src/model/log-rows.js';
import type { LogRun, MemoryResult } from '../../../src/model/results/log.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { logText } from '../../../src/report/run/log-text.js';
import { memoryText } from '../../../src/report/run/memory-text.js';
import { RUN, type TextSource, withTextRuns } from '../../support/text-run.js';

type Row = NonNullable<TextSource['rows']>[number];

const iteration = (
  number: number,
  stepMs: number | undefined,
  more: Partial<Extract<LogRow, { row: 'iteration' }>> = {},
): Row => ({
  row: 'iteration',
  iteration: number,
  target: 100,
  stepMs,
  ...more,
});
const memory = (
  rank: number,
  at: number | undefined,
  metric: string,
  bytes: number | null,
  more: object = {},
): Row => ({
  row: 'memory',
  metric,
  bytes,
  value: bytes === null ? 0 : bytes / MIB,
  unit: 'MB',
  precisionBytes: 0,
  iteration: at,
  rank,
  ...more,
});
const config = (key: string, value: string | null, origin = 'log dump', more: object = {}): Row =>
  ({ row: 'config', key, rawKey: key, value, origin, ...more }) as Row;
const value = (name: string, text: string | null, number: number | null = null): Row =>
  ({ row: 'value', name, value: number, unit: null, ...(text === null ? {} : { text }) }) as Row;
const printed = (bytes: number, precisionBytes = 0) => ({ bytes, text: String(bytes), precisionBytes });

async function logOf(...sources: TextSource[]): Promise<LogRun> {
  return withTextRuns([sources], async (store) => {
    const result = await describeLog(store, 1, RUN);
    const lines = logText(result).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.length).toBeLessThanOrEqual(41);
    expect(logText(result)).not.toMatch(/undefined|NaN|\[object/);
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
    return result.runs[0]!;
  });
}

describe('an empty run', () => {
  it('is unknown throughout, not zero', async () => {
    const run = await logOf({ path: 'a.log' });
    expect(run).toMatchObject({
      world_size: null,
      parallel: { tp: null, pp: null, vpp: null, cp: null, ep: null, dp: null },
      gpu: { name: null, total_bytes: null, count: null },
      iterations: { count: 0, first: null, last: null, median_step_ms: null, monotonic: null },
      memory: [],
      incidents: [],
      first_failure: null,
      bridge_evaluator: null,
      origins: {},
    });
    expect(new Set(Object.values(run.versions))).toEqual(new Set([null]));
    expect(run.attempts).toMatchObject([{ attempt: 1, origin: 'assumed', iteration_lines: 0 }]);
  });
});

describe('facts', () => {
  it('come from the strongest origin, and say so', async () => {
    const run = await logOf({
      path: 'a.log',
      rows: [
        config('world_size', '16', 'log banner', { line: 3 }),
        config('tensor_model_parallel_size', '8', 'command line', { line: 1 }),
        config('tensor_model_parallel_size', '2', 'log dump', { line: 9 }),
        config('pipeline_model_parallel_size', '4', 'log dump', { line: 10 }),
      ],
    });
    expect(run.world_size).toBe(16);
    expect(run.parallel).toMatchObject({ tp: 2, pp: 4, cp: null, dp: 2 });
    expect(run.origins['parallel.tp']).toBe('log dump: a.log line 9');
    expect(run.origins['parallel.dp']).toMatch(/^computed: .*cp not mentioned, taken as 1/);
    expect(run.layout_origin).toContain('tp-cp-ep-dp-pp');
  });

  it('are those of the newest launch of a file that printed settings, never of an older one', async () => {
    const run = await logOf(
      {
        path: 'a.log',
        rows: [
          config('world_size', '16', 'log banner', { line: 3 }),
          config('tensor_model_parallel_size', '2', 'log dump', { line: 9 }),
          config('pipeline_model_parallel_size', '4', 'command line', { line: 20, attempt: 2 }),
        ],
      },
      { path: 'b.log', rows: [config('context_parallel_size', '2', 'log dump', { line: 1 })] },
    );
    expect(run.world_size).toBeNull();
    expect(run.parallel).toMatchObject({ tp: null, pp: 4, cp: 2 });
    expect(run.origins['parallel.pp']).toBe('command line: a.log line 20');
  });

  it('are not made up where sizes do not divide, or are no numbers', async () => {
    const run = await logOf({
      path: 'a.log',
      rows: [
        config('world_size', '10'),
        config('tensor_model_parallel_size', '4'),
        config('pipeline_model_parallel_size', 'None'),
      ],
    });
    expect(run.parallel).toMatchObject({ tp: 4, pp: null, dp: null });
    expect(run.layout).toEqual([]);
  });

  it('compute virtual stages from the layers of one', async () => {
    const run = await logOf({
      path: 'a.log',
      rows: [
        config('num_layers', '80'),
        config('pipeline_model_parallel_size', '4'),
        config('num_layers_per_virtual_pipeline_stage', '4'),
        config('virtual_pipeline_model_parallel_size', 'None'),
      ],
    });
    expect(run.parallel.vpp).toBe(5);
  });

  it('name versions, device, commits and the allocator’s settings', async () => {
    const run = await logOf({
      path: 'a.log',
      rows: [
        value('version.torch', '2.7.1+cu128'),
        value('version.te', '2.5.0'),
        value('version.xformers', '0.1'),
        value('gpu.name', 'NVIDIA Example'),
        value('commit.megatron_lm', 'abcdef0'),
        memory(0, undefined, 'device_total', 80 * GIB),
        { row: 'env', key: 'PYTORCH_CUDA_ALLOC_CONF', value: 'expandable_segments:True', origin: 'script' },
        { row: 'env', key: 'WORLD_SIZE', value: '8', origin: 'env dump', rank: 3 },
      ],
    });
    expect(run.versions).toMatchObject({
      torch: '2.7.1+cu128',
      cuda: '12.8',
      transformer_engine: '2.5.0',
      xformers: '0.1',
      nccl: null,
    });
    expect(run.gpu).toEqual({ name: 'NVIDIA Example', total_bytes: 80 * GIB, count: 8 });
    expect(run.commits).toEqual({ megatron_lm: 'abcdef0' });
    expect(run.allocator_conf).toBe('expandable_segments:True');
    expect(run.world_size).toBe(8);
  });
});

describe('iterations', () => {
  it('have statistics with and without the first line of each attempt', async () => {
    const run = await logOf({
      path: 'a.log',
      attempts: [{ attempt: 2, line: 6, origin: 'iteration counter went back' }],
      rows: [
        iteration(1, 9000),
        iteration(2, 100, { tflopsPerGpu: 500 }),
        iteration(3, 110, { tflopsPerGpu: 510 }),
        iteration(4, 120, { tflopsPerGpu: 520, skippedIterations: 1 }),
        iteration(3, 8000, { attempt: 2 }),
        iteration(4, 130, { attempt: 2, tflopsPerGpu: 490, loss: 2.5 }),
      ],
    });
    expect(run.iterations).toMatchObject({
      count: 6,
      distinct: 4,
      first: 1,
      last: 4,
      lowest: 1,
      highest: 4,
      target: 100,
      monotonic: false,
      median_step_ms: 125,
      min_step_ms: 100,
      max_step_ms: 9000,
      mean_step_ms_excluding_first: 115,
      last_loss: 2.5,
      skipped_iterations: 1,
      median_tflops_per_gpu: 505,
      steady: { timed: 4, left_out: 2, median_step_ms: 115, max_step_ms: 130 },
    });
    expect(run.iterations.steady.p95_step_ms).toBeCloseTo(128.5);
    expect(run.attempts).toMatchObject([
      { attempt: 1, first_iteration: 1, last_iteration: 4, iteration_lines: 4 },
      { attempt: 2, first_iteration: 3, last_iteration: 4, iteration_lines: 2, origin: 'iteration counter went back' },
    ]);
  });

  it('without step times or with NaN have none', async () => {
    const run = await logOf({
      path: 'a.log',
      rows: [iteration(1, undefined), iteration(2, Number.NaN, { loss: Number.NaN })],
    });
    expect(run.iterations).toMatchObject({ count: 2, timed: 0, median_step_ms: null, last_loss: null });
  });

  it('are listed in order, the last ones where rows are limited', async () => {
    const rows = Array.from({ length: 50 }, (_, i) => iteration(i + 1, 100 + i));
    const result = await withTextRuns([[{ path: 'a.log', rows }]], (store) =>
      describeIterations(store, 1, RUN, { newest: 3 }),
    );
    expect(result.rows.map((row) => row.iteration)).toEqual([48, 49, 50]);
    expect(result.rows[0]).toMatchObject({ step_ms: 147, file: 'a.log', line: 48, attempt: 1, loss: null });
    expect(result.rows_left_out).toBe(47);
    expect(result.attempts).toMatchObject([{ attempt: 1, count: 50, monotonic: true }]);
  });
});

describe('memory', () => {
  const sizes = [
    config('world_size', '4'),
    config('tensor_model_parallel_size', '1'),
    config('pipeline_model_parallel_size', '2'),
  ];

  it('lists every record in the order of files and lines, bytes as converted', async () => {
    const run = await logOf(
      { path: 'b.log', rows: [memory(1, 1, 'allocated', 123_456_789)] },
      {
        path: 'a.log',
        rows: [
          memory(0, 1, 'reserved', 5, { line: 7, moment: 'after iteration' }),
          memory(0, 1, 'alloc_retries', null, { line: 7, value: 2, unit: 'count' }),
          memory(0, undefined, 'allocated', 3, { line: 2 }),
        ],
      },
    );
    expect(run.memory.map(({ rank, iteration: at, metric, bytes, file }) => [rank, at, metric, bytes, file])).toEqual([
      [0, null, 'allocated', 3, 'a.log'],
      [0, 1, 'reserved', 5, 'a.log'],
      [0, 1, 'alloc_retries', null, 'a.log'],
      [1, 1, 'allocated', 123_456_789, 'b.log'],
    ]);
    expect(run.memory_records).toBe(4);
    expect(run.memory[1]!.moment).toBe('after iteration');
  });

  it('puts equal ranks together, by stage', async () => {
    const run = await logOf({
      path: 'a.log',
      rows: [
        ...sizes,
        ...[0, 1, 2, 3].flatMap((rank) => [
          memory(rank, 1, 'allocated', rank < 2 ? GIB : 2 * GIB),
          memory(rank, 2, 'allocated', rank < 2 ? GIB : 3 * GIB),
        ]),
      ],
    });
    expect(run.memory_groups).toEqual([
      {
        stage: 0,
        ranks: [0, 1],
        iteration: 2,
        samples: 2,
        last: { allocated: GIB },
        max: { allocated: GIB },
        counts: {},
      },
      {
        stage: 1,
        ranks: [2, 3],
        iteration: 2,
        samples: 2,
        last: { allocated: 3 * GIB },
        max: { allocated: 3 * GIB },
        counts: {},
      },
    ]);
    expect(run.layout.map(({ rank, pp, dp }) => [rank, pp, dp])).toEqual([
      [0, 0, 0],
      [1, 0, 1],
      [2, 1, 0],
      [3, 1, 1],
    ]);
  });

  async function memoryOf(rows: readonly Row[], rank?: number): Promise<MemoryResult> {
    return withTextRuns([[{ path: 'a.log', rows }]], async (store) => {
      const { layout, layoutOrigin } = await readLogFacts(store, 1);
      const result = await describeMemory(store, 1, RUN, { layout, origin: layoutOrigin }, { rank });
      const lines = memoryText(result).split('\n');
      expect(memoryText(result)).not.toMatch(/undefined|NaN|\[object/);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(130);
      return result;
    });
  }

  it('finds growth after the first sample only, from three samples on', async () => {
    const grow = (rank: number, count: number): Row[] =>
      Array.from({ length: count }, (_, i) =>
        // The first sample is before the optimizer's states exist.
        memory(rank, (i + 1) * 10, 'allocated', i === 0 ? GIB : 40 * GIB + i * 10 * MIB),
      );
    const result = await memoryOf([...grow(0, 6), ...grow(1, 3)]);
    const [long, short] = result.ranks.map(({ metrics }) => metrics[0]!);
    expect(long!.growth_bytes_per_iteration).toBeCloseTo(MIB);
    expect(long!.growth_r2).toBeCloseTo(1);
    expect(short!.growth_bytes_per_iteration).toBeNull();
    expect(result.flags.map(({ kind, ranks }) => [kind, ranks])).toEqual([['growth', [0]]]);
  });

  it('flags retries, unusable remainders, an idle reserve and an outlier', async () => {
    const result = await memoryOf([
      ...sizes,
      ...[0, 1, 2, 3].map((rank) => memory(rank, 5, 'max_allocated', (rank === 3 ? 60 : 40) * GIB)),
      ...[0, 1, 2, 3].map((rank) => memory(rank, 5, 'max_reserved', (rank === 1 ? 70 : 62) * GIB)),
      memory(1, 5, 'max_inactive_split', 20 * GIB),
      memory(1, 5, 'alloc_retries', null, { value: 2, unit: 'count' }),
      memory(0, 5, 'alloc_retries', null, { value: 0, unit: 'count' }),
    ]);
    expect(result.flags.map(({ kind, ranks }) => [kind, ranks])).toEqual([
      ['reserved_far_above_allocated', [0, 1, 2]],
      ['alloc_retries', [1]],
      ['inactive_split', [1]],
      ['imbalance', [3]],
    ]);
    expect(result.stages).toEqual([
      {
        attempt: 1,
        stage: 0,
        ranks: 2,
        max: { max_allocated: 40 * GIB, max_reserved: 70 * GIB, max_inactive_split: 20 * GIB },
      },
      { attempt: 1, stage: 1, ranks: 2, max: { max_allocated: 60 * GIB, max_reserved: 62 * GIB } },
    ]);
  });

  it('of one rank lists its records', async () => {
    const result = await memoryOf(
      [memory(0, 1, 'allocated', 1), memory(3, 1, 'allocated', 2), memory(3, 2, 'allocated', 3)],
      3,
    );
    expect(result.ranks.map(({ rank }) => rank)).toEqual([3]);
    expect(result.records!.map(({ bytes }) => bytes)).toEqual([2, 3]);
  });

  it('of a thousand ranks and many samples is one page', async () => {
    const rows: Row[] = [];
    for (let at = 1; at <= 20; at += 1) {
      for (let rank = 0; rank < 1024; rank += 1) {
        for (const metric of ['allocated', 'max_allocated', 'reserved', 'max_reserved'])
          rows.push(memory(rank, at, metric, GIB + rank * 1024 + at));
      }
    }
    await withTextRuns([[{ path: 'a.log', rows }]], async (store) => {
      const result = await describeLog(store, 1, RUN, { mostMemoryRecords: 10 });
      const text = logText(result);
      expect(result.runs[0]).toMatchObject({ memory_records: 81_920, ranks_seen: 1024 });
      expect(result.runs[0]!.memory.length).toBe(10);
      expect(text.split('\n').length).toBeLessThanOrEqual(41);
      expect(text).toContain('0-1023');
    });
  });
});

describe('incidents', () => {
  it('have their figures, and sums where two of three are printed', async () => {
    const run = await logOf({
      path: 'a.log',
      rank: 7,
      incidents: [
        {
          device: 1,
          line: 5,
          bytes: {
            requested: printed(GIB),
            total: printed(80 * GIB),
            allocated: printed(60 * GIB, 100),
            reservedUnallocated: printed(10 * GIB, 50),
          },
          processes: [
            { pid: 11, printed: printed(2 * GIB, 10) },
            { pid: 12, printed: printed(71 * GIB, 10) },
          ],
          frame: { file: 'train.py', line: 3, function: 'forward' },
        },
        { line: 9, rank: 2, kind: 'hip_oom', bytes: { allocated: printed(3), reserved: printed(10) } },
      ],
    });
    expect(run.incidents).toMatchObject([
      {
        kind: 'cuda_oom',
        is_oom: true,
        rank: 7,
        rank_origin: 'file_name',
        device: 1,
        requested_bytes: GIB,
        free_bytes: null,
        process_bytes: null,
        reserved_total_bytes: 70 * GIB,
        reserved_unallocated_bytes: 10 * GIB,
        // As printed; that one of them is this process is said elsewhere.
        other_process_bytes: 73 * GIB,
        self_pid: 12,
        file: 'a.log',
        line: 5,
        frame: { function: 'forward' },
      },
      { rank: 2, reserved_total_bytes: 10, reserved_unallocated_bytes: 7, other_process_bytes: null, self_pid: null },
    ]);
    expect(run.gpu.total_bytes).toBe(80 * GIB);
    expect(run.origins['gpu.total_bytes']).toContain('a.log line 5');
  });

  it('know the last iteration before them in their file, else in their attempt', async () => {
    const run = await logOf(
      {
        path: 'a.log',
        rows: [
          iteration(4, 10, { line: 10 }),
          memory(0, 5, 'allocated', 1, { line: 20 }),
          iteration(6, 10, { line: 40 }),
          iteration(1, 10, { line: 60, attempt: 2 }),
        ],
        incidents: [{ line: 5 }, { line: 15 }, { line: 30 }, { line: 70, attempt: 2 }],
      },
      { path: 'b.log', incidents: [{ line: 1 }] },
    );
    expect(
      run.incidents.map(({ file, line, iteration: at, iteration_origin }) => [file, line, at, iteration_origin]),
    ).toEqual([
      ['a.log', 5, 6, 'same attempt'],
      ['a.log', 15, 4, 'same file'],
      ['a.log', 30, 5, 'same file'],
      ['b.log', 1, 6, 'same attempt'],
      ['a.log', 70, 1, 'same file'],
    ]);
  });
});

describe('files that repeat each other', () => {
  it('count each line once where a clock or a process shows that it is the same', async () => {
    const line = (file: number, at: number): Row =>
      iteration(at, 100 + at, { timeUs: 1_000_000 * at, line: at + file } as object);
    const oom = { rank: 3, text: 'CUDA out of memory. Process 4711 has 1 GiB', line: 9 };
    const run = await logOf(
      {
        path: 'all.log',
        rows: [1, 2, 3].map((at) => line(50, at)),
        incidents: [oom, { rank: 3, text: 'plain', line: 10 }],
      },
      {
        path: 'node-1.log',
        rows: [2, 3].map((at) => line(0, at)),
        incidents: [oom, { rank: 3, text: 'plain', line: 10 }],
      },
    );
    expect(run.iterations).toMatchObject({ count: 3, copies: 2, monotonic: true });
    // A repeated launch fails with the same plain words.
    expect(run.incidents.map(({ file, copy_of }) => [file, copy_of])).toEqual([
      ['all.log', null],
      ['all.log', null],
      ['node-1.log', 0],
      ['node-1.log', null],
    ]);
  });

  it('keep lines of one file, and lines that only share their losses', async () => {
    const matching = iteration(1, undefined, { loss: 2 });
    const run = await logOf(
      { path: 'a.log', rows: [matching, iteration(2, 5), iteration(2, 5)] },
      { path: 'b.log', rows: [matching] },
    );
    expect(run.iterations).toMatchObject({ count: 4, copies: 0 });
  });
});

describe('what Megatron Bridge’s script would read', () => {
  const bridge = { format: 'megatron-bridge.memory', unit: 'GB' };

  it('is the first memory figure of the first file, and the largest reserve of all', async () => {
    const run = await logOf(
      {
        path: 'log-x_1.out',
        rows: [
          memory(9, 1, 'allocated', 5e9, { ...bridge, value: 5 }),
          memory(9, 1, 'max_reserved', 7e9, { ...bridge, value: 7 }),
        ],
      },
      {
        path: 'log-x_0.out',
        rows: [
          memory(0, 1, 'allocated', 1, { format: 'deepspeed.memory', value: 1, unit: 'GB' }),
          memory(3, 1, 'allocated', 6e9, { ...bridge, value: 6 }),
          memory(3, 1, 'max_allocated', 8e9, { ...bridge, value: 8.5 }),
          memory(3, 1, 'max_reserved', 6e9, { ...bridge, value: 6 }),
        ],
      },
    );
    expect(run.bridge_evaluator).toMatchObject({ alloc: 6, max_alloc: 8.5, max_reserved: 7, steps: {} });
  });

  it('prefers files of all ranks, and zips by position, shifting what follows a gap', async () => {
    const format = 'megatron-lm.iteration';
    const utilization = (tflops: number): Row => ({
      row: 'value',
      name: 'step_time.tflops_per_gpu',
      value: tflops,
      unit: 'MODEL_TFLOP/s/GPU',
    });
    const run = await logOf(
      {
        path: 'log-allranks_0.out',
        rows: [
          utilization(500),
          iteration(1, 10, { format, loss: 3 }),
          iteration(2, 11, { format, loss: Number.NaN }),
          utilization(510),
          iteration(3, 12, { format, loss: 1 }),
        ],
      },
      { path: 'log-x_0.out', rows: [iteration(77, 10, { format, loss: 3 })] },
    );
    expect(run.bridge_evaluator).toEqual({
      alloc: null,
      max_alloc: null,
      max_reserved: null,
      files: ['log-allranks_0.out'],
      misaligned: ['GPU utilization', 'lm loss'],
      steps: {
        '0': { 'lm loss': 3, 'elapsed time per iteration (ms)': 10, 'GPU utilization': 500 },
        '1': { 'lm loss': 1, 'elapsed time per iteration (ms)': 11, 'GPU utilization': 510 },
        '2': { 'elapsed time per iteration (ms)': 12 },
      },
    });
  });
});
