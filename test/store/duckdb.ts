/** Stores as DuckDB alone sees them: behind the back of the program, or in a process that has nothing of ours. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import { MbfError } from '../../src/model/errors.js';

export type Row = Record<string, unknown>;
export type Run = (sql: string) => Promise<Row[]>;

/** `work` runs statements on the file, and gets their rows as JSON; 64-bit integers are text in them. */
export async function withDuckDB<Result>(
  file: string,
  work: (run: Run) => Promise<Result>,
  options: Readonly<Record<string, string>> = {},
): Promise<Result> {
  const instance = await DuckDBInstance.create(file, { ...options });
  const connection = await instance.connect();
  try {
    return await work(async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** The rows of each statement. */
export const onDuckDB = (file: string, ...statements: readonly string[]): Promise<Row[][]> =>
  withDuckDB(file, async (run) => {
    const rows: Row[][] = [];
    for (const sql of statements) rows.push(await run(sql));
    return rows;
  });

/** The same without the right to write, as for a store that others share. */
export const readDuckDB = (file: string, ...statements: readonly string[]): Promise<Row[][]> =>
  withDuckDB(file, async (run) => Promise.all(statements.map(run)), { access_mode: 'READ_ONLY' });

/** The rows of each statement, in a process that has nothing but DuckDB's own package. */
export function readWithStockClient(file: string, statements: readonly string[]): Row[][] {
  const script = join(import.meta.dirname, 'stock-client.mjs');
  const options = { encoding: 'utf8', maxBuffer: 1 << 26 } as const;
  const lines = execFileSync(process.execPath, [script, file, ...statements], options)
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Row[]);
}

/** 64-bit integers as numbers. */
export const withNumbers = (rows: readonly Row[]): Row[] =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value,
      ]),
    ),
  );

/** The error that something ends with, which must be one of ours. */
export async function refusal(work: Promise<unknown>, label?: string): Promise<MbfError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error, label).toBeInstanceOf(MbfError);
  return error as MbfError;
}
