/** The fast path for texts: row records cost a microsecond a value, and a capture names half a million ranges. */
import type { DuckDBAppender } from '@duckdb/node-api';
import type { PackedTexts } from '../model/packed-texts.js';
import { DuckDBTypeId, bindings as duckdb } from './duckdb.js';
import { newChunk, type TableColumn } from './table-columns.js';

export interface TextAppender {
  append(sourceId: number, texts: PackedTexts): void;
  flush(): void;
  close(): void;
}

const VECTOR_ROWS = duckdb.vector_size();

/**
 * Takes over `appender`. Throws unless the columns of the table are an INTEGER, a BIGINT and a VARCHAR: source, number,
 * text.
 */
export function createTextAppender(
  table: string,
  columns: readonly TableColumn[],
  appender: DuckDBAppender,
): TextAppender {
  const types = columns.map(({ type }) => type.typeId);
  if (types.join() !== [DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT, DuckDBTypeId.VARCHAR].join())
    throw new Error(`${table} is not a table of numbered texts`);
  // Used again, and emptied each time: the memory of its strings is not the garbage collector's to see.
  const holder = newChunk(columns);
  const { chunk } = holder;
  return {
    append(sourceId, { ids: numbers, ends, bytes }) {
      for (let start = 0; start < ends.length; start += VECTOR_ROWS) {
        const rows = Math.min(VECTOR_ROWS, ends.length - start);
        holder.reset();
        const sources = new Int32Array(rows).fill(sourceId);
        const ids = new BigInt64Array(rows);
        const vector = duckdb.data_chunk_get_vector(chunk, 2);
        for (let row = 0; row < rows; row++) {
          const at = start + row;
          ids[row] = BigInt(numbers[at]!);
          const text = bytes.subarray(at === 0 ? 0 : ends[at - 1]!, ends[at]!);
          duckdb.vector_assign_string_element_len(vector, row, text);
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
