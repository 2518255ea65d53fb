/** The verbs over text rows as scripts see them: exit codes, streams, JSON, and limits. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type {
  ClassifyResult,
  ConfigResult,
  EnvResult,
  IterationsResult,
  LogResult,
  MemoryResult,
} from '../../src/model/results/log.js';
import { asker, expectFits } from '../support/ask.js';
import { wordsOf } from '../support/cli.js';
import { samplePath } from '../support/stores.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');
const VERBS = ['log', 'iterations', 'memory', 'config', 'env'] as const;

const iteration = (i: number, ms: number): string =>
  ` [2025-11-18 09:12:${String(i).padStart(2, '0')}] iteration ${String(i).padStart(8)}/      50 | consumed samples: ${String(i * 32).padStart(12)} | elapsed time per iteration (ms): ${ms.toFixed(1)} | learning rate: 6.000000E-06 | global batch size:    32 | lm loss: 1.100000E+01 | loss scale: 1.0 | grad norm: 2.000 | number of skipped iterations:   0 | number of nan iterations:   0 |`;
const memory = (rank: number, i: number, mib: number): string =>
  `[Rank ${rank}] (after ${i} iterations) memory (MB) | allocated: ${mib}.5 | max allocated: ${mib + 10}.25 | reserved: ${mib + 20}.0 | max reserved: ${mib + 20}.0`;
const OOM =
  '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 80.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.';

const LOG = [
  'using world size: 4, data-parallel size: 2, tensor-model-parallel size: 1, pipeline-model-parallel size: 2',
  ...[1, 2, 3, 4].flatMap((i) => [iteration(i, i === 1 ? 9000 : 100 + i), memory(0, i, 1000), memory(2, i, 2000)]),
  OOM,
  '',
].join('\n');

const { cli, options, ends, mbf, text, json, refuse, put } = asker();
put('runs/night/train.log', LOG);
put(
  'runs/golden/train.log',
  LOG.replace('pipeline-model-parallel size: 2', 'pipeline-model-parallel size: 1').replace(OOM, ''),
);
const db = ['--db', 'store.duckdb'];
beforeAll(() => void mbf('ingest', 'runs', '--each', ...db));

const ask = <T>(...args: string[]): T => json<T>(...args, ...db);

describe('every verb', () => {
  it.each([...VERBS, 'classify'])('%s has a schema', (verb) => {
    const operand = verb === 'classify' ? 'runs/night/train.log' : 'night';
    const answer = mbf(...wordsOf(verb), operand, ...db, '--json=full');
    expect(answer.stderr).toBe('');
    expect((JSON.parse(answer.stdout) as { schema: string }).schema).toBe(`mbforensics/${verb}@1`);
    const { stdout, stderr } = mbf(...wordsOf(verb), operand, ...db);
    expect(stderr).toBe('');
    expect(stdout).not.toMatch(/undefined|NaN |\[object/);
    expect(stdout).not.toContain('\u001b');
  });

  it.each(VERBS)('%s takes a path, and a run that does not exist is an error', (verb) => {
    mbf(...wordsOf(verb), './runs/night');
    expect(refuse(2, ...wordsOf(verb), 'no-such-run', ...db)).toContain('MBF1002');
  });

  it.each(VERBS)('%s answers for a sample made by the generator', (verb) => {
    const screen = text(...wordsOf(verb), SAMPLE);
    expect(screen.length).toBeGreaterThan(0);
    if (verb !== 'log') return;
    expect(screen.split('\n').length).toBeLessThanOrEqual(41);
    expectFits(screen);
  });
});

describe('log', () => {
  it('shows ranks, progress, memory and failures', () => {
    const [run] = ask<LogResult>('log', 'night').runs;
    expect(run).toMatchObject({
      name: 'night',
      world_size: 4,
      parallel: { tp: 1, pp: 2, dp: 2 },
      iterations: { count: 4, first: 1, last: 4, target: 50, median_step_ms: 103.5, monotonic: true },
      first_failure: { kind: 'cuda_oom', rank: 1, line: 14, file: 'train.log' },
    });
    expect(run!.iterations.steady).toMatchObject({ median_step_ms: 103, left_out: 1 });
    expect(run!.memory.length).toBe(32);
    expect(run!.memory[0]).toMatchObject({ rank: 0, iteration: 1, metric: 'allocated', bytes: 1000.5 * 2 ** 20 });
    expect(run!.incidents).toMatchObject([
      { kind: 'cuda_oom', is_oom: true, rank: 1, device: 1, requested_bytes: 2 ** 31, iteration: 4, line: 14 },
    ]);
    expect(run!.bridge_evaluator).toMatchObject({ alloc: null, steps: { '0': { 'lm loss': 11 } } });
  });

  it('limits the records of the document, and counts them all', () => {
    const [run] = ask<LogResult>('log', 'night', '--limit', '3').runs;
    expect([run!.memory.length, run!.memory_records]).toEqual([3, 32]);
    expect(ask<LogResult>('log', 'night', '--limit', '0').runs[0]!.memory.length).toBe(32);
    expect(refuse(2, 'log', 'night', '--limit', 'many', ...db)).toMatch(/MBF1001.*--limit/);
  });

  it('exits 4 where a file of the run could not be read', () => {
    put('half/train.log', LOG);
    put('half/snapshot_0.pickle', Buffer.from('80045d', 'hex'));
    expect(ends(4, 'log', 'half', '--json=full').json<LogResult>().failed_sources).toMatchObject([
      { path: 'snapshot_0.pickle' },
    ]);
  });
});

describe('iterations', () => {
  it('prints CSV of all, or the last ones', () => {
    const csv = text('log', 'iterations', 'night', '--csv', ...db)
      .trim()
      .split('\n');
    expect(csv.length).toBe(5);
    expect(csv[0]).toMatch(/^attempt,iteration,target,rank,step_ms,/);
    expect(csv[1]).toMatch(/^1,1,50,.*,9000,/);
    const two = ask<IterationsResult>('log', 'iterations', 'night', '--limit', '2');
    expect(two.rows.map((row) => row.iteration)).toEqual([3, 4]);
    expect(two.rows_left_out).toBe(2);
    expect(ends(2, 'log', 'iterations', '--csv', '--json=full', ...db).stderr).toContain('MBF1001');
  });
});

describe('memory', () => {
  it('shows ranks and stages, or one rank line by line', () => {
    const all = ask<MemoryResult>('log', 'memory', 'night');
    expect(all.ranks.map(({ rank, position }) => [rank, position?.pp])).toEqual([
      [0, 0],
      [2, 1],
    ]);
    expect(all.stages.map(({ stage, max }) => [stage, max['max_allocated']])).toEqual([
      [0, 1010.25 * 2 ** 20],
      [1, 2010.25 * 2 ** 20],
    ]);
    const rankTwo = ask<MemoryResult>('log', 'memory', 'night', '--rank', '2');
    expect(rankTwo.ranks.map(({ rank }) => rank)).toEqual([2]);
    expect(rankTwo.records!.length).toBe(16);
    for (const rank of ['-1', 'x', '1.5']) {
      expect(refuse(2, 'log', 'memory', 'night', `--rank=${rank}`, ...db)).toMatch(/MBF1001.*--rank/);
    }
  });
});

describe('config and env', () => {
  it('compare runs of the store, and of paths', () => {
    const { diff } = ask<ConfigResult>('log', 'config', 'night', '--diff', 'golden');
    expect(diff!.different).toMatchObject([
      { key: 'pipeline_model_parallel_size', value: '2', other_value: '1', memory: true },
    ]);
    const paths = ['log', 'config', './runs/night', '--diff', './runs/golden'];
    expect(json<ConfigResult>(...paths).diff!.different.length).toBe(1);
    expect(refuse(2, 'log', 'config', 'night', '--diff', 'none', ...db)).toContain('MBF1002');
  });

  it('know the variables of a launch script', () => {
    const result = json<EnvResult>('log', 'env', SAMPLE);
    expect(result.variables.map(({ key }) => key)).toContain('CUDA_DEVICE_MAX_CONNECTIONS');
  });
});

describe('classify', () => {
  const classified = (status: number, input: string, ...args: string[]) =>
    cli.expect(status, ['explain', 'text', '-', ...args], { ...options, input });

  it('reads a file, a compressed file and standard input alike', () => {
    const pasted = `some words\n${OOM}\n`;
    const answers = [
      json<ClassifyResult>('explain', 'text', put('pasted.txt', pasted)),
      json<ClassifyResult>('explain', 'text', put('pasted.txt.gz', gzipSync(pasted))),
      classified(0, pasted, '--json=full').json<ClassifyResult>(),
    ];
    for (const { incidents, verdict } of answers) {
      expect(incidents).toMatchObject([{ kind: 'cuda_oom', rank: 1, line: 2, process_bytes: 79 * 2 ** 30 }]);
      expect(verdict).toMatchObject({ cause: 'capacity', incident: 0 });
    }
    expect(answers[2]!.incidents[0]!.file).toBe('<stdin>');
  });

  it('needs no store and makes none', () => {
    expect(classified(0, OOM).stdout).toContain('capacity');
  });

  it('has exit codes for scripts', () => {
    const none = classified(0, 'hello\n');
    expect(none.stdout).toMatch(/^NO FAILURE FOUND ·/);
    expect(none.stdout).not.toContain('OOM');
    classified(1, OOM, '--exit-code');
    classified(3, 'nothing\n', '--exit-code');
    classified(0, 'RuntimeError: CUDA error: an illegal memory access was encountered\n', '--exit-code');
    expect(refuse(2, 'explain', 'text', 'none.txt')).toContain('none.txt');
    expect(classified(2, '', '--capacity', 'lots').stderr).toContain('MBF1001');
  });

  it('reads a text of one endless line', () => {
    const file = put('long.txt', `${'x'.repeat(20_000_000)} ${OOM}\n`);
    const { incidents } = json<ClassifyResult>('explain', 'text', file);
    expect(incidents.map(({ kind }) => kind)).toEqual(['cuda_oom']);
  });
});
