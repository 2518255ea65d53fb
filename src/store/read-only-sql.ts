/**
 * Statements a user types. One statement, reading only, on a store opened for reading; whatever else it tries is
 * refused before it runs.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { MbfError } from '../model/errors.js';
import { copyRows } from './copy-rows.js';
import { StatementType } from './duckdb.js';
import { fromDuckDB, type StoreValue } from './from-duckdb.js';
import { provideLibrary } from './install-library.js';
import { blankText } from './query-file.js';
import type { ResultStream } from './result-stream.js';
import type { Store } from './store.js';
import { asStoreError, duckdbMessage } from './store-errors.js';

export interface SqlColumn {
  readonly name: string;
  /** As DuckDB names it, e.g. `BIGINT`, `DECIMAL(18,3)`, `INTEGER[]`. */
  readonly type: string;
}

export interface SqlResult {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly (readonly StoreValue[])[];
  /** True if there were more rows than `maxRows`. */
  readonly truncated: boolean;
}

export interface SqlStream {
  readonly columns: readonly SqlColumn[];
  /** Rows as they are computed. Iterate once; leaving early stops the statement, and so does closing the store. */
  readonly rows: AsyncGenerator<readonly StoreValue[], void, void>;
}

/**
 * Functions that do something although a SELECT calls them. `enable_logging` with a file storage *aborts the process*
 * in 1.5.6 when external access is off; `arrow_scan` takes raw pointers; `query` and `json_execute_serialized_sql` run
 * text we have not seen; the profiling ones print to stdout. The rest would only be denied later and less clearly.
 */
const ACTING_FUNCTIONS = [
  'arrow_scan',
  'arrow_scan_dumb',
  'checkpoint',
  'disable_logging',
  'disable_peg_parser',
  'disable_profiling',
  'enable_logging',
  'enable_peg_parser',
  'enable_profiling',
  'force_checkpoint',
  'json_execute_serialized_sql',
  'nextval',
  'query',
  'truncate_duckdb_logs',
  'write_log',
] as const;
const ACTING_CALL = new RegExp(`\\b(${ACTING_FUNCTIONS.join('|')})"?\\s*\\(`, 'i');

/** `EXPLAIN`, its options, and the statement it is about. */
const EXPLAIN = /^\s*EXPLAIN\s+(?:ANALY[SZ]E\s+|\([^)]*\)\s*)*/i;

/**
 * Runs one reading statement and holds up to `maxRows` rows (default: all). MBF1005: not one statement, or one that
 * does not only read; MBF1006: DuckDB cannot run it, with its message and position.
 */
export async function runReadOnly(
  store: Store,
  text: string,
  options: { readonly maxRows?: number | undefined } = {},
): Promise<SqlResult> {
  const { columns, rows: source } = await streamReadOnly(store, text);
  const limit = options.maxRows ?? Number.POSITIVE_INFINITY;
  const rows: (readonly StoreValue[])[] = [];
  for await (const row of source) {
    if (rows.length >= limit) return { columns, rows, truncated: true };
    rows.push(row);
  }
  return { columns, rows, truncated: false };
}

/** {@link runReadOnly} without holding the rows; the same errors, some of them only while iterating. */
export async function streamReadOnly(store: Store, text: string): Promise<SqlStream> {
  if (store.mode !== 'read') throw new Error('a user statement needs a store opened for reading');
  try {
    await refuseActingObjects(store);
    const stream = await store.openStream((connection, prefix) =>
      prefix === '' ? prepareReading(store, connection, text) : connection.prepare(prefix + text),
    );
    const { result } = stream;
    const columns = result.columnNames().map((name, index) => ({ name, type: String(result.columnType(index)) }));
    return { columns, rows: rowsOf(store, stream) };
  } catch (error) {
    throw asSqlError(store, error);
  }
}

