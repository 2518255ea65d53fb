/** SQLite itself, compiled to WebAssembly, writes the databases of these tests and reads them back. */
import { isUtf8 } from 'node:buffer';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite, { type Database, type SQLiteValue } from 'node-sqlite3-wasm';
import { expect } from 'vitest';
import type { RandomAccess } from '../../src/model/parser.js';
import { CELL, type CellColumn, type TableScan } from '../../src/model/table-source.js';
import { openDatabase, type SqliteDatabase } from '../../src/sqlite/open-database.js';

/** Bytes in memory as a file, with the sizes of its companion files by suffix. */
export function memoryAccess(bytes: Uint8Array, companions: Readonly<Record<string, number>> = {}): RandomAccess {
  return {
    sizeBytes: bytes.length,
    readAt(target, position) {
      const part = bytes.subarray(position, position + target.length);
      target.set(part);
      return part.length;
    },
    siblingBytes: (suffix) => companions[suffix],
  };
}

/** Runs `use` with a database of SQLite's, which puts locks next to its file and so gets a directory of its own. */
export function withSqlite<T>(bytes: Uint8Array, use: (database: Database, path: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'mbf-sqlite-'));
  const path = join(directory, 'a.db');
  try {
    writeFileSync(path, bytes);
    const database = new sqlite.Database(path);
    try {
      database.exec(
        'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF',
      );
      return use(database, path);
    } finally {
      database.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export interface Making {
  readonly pageSize?: number;
  /** Bytes that an extension would reserve at the end of each page. */
  readonly reserved?: number;
}

/** The file that SQLite makes of some statements, or of what a function does with it. */
export function makeDatabase(fill: string | ((database: Database) => void), making: Making = {}): Buffer {
  const { pageSize = 4096, reserved = 0 } = making;
  let bytes: Buffer = Buffer.alloc(0);
  if (reserved > 0) {
    bytes = makeDatabase('PRAGMA user_version = 1', { pageSize });
    bytes[20] = reserved;
    bytes.writeUInt16BE(pageSize - reserved, 105);
  }
  return withSqlite(bytes, (database, path) => {
    database.exec(`PRAGMA page_size = ${pageSize}`);
    if (typeof fill === 'string') database.exec(fill);
    else fill(database);
    return readFileSync(path);
  });
}

/** A cell in a form in which equal is the same: integers exactly, reals by their bits. */
export type Cell = string;

const real = new Float64Array(1);
const realBits = new BigUint64Array(real.buffer);

export function cellAt(column: CellColumn, row: number): Cell {
  switch (column.kinds[row]) {
    case CELL.null:
      return 'null';
    case CELL.integer:
      return `integer ${(BigInt(column.bits[2 * row + 1]! | 0) << 32n) | BigInt(column.bits[2 * row]!)}`;
    case CELL.real:
      real[0] = column.reals[row]!;
      return `real ${realBits[0]!.toString(16)}`;
    case CELL.text:
      return `text ${column.texts[row]}`;
    default:
      return 'blob';
  }
}

/** Texts come as bytes, and a blob as its name. */
function cellOf(value: SQLiteValue, isReal: boolean): Cell {
  if (value === null) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'object') return `text ${Buffer.from(value).toString('utf8')}`;
  if (!isReal) return `integer ${value}`;
  real[0] = Number(value);
  return `real ${realBits[0]!.toString(16)}`;
}

export interface Read extends TableScan {
  readonly cells: Cell[][];
}

/** All rows of a table by our reader. */
export async function readTable(database: SqliteDatabase, table: string, columns: readonly string[]): Promise<Read> {
  const cells: Cell[][] = [];
  const scan = await database.scan(table, columns, (batch) => {
    expect(batch.columns.length).toBe(columns.length);
    for (let row = 0; row < batch.rows; row++) cells.push(batch.columns.map((column) => cellAt(column, row)));
  });
  expect(scan.rows).toBe(cells.length);
  return { ...scan, cells };
}

export function columnNames(database: SqliteDatabase, table: string): string[] {
  return database.tables.find(({ name }) => name === table)!.columns.map(({ name }) => name);
}

/** Reads every table of a database with both, and expects the same; returns how many rows there were. */
export async function expectSameAsSqlite(bytes: Uint8Array): Promise<number> {
  const ours = openDatabase(memoryAccess(bytes));
  expect(ours.schemaProblem).toBeUndefined();
  const theirs = withSqlite(bytes, readAll);
  expect(ours.tables.map(({ name }) => name)).toEqual(theirs.map(({ name }) => name));
  let rows = 0;
  for (const { name, columns, cells, badTexts } of theirs) {
    const listed = ours.tables.find((table) => table.name === name)!.columns;
    // SQLite writes the types it knows in capitals.
    expect(listed.map((column) => [column.name, column.type.toUpperCase()])).toEqual(columns);
    const read = await readTable(
      ours,
      name,
      listed.map((column) => column.name),
    );
    expect(read.problem, name).toBeUndefined();
    expect(read.badTexts, name).toBe(badTexts);
    expect(await ours.count(name)).toEqual({ rows: cells.length, problem: undefined });
    expect(read.rows, name).toBe(cells.length);
    const different = cells.findIndex((row, i) => row.some((cell, column) => cell !== read.cells[i]![column]));
    if (different >= 0) expect(read.cells[different], `row ${different} of ${name}`).toEqual(cells[different]);
    rows += read.rows;
  }
  return rows;
}

interface TheirTable {
  readonly name: string;
  readonly columns: readonly (readonly [string, string])[];
  readonly cells: Cell[][];
  readonly badTexts: number;
}

function readAll(database: Database): TheirTable[] {
  const names = rowsOf(
    database,
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  );
  return names.map((row) => {
    const name = String(row['name']);
    // Generated columns that are not stored are hidden = 2.
    const columns = rowsOf(database, `SELECT name, type FROM pragma_table_xinfo(${text(name)}) WHERE hidden <> 2`).map(
      (column) => [String(column['name']), String(column['type']).toUpperCase()] as const,
    );
    const reals = hasReals(database, name, columns);
    // The result gives the type of a value; only whole numbers that are reals need a second look.
    const picks = columns.map(([column], i) => {
      const c = quote(column);
      const value = `CASE typeof(${c}) WHEN 'text' THEN CAST(${c} AS BLOB) WHEN 'blob' THEN 'blob' ELSE ${c} END AS v${i}`;
      return reals[i] ? `${value}, typeof(${c}) = 'real' AS r${i}` : value;
    });
    let badTexts = 0;
    const statement = database.prepare(`SELECT ${picks.join(', ')} FROM ${quote(name)} NOT INDEXED`);
    const cells: Cell[][] = [];
    for (const row of statement.iterate() as Iterable<Record<string, SQLiteValue>>) {
      cells.push(
        columns.map((_, i) => {
          const value = row[`v${i}`]!;
          if (typeof value === 'object' && value !== null && !isUtf8(value)) badTexts += 1;
          return cellOf(value, row[`r${i}`] === 1);
        }),
      );
    }
    statement.finalize();
    return { name, columns, cells, badTexts };
  });
}

function hasReals(database: Database, table: string, columns: TheirTable['columns']): boolean[] {
  if (columns.length === 0) return [];
  const picks = columns.map(([column], i) => `max(typeof(${quote(column)}) = 'real') AS r${i}`);
  const [row] = rowsOf(database, `SELECT ${picks.join(', ')} FROM ${quote(table)}`);
  return columns.map((_, i) => row![`r${i}`] === 1);
}

function rowsOf(database: Database, sql: string): Record<string, SQLiteValue>[] {
  return database.all(sql) as Record<string, SQLiteValue>[];
}

/** A name in SQL. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
