/** The macros that compare two runs: what holds of any two. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MIB } from '../../src/model/units.js';
import { buildCli } from '../support/cli.js';
import { sampled } from '../support/level.js';
import { type SmallBlock, smallSnapshot } from '../support/small-snapshot.js';
import { samplePath, sharedFolder, storeOf } from '../support/stores.js';
import { onDuckDB, type Row, readDuckDB, readWithStockClient, withNumbers } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

const cli = buildCli();
const SAMPLES = ['llama3-70b-fragmentation', 'llama3-70b-expandable', 'capacity'];
/** Snapshots of several ranks and sizes; the lines of `two` have moved. A block: MiB, and its stack. */
const SMALL: Readonly<Record<string, readonly (readonly SmallBlock[])[]>> = {
  'one/snapshot_0': [
    [block(64, 'gemm.py:10', 'train.py:3'), block(8, 'old.py:4')],
    [{ size: 4 * MIB, state: 'inactive' }],
  ],
  'one/snapshot_3': [[block(2, 'gemm.py:10', 'train.py:3')]],
  'two/snapshot_0': [[block(64, 'gemm.py:12', 'train.py:3'), block(64, 'gemm.py:12', 'train.py:3')], [block(3)]],
  'two/snapshot_7': [[block(2, 'gemm.py:12', 'train.py:3')]],
  'three/snapshot_3': [[block(5, 'gemm.py:10', 'train.py:3')]],
  'three/snapshot_0': [[block(1, 'x.py:1')]],
};
const RUNS = [...SAMPLES, 'one', 'two', 'three'];
const PAIRS = [
  ['llama3-70b-fragmentation', 'llama3-70b-expandable'],
  // Of different ranks and devices.
  ['llama3-70b-expandable', 'capacity'],
  ['one', 'two'],
  ['one', 'three'],
  ['three', 'two'],
] as const;

function block(mib: number, ...stack: string[]): SmallBlock {
  return { size: mib * MIB, stack };
}

let store: string;
beforeAll(() => {
  const root = sharedFolder('runs-to-compare', (folder) => {
    for (const [name, segments] of Object.entries(SMALL)) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, `${name}.pickle`), smallSnapshot({ segments }));
    }
  });
  const small = ['one', 'two', 'three'].map((run) => join(root, run));
  store = storeOf([...SAMPLES.map(samplePath), ...small], ['--each']);
});

const query = async (...statements: readonly string[]): Promise<Row[][]> =>
  (await readDuckDB(store, ...statements)).map(withNumbers);
const sum = (rows: readonly Row[], column: string): number =>
  rows.reduce((total, row) => total + Number(row[column]), 0);
const call = (macro: string, a: string, b: string): string => `FROM ${macro}('${a}', '${b}')`;

describe('a run and itself', () => {
  it.each(RUNS)('%s has no difference', async (run) => {
    const macros = ['diff_component', 'diff_site', 'diff_size', 'diff_allocator', 'diff_step'];
    const answers = await query(...macros.map((macro) => call(macro, run, run)));
    expect(answers).toEqual(macros.map(() => []));
  });
});

describe('two runs', () => {
  it.each(sampled(PAIRS, 4))('%s and %s: the sums by component, site and size are that of the device', async (a, b) => {
    const [pair, components, sites, sizes] = await query(
      `${call('diff_pair', a, b)} WHERE place = 1`,
      call('diff_component', a, b),
      call('diff_site', a, b),
      call('diff_size', a, b),
    );
    const { left_snapshot_id, left_device, left_seq, right_snapshot_id, right_device, right_seq } = pair![0]!;
    const [totals] = await query(
      `SELECT after.allocated_bytes + after.pending_bytes - before.allocated_bytes - before.pending_bytes AS bytes
       FROM totals_at(${left_snapshot_id}, ${left_device}, ${left_seq}) AS before,
         totals_at(${right_snapshot_id}, ${right_device}, ${right_seq}) AS after`,
    );
    const device = Number(totals![0]!['bytes']);
    expect(sum(components!, 'difference_bytes')).toBe(device);
    expect(sum(sites!, 'difference_bytes')).toBe(device);
    const bySize = sizes!.map((row) => ({
      bytes: Number(row['size_bytes']) * (Number(row['right_blocks']) - Number(row['left_blocks'])),
    }));
    expect(sum(bySize, 'bytes')).toBe(device);
    expect(sites!.length).toBeGreaterThan(0);
  });

  it.each(sampled(PAIRS, 4))('%s and %s: exchanged, every difference is the negative', async (a, b) => {
    const mirrored = (text: string): string =>
      text.replace(/left|right/g, (side) => (side === 'left' ? 'right' : 'left'));
    const exchanged = (row: Row): Row =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => {
          if (column === 'site') return ['site', row['left_site'] ?? row['right_site'] ?? value];
          if (column.startsWith('difference')) return [column, value === null ? null : 0 - Number(value)];
          return [mirrored(column), column === 'match' ? mirrored(String(value)) : value];
        }),
      );
    const columns = 'diff_component diff_site diff_step diff_allocator'.split(' ');
    for (const macro of columns) {
      const exclude = macro === 'diff_allocator' ? 'EXCLUDE (place)' : '';
      const [there, back] = await query(
        `SELECT * ${exclude} ${call(macro, a, b)}`,
        `SELECT * ${exclude} ${call(macro, b, a)}`,
      );
      const byText = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
      expect(byText(back!.map(exchanged)), macro).toEqual(byText(there!));
    }
  });

  it('compares the iterations that both printed', async () => {
    const [steps, printed] = await query(
      `${call('diff_step', 'llama3-70b-fragmentation', 'llama3-70b-expandable')} ORDER BY iteration`,
      `SELECT iteration, max(step_ms) FILTER (run.name = 'llama3-70b-fragmentation') AS a,
         max(step_ms) FILTER (run.name = 'llama3-70b-expandable') AS b
       FROM iteration JOIN run USING (run_id)
       WHERE run.name IN ('llama3-70b-fragmentation', 'llama3-70b-expandable')
       GROUP BY iteration HAVING a IS NOT NULL AND b IS NOT NULL ORDER BY iteration`,
    );
    expect(printed!.length).toBeGreaterThan(1);
    expect(steps!.map((row) => [row['iteration'], row['left_ms'], row['right_ms']])).toEqual(
      printed!.map((row) => [row['iteration'], row['a'], row['b']]),
    );
  });
});

