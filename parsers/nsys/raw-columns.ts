/**
 * Columns of a table as in the export. A value that does not fit its column's declared type is NULL, or its text; blobs
 * are NULL.
 */
import type { RawColumn } from '../../src/model/parser.js';
import { CELL, type CellColumn, rawTypeOf } from '../../src/model/table-source.js';

/** The cells of `rows`, which are numbers of rows of the batch. */
export function rawColumn(declared: string, column: CellColumn, rows: ArrayLike<number>): RawColumn {
  const type = rawTypeOf(declared);
  if (type === 'text') return { type, texts: Array.from(rows, (row) => asText(column, row)) };
  const isNull = new Uint8Array(rows.length);
  if (type === 'real') {
    const bits = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      if (column.kinds[row] === CELL.real) bits[i] = column.reals[row]!;
      else if (column.kinds[row] === CELL.integer) bits[i] = Number(integerAt(column, row));
      else isNull[i] = 1;
    }
    return { type, bits, isNull };
  }
  const bits = new BigInt64Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    if (column.kinds[row] === CELL.integer) bits[i] = integerAt(column, row);
    else if (column.kinds[row] === CELL.real && Number.isSafeInteger(column.reals[row]))
      bits[i] = BigInt(column.reals[row]!);
    else isNull[i] = 1;
  }
  return { type, bits, isNull };
}

function asText(column: CellColumn, row: number): string | undefined {
  switch (column.kinds[row]) {
    case CELL.text:
      return column.texts[row];
    case CELL.integer:
      return String(integerAt(column, row));
    case CELL.real:
      return String(column.reals[row]);
    default:
      return undefined;
  }
}

/** A 64-bit integer, unchanged. */
export function integerAt(column: CellColumn, row: number): bigint {
  return (BigInt(column.bits[row * 2 + 1]! | 0) << 32n) | BigInt(column.bits[row * 2]!);
}
