/**
 * Texts made to hang a reader: lines as long as files, brackets that never close, millions of records or failures on
 * one line.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { IngestResult, SqlResult } from '../../src/model/results/common.js';
import { buildCli, type Cli } from '../support/cli.js';
import { runs } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

let cli: Cli;
const directory = temporaryDirectory();
beforeAll(() => {
  cli = buildCli();
});

const RECORD =
  '[Rank 1] (after 1 iterations) memory (MB) | allocated: 100.5 | max allocated: 200.25 | reserved: 300.0 | max reserved: 300.0';
const brackets = (bracket: string): string => bracket.repeat(1_000_000);

function ingested(name: string, text: string): { status: string; count(table: string): number } {
  const file = join(directory, name);
  const db = join(directory, `${name}.duckdb`);
  writeFileSync(file, text);
  const answer = cli.run(['ingest', file, '--db', db, '--quiet', '--json']);
  expect([0, 4]).toContain(answer.status);
  expect(answer.stderr).toBe('');
  const status = (JSON.parse(answer.stdout) as IngestResult).sources[0]!.status;
  const count = (table: string): number => {
    const { rows } = cli.expect(0, ['sql', `SELECT count(*) FROM ${table}`, '--db', db, '--json']).json<SqlResult>();
    return Number(rows[0]![0]);
  };
  return { status, count };
}

describe('a line of 100 MB', () => {
  it('of nothing', () => {
    expect(ingested('nothing.log', 'x'.repeat(100_000_000)).status).toBe('ingested');
  });

  it('of glued memory records gives every record once', () => {
    const records = Math.floor(100_000_000 / RECORD.length);
    const { count } = ingested('records.log', RECORD.repeat(records));
    expect(count('memory_sample')).toBe(4 * records);
  });

  it('of digits behind a message', () => {
    const { count } = ingested('digits.log', `CUDA out of memory. Tried to allocate ${'0'.repeat(100_000_000)}`);
    expect(count('incident')).toBe(1);
  });
});

describe('a million of something', () => {
  it.each([
    ['brackets in a log', 'b.log', `${brackets('[')}\n${brackets('{')}\n${brackets('(')}\n`],
    [
      'brackets in a traceback',
      't.log',
      `Traceback (most recent call last):\n  File "a.py", line 1, in f\n    ${brackets('[')}\nValueError: ${brackets('{')}\n`,
    ],
    ['brackets in a record', 'm.log', `:::MLLOG {"key": ${brackets('[')}\n`],
    ['brackets in YAML', 'run_config.yaml', `model:\n  tensor_model_parallel_size: 4\n  a: ${brackets('[')}`],
    ['brackets in JSON', 'ds_config.json', `{"train_batch_size": 4, "zero_optimization": ${brackets('[')}`],
    [
      'substitutions in a script',
      'launch.sh',
      `#!/bin/bash\nexport X=${'$('.repeat(500_000)}\nsrun ${'"'.repeat(999_999)}`,
    ],
    [
      'variables in nested quotes',
      'nested.sh',
      `export NCCL_DEBUG=1\nbash -c 'bash -c "python x.py ${'$A '.repeat(300_000)}"'\n`,
    ],
    [
      'iterations on one line',
      'i.log',
      ' iteration        1/      50 | consumed samples:           32 | elapsed time per iteration (ms): 900.1 |'.repeat(
        300_000,
      ),
    ],
    ['failures on one line', 'f.log', 'CUDA out of memory. Tried to allocate '.repeat(runs(0, 100_000))],
  ])('%s ends', (_, name, text) => {
    expect(['ingested', 'failed']).toContain(ingested(name, text).status);
  });
});
