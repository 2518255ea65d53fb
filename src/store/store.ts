/** An open store: transactions, appending, and running queries. `open-store.ts` makes it. */

import type { DuckDBAppender, DuckDBConnection, DuckDBInstance, DuckDBMaterializedResult } from '@duckdb/node-api';
import type { TableLayout } from '../model/columns.js';
import { CONCLUDED_TABLES } from '../model/derived-tables.js';
import { bindParameters, type SqlParams, withConstants } from './bind-parameters.js';
import { collectRows, columnChecks } from './collect-rows.js';
import { type ColumnAppender, createColumnAppender } from './column-appender.js';
import { composedQuery, readsTable, togetherQuery } from './compose-sql.js';
import type { StoreValue } from './from-duckdb.js';
import { insertRows } from './insert-rows.js';
import { temporaryTable } from './install-library.js';
import { loadLibrary, loadQuery } from './load-queries.js';
import type { QueryArguments, QueryName, QueryRow } from './query-catalog.js';
import type { QueryField, QueryFile } from './query-file.js';
import { createRawAppender, type RawAppender } from './raw-appender.js';
import { newColumns, type ReadBatch, type ReadSpec, readColumns, readInto, readWhole } from './read-columns.js';
import { openResultStream, type PrepareStatement, type ResultStream } from './result-stream.js';
import { asOddData, asStoreError } from './store-errors.js';
import { readTableColumns, schemaColumns, type TableColumn } from './table-columns.js';
import { createTextAppender, type TextAppender } from './text-appender.js';
import type { CellValue } from './to-duckdb.js';

interface StoreParts {
  readonly file: string;
  readonly mode: 'read' | 'write';
  readonly instance: DuckDBInstance;
  readonly connection: DuckDBConnection;
  /** What a further connection runs first; see `shieldFunctions`. */
  readonly searchPath: string | undefined;
  /** See {@link Store.hasLibrary}. Default: true. */
  readonly hasLibrary?: boolean;
  /** The objects of the library in it were made by this process. */
  readonly ownsLibrary?: boolean;
  /** Its tables are empty. */
  readonly isNew?: boolean;
  /** Removes the files next to the store and allows it to be opened again. */
  readonly release: () => void;
}

/** Answers to be kept; see {@link Store.all}. */
const MOST_ROWS_KEPT = 1024;
const MOST_ANSWERS_KEPT = 100;

interface OpenAppender {
  readonly flush: () => void;
  readonly close: () => void;
  /** Drops rows that were not flushed. */
  readonly discard: () => void;
}

/**
 * Statements of one store run one after the other on one connection. Failures of the file (disk full, damage) are
 * MbfErrors of kind `store`; any other error of DuckDB passes through, for it means a wrong statement of ours.
 */
export class Store {
  readonly file: string;
  readonly mode: 'read' | 'write';
  /** Whether its derived tables are of this build; if not, they have to be {@link shadow}ed. */
  readonly hasLibrary: boolean;
  /** Whether the objects of its library are believed; those of a file are replaced by TEMP ones. */
  readonly ownsLibrary: boolean;
  private readonly parts: StoreParts;
  private readonly tables = new Map<string, readonly TableColumn[]>();
  private readonly appenders = new Set<OpenAppender>();
  private readonly streams = new Set<ResultStream>();
  private readonly answers = new Map<string, Promise<readonly Record<string, unknown>[]>>();
  /** TEMP objects with the names of tables. */
  private readonly shadows = new Map<string, 'TABLE' | 'VIEW'>();
  /** Tables known to have rows, or none. */
  private readonly filled = new Map<string, boolean>();
  /** Tables written since this process made the store; undefined where it did not. */
  private written: Set<string> | undefined;
  private inTransaction = false;
  private writes = 0;
  private sourceWrites = 0;
  private closed = false;

  constructor(parts: StoreParts) {
    this.file = parts.file;
    this.mode = parts.mode;
    this.hasLibrary = parts.hasLibrary ?? true;
    this.ownsLibrary = parts.ownsLibrary ?? false;
    this.written = parts.isNew === true ? new Set() : undefined;
    this.parts = parts;
  }

