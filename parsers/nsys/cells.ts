/** Cells of scanned tables as plain values, and pieces of their batches. */
import { NULL_HIGH } from '../../src/model/columns.js';
import { CELL, type CellBatch, type CellColumn } from '../../src/model/table-source.js';
import type { Cell } from './capture.js';
import { integerAt } from './raw-columns.js';

/** One cell as a plain value; a blob, which nothing here needs, is NULL. */
export function cell(column: CellColumn, row: number): Cell {
  switch (column.kinds[row]) {
    case CELL.integer: {
      const value = (column.bits[row * 2 + 1]! | 0) * 2 ** 32 + column.bits[row * 2]!;
      return Number.isSafeInteger(value) ? value : integerAt(column, row);
    }
    case CELL.real:
      return column.reals[row]!;
    case CELL.text:
      return column.texts[row] ?? null;
    default:
      return null;
  }
}

/** Rows `start` to `start + rows` of a batch. */
export function part(batch: CellBatch, start: number, rows: number): CellBatch {
  return {
    rows,
    columns: batch.columns.map(({ kinds, bits, reals, texts }) => ({
      kinds: kinds.subarray(start, start + rows),
      bits: bits.subarray(start * 2, (start + rows) * 2),
      reals: reals.subarray(start, start + rows),
      texts: texts.slice(start, start + rows),
    })),
  };
}

/** Takes `shift` from the 64-bit integers of a column that are not NULL. */
export function takeFrom(column: Uint32Array, rows: number, at: number, shift: bigint): void {
  const values = new BigInt64Array(column.buffer, column.byteOffset, column.length / 2);
  for (let row = at; row < at + rows; row++) {
    const isNull = column[row * 2 + 1] === NULL_HIGH && column[row * 2] === 0;
    if (!isNull) values[row] = BigInt.asIntN(64, values[row]! - shift);
  }
}

/** A time as {@link takeFrom} has it. */
export function shifted(time: Cell, shift: bigint): bigint | null {
  const value = bits64(time);
  return value === null ? null : BigInt.asIntN(64, value - shift);
}

export function bits64(value: Cell | undefined): bigint | null {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : null;
}

/** A number that an INTEGER column of the store holds. */
export function small(value: Cell | undefined): number | null {
  return typeof value === 'number' && (value | 0) === value ? value : null;
}

export function integer(value: Cell | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

export function word(value: Cell | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
