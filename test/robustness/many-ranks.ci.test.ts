/** Every question about a log of nine launches with 4,096 ranks each is answered. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { LogResult, MemoryResult } from '../../src/model/results/log.js';
import { buildCli, type Cli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { manyRanksLog } from './many-ranks-log.js';

const RANKS = 4096;
const LAUNCHES = 9;

let cli: Cli;
const directory = temporaryDirectory();
const env = { MBF_DB: join(directory, 'many.duckdb') };

beforeAll(() => {
  cli = buildCli();
  writeFileSync(join(directory, 'a.log'), manyRanksLog(LAUNCHES, RANKS));
  writeFileSync(join(directory, 'b.log'), manyRanksLog(LAUNCHES, RANKS).replaceAll('40001.', '40011.'));
  for (const name of ['a', 'b']) {
    cli.expect(0, ['ingest', join(directory, `${name}.log`), '--run', name, '--quiet'], { env });
  }
});

it('`log` counts launches and ranks', () => {
  const [run] = cli.expect(0, ['log', 'a', '--json'], { env }).json<LogResult>().runs;
  expect(run!.attempts).toHaveLength(LAUNCHES);
  expect(run!.ranks_seen).toBe(RANKS);
  expect(run!.incidents).toHaveLength(LAUNCHES);
});

it('`memory` has every rank of every launch', () => {
  const { ranks } = cli.expect(0, ['memory', 'a', '--json'], { env }).json<MemoryResult>();
  expect(ranks).toHaveLength(LAUNCHES * RANKS);
});

it.each([
  'diagnose a',
  'advise a',
  'show E1 a',
  'memory a',
  'iterations a',
  'golden add a --name g --force',
  'compare b --golden g',
  'diff a b',
  'verify-fix a b',
  'history',
])('%s', (question) => {
  const { stderr, stdout } = cli.run(question.split(' '), { env });
  expect(stderr).toBe('');
  expect(stdout).not.toBe('');
});
