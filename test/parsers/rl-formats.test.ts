/**
 * What the samples of the formats of reinforcement learning cannot show: several engines behind Ray's prefixes in one
 * file, steps longer than what is read at once, failures that end a process without an exception, and logs named oddly.
 */
import { describe, expect, it } from 'vitest';
import { REINFORCEMENT_LEARNING_FORMATS } from '../../parsers/log/formats/index.js';
import { readLogBytes } from '../../parsers/log/read-log.js';
import { sniffLog } from '../../parsers/log/sniff.js';
import { stripPrefix } from '../../parsers/log/strip-prefix.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { type LogRow, placedRow } from '../support/launches/log-row.js';
import { samplesOf } from '../support/log-samples.js';

interface Read {
  readonly rows: LogRow[];
  readonly incidents: IncidentRow[];
}

function read(lines: readonly string[]): Read {
  const rows: LogRow[] = [];
  const incidents: IncidentRow[] = [];
  readLogBytes(Buffer.from(`${lines.join('\n')}\n`), {
    incident: (row) => incidents.push(row),
    note() {},
    logRow: (finding, place) => rows.push(placedRow(finding, place)),
  });
  return { rows, incidents };
}

const iterationsOf = ({ rows }: Read) => rows.filter((row) => row.row === 'iteration');
const memoryOf = ({ rows }: Read) => rows.filter((row) => row.row === 'memory');
const GIB = 1024 ** 3;
const ESCAPE = String.fromCharCode(27);
const coloured = (prefix: string): string => `${ESCAPE}[36m${prefix}${ESCAPE}[0m `;

