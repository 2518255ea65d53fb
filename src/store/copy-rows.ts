/** Rows of a store as a file. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { SqlParams } from './bind-parameters.js';
import { withConstants } from './bind-parameters.js';
import { composedQuery } from './compose-sql.js';
import { loadQuery } from './load-queries.js';
import type { QueryArguments, QueryName } from './query-catalog.js';
import type { Store } from './store.js';

/**
 * Rows of a group, the unit that readers skip. With zstd and version 2 (delta encodings) an entry of a trace takes 3.0
 * bytes; DuckDB's defaults take 10.1. Bloom filters would be a tenth of a small file.
 */
const FORM = '(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE 65536, WRITE_BLOOM_FILTER false)';

/**
 * Writes the rows of a SELECT to `file` as Parquet, in their order; returns how many. `file` must be in the store's
 * `exchangeDirectory` and must not exist. DuckDB's own error where the file cannot be written.
 */
export async function copyRows(
  store: Store,
  select: string,
  file: string,
  prepare?: (connection: DuckDBConnection) => Promise<void>,
): Promise<number> {
  const stream = await store.openStream(async (connection, prefix) => {
    await prepare?.(connection);
    // In brackets of its own lines, so that a comment at its end ends with it. It parsed alone, so its own brackets are
    // closed.
    return connection.prepare(`${prefix}COPY (\n${select}\n) TO '${file.replaceAll("'", "''")}' ${FORM}`);
  });
  let rows = 0;
  try {
    for await (const chunk of stream.chunks()) for (const [count] of chunk.getRows()) rows += Number(count);
  } finally {
    await stream.end();
  }
  return rows;
}

/** {@link copyRows} of a query of `queries/`. */
export function copyQuery<Name extends QueryName>(
  store: Store,
  file: string,
  name: Name,
  params: QueryArguments<Name>[0],
): Promise<number> {
  const text = withConstants(composedQuery(name), params as SqlParams, loadQuery(name).params);
  if (text === undefined) throw new Error(`${name}: a parameter cannot be a constant`);
  return copyRows(store, text, file);
}
