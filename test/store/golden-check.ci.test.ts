/** The macro `golden_check` and the verb `compare` come to the same. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CompareResult } from '../../src/model/results/compare.js';
import { buildCli } from '../support/cli.js';
import { copyStore, samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { onDuckDB, type Row } from './duckdb.js';

const cli = buildCli();
const store = join(temporaryDirectory(), 'runs.duckdb');
const RUNS = ['llama3-70b-expandable', 'llama3-70b-fragmentation', 'leak', 'capacity'];
/** By name of the golden values. */
const GOLDEN = {
  one: ['llama3-70b-expandable'],
  two: ['llama3-70b-expandable', 'leak'],
  'of a snapshot': ['capacity'],
};

const rowsOf = async (file: string, ...statements: readonly string[]): Promise<Row[]> =>
  (await onDuckDB(file, ...statements)).at(-1)!;

beforeAll(() => {
  copyStore(store, RUNS.map(samplePath), ['--each']);
  for (const [name, runs] of Object.entries(GOLDEN))
    for (const run of runs) cli.expect(0, ['golden', 'add', run, '--name', name, '--force', '--db', store]);
});

/** What compare has of stages and ranks is left to it. */
const isOfPlace = (name: string): boolean => /:(?:stage|rank) \d+$/.test(name);
const rounded = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toPrecision(9)) : value);
const lineOf = (...cells: readonly unknown[]): string => cells.map(rounded).join(' ');

describe('golden_check', () => {
  it.each([
    ['llama3-70b-fragmentation', 'one'],
    ['llama3-70b-expandable', 'two'],
    ['leak', 'one'],
    ['leak', 'of a snapshot'],
    ['capacity', 'one'],
    ['capacity', 'of a snapshot'],
  ] as const)('of %s against %s has the figures of compare', async (run, golden) => {
    const args = ['compare', run, '--golden', `golden:${golden}`, '--force', '--db', store, '--json'];
    const { checks } = JSON.parse(cli.run(args).stdout) as CompareResult;
    // The component of a refused request is known to the rules of the program only.
    const isRefused = checks.some(({ reason }) => reason?.includes('with what was refused'));
    const rows = await rowsOf(store, `FROM golden_check('${run}') WHERE golden = '${golden}'`);
    const theirs = checks
      .filter(({ name }) => !isOfPlace(name) && !(isRefused && name.startsWith('component:')))
      .map(({ name, unit, golden: wanted, current, delta, relative, tolerance, noise, gate, status }) => {
        const figures = name === 'status' ? [null, null] : [wanted, current];
        return lineOf(name, unit, ...figures, delta, relative, tolerance, noise, gate, status);
      });
    const ours = rows.map(({ check_name, unit, golden_value, current_value, change, relative, ...row }) =>
      lineOf(
        check_name,
        unit,
        golden_value,
        current_value,
        change,
        relative,
        row['tolerance'],
        row['noise'],
        row['is_gate'],
        row['status'],
      ),
    );
    expect(ours.sort()).toEqual(theirs.sort());
    // Of memory lines and snapshots; the reason of a failure is known to the verb only.
    const whys = new Map(checks.map(({ name, why }) => [name, why?.code ?? null]));
    for (const { check_name, reason } of rows) expect(reason, String(check_name)).toBe(whys.get(String(check_name)));
    expect(rows.map((row) => Number(row['golden_runs']))).toEqual(rows.map(() => GOLDEN[golden].length));
  });

  it('calls a run bad that needs more, is slower, or has lost its loss', async () => {
    const worse = `${store}.worse`;
    copyFileSync(store, worse);
    const statuses = async (...before: string[]): Promise<Row> => {
      const rows = await rowsOf(worse, ...before, `FROM golden_check('llama3-70b-expandable') WHERE golden = 'one'`);
      return Object.fromEntries(rows.map((row) => [row['check_name'], row['status']]));
    };
    expect(await statuses()).toMatchObject({ peak_allocated: 'pass', step_time: 'pass', loss: 'pass', status: 'pass' });
    const ofRun = `source_id IN (SELECT source_id FROM source JOIN run USING (run_id) WHERE name = 'llama3-70b-expandable')`;
    expect(
      await statuses(
        `UPDATE log_memory SET bytes = bytes * 1.05 WHERE ${ofRun}`,
        `UPDATE log_iteration SET step_ms = step_ms * 1.2, loss = 'nan'::DOUBLE WHERE ${ofRun}`,
      ),
    ).toMatchObject({ peak_allocated: 'regression', step_time: 'regression', loss: 'regression' });
  });

  it('is empty for an unknown run, and without golden values', async () => {
    expect(await rowsOf(store, `FROM golden_check('nothing')`)).toEqual([]);
    const bare = `${store}.bare`;
    copyFileSync(store, bare);
    expect(await rowsOf(bare, 'DELETE FROM golden_run', `FROM golden_check('leak')`)).toEqual([]);
  });
});
