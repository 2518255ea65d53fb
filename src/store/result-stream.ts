/**
 * Results whose rows are fetched while they are computed, made safe: they end with an error, and they let go of the
 * file.
 */
import type { DuckDBConnection, DuckDBDataChunk, DuckDBPreparedStatement, DuckDBResult } from '@duckdb/node-api';
import { ResultReturnType } from './duckdb.js';

/** Prepares and binds the statement with `prefix` put before its text. */
export type PrepareStatement = (connection: DuckDBConnection, prefix: string) => Promise<DuckDBPreparedStatement>;

export interface ResultStream {
  readonly result: DuckDBResult;
  /** The chunks, in order; iterate once. */
  chunks(): AsyncGenerator<DuckDBDataChunk, void, void>;
  /** Stops computing and frees what the result holds. May be called twice. */
  end(): Promise<void>;
}

/**
 * Starts a statement on `connection`. `owned`: the connection serves nothing else, so the stream may interrupt it, and
 * closes it at the end.
 */
export async function openResultStream(
  connection: DuckDBConnection,
  owned: boolean,
  prepare: PrepareStatement,
): Promise<ResultStream> {
  const prepared = await prepare(connection, '');
  let result: DuckDBResult;
  try {
    result = await prepared.stream();
  } finally {
    prepared.destroySync();
  }
  let ended = false;
  return {
    result,
    async *chunks() {
      for (;;) {
        const chunk = ended ? null : await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) break;
        yield chunk;
      }
      if (ended) throw new Error('the result was closed before it was read to its end');
      // The bindings (1.5.6) report a failure in mid-stream as the end of the rows; only the result's type
      // distinguishes them.
      if (result.returnType === ResultReturnType.INVALID) throw await failureOf(connection, owned, prepare);
    },
    async end() {
      if (ended) return;
      ended = true;
      // An interrupt would abort a transaction of the caller's; there, the rest is computed for nothing.
      if (owned) connection.interrupt();
      await runOut(result);
      if (owned) connection.closeSync();
    },
  };
}

/**
 * An unfinished result keeps the file open and locked, even beyond its connection, until it is garbage-collected. So it
 * is finished here.
 */
async function runOut(result: DuckDBResult): Promise<void> {
  let chunk = await result.fetchChunk();
  while (chunk !== null && chunk.rowCount > 0) chunk = await result.fetchChunk();
}

/**
 * The bindings cannot give the message of a failed stream, so the statement runs again: EXPLAIN ANALYZE computes all
 * rows and keeps none.
 */
async function failureOf(connection: DuckDBConnection, owned: boolean, prepare: PrepareStatement): Promise<unknown> {
  const unknown = new Error('the statement failed while its rows were being read');
  // In a transaction, which the failure has aborted, nothing more can run.
  if (!owned) return unknown;
  const again = await prepare(connection, 'EXPLAIN ANALYZE ').catch(() => prepare(connection, ''));
  try {
    await again.run();
    return unknown;
  } catch (error) {
    return error;
  } finally {
    again.destroySync();
  }
}
