/** Tables that a header names with @needs: while they are empty, the statement itself gives no row. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { composedQuery } from '../../src/store/compose-sql.js';
import { loadAllQueries } from '../../src/store/load-queries.js';
import { blankText, type QueryField, type QueryFile } from '../../src/store/query-file.js';
import { copyStore } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { repoRoot } from './scratch.js';

const NEEDING = loadAllQueries().filter(({ needs }) => needs.length > 0);
const SAMPLES = readdirSync(join(repoRoot, 'samples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !/^(?:generate|record)$/.test(entry.name))
  .map(({ name }) => join(repoRoot, 'samples', name));

/** A constant for a parameter, about one run and one snapshot. */
function constant({ name, type, nullable }: QueryField, run: number, snapshot: number): string {
  if (name === 'run_ids') return `'${run}'`;
  if (name === 'attempts') return `'1'`;
  if (name === 'run_id') return String(run);
  if (name === 'snapshot_id') return String(snapshot);
  if (nullable) return 'NULL';
  if (/device|seq$/.test(name)) return '0';
  return type === 'VARCHAR' ? `'0'` : type === 'BOOLEAN' ? 'false' : '1';
}

function filledIn(query: QueryFile, run: number, snapshot: number): string {
  const sql = composedQuery(query.name);
  const values = new Map(query.params.map((param) => [param.name, constant(param, run, snapshot)]));
  let text = '';
  let from = 0;
  for (const { 0: match, 1: name, index } of blankText(sql).matchAll(/\$([A-Za-z_]\w*)/g)) {
    text += `${sql.slice(from, index)}${values.get(name!)}`;
    from = index + match.length;
  }
  return text + sql.slice(from);
}

it('an answer is empty while the tables that it needs are', async () => {
  const file = copyStore(join(temporaryDirectory(), 'all.duckdb'), SAMPLES, ['--run', 'all']);
  const connection = await (await DuckDBInstance.create(file, { threads: '1' })).connect();
  const ids = async (sql: string): Promise<number[]> =>
    (await connection.runAndReadAll(sql)).getRows().map(([id]) => Number(id));
  const [runs, snapshots] = [
    await ids('SELECT run_id FROM run'),
    await ids('SELECT snapshot_id FROM snapshot LIMIT 5'),
  ];
  const rowsOf = async (query: QueryFile): Promise<number> => {
    const texts = new Set(runs.flatMap((run) => snapshots.map((snapshot) => filledIn(query, run, snapshot))));
    let rows = 0;
    for (const text of texts) rows += (await ids(`SELECT count(*) FROM (\n${text}\n)`))[0]!;
    return rows;
  };
  let answered = 0;
  for (const query of NEEDING) {
    if ((await rowsOf(query)) > 0) answered += 1;
    for (const tables of query.needs) {
      await connection.run('BEGIN');
      for (const table of tables) await connection.run(`DELETE FROM ${table}`);
      expect(await rowsOf(query), `${query.name} without ${tables.join(', ')}`).toBe(0);
      await connection.run('ROLLBACK');
    }
  }
  // A table that is empty in all samples would prove nothing.
  expect(answered).toBeGreaterThan(NEEDING.length / 2);
});