  /**
   * Runs `work` between BEGIN and COMMIT. If it throws, everything it wrote is undone, rows still waiting in appenders
   * included, and its own error is thrown on. Transactions do not nest.
   */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    if (this.inTransaction) throw new Error('a transaction is already open');
    await this.guard(() => this.parts.connection.run('BEGIN TRANSACTION'));
    this.inTransaction = true;
    try {
      const result = await work();
      await this.guard(async () => {
        for (const appender of [...this.appenders]) appender.close();
        await this.parts.connection.run('COMMIT');
      });
      return result;
    } catch (error) {
      await this.rollBack();
      throw error;
    } finally {
      this.inTransaction = false;
    }
  }

  private async rollBack(): Promise<void> {
    this.filled.clear();
    // DuckDB flushes an appender when it is closed or collected, and after the ROLLBACK that would commit its rows by
    // itself.
    for (const appender of [...this.appenders]) appender.discard();
    // After a failed COMMIT or a fatal error there is nothing left to roll back; the first error is the one to report.
    await this.parts.connection.run('ROLLBACK').catch(() => undefined);
  }

  /** A fast appender to `layout.table`; only inside a transaction, so that a crash leaves all of its rows or none. */
  async appender(layout: TableLayout): Promise<ColumnAppender> {
    if (!this.inTransaction) throw new Error(`appending to ${layout.table} needs a transaction`);
    this.forget(layout.table);
    const appender = await this.guard(() => this.appenderTo(layout.table));
    const columns = await this.columnsOf(layout.table, appender);
    const inner = createColumnAppender(layout, columns, appender);
    return { append: (batch) => this.guardSync(() => inner.append(batch)), ...this.track(appender, inner) };
  }

  /** Keeps an appender until it is closed, so that the end of its transaction writes or drops what it holds. */
  private track(
    appender: DuckDBAppender,
    inner: { readonly flush: () => void; readonly close: () => void },
  ): { flush(): void; close(): void } {
    const open: OpenAppender = {
      flush: inner.flush,
      close: () => {
        this.appenders.delete(open);
        inner.close();
      },
      discard: () => {
        this.appenders.delete(open);
        try {
          appender.clear();
          inner.close();
        } catch {
          // It already failed while flushing, and holds nothing any more.
        }
      },
    };
    this.appenders.add(open);
    return {
      flush: () => this.guardSync(inner.flush),
      close: () => this.guardSync(() => this.appenders.has(open) && open.close()),
    };
  }

  /**
   * An appender of numbered texts to a table of source, number and text; only inside a transaction, as {@link
   * appender}.
   */
  async textAppender(table: string): Promise<TextAppender> {
    if (!this.inTransaction) throw new Error(`appending to ${table} needs a transaction`);
    this.forget(table);
    const appender = await this.guard(() => this.parts.connection.createAppender(table));
    const inner = createTextAppender(table, await this.columnsOf(table, appender), appender);
    const append: TextAppender['append'] = (sourceId, texts) => this.guardSync(() => inner.append(sourceId, texts));
    return { append, ...this.track(appender, inner) };
  }

  /**
   * An appender to a table whose columns a file gave, for one source; only inside a transaction, as {@link appender}.
   */
  async rawAppender(schema: string, table: string, sourceId: number): Promise<RawAppender> {
    if (!this.inTransaction) throw new Error(`appending to ${table} needs a transaction`);
    this.forgetAll();
    const appender = await this.guard(() => this.parts.connection.createAppender(table, schema));
    const inner = createRawAppender(sourceId, await this.tableColumns(schema, table), appender);
    const append: RawAppender['append'] = (values, rows) => this.guardSync(() => inner.append(values, rows));
    return { append, ...this.track(appender, inner) };
  }

  /** The columns of a table as they are now, whatever its schema. */
  tableColumns(schema: string, table: string): Promise<readonly TableColumn[]> {
    return this.guard(() => readTableColumns(this.parts.connection, table, schema));
  }

  /** Appends records to a small table; see `insert-rows.ts`. Outside a transaction it commits by itself. */
  async insertRows(table: string, rows: readonly Readonly<Record<string, CellValue>>[]): Promise<void> {
    if (rows.length === 0) return;
    this.forget(table);
    await this.guard(async () => {
      const appender = await this.appenderTo(table);
      try {
        insertRows(table, await this.columnsOf(table, appender), appender, rows);
      } catch (error) {
        appender.clear();
        throw error;
      } finally {
        appender.closeSync();
      }
    });
  }

  /**
   * The rows of a query of `queries/`, typed by its header. Outside a transaction, small results are kept until
   * something is written: several parts of an answer ask the same, and DuckDB takes 5 ms for a query that returns ten
   * rows.
   */
  async all<Name extends QueryName>(name: Name, ...params: QueryArguments<Name>): Promise<QueryRow<Name>[]> {
    const values = (params[0] ?? {}) as SqlParams;
    if (this.inTransaction) return (await this.rowsOf(name, values)) as QueryRow<Name>[];
    const key = `${name} ${JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`;
    const kept = this.answers.get(key);
    if (kept !== undefined) return [...(await kept)] as QueryRow<Name>[];
    const answer = this.rowsOf(name, values);
    this.answers.set(key, answer);
    try {
      const rows = await answer;
      if (rows.length > MOST_ROWS_KEPT) this.answers.delete(key);
      else for (const row of rows) Object.freeze(row);
      const [oldest] = this.answers.keys();
      if (this.answers.size > MOST_ANSWERS_KEPT && oldest !== undefined) this.answers.delete(oldest);
      return [...rows] as QueryRow<Name>[];
    } catch (error) {
      this.answers.delete(key);
      throw error;
    }
  }

  /**
   * The rows of a query for each of many `keys` (of devices, of ranks), in their order: one statement, however many
   * there are. A query that ends in ORDER BY names columns of its answer there.
   */
  async allOf<Name extends QueryName>(
    name: Name,
    keys: readonly QueryArguments<Name>[0][],
  ): Promise<readonly QueryRow<Name>[][]> {
    if (keys.length === 1) return [await this.all(name, ...([keys[0]] as unknown as QueryArguments<Name>))];
    const rowsOf = keys.map((): QueryRow<Name>[] => []);
    if (keys.length === 0) return rowsOf;
    const values = { keys: JSON.stringify(keys.map((key, each_nth) => ({ each_nth, ...key }))) };
    for (const { each_nth: nth, ...row } of await this.answerOf(name, togetherQuery(name), values))
      rowsOf[nth as number]!.push(row as QueryRow<Name>);
    return rowsOf;
  }

  /** Changes with every write; undefined inside a transaction, whose writes may be undone. */
  get revision(): number | undefined {
    return this.inTransaction ? undefined : this.writes;
  }

  /** {@link revision} of all but {@link CONCLUDED_TABLES}. */
  get sourceRevision(): number | undefined {
    return this.inTransaction ? undefined : this.sourceWrites;
  }

  /** Drops the answers that were computed from a table. To be called before its rows change. */
  private forget(table: string): void {
    this.writes += 1;
    const bare = table.replace(/^.*\./, '');
    if (!CONCLUDED_TABLES.has(bare)) this.sourceWrites += 1;
    this.filled.delete(bare);
    this.written?.add(bare);
    // A view of {@link shadowColumn} depends on a table that queries do not name.
    if ([...this.shadows.values()].includes('VIEW')) {
      this.forgetAll();
      return;
    }
    for (const key of this.answers.keys())
      if (readsTable(key.slice(0, key.indexOf(' ')), bare)) this.answers.delete(key);
  }

  private forgetAll(): void {
    this.writes += 1;
    this.sourceWrites += 1;
    this.answers.clear();
    this.filled.clear();
    this.written = undefined;
  }

  /** Whether the answer is empty because tables that it needs are. */
  private async isUnanswered({ needs }: QueryFile): Promise<boolean> {
    for (const tables of needs) {
      let has = false;
      for (const table of tables) has ||= await this.hasRows(table);
      if (!has) return true;
    }
    return false;
  }

  private async hasRows(table: string): Promise<boolean> {
    const known = this.isKnownEmpty(table) ? false : this.filled.get(table);
    if (known !== undefined) return known;
    const { writes } = this;
    const has = (await this.execute(`SELECT 1 FROM ${table} LIMIT 1`, {})).rowCount > 0;
    // Open appenders may add some.
    if (!this.inTransaction && this.writes === writes) this.filled.set(table, has);
    return has;
  }

  private readonly isKnownEmpty = (table: string): boolean =>
    (this.written !== undefined && !this.written.has(table)) || this.filled.get(table) === false;

  private rowsOf(name: QueryName, values: SqlParams): Promise<Record<string, unknown>[]> {
    return this.answerOf(name, composedQuery(name), values, loadQuery(name).params);
  }

  private async answerOf(
    name: QueryName,
    sql: string,
    values: SqlParams,
    declared?: readonly QueryField[],
  ): Promise<Record<string, unknown>[]> {
    const query = loadQuery(name);
    if (await this.isUnanswered(query)) return [];
    try {
      const result = await this.execute(sql, values, declared);
      return await collectRows(result, columnChecks(query, result));
    } catch (error) {
      throw this.mode === 'read' ? asOddData(this.file, name, error) : error;
    }
  }

  /** The first row, or undefined if there is none. */
  async one<Name extends QueryName>(name: Name, ...params: QueryArguments<Name>): Promise<QueryRow<Name> | undefined> {
    return (await this.all(name, ...params))[0];
  }

  /** Rows of a statement of the caller's own, converted by `from-duckdb.ts`. */
  async select(sql: string, params: SqlParams = {}): Promise<Record<string, StoreValue>[]> {
    const result = await this.execute(sql, params);
    return collectRows(result, []);
  }

  /**
   * Puts rows into a TEMP table under the name of a table: those of a query, or without one the table's own.
   * Statements of this process see them instead, until the store is closed or {@link unshadow}; the appenders and
   * {@link insertRows} write there. The table itself may be read-only. Not seen by {@link readQueryWhole} and streams
   * outside a transaction, which have connections of their own.
   */
  async shadow<Name extends QueryName>(table: string, name?: Name, ...params: QueryArguments<Name>): Promise<void> {
    await this.unshadow(table);
    this.forget(table);
    const object = this.hasLibrary ? undefined : loadLibrary().get(table);
    await this.execute(
      object?.kind === 'table'
        ? temporaryTable(object)
        : `CREATE TEMP TABLE ${table} AS FROM ${table}${name === undefined ? '' : ' LIMIT 0'}`,
      {},
    );
    this.shadows.set(table, 'TABLE');
    if (name !== undefined) await this.insertQuery(`temp.${table}`, name, ...params);
  }

  /** Replaces the rows of some runs in a table of the library (`@kind table`) by those of its rule. */
  async deriveTable(name: string, runIds: readonly number[]): Promise<void> {
    const runs = `run_id IN (${runIds.join(', ')})`;
    await this.run(`DELETE FROM ${name} WHERE ${runs}`);
    if (await this.isUnanswered(loadQuery(`library.${name}`))) return;
    const rule = composedQuery(`library.${name}`);
    await this.run(`INSERT INTO ${name} BY NAME SELECT * FROM (\n${rule}\n) AS ruled WHERE ${runs}`);
  }

  /** Inserts the rows of a query into a table that has columns of the same names. */
  async insertQuery<Name extends QueryName>(table: string, name: Name, ...params: QueryArguments<Name>): Promise<void> {
    if (await this.isUnanswered(loadQuery(name))) return;
    this.forget(table);
    const sql = `INSERT INTO ${table} BY NAME ${composedQuery(name)}`;
    await this.execute(sql, (params[0] ?? {}) as SqlParams, loadQuery(name).params);
  }

  /**
   * {@link shadow} by a view, so that nothing is copied: the table, with the value of `column` from the row of `fresh`
   * with the same `keys`, where there is one.
   */
  async shadowColumn(table: string, column: string, fresh: string, keys: readonly string[]): Promise<void> {
    await this.unshadow(table);
    const [row] = await this.select('SELECT database_name FROM duckdb_databases() WHERE NOT internal');
    // By its full name: within the view, the bare one is the view.
    const base = `"${String(row!['database_name']).replaceAll('"', '""')}".main.${table}`;
    await this.run(
      `CREATE TEMP VIEW ${table} AS
       SELECT base.* REPLACE (coalesce(fresh.${column}, base.${column}) AS ${column})
       FROM ${base} AS base
       LEFT JOIN ${fresh} AS fresh ON ${keys.map((key) => `fresh.${key} = base.${key}`).join(' AND ')}`,
    );
    this.shadows.set(table, 'VIEW');
  }

  async unshadow(table: string): Promise<void> {
    const kind = this.shadows.get(table);
    if (kind !== undefined) await this.run(`DROP ${kind} temp.${table}`);
    this.shadows.delete(table);
  }

  /** Runs a statement that changes rows; returns how many. */
  async run(sql: string, params: SqlParams = {}): Promise<number> {
    const [, verb, table] = /^\s*(DELETE FROM|UPDATE|INSERT INTO) (?:temp\.)?(\w+)(?=\s|$)/.exec(sql) ?? [];
    if (table !== undefined && verb !== 'INSERT INTO' && this.isKnownEmpty(table)) return 0;
    if (table === undefined) this.forgetAll();
    else this.forget(table);
    return (await this.execute(sql, params)).rowsChanged;
  }

  /**
   * Streams a large result as typed arrays; see {@link readColumns}. In a transaction, read to the end before the next
   * statement.
   */
  async *readColumns<Spec extends ReadSpec>(
    sql: string,
    params: SqlParams,
    spec: Spec,
  ): AsyncGenerator<ReadBatch<Spec>, void, void> {
    yield* this.stream(sql, params, undefined, spec);
  }

  /** {@link readColumns} of a query of `queries/`. */
  async *readQueryColumns<
    Name extends QueryName,
    Spec extends { readonly [Column in keyof QueryRow<Name>]?: ReadSpec[string] } & ReadSpec,
  >(name: Name, params: QueryArguments<Name>[0] & SqlParams, spec: Spec): AsyncGenerator<ReadBatch<Spec>, void, void> {
    const query = loadQuery(name);
    yield* this.stream(composedQuery(name), params, query.params, spec);
  }

  /**
   * All rows of a query of `queries/` as arrays of the caller's own. It runs on a connection of its own. Not inside a
   * transaction, whose rows it would not see.
   */
  async readQueryWhole<
    Name extends QueryName,
    Spec extends { readonly [Column in keyof QueryRow<Name>]?: ReadSpec[string] } & ReadSpec,
  >(name: Name, params: QueryArguments<Name>[0] & SqlParams, spec: Spec): Promise<ReadBatch<Spec>> {
    return readWhole(await this.resultOf(name, params), spec);
  }

  /**
   * As {@link readQueryWhole}, of several runs of a query one after the other, together at most `most` rows: DuckDB
   * computes the next run while the rows of the last are copied.
   */
  async readQueryRuns<
    Name extends QueryName,
    Spec extends { readonly [Column in keyof QueryRow<Name>]?: ReadSpec[string] } & ReadSpec,
  >(
    name: Name,
    runs: readonly (QueryArguments<Name>[0] & SqlParams)[],
    spec: Spec,
    most: number,
  ): Promise<ReadBatch<Spec>> {
    const columns = newColumns(spec, most);
    let rows = 0;
    let next = runs.length === 0 ? undefined : this.resultOf(name, runs[0]!);
    for (let i = 0; next !== undefined; i += 1) {
      const result = await next;
      next = i + 1 < runs.length ? this.resultOf(name, runs[i + 1]!) : undefined;
      // Awaited in the next round; a failure of the copy must not leave it unhandled.
      next?.catch(() => undefined);
      readInto(result, spec, columns, rows);
      rows += result.rowCount;
    }
    return { rows, columns };
  }

  /** On a connection of its own, so that several can be computed at once: a stream is only while it is waited for. */
  private async resultOf<Name extends QueryName>(
    name: Name,
    params: QueryArguments<Name>[0] & SqlParams,
  ): Promise<DuckDBMaterializedResult> {
    if (this.closed) throw new Error('the store is closed');
    if (this.inTransaction) throw new Error('a transaction is open');
    const query = loadQuery(name);
    return this.guard(async () => {
      const connection = await this.connect();
      try {
        const prepared = await connection.prepare(composedQuery(name));
        try {
          bindParameters(prepared, params, query.params);
          return await prepared.run();
        } finally {
          prepared.destroySync();
        }
      } finally {
        connection.closeSync();
      }
    });
  }

  private async *stream<Spec extends ReadSpec>(
    sql: string,
    params: SqlParams,
    declared: readonly QueryField[] | undefined,
    spec: Spec,
  ): AsyncGenerator<ReadBatch<Spec>, void, void> {
    const stream = await this.openStream(async (connection, prefix) => {
      const prepared = await connection.prepare(prefix + sql);
      bindParameters(prepared, params, declared);
      return prepared;
    });
    try {
      yield* readColumns(stream, spec);
    } catch (error) {
      throw asStoreError(this.file, error, 'use');
    } finally {
      await stream.end();
    }
  }

  /**
   * Starts a statement whose rows are fetched as they are computed; for this folder only. The next statement on a
   * connection ends its stream, so each has its own connection, except in a transaction, where it has to see
   * uncommitted rows.
   */
  async openStream(prepare: PrepareStatement): Promise<ResultStream> {
    if (this.closed) throw new Error('the store is closed');
    return this.guard(async () => {
      this.flushAppenders();
      if (this.inTransaction) return this.register(await openResultStream(this.parts.connection, false, prepare));
      const connection = await this.connect();
      try {
        return this.register(await openResultStream(connection, true, prepare));
      } catch (error) {
        connection.closeSync();
        throw error;
      }
    });
  }

  private register(stream: ResultStream): ResultStream {
    const registered: ResultStream = {
      ...stream,
      end: async () => {
        this.streams.delete(registered);
        await stream.end();
      },
    };
    this.streams.add(registered);
    return registered;
  }

  /** Writes the log into the file. Not inside a transaction. */
  async checkpoint(): Promise<void> {
    await this.guard(() => this.parts.connection.run('CHECKPOINT'));
  }

  /** Undoes an open transaction, writes the log into the file, and gives the lock back. May be called twice. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    try {
      for (const stream of [...this.streams]) await stream.end();
      if (this.inTransaction) await this.rollBack();
      this.parts.connection.closeSync();
    } finally {
      this.parts.instance.closeSync();
      this.parts.release();
    }
  }

  private async execute(
    sql: string,
    params: SqlParams,
    declared?: readonly QueryField[],
  ): Promise<DuckDBMaterializedResult> {
    return this.guard(async () => {
      this.flushAppenders();
      const text = withConstants(sql, params, declared);
      if (text !== undefined) return this.parts.connection.run(text);
      const prepared = await this.parts.connection.prepare(sql);
      try {
        bindParameters(prepared, params, declared);
        return await prepared.run();
      } finally {
        prepared.destroySync();
      }
    });
  }

  /** A further connection. */
  private async connect(): Promise<DuckDBConnection> {
    const connection = await this.parts.instance.connect();
    if (this.parts.searchPath !== undefined) await connection.run(this.parts.searchPath);
    return connection;
  }

  /** DuckDB's appenders do not look for TEMP tables by themselves. */
  private appenderTo(table: string): Promise<DuckDBAppender> {
    return this.parts.connection.createAppender(table, 'main', this.shadows.has(table) ? 'temp' : null);
  }

  private flushAppenders(): void {
    for (const appender of this.appenders) appender.flush();
  }

  private async columnsOf(table: string, appender: DuckDBAppender): Promise<readonly TableColumn[]> {
    const known = this.tables.get(table) ?? schemaColumns(table, appender);
    if (known !== undefined) return known;
    const columns = await readTableColumns(this.parts.connection, table);
    this.tables.set(table, columns);
    return columns;
  }

  private async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStoreError(this.file, error, 'use');
    }
  }

  private guardSync<T>(work: () => T): void {
    try {
      work();
    } catch (error) {
      throw asStoreError(this.file, error, 'use');
    }
  }
}
