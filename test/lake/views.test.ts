/** The tables of a store and the analysis library over the files of a lake, in a DuckDB that has nothing of ours. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lakeTables } from '../../src/lake/lake-tables.js';
import { libraryObjects } from '../../src/store/install-library.js';
import type { QueryFile } from '../../src/store/query-file.js';
import { type Row, type Run, withDuckDB } from '../store/duckdb.js';
import { buildCli } from '../support/cli.js';
import { samplePath, sharedFolder, storeOf } from '../support/stores.js';

const cli = buildCli();
const SAMPLES = ['llama3-70b-fragmentation', 'leak', 'nccl-outside', 'host-oom', 'profiler-timeline'];
/** Numbers of a store that are keys in a lake. */
const KEYS = new Set(
  lakeTables().flatMap(({ columns }) => columns.flatMap(({ name, key }) => (key === undefined ? [] : [name]))),
);
/** Of a store and not of what it holds; `rowid` and `place`: the order of rows in it. */
const STORE_ONLY = new Set(['created_at', 'touched_at', 'ingested_at', 'rowid', 'number', 'place']);
const objects = libraryObjects();
const nameOf = ({ name }: QueryFile): string => name.replace('library.', '');

/** Rows without numbers of a store, in an order of their own. */
const comparable = (rows: readonly Row[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .filter(([name]) => !KEYS.has(name) && !STORE_ONLY.has(name) && !name.endsWith('_snapshot_id'))
          .map(([name, value]) => [name, name === 'run' ? String(value).replace(/-[0-9a-f]{8}$/, '') : value]),
      ),
    )
    .sort();

/** What macros are called with: the two snapshots and runs with most in them, by names that both sides have. */
interface Ids {
  readonly runs: readonly (readonly [key: unknown, name: unknown])[];
  readonly moments: readonly (readonly [snapshot: unknown, device: unknown, seq: unknown])[];
}

async function idsOf(run: Run): Promise<Ids> {
  const runs = await run('SELECT run_id, name FROM run ORDER BY name');
  const moments = await run(
    `SELECT snapshot_id, device, peak_active_seq FROM derived_history JOIN snapshot USING (snapshot_id)
     WHERE peak_active_seq IS NOT NULL ORDER BY handle, device`,
  );
  return {
    runs: runs.map((row) => [row['run_id'], row['name']]),
    moments: moments.map((row) => [row['snapshot_id'], row['device'], row['peak_active_seq']]),
  };
}

/** The calls of an object, by its parameters; one for a view or a table. */
function callsOf(object: QueryFile, { runs, moments }: Ids): string[] {
  const name = nameOf(object);
  if (object.kind !== 'macro') return [name];
  const [first, second] = object.params.map((param) => param.name);
  const call = (...values: readonly unknown[]): string => `${name}(${values.join(', ')})`;
  const text = (value: unknown): string => `'${String(value)}'`;
  if (first === 'run_key') return runs.map(([key]) => call(key));
  if (first === 'left_run') return runs.slice(1).map(([, run], i) => call(text(runs[i]![1]), text(run)));
  if (first === 'operand') return runs.map(([, run]) => call(text(run)));
  if (first !== 'snapshot_key')
    return [call(...object.params.map(({ type }) => ({ VARCHAR: "'[]'", 'STRUCT[]': '[]' })[type] ?? 'false'))];
  return moments.map(([snapshot, device, seq]) => {
    const times = { at_seq: [seq], after_seq: [0, seq], range_firsts: [`'[0]'`, `'[${String(seq)}]'`] }[
      object.params[2]?.name ?? ''
    ];
    return call(snapshot, ...(second === undefined ? [] : [device]), ...(times ?? []));
  });
}

/** Called with what a verb has read, such as golden values: here with nothing. */
const OF_DOCUMENTS = ['component_series', 'device_pairs', 'judged_checks', 'judged_endings', 'steady_window'];
/** Of files that no sample has: metrics, accounting of jobs, logs of servers. */
const OF_OTHER_FILES = ['engine_sign', 'gauge', 'job_process', 'metrics_sources', 'pinned_allocation', 'start_stacks'];
const READ_ONLY = { access_mode: 'READ_ONLY' };

describe('every object of the library over the files of a lake', () => {
  const stored = new Map<string, string[][]>();
  const ofLake = new Map<string, string[][]>();

  const answersOf = async (run: Run, answers: Map<string, string[][]>): Promise<void> => {
    const ids = await idsOf(run);
    for (const object of objects) {
      const rows: string[][] = [];
      for (const call of callsOf(object, ids)) rows.push(comparable(await run(`FROM ${call}`)));
      answers.set(nameOf(object), rows);
    }
  };

  beforeAll(async () => {
    const folder = sharedFolder(`lake-of-${SAMPLES.join('-')}`, (made) => {
      for (const sample of SAMPLES)
        cli.expect(0, ['lake', 'add', samplePath(sample), '--to', join(made, 'lake'), '--events', '-q']);
    });
    const script = cli.expect(0, ['lake', 'views', join(folder, 'lake')]).stdout;
    await withDuckDB(storeOf(SAMPLES.map(samplePath), ['--each']), (run) => answersOf(run, stored), READ_ONLY);
    await withDuckDB(':memory:', async (run) => {
      await run(script);
      await answersOf(run, ofLake);
    });
  });

  it.each(objects.map(nameOf))('%s', (name) => {
    expect(ofLake.get(name)).toEqual(stored.get(name));
  });

  it('has rows', () => {
    const empty = [...stored].filter(([, calls]) => calls.every((rows) => rows.length === 0)).map(([name]) => name);
    expect(empty.sort()).toEqual([...OF_DOCUMENTS, ...OF_OTHER_FILES].sort());
  });
});