/** {@link copyRows} of a user's statement: MBF1005 and MBF1006 as {@link runReadOnly}. */
export async function copyToParquet(store: Store, text: string, file: string): Promise<number> {
  if (store.mode !== 'read') throw new Error('a user statement needs a store opened for reading');
  try {
    await refuseActingObjects(store);
    return await copyRows(store, withoutSemicolon(text), file, async (connection) => {
      const prepared = await prepareReading(store, connection, text);
      const type = prepared.statementType;
      prepared.destroySync();
      if (type !== StatementType.SELECT) throw new MbfError('MBF1005', `the rows of ${nameOfType(type)} make no file`);
    });
  } catch (error) {
    throw asSqlError(store, error);
  }
}

/**
 * A user's statement may read what a stranger's store defines, except where that calls what a statement may not: it
 * would run as soon as it is named. Describing the functions takes 30 ms, which our own queries need not spend.
 */
async function refuseActingObjects(store: Store): Promise<void> {
  if (store.ownsLibrary) return;
  const objects = await store.select(
    `SELECT 'view' AS kind, view_name AS name, "sql" AS text FROM system.main.duckdb_views() WHERE NOT internal
     UNION ALL
     SELECT 'macro', function_name, macro_definition FROM system.main.duckdb_functions() WHERE NOT internal`,
  );
  for (const { kind, name, text } of objects) {
    const acting = ACTING_CALL.exec(blankText(String(text)));
    if (acting !== null)
      throw new MbfError('MBF3007', `its ${kind} ${name} calls ${acting[1]}()`, { file: store.file });
  }
}

function withoutSemicolon(text: string): string {
  const end = blankText(text).search(/[;\s]*$/);
  return end < 0 ? text : text.slice(0, end);
}

async function* rowsOf(store: Store, stream: ResultStream): AsyncGenerator<readonly StoreValue[], void, void> {
  try {
    for await (const chunk of stream.chunks()) {
      for (const row of chunk.getRows()) yield row.map(fromDuckDB);
    }
  } catch (error) {
    throw asSqlError(store, error);
  } finally {
    await stream.end();
  }
}

async function prepareReading(
  store: Store,
  connection: DuckDBConnection,
  text: string,
): Promise<DuckDBPreparedStatement> {
  const code = blankText(text);
  if (code.replaceAll(';', '').trim() === '') throw new MbfError('MBF1005', 'no statement was given');
  const acting = ACTING_CALL.exec(code);
  if (acting !== null) throw new MbfError('MBF1005', `${acting[1]}() does more than read`);
  const extracted = await connection.extractStatements(text);
  if (!store.ownsLibrary) await provideLibrary(connection, text);
  if (extracted.count !== 1) {
    // DuckDB rewrites a PIVOT into two statements, the first of which creates a type, unless its values are listed.
    const pivot = /\bPIVOT\b/i.test(code) ? ' (a PIVOT needs its values listed: ON column IN (...))' : '';
    throw new MbfError('MBF1005', `${extracted.count} statements were given, not one${pivot}`);
  }
  const prepared = await extracted.prepare(0);
  const type = prepared.statementType;
  if (type === StatementType.SELECT) return prepared;
  if (type !== StatementType.EXPLAIN) throw new MbfError('MBF1005', `${nameOfType(type)} does more than read`);
  // EXPLAIN ANALYZE runs its statement, so that one has to be a reading one as well.
  const prefix = EXPLAIN.exec(code);
  if (prefix === null) throw new MbfError('MBF1005', 'this form of EXPLAIN is not supported');
  (await prepareReading(store, connection, text.slice(prefix[0].length))).destroySync();
  return prepared;
}

function nameOfType(type: StatementType): string {
  return StatementType[type]?.replaceAll('_', ' ') ?? 'unknown';
}

function asSqlError(store: Store, error: unknown): unknown {
  const known = asStoreError(store.file, error, 'use');
  if (known instanceof MbfError || !(error instanceof Error)) return known;
  const message = duckdbMessage(error);
  return message.startsWith('Permission Error') || message.includes('in system catalog')
    ? new MbfError('MBF1005', message, {}, error)
    : new MbfError('MBF1006', message, {}, error);
}
