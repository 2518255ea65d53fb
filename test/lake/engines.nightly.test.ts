/**
 * The twelve questions, and a text of every construct of the shared SQL, on three engines: DuckDB in the program,
 * Polars, and a real cluster of Spark. MBF_LAKE_RANKS: ranks of each of three runs; 128 have over 6 million events.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { ASKED, programRows, pythonRows } from '../support/lake/ask-lake.js';
import { lakeOfSamples } from '../support/lake/lake-of-samples.js';
import { ENGINES, pythonWith } from '../support/lake/python-packages.js';
import { hasJava, type SparkCluster, sparkCluster } from '../support/lake/spark-cluster.js';
import { NIGHTLY } from '../support/level.js';
import { skipLoudly } from '../support/levels/skip-loudly.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const RANKS = Number(process.env['MBF_LAKE_RANKS'] ?? 8);
const BLOCKS = 2;

describe('questions about a lake on three engines', () => {
  const why = NIGHTLY
    ? hasJava()
      ? pythonWith(ENGINES.polars, ENGINES.pyspark)
      : 'Java 17'
    : 'a cluster of Spark (npm run test:nightly)';
  if (typeof why === 'string') {
    skipLoudly('questions on three engines', why);
    return;
  }
  const cli = buildCli();
  const directory = temporaryDirectory();
  const lake = join(directory, 'lake');
  const rows = new Map<string, ReadonlyMap<string, string>>();
  let cluster: SparkCluster | undefined;

  beforeAll(async () => {
    // It starts while the program adds runs.
    cluster = await sparkCluster(why, join(directory, 'spark'));
    lakeOfSamples(cli, directory, lake, { ranks: RANKS, blocks: BLOCKS });
    const polars = pythonRows([why.python], lake, ASKED, join(directory, 'polars'), {
      args: ['--engine', 'polars'],
    });
    rows.set('Polars', polars);
    await cluster.ready();
    const { submit, env } = cluster;
    rows.set('Spark', pythonRows(submit, lake, ASKED, join(directory, 'rows'), { env }));
  }, 3_600_000);
  afterAll(() => cluster?.stop());

  it.each(ASKED)('%s has equal rows, and some', (name) => {
    const expected = programRows(cli, lake, name);
    expect(expected.split('\n').length).toBeGreaterThan(2);
    expect(rows.get('Polars')!.get(name)).toBe(expected);
    expect(rows.get('Spark')!.get(name)).toBe(expected);
  });
});
