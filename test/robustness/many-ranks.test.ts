/**
 * Arrays that are as long as the input must not be spread into calls. 18,432 figures are enough to see it with a call
 * stack of 150 KB; the usual one, of 984 KB, overflows from about 120,000 on: see `many-ranks.full.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { maxOf, minOf, pushAll } from '../../src/model/lists.js';
import { buildCli, environment } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { manyRanksLog } from './many-ranks-log.js';

it('a log of 512 ranks and nine launches is diagnosed with a small call stack', () => {
  const directory = temporaryDirectory();
  const file = join(directory, 'train.log');
  writeFileSync(file, manyRanksLog(9, 512));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--stack-size=150', buildCli().script, 'diagnose', '--full', file],
    { encoding: 'utf8', cwd: directory, env: environment({ XDG_CACHE_HOME: directory }) },
  );
  expect(stderr).not.toContain('MBF9001');
  expect(status).toBe(0);
  expect(stdout).toContain('rank 56 of 512');
  expect(stdout).toContain('peak allocated of 512 ranks');
});

it('lists of a million elements are appended and searched', () => {
  const list = [3];
  const million = Array.from({ length: 1_000_000 }, (_, i) => i);
  pushAll(list, million);
  expect(list).toHaveLength(1_000_001);
  expect([maxOf(list), minOf(list)]).toEqual([999_999, 0]);
  expect([maxOf([]), minOf([])]).toEqual([Math.max(), Math.min()]);
  expect(maxOf([1, Number.NaN])).toBeNaN();
});
