/**
 * Stores with the right tables and wrong values: each column of each table with rows, one at a time, becomes NULL or an
 * extreme. Every question is answered or ends with one error; none is a bug of ours.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, it } from 'vitest';
import { wordsOf } from '../support/cli.js';
import { samplePath, storeOf } from '../support/stores.js';
import { cliBelow, seeded, temporaryDirectory } from './harness.js';

const root = temporaryDirectory();
const ask = cliBelow(root);
const SAMPLES = ['llama3-70b-fragmentation', 'other-process', 'leak'];
let made = '';
const VERBS = ['diagnose', 'log', 'peak', 'timeline', 'sources', 'config', 'nsys', 'components', 'advise', 'report'];
/** A store of many mutations is asked this many of them. */
const QUESTIONS = 4;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

let columns: Column[] = [];

beforeAll(async () => {
  made = storeOf(SAMPLES.map(samplePath));
  copyFileSync(made, join(root, 'listed.duckdb'));
  const rows = await onDuckDB(
    join(root, 'listed.duckdb'),
    `SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() JOIN duckdb_tables() USING (table_name)
     WHERE duckdb_columns.schema_name = 'main' AND estimated_size > 0 AND table_name <> 'mbforensics_schema'
       AND column_default IS NULL
     ORDER BY table_name, column_index`,
  );
  columns = rows
    .map(([table, name, type, nullable]) => ({
      ...{ table: String(table), name: String(name), type: String(type), nullable: nullable === true },
    }))
    .filter((column) => valuesOf(column).length > 0);
});

async function onDuckDB(file: string, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRows();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function valuesOf({ type, nullable }: Column): string[] {
  const values = nullable ? ['NULL'] : [];
  if (type === 'VARCHAR')
    values.push("''", "'no value of a list'", "repeat('x', 100000)", '\'{"a": [\'', "'\\u202e\\n'");
  else if (type === 'DOUBLE') values.push("'nan'::DOUBLE", "'inf'::DOUBLE", '-1e308');
  else if (/INT/.test(type)) values.push('0', type.startsWith('U') ? '1' : '-1', `${MOST[type] ?? 1}`);
  else if (type === 'BOOLEAN') values.push('true', 'false');
  else if (type === 'TIMESTAMP') values.push("'infinity'::TIMESTAMP", "'290000-01-01'::TIMESTAMP");
  else if (type.startsWith('ENUM')) values.push(/'[^']*'/.exec(type)![0]);
  return values;
}

const MOST: Readonly<Record<string, string>> = {
  UTINYINT: '255',
  SMALLINT: '32767',
  INTEGER: '2147483647',
  UINTEGER: '4294967295',
  BIGINT: '9223372036854775807',
  UBIGINT: '18446744073709551615',
};

/** Each has three wrong values; all columns have about 700. */
it.each(Array.from({ length: 240 }, (_, i) => i))(
  'answers, or one error, with wrong values of seed %i',
  async (seed) => {
    const random = seeded(5 + seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    const bugs: string[] = [];
    for (let i = 0; i < 3; i++) {
      const column = columns[(seed * 3 + i) % columns.length]!;
      const value = pick(valuesOf(column));
      copyFileSync(made, join(root, 'odd.duckdb'));
      await onDuckDB(join(root, 'odd.duckdb'), `UPDATE "${column.table}" SET "${column.name}" = ${value}`);
      const verbs = new Set(['diagnose']);
      while (verbs.size < QUESTIONS) verbs.add(pick(VERBS));
      for (const verb of verbs) {
        const form = verb === 'report' ? ['-o', 'page.html', '--force'] : random() < 0.5 ? ['--json=full'] : [];
        const answer = ask(root, ...wordsOf(verb), ...form, '--db', 'odd.duckdb');
        const isBug = answer.status === 70 || answer.status === null || /MBF9001|at .*\.[cm]?js:\d/.test(answer.stderr);
        if (isBug) bugs.push(`${column.table}.${column.name} = ${value}: ${verb}: ${answer.stderr.slice(0, 300)}`);
      }
      rmSync(join(root, 'odd.duckdb'));
    }
    expect(bugs).toEqual([]);
  },
);
