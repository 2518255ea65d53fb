/** Logs of many ranks, and texts with lines as long as files, brackets that never close, millions of records. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { IngestResult, SqlResult } from '../../src/model/results/common.js';
import type { LogResult, MemoryResult } from '../../src/model/results/log.js';
import { buildCli, environment } from '../support/cli.js';
import { NIGHTLY } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const cli = buildCli();
const directory = temporaryDirectory();

/** A log of nine launches, each ended by an out-of-memory error. */
function manyRanksLog(ranks: number): string {
  const lines: string[] = [];
  for (let launch = 0; launch < LAUNCHES; launch += 1) {
    const minute = String(launch).padStart(2, '0');
    lines.push(`[rank0]: using world size: ${ranks}, data-parallel size: ${ranks}, tensor-model-parallel size: 1`);
    for (let rank = 0; rank < ranks; rank += 1) {
      const peak = 50_000 + (rank % 89);
      lines.push(
        `[Rank ${rank}] (after 1 iterations) memory (MB) | allocated: ${40_000 + (rank % 97)}.${minute} | max allocated: ${peak}.5 | reserved: ${peak + 8_000}.0 | max reserved: ${peak + 9_000}.0`,
      );
    }
    for (const iteration of [1, 2]) {
      lines.push(
        ` [2025-11-18 09:${minute}:1${iteration}] iteration ${String(iteration).padStart(8)}/     500 | consumed samples: ${String(512 * iteration).padStart(12)} | elapsed time per iteration (ms): 4${launch}.1 | throughput per GPU (TFLOP/s/GPU): 612.4 | learning rate: 3.000000E-05 | global batch size:   512 | lm loss: 1.7215E+00 | loss scale: 1.0 | grad norm: 2.1 | number of skipped iterations:   0 | number of nan iterations:   0 |`,
      );
    }
    const failed = (7 * launch) % ranks;
    lines.push(
      `[rank${failed}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.60 GiB. GPU ${failed % 8} has a total capacity of 79.11 GiB of which 1.31 GiB is free. Including non-PyTorch memory, this process has 77.80 GiB memory in use. Of the allocated memory 55.08 GiB is allocated by PyTorch, and 18.00 GiB is reserved by PyTorch but unallocated.`,
    );
  }
  return `${lines.join('\n')}\n`;
}
const LAUNCHES = 9;

/**
 * Arrays that are as long as the input must not be spread into calls: 18,432 figures overflow a call stack of 150 KB;
 * the usual one, of 984 KB, overflows from about 120,000 on.
 */
it('a log of 512 ranks and nine launches is diagnosed with a small call stack', () => {
  writeFileSync(join(directory, 'train.log'), manyRanksLog(512));
  const args = ['--stack-size=150', cli.script, 'diagnose', '--full', 'train.log'];
  const env = environment({ XDG_CACHE_HOME: directory });
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: directory, env });
  expect(stderr).not.toContain('MBF9001');
  expect(status).toBe(0);
  expect(stdout).toContain('rank 56 of 512');
  expect(stdout).toContain('peak allocated of 512 ranks');
});

describe('nine launches with 4,096 ranks each', () => {
  const RANKS = 4096;
  const env = { MBF_DB: join(directory, 'many.duckdb') };
  beforeAll(() => {
    const log = manyRanksLog(RANKS);
    for (const [name, text] of Object.entries({ a: log, b: log.replaceAll('40001.', '40011.') })) {
      writeFileSync(join(directory, `${name}.log`), text);
      cli.expect(0, ['ingest', join(directory, `${name}.log`), '--run', name, '--quiet'], { env });
    }
  });

  it('are all counted', () => {
    const [run] = cli.expect(0, ['log', 'a', '--json=full'], { env }).json<LogResult>().runs;
    expect(run!.attempts).toHaveLength(LAUNCHES);
    expect(run!.ranks_seen).toBe(RANKS);
    expect(run!.incidents).toHaveLength(LAUNCHES);
    const { ranks } = cli.expect(0, ['log', 'memory', 'a', '--json=full'], { env }).json<MemoryResult>();
    expect(ranks).toHaveLength(LAUNCHES * RANKS);
  });

  it.each([
    ...['diagnose a', 'advise a', 'show E1 a', 'log memory a', 'log iterations a', 'golden add a --name g --force'],
    ...['compare b --golden g', 'diff a b', 'verify-fix a b', 'history'],
  ])('%s', (question) => {
    const { stderr, stdout } = cli.run(question.split(' '), { env });
    expect(stderr).toBe('');
    expect(stdout).not.toBe('');
  });
});