describe('formats of reinforcement learning', () => {
  it('give figures of healthy runs, and no failure pattern matches them', () => {
    for (const format of REINFORCEMENT_LEARNING_FORMATS)
      for (const { lines } of samplesOf(format)) {
        if (lines.some((line) => /Error: |OOM|out of memory|CUresult error/i.test(line))) continue;
        expect(read(lines).incidents, `${format.id}: ${lines[0]}`).toEqual([]);
      }
  });

  it('have anchors that ordinary lines of a trainer do not hold', () => {
    const ordinary = [
      ' [2025-06-01 10:00:00] iteration        7/  100000 | consumed samples:         3584 | elapsed time per iteration (ms): 5230.1 | learning rate: 1.500000E-04 | lm loss: 2.123456E+00 | grad norm: 0.512 |',
      '[Rank 0] (after 2 iterations) memory (MB) | allocated: 2.5 | max allocated: 5.5 | reserved: 7.0 | max reserved: 8.0',
      'host1:123:456 [0] NCCL INFO Channel 00/02 :    0   1',
      'Loading checkpoint shards: 100%|##########| 4/4 [00:01<00:00,  2.31it/s]',
      "{'loss': 1.75, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': 0.25}",
      '[2023-05-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]',
      'step: 12  loss:  7.9511  grad_norm:  1.2500  memory: 61.50GiB(77.66%)  tps: 8,731  tflops: 402.11  mfu: 40.66%',
    ];
    for (const { id, anchors } of REINFORCEMENT_LEARNING_FORMATS)
      for (const anchor of anchors) for (const line of ordinary) expect(line, `${id}: ${anchor}`).not.toContain(anchor);
  });

  it('distinguishes writers by the prefixes of their lines', () => {
    const keyOf = (line: string): string => stripPrefix(line).key;
    const textOf = (line: string): string => line.slice(stripPrefix(line).end);
    const writers = [
      '(WorkerDict pid=1234) x',
      '(WorkerDict pid=1235) x',
      '(WorkerDict pid=1234, ip=10.0.0.1) x',
      '(TaskRunner pid=99) x',
      '(create_colocated_worker_cls.<locals>.WorkerDict pid=7) x',
      '(VllmWorker rank=1 pid=8) x',
      '(pid=1234) x',
      '(raylet) x',
      '(raylet, ip=10.0.0.1) x',
      '(autoscaler +13s) x',
      '[2025-10-31 03:45:20 TP0] x',
      '[2025-10-31 03:45:20 TP1] x',
      '[2025-10-31 03:45:20 DP1 TP3 EP3] x',
      '[11:23:45 PP1 TP3] x',
      '(SGLangEngine pid=5) [2025-10-31 03:45:20 DP0 TP0] x',
    ];
    expect(new Set(writers.map(keyOf)).size).toBe(writers.length);
    for (const line of writers) expect(textOf(line), line).toBe('x');
    // The time of a line is not a writer; the rank of an engine is not a rank of the trainer.
    expect(keyOf('(autoscaler +13s) x')).toBe(keyOf('(autoscaler +1h2m3s) x'));
    expect(keyOf('[2025-10-31 03:45:20 TP1] x')).toBe(keyOf('[2025-10-31 03:45:59 TP1] x'));
    for (const line of writers) expect(stripPrefix(line).rank, line).toBeNull();
    expect(stripPrefix('[2025-10-31 03:45:20 TP1] x').time).toBe('2025-10-31 03:45:20');
    expect(stripPrefix('(DTensorPolicyWorkerV2[rank=13] pid=5, ip=10.0.0.1) x')).toMatchObject({
      rank: 13,
      pid: 5,
      host: '10.0.0.1',
    });
  });

  // Around the size of a part, of two and of three, and where a part ends inside a name, a value and a separator.
  const LENGTHS = [
    60,
    300,
    ...Array.from({ length: 24 }, (_, index) => 7300 + index * 61),
    16_300,
    16_384,
    24_500,
    40_000,
  ];
  it.each(LENGTHS)('reads a step of verl of %i bytes as one', (length) => {
    const metrics: string[] = [];
    const size = (): number => metrics.join(' - ').length;
    for (let index = 0; size() < length; index += 1)
      metrics.push(`val-core/source_${index}/acc/best@${index % 16}/mean:0.${String(index).padStart(4, '0')}1`);
    const tail = [
      'actor/pg_loss:-0.25',
      'actor/grad_norm:0.5',
      'perf/max_memory_allocated_gb:38.25',
      'timing_s/step:64.25',
      'perf/throughput:1024.5',
    ];
    const prefix = coloured('(TaskRunner pid=4711, ip=10.0.0.9)');
    const log = read([
      `${prefix}step:7 - ${[...metrics, ...tail].join(' - ')}`,
      `${prefix}Training Progress:  10%|#         | 7/70 [07:00<1:03:00, 60.0s/it]`,
      `${prefix}step:8 - actor/pg_loss:-0.5 - timing_s/step:32.5`,
    ]);
    expect(iterationsOf(log).map((row) => [row.iteration, row.stepMs, row.loss, row.line, row.host])).toEqual([
      [7, 64_250, -0.25, 1, '10.0.0.9'],
      [8, 32_500, -0.5, 3, '10.0.0.9'],
    ]);
    const [first] = iterationsOf(log);
    expect(first?.gradNorm).toBe(0.5);
    expect(memoryOf(log).map((row) => [row.metric, row.bytes, row.iteration])).toEqual([
      ['max_allocated', 38.25 * GIB, 7],
    ]);
    // Every metric once, with its printed value, whether it is part of the step or follows it.
    const metricRows = [
      ...(first?.others ?? []).map(({ name, value }) => [name, value] as const),
      ...log.rows
        .filter((row) => row.row === 'value')
        .map((row) => [row.name.replace(/^iteration\./, ''), row.value] as const),
    ];
    const expected = [...metrics, 'perf/throughput:1024.5'].map((metric) => {
      const at = metric.lastIndexOf(':');
      return [metric.slice(0, at), Number(metric.slice(at + 1))] as const;
    });
    expect(metricRows).toEqual(expected);
  });

  it.each([
    ['driver', '(TaskRunner pid=12) {"actor": {}}\n'],
    ['run_7.dump', 'x\n(WorkerDict pid=3) Monkey patch forward [repeated 3x across cluster]\n'],
    ['output', 'After FSDP, memory allocated (GB): 7.49, memory reserved (GB): 8.47\n'],
    ['server', '[2025-01-23 19:35:34 TP0] Load weight begin. avail mem=78.50 GB\n'],
    ['serve', '(EngineCore_DP0 pid=1) INFO 05-24 20:53:41 [kv_cache_utils.py:864] GPU KV cache size: 238,208 tokens\n'],
  ])('is taken for a log when it is named %s', (name, text) => {
    const bytes = Buffer.from(text);
    expect(sniffLog({ name, bytes, sizeBytes: bytes.length }).score).toBeGreaterThanOrEqual(0.9);
  });
});
