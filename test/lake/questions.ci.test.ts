/**
 * The twelve questions, and a text of every construct of the shared SQL, on a lake of a few ranks: equal rows from
 * DuckDB in the program, and from Polars.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { ASKED, programRows, pythonRows } from '../support/lake/ask-lake.js';
import { lakeOfSamples } from '../support/lake/lake-of-samples.js';
import { ENGINES, pythonWith } from '../support/lake/python-packages.js';
import { skipLoudly } from '../support/levels/skip-loudly.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('questions about a lake', () => {
  const python = pythonWith(ENGINES.polars);
  const cli = buildCli();
  const directory = temporaryDirectory();
  const lake = join(directory, 'lake');
  const polars = new Map<string, string>();

  beforeAll(() => {
    lakeOfSamples(cli, directory, lake, { ranks: 12, blocks: 2 });
    if (typeof python === 'string') return;
    const rows = pythonRows([python.python], lake, ASKED, join(directory, 'polars'), {
      args: ['--engine', 'polars'],
    });
    for (const [name, text] of rows) polars.set(name, text);
  });

  it.each(ASKED)('%s has rows', (name) => {
    expect(programRows(cli, lake, name).split('\n').length).toBeGreaterThan(2);
  });

  if (typeof python === 'string') skipLoudly('questions in Polars', python);
  else
    it.each(ASKED)('%s has the same rows in Polars', (name) => {
      expect(polars.get(name)).toBe(programRows(cli, lake, name));
    });

  it('finds the peaks that the store has, from every entry', () => {
    const sql = (statement: string): Record<string, number>[] => {
      const { columns, rows } = cli
        .expect(0, ['sql', '--lake', lake, '--json=full', statement])
        .json<{ columns: { name: string }[]; rows: number[][] }>();
      return rows.map((row) => Object.fromEntries(columns.map(({ name }, i) => [name, row[i]!])));
    };
    const stored =
      sql(`SELECT greatest(requested_delta_peak_bytes, 0) AS bytes, coalesce(requested_delta_peak_seq, -1) AS seq
      FROM lake.snapshot_device AS device WHERE events IS NOT NULL ORDER BY run, rank, device`);
    const asked = programRows(cli, lake, 'exact-peaks').trim().split('\n').slice(1);
    expect(
      asked.map((line) => line.split(',').map(Number)).map((row) => ({ bytes: row[5]! - row[4]!, seq: row[6] })),
    ).toEqual(stored);
    expect(asked.length).toBeGreaterThan(30);
  });

  it('lists which block, ranks and snapshots are missing', () => {
    const rows = programRows(cli, lake, 'missing').split('\n');
    expect(rows.find((row) => row.startsWith('nccl-outside') && row.includes(',block,'))).toMatch(/,block,1,1,1$/);
    expect(rows.find((row) => row.startsWith('llama3-70b-expandable') && row.includes(',snapshot,'))).toMatch(
      /,snapshot,12,31,20$/,
    );
  });

  it('finds what ended the failure, and counts a run by its first failure', () => {
    expect(programRows(cli, lake, 'changes')).toContain('env,PYTORCH_CUDA_ALLOC_CONF,,expandable_segments:True');
    const causes = programRows(cli, lake, 'causes').split('\n');
    expect(causes.find((row) => row.includes(',fragmentation,'))).toMatch(/,split_remainder,1,12,/);
    expect(programRows(cli, lake, 'first-failures')).toMatch(/\nrank,0,3,1,cuda_oom,/);
    expect(programRows(cli, lake, 'versions')).toMatch(/\nversion\.container,nvidia\/nemo:25\.06,1,0,/);
  });

  it('asks on the screen, as JSON and as Markdown', () => {
    const args = ['lake', 'ask', 'headroom', '--lake', lake, '--set', 'device_total_bytes=90000000000'];
    const { stdout } = cli.expect(0, args);
    expect(stdout).toContain('device_total_bytes=90000000000');
    expect(stdout).toMatch(/headroom\n/);
    const { rows } = cli.expect(0, [...args, '--json']).json<{ rows: { headroom_bytes: number; stage: number }[] }>();
    expect(rows.length).toBeGreaterThan(8);
    expect(rows.every(({ headroom_bytes: bytes }) => bytes > 0)).toBe(true);
    expect(cli.expect(0, [...args, '--markdown', '-']).stdout).toMatch(
      /^## Memory left of the device by pipeline stage/,
    );
  });

  it('lists questions, and refuses unknown ones', () => {
    expect(cli.expect(0, ['lake', 'ask']).stdout).toContain('causes: Causes of failures by week');
    expect(cli.expect(2, ['lake', 'ask', 'cause', '--lake', lake]).stderr).toContain('causes');
    expect(cli.expect(2, ['lake', 'ask', 'causes', '--lake', lake, '--set', 'run=1']).stderr).toContain(
      'it has: since_us',
    );
    expect(cli.expect(2, ['lake', 'ask', 'causes', '--set', 'run=1']).stderr).toContain('--lake');
    expect(cli.expect(2, ['lake', 'ask', '-', '--lake', lake], { input: 'FROM verdict' }).stderr).toContain(
      'MBF1014: -: line 1: FROM before SELECT is not in the shared SQL',
    );
  });
});
