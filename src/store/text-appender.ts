/** The fast path for texts: row records cost a microsecond a value, and a capture names half a million ranges. */
import type { DuckDBAppender } from '@duckdb/node-api';
import { DuckDBDataChunk, DuckDBTypeId, bindings as duckdb } from './duckdb.js';
import type { TableColumn } from './table-columns.js';

export interface TextAppender {
  append(sourceId: number, texts: readonly { readonly id: number; readonly text: string }[]): void;
  flush(): void;
  close(): void;
}

const VECTOR_ROWS = duckdb.vector_size();

/** Takes over `appender`. Throws unless the columns of the table are an INTEGER, a BIGINT and a VARCHAR: source, number, text. */
export function createTextAppender(
  table: string,
  columns: readonly TableColumn[],
  appender: DuckDBAppender,
): TextAppender {
  const types = columns.map(({ type }) => type.typeId);
  if (types.join() !== [DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT, DuckDBTypeId.VARCHAR].join())
    throw new Error(`${table} is no table of numbered texts`);
  return {
    append(sourceId, texts) {
      for (let start = 0; start < texts.length; start += VECTOR_ROWS) {
        const rows = Math.min(VECTOR_ROWS, texts.length - start);
        // A new chunk each time: strings live in the heap of their chunk, which a reused one would only grow.
        const holder = DuckDBDataChunk.create(columns.map(({ type }) => type));
        const { chunk } = holder;
        const sources = new Int32Array(rows).fill(sourceId);
        const ids = new BigInt64Array(rows);
        const vector = duckdb.data_chunk_get_vector(chunk, 2);
        for (let row = 0; row < rows; row++) {
          const { id, text } = texts[start + row]!;
          ids[row] = BigInt(id);
          // As a C string it would end at its first NUL.
          if (text.includes('\0')) duckdb.vector_assign_string_element_len(vector, row, Buffer.from(text));
          else duckdb.vector_assign_string_element(vector, row, text);
        }
        duckdb.copy_data_to_vector(duckdb.data_chunk_get_vector(chunk, 0), 0, sources.buffer, 0, sources.byteLength);
        duckdb.copy_data_to_vector(duckdb.data_chunk_get_vector(chunk, 1), 0, ids.buffer, 0, ids.byteLength);
        duckdb.data_chunk_set_size(chunk, rows);
        appender.appendDataChunk(holder);
      }
    },
    flush: () => appender.flushSync(),
    close: () => appender.closeSync(),
  };
}
