/** The way into tables whose columns only a file knows: integers and reals by whole columns, texts one by one. */
import type { DuckDBAppender } from '@duckdb/node-api';
import type { RawColumn } from '../model/parser.js';
import type { RawType } from '../model/table-source.js';
import { DuckDBTypeId, bindings as duckdb, type Vector } from './duckdb.js';
import { newChunk, type TableColumn } from './table-columns.js';

export interface RawAppender {
  /** One column of `values` for each of the table, in its order; undefined: NULL in every row. */
  append(values: readonly (RawColumn | undefined)[], rows: number): void;
  flush(): void;
  close(): void;
}

const VECTOR_ROWS = duckdb.vector_size();
const EIGHT_BYTES = 8;

const RAW_TYPES: ReadonlyMap<DuckDBTypeId, RawType> = new Map([
  [DuckDBTypeId.BIGINT, 'integer'],
  [DuckDBTypeId.DOUBLE, 'real'],
  [DuckDBTypeId.VARCHAR, 'text'],
]);

/** Undefined for a type that no raw column has. */
export function keptTypeOf({ type }: TableColumn): RawType | undefined {
  return RAW_TYPES.get(type.typeId);
}

/** Takes over `appender`. The first column of the table is its source, an INTEGER, and is `sourceId` in every row. */
export function createRawAppender(
  sourceId: number,
  columns: readonly TableColumn[],
  appender: DuckDBAppender,
): RawAppender {
  const sources = new Int32Array(VECTOR_ROWS).fill(sourceId);
  const mask = new Uint8Array(VECTOR_ROWS / 8);
  return {
    append(values, rows) {
      for (let start = 0; start < rows; start += VECTOR_ROWS) {
        const count = Math.min(VECTOR_ROWS, rows - start);
        // A new chunk each time: strings live in the heap of their chunk, which a reused one would only grow.
        const holder = newChunk(columns);
        const vectors = columns.map((_, i) => duckdb.data_chunk_get_vector(holder.chunk, i));
        duckdb.copy_data_to_vector(vectors[0]!, 0, sources.buffer, 0, count * 4);
        for (let i = 1; i < columns.length; i++) fill(vectors[i]!, values[i - 1], start, count, mask);
        duckdb.data_chunk_set_size(holder.chunk, count);
        appender.appendDataChunk(holder);
      }
    },
    flush: () => appender.flushSync(),
    close: () => appender.closeSync(),
  };
}

function fill(vector: Vector, column: RawColumn | undefined, start: number, count: number, mask: Uint8Array): void {
  mask.fill(column === undefined ? 0 : 0xff);
  let hasNulls = column === undefined;
  const markNull = (row: number): void => {
    mask[row >> 3]! &= ~(1 << (row & 7));
    hasNulls = true;
  };
  if (column?.type === 'text') {
    for (let row = 0; row < count; row++) {
      const text = column.texts[start + row];
      if (text === undefined) markNull(row);
      // As a C string it would end at its first NUL.
      else if (text.includes('\0')) duckdb.vector_assign_string_element_len(vector, row, Buffer.from(text));
      else duckdb.vector_assign_string_element(vector, row, text);
    }
  } else if (column !== undefined) {
    const { bits, isNull } = column;
    const at = bits.byteOffset + start * EIGHT_BYTES;
    duckdb.copy_data_to_vector(vector, 0, bits.buffer as ArrayBuffer, at, count * EIGHT_BYTES);
    for (let row = 0; row < count; row++) if (isNull[start + row] === 1) markNull(row);
  }
  if (!hasNulls) return;
  duckdb.vector_ensure_validity_writable(vector);
  duckdb.copy_data_to_vector_validity(vector, 0, mask.buffer as ArrayBuffer, 0, mask.byteLength);
}