const RECORD =
  '[Rank 1] (after 1 iterations) memory (MB) | allocated: 100.5 | max allocated: 200.25 | reserved: 300.0 | max reserved: 300.0';
const ITERATION =
  ' iteration        1/      50 | consumed samples:           32 | elapsed time per iteration (ms): 900.1 |';
const OOM = 'CUDA out of memory. Tried to allocate ';
const RECORDS = Math.floor(100_000_000 / RECORD.length);
const million = (text: string): string => text.repeat(1_000_000);

/** What, the file, its text, and the rows of a table where they are known. */
type LongText = readonly [what: string, file: string, text: () => string, table?: string, rows?: number];
const TEXTS: readonly LongText[] = [
  ['100 MB of nothing', 'nothing.log', () => 'x'.repeat(100_000_000)],
  ['100 MB of glued records', 'records.log', () => RECORD.repeat(RECORDS), 'memory_sample', 4 * RECORDS],
  ['100 MB of digits behind a message', 'digits.log', () => `${OOM}${'0'.repeat(100_000_000)}`, 'incident', 1],
  ['a million brackets in a log', 'b.log', () => `${million('[')}\n${million('{')}\n${million('(')}\n`],
  [
    ...(['a million brackets in a traceback', 't.log'] as const),
    () =>
      `Traceback (most recent call last):\n  File "a.py", line 1, in f\n    ${million('[')}\nValueError: ${million('{')}\n`,
  ],
  ['a million brackets in a record', 'm.log', () => `:::MLLOG {"key": ${million('[')}\n`],
  [
    ...(['a million brackets in YAML', 'run_config.yaml'] as const),
    () => `model:\n  tensor_model_parallel_size: 4\n  a: ${million('[')}`,
  ],
  [
    'a million brackets in JSON',
    'ds_config.json',
    () => `{"train_batch_size": 4, "zero_optimization": ${million('[')}`,
  ],
  [
    ...(['substitutions in a script', 'launch.sh'] as const),
    () => `#!/bin/bash\nexport X=${'$('.repeat(500_000)}\nsrun ${'"'.repeat(999_999)}`,
  ],
  [
    ...(['variables in nested quotes', 'nested.sh'] as const),
    () => `export NCCL_DEBUG=1\nbash -c 'bash -c "python x.py ${'$A '.repeat(300_000)}"'\n`,
  ],
  ['iterations on one line', 'i.log', () => ITERATION.repeat(300_000)],
  // Takes a minute.
  ...(NIGHTLY ? ([['failures on one line', 'f.log', () => OOM.repeat(100_000)]] as const) : []),
];

it.each(TEXTS.map(([what, ...more]) => ({ what, more })))('$what: the reader comes to its end', ({ more }) => {
  const [name, text, table, rows] = more;
  const file = join(directory, name);
  const db = join(directory, `${name}.duckdb`);
  writeFileSync(file, text());
  const answer = cli.run(['ingest', file, '--db', db, '--quiet', '--json=full']);
  expect([0, 4]).toContain(answer.status);
  expect(answer.stderr).toBe('');
  const { status } = answer.json<IngestResult>().sources[0]!;
  expect(table === undefined ? ['ingested', 'failed'] : ['ingested']).toContain(status);
  if (table === undefined) return;
  const counted = cli.expect(0, ['sql', `SELECT count(*) FROM ${table}`, '--db', db, '--json=full']).json<SqlResult>();
  expect(Number(counted.rows[0]![0])).toBe(rows);
});
