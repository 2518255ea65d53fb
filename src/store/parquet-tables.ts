/**
 * A folder of Parquet files as tables, read by DuckDB in a separate in-memory database with access to this folder only:
 * the store itself cannot access files.
 */
import { realpathSync } from 'node:fs';
import type { DuckDBConnection, DuckDBVector, DuckDBInstance as Instance } from '@duckdb/node-api';
import { CELL, type CellBatch, type SourceTable, type TableScan, type TableSource } from '../model/table-source.js';
import { MIB } from '../model/units.js';
import { openConfined } from './confined-duckdb.js';

/** Of a whole ingest's memory this is a small part; a row group of the exporter has 122,880 rows. */
const MEMORY_BYTES = 128 * MIB;

export interface ParquetTables extends TableSource {
  close(): void;
}

interface File {
  readonly path: string;
  readonly table: SourceTable;
  /** What each column is read as, by name. */
  readonly reads: ReadonlyMap<string, 'integer' | 'real' | 'text' | 'none'>;
}

/**
 * `files` are names in `directory`, each `TABLE.parquet`. A file that cannot be opened is a table without columns,
 * whose scan reports the reason.
 */
export async function openParquetTables(directory: string, files: readonly string[]): Promise<ParquetTables> {
  const real = realpathSync(directory);
  const { instance, connection } = await openConfined(real, { memoryBytes: MEMORY_BYTES, threads: 2 });
  const opened = new Map<string, File>();
  const problems = new Map<string, string>();
  for (const file of files) {
    const name = file.replace(/\.parquet$/i, '');
    const path = `${real}/${file}`;
    try {
      opened.set(name, await openFile(connection, name, path));
    } catch (error) {
      problems.set(name, reason(error));
    }
  }
  const empty = (name: string): SourceTable => ({ name, columns: [] });
  return {
    tables: [...[...opened.values()].map(({ table }) => table), ...[...problems.keys()].map(empty)],
    async scan(name, columns, take) {
      const file = opened.get(name);
      if (file === undefined) return { rows: 0, problem: { fact: problems.get(name) ?? 'there is no such file' } };
      return scanFile(connection, file, columns, take);
    },
    async count(name) {
      const file = opened.get(name);
      if (file === undefined) return { rows: 0, problem: { fact: problems.get(name) ?? 'there is no such file' } };
      try {
        const result = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet(${quotedText(file.path)})`);
        return { rows: Number(result.getRows()[0]![0]) };
      } catch (error) {
        return { rows: 0, problem: { fact: reason(error) } };
      }
    },
    close: () => close(instance, connection),
  };
}

async function openFile(connection: DuckDBConnection, name: string, path: string): Promise<File> {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM read_parquet(${quotedText(path)})`);
  const columns = described.getRows().map((row) => ({ name: String(row[0]), type: String(row[1]) }));
  return {
    path,
    table: { name, columns },
    reads: new Map(columns.map((column) => [column.name, kindOf(column.type)])),
  };
}

function kindOf(type: string): 'integer' | 'real' | 'text' | 'none' {
  if (/^(?:U?(?:TINY|SMALL|BIG)INT|U?INTEGER|BOOLEAN)$/.test(type)) return 'integer';
  if (/^(?:FLOAT|DOUBLE|DECIMAL)/.test(type)) return 'real';
  return /^(?:VARCHAR|ENUM)/.test(type) ? 'text' : 'none';
}

async function scanFile(
  connection: DuckDBConnection,
  { path, reads, table }: File,
  columns: readonly string[],
  take: (batch: CellBatch) => void,
): Promise<TableScan> {
  const kinds = columns.map((name) => reads.get(name) ?? 'none');
  const types = new Map(table.columns.map(({ name, type }) => [name, type]));
  const list = columns.map((name, i) => {
    const column = `"${name.replaceAll('"', '""')}"`;
    // Serialized ids may be unsigned; what counts is their bits.
    if (kinds[i] === 'integer')
      return types.get(name) === 'UBIGINT'
        ? `(CASE WHEN ${column} < 9223372036854775808 THEN ${column}::HUGEINT ELSE ${column}::HUGEINT - 18446744073709551616 END)::BIGINT`
        : `${column}::BIGINT`;
    if (kinds[i] === 'real') return `${column}::DOUBLE`;
    return kinds[i] === 'text' ? `${column}::VARCHAR` : 'NULL::BIGINT';
  });
  let rows = 0;
  try {
    const result = await connection.stream(
      `SELECT ${list.length === 0 ? '1::BIGINT' : list.join(', ')} FROM read_parquet(${quotedText(path)})`,
    );
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      const count = chunk.rowCount;
      take({ rows: count, columns: columns.map((_, i) => cells(chunk.getColumnVector(i), kinds[i]!, count)) });
      rows += count;
    }
    const counted = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet(${quotedText(path)})`);
    // The bindings report a failure in mid-stream as the end of the rows.
    const expected = Number(counted.getRows()[0]![0]);
    return expected === rows
      ? { rows }
      : { rows, problem: { fact: `its pages give ${rows} rows and not the ${expected} of its footer` } };
  } catch (error) {
    return { rows, problem: { fact: reason(error) } };
  }
}

function cells(vector: DuckDBVector, kind: 'integer' | 'real' | 'text' | 'none', rows: number) {
  const kinds = new Uint8Array(rows);
  const bits = new Uint32Array(rows * 2);
  const reals = new Float64Array(bits.buffer);
  const texts: (string | undefined)[] = [];
  const wide = new BigInt64Array(bits.buffer);
  for (let row = 0; row < rows; row++) {
    const value = kind === 'none' ? null : vector.getItem(row);
    if (value === null) kinds[row] = CELL.null;
    else if (typeof value === 'bigint') {
      kinds[row] = CELL.integer;
      wide[row] = value;
    } else if (typeof value === 'number') {
      kinds[row] = CELL.real;
      reals[row] = value;
    } else {
      kinds[row] = CELL.text;
      texts[row] = String(value);
    }
  }
  return { kinds, bits, reals, texts };
}

function close(instance: Instance, connection: DuckDBConnection): void {
  connection.closeSync();
  instance.closeSync();
}

function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? error.message) : String(error);
}

function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