describe('sites that moved', () => {
  it('are two sites without a match, and one with it', async () => {
    const [before] = await query(call('diff_site', 'one', 'two'));
    const named = (rows: readonly Row[]) =>
      rows.map((row) => [row['left_site'], row['right_site'], row['match'], row['difference_bytes']]);
    expect(named(before!)).toEqual(
      expect.arrayContaining([
        ['gemm gemm.py:10', null, 'only_left', -64 * MIB],
        [null, 'gemm gemm.py:12', 'only_right', 128 * MIB],
      ]),
    );
    const copy = join(scratchDirectory(), 'matched.duckdb');
    copyFileSync(store, copy);
    const [, matched] = await onDuckDB(
      copy,
      `INSERT INTO site_match
       SELECT 'one', 'two', is_right, stack_id, kind, 0, site, 'line_shifted', NULL
       ${call('compared_stack', 'one', 'two')} WHERE site LIKE 'gemm%'`,
      call('diff_site', 'one', 'two'),
    );
    const after = withNumbers(matched!);
    expect(named(after)).toEqual(
      expect.arrayContaining([['gemm gemm.py:10', 'gemm gemm.py:12', 'line_shifted', 64 * MIB]]),
    );
    expect(sum(after, 'difference_bytes')).toBe(sum(before!, 'difference_bytes'));
  });
});

describe('the verb diff', () => {
  it('does not read what a store has under the names of its sides', async () => {
    const forged = join(scratchDirectory(), 'forged.duckdb');
    copyFileSync(store, forged);
    await onDuckDB(
      forged,
      `INSERT INTO side_stack VALUES ('#left', NULL, '', 'forged', 'parameter', 1, 1000, 1000)`,
      `INSERT INTO side_setting VALUES ('#right', 'forged', 'forged', 0)`,
      `INSERT INTO site_match SELECT '#left', '#right', is_right, stack_id, kind, 0, 'forged', 'moved', NULL
       ${call('compared_stack', 'one', 'two')}`,
    );
    const args = ['diff', 'run:one', 'run:two', '--limit', '0', '--json=full', '--db'];
    expect(cli.expect(0, [...args, forged]).stdout).toBe(cli.expect(0, [...args, store]).stdout);
  });
});

describe('a client that has nothing of ours', () => {
  it('gets the rows that the verb sql prints', () => {
    const [a, b] = SAMPLES as [string, string];
    const statements = ['diff_pair', 'diff_component', 'diff_site', 'diff_size', 'diff_step'].map(
      (macro) => `${call(macro, a, b)} ORDER BY ALL`,
    );
    for (const [i, theirs] of readWithStockClient(store, statements).entries()) {
      const ours = cli
        .expect(0, ['sql', statements[i]!, '--db', store, '--format', 'jsonl'])
        .stdout.trim()
        .split('\n')
        .map((row) => JSON.parse(row) as Row);
      const spell = (rows: readonly Row[]) =>
        rows.map((row) => Object.entries(row).map(([key, value]) => `${key} ${value === null ? '' : String(value)}`));
      expect(theirs.length, statements[i]).toBeGreaterThan(0);
      expect(spell(ours), statements[i]).toEqual(spell(theirs));
    }
  });
});
