/**
 * The fast path into a table: typed arrays are copied into DuckDB vectors as they are, 2048 rows at a time, without a
 * value or an object per row. The plain row API of the bindings manages half a million rows of this width a second,
 * this several millions.
 */
import type { DuckDBAppender } from '@duckdb/node-api';
import {
  type ColumnArray,
  type ColumnBatch,
  type ColumnKind,
  type ColumnSpec,
  NULL_F64,
  NULL_HIGH,
  NULL_I32,
  NULL_U8,
  type TableLayout,
} from '../model/columns.js';
import { DuckDBEnumType, DuckDBTypeId, bindings as duckdb, type Vector } from './duckdb.js';
import { newChunk, type TableColumn } from './table-columns.js';

export interface ColumnAppender {
  /** Copies the filled rows of `batch`, which may be reused at once. Queries see them after `flush`. */
  append(batch: ColumnBatch): void;
  flush(): void;
  /** Flushes and ends the appender; the commit of its transaction does the same. */
  close(): void;
}

const VECTOR_ROWS = duckdb.vector_size();

const TYPES: Readonly<Record<ColumnKind, { readonly typeId: DuckDBTypeId; readonly rowBytes: number }>> = {
  i64: { typeId: DuckDBTypeId.BIGINT, rowBytes: 8 },
  u64: { typeId: DuckDBTypeId.UBIGINT, rowBytes: 8 },
  f64: { typeId: DuckDBTypeId.DOUBLE, rowBytes: 8 },
  i32: { typeId: DuckDBTypeId.INTEGER, rowBytes: 4 },
  u8: { typeId: DuckDBTypeId.UTINYINT, rowBytes: 1 },
};

interface Target {
  readonly spec: ColumnSpec;
  readonly vector: Vector;
  readonly rowBytes: number;
  /** One bit per row of a chunk, 1 = valid. */
  readonly mask: Uint8Array<ArrayBuffer>;
  /** Whether the vector carries the mask of an earlier chunk: vectors are reused, and their validity with them. */
  masked: boolean;
}

/** Takes over `appender`. Throws if layout and table differ in anything, since copied bytes would not notice. */
export function createColumnAppender(
  layout: TableLayout,
  columns: readonly TableColumn[],
  appender: DuckDBAppender,
): ColumnAppender {
  checkLayout(layout, columns);
  const chunk = newChunk(columns);
  const targets = layout.columns.map((spec, index): Target => {
    const vector = duckdb.data_chunk_get_vector(chunk.chunk, index);
    const mask = new Uint8Array(VECTOR_ROWS / 8);
    return { spec, vector, rowBytes: TYPES[spec.kind].rowBytes, mask, masked: false };
  });
  return {
    append(batch) {
      if (batch.layout !== layout) throw new Error(`a batch of ${batch.layout.table} was given to ${layout.table}`);
      for (let start = 0; start < batch.rows; start += VECTOR_ROWS) {
        const rows = Math.min(VECTOR_ROWS, batch.rows - start);
        duckdb.data_chunk_set_size(chunk.chunk, rows);
        for (let index = 0; index < targets.length; index += 1) {
          fill(targets[index]!, batch.arrays[index]!, start, rows);
        }
        appender.appendDataChunk(chunk);
      }
    },
    flush: () => appender.flushSync(),
    close: () => appender.closeSync(),
  };
}

function fill(target: Target, array: ColumnArray, start: number, rows: number): void {
  const { spec, vector, rowBytes, mask } = target;
  // The bindings reject shared memory; batches move between threads by transfer.
  const buffer = array.buffer as ArrayBuffer;
  // A code outside the dictionary makes DuckDB read past its end: the copy itself checks nothing.
  if (spec.values !== undefined) checkCodes(spec, array, start, rows);
  duckdb.copy_data_to_vector(vector, 0, buffer, array.byteOffset + start * rowBytes, rows * rowBytes);
  if (spec.nullable !== true) return;
  const nulls = markNulls(spec.kind, array, start, rows, mask);
  if (!nulls && !target.masked) return;
  duckdb.vector_ensure_validity_writable(vector);
  duckdb.copy_data_to_vector_validity(vector, 0, mask.buffer, 0, mask.byteLength);
  target.masked = nulls;
}

/** Sets `mask` to all valid except the sentinels of `kind`; true if there was one. */
function markNulls(kind: ColumnKind, array: ColumnArray, start: number, rows: number, mask: Uint8Array): boolean {
  let hasNull = false;
  mask.fill(0xff);
  if (kind === 'i32' || kind === 'u8' || kind === 'f64') {
    const sentinel = kind === 'i32' ? NULL_I32 : kind === 'u8' ? NULL_U8 : NULL_F64;
    for (let row = 0; row < rows; row += 1) {
      if (array[start + row] !== sentinel) continue;
      mask[row >> 3]! &= ~(1 << (row & 7));
      hasNull = true;
    }
    return hasNull;
  }
  for (let row = 0; row < rows; row += 1) {
    const at = (start + row) * 2;
    if (array[at + 1] !== NULL_HIGH || array[at] !== 0) continue;
    mask[row >> 3]! &= ~(1 << (row & 7));
    hasNull = true;
  }
  return hasNull;
}

function checkCodes(spec: ColumnSpec, array: ColumnArray, start: number, rows: number): void {
  const count = spec.values!.length;
  for (let row = start; row < start + rows; row += 1) {
    const code = array[row]!;
    if (code >= count && !(spec.nullable === true && code === NULL_U8)) {
      throw new RangeError(`${spec.name}: code ${code} has no label`);
    }
  }
}

function checkLayout(layout: TableLayout, columns: readonly TableColumn[]): void {
  const fail = (what: string): never => {
    throw new Error(`the layout of ${layout.table} does not fit its table: ${what}`);
  };
  if (columns.length !== layout.columns.length) fail(`${layout.columns.length} columns, not ${columns.length}`);
  layout.columns.forEach((spec, index) => {
    const column = columns[index]!;
    if (column.name !== spec.name) fail(`column ${index} is ${column.name}, not ${spec.name}`);
    if (spec.values === undefined) {
      if (column.type.typeId !== TYPES[spec.kind].typeId) fail(`${spec.name} is ${column.type}, not ${spec.kind}`);
    } else if (!(column.type instanceof DuckDBEnumType) || column.type.values.join('\n') !== spec.values.join('\n')) {
      fail(`${spec.name} is ${column.type}, not an ENUM of ${spec.values.join(', ')}`);
    }
  });
}
