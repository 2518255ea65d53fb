/** How columns of an export become columns of ours: one function a kind of column, over whole batches. */
import { type ColumnArray, NULL_HIGH, NULL_I32, NULL_U8 } from '../../src/model/columns.js';
import { CELL, type CellColumn } from '../../src/model/table-source.js';

/**
 * Fills rows `at` to `at + rows` of `target` from the cells of `sources`, of which those that the export lacks are
 * undefined.
 */
export type FillColumn = (
  sources: readonly (CellColumn | undefined)[],
  rows: number,
  target: ColumnArray,
  at: number,
) => void;

export interface ColumnMap {
  /** Names of the export's columns, in the order in which the function wants them. */
  readonly from: readonly string[];
  readonly fill: FillColumn;
  /** The values are numbers of texts (`StringIds.id`). */
  readonly isText?: boolean;
}

const { integer: INTEGER, real: REAL } = CELL;

/** A 64-bit integer unchanged. A missing value becomes NULL, or 0 in a column that cannot be NULL. */
export function wide(name: string, options: { readonly orZero?: boolean; readonly isText?: boolean } = {}): ColumnMap {
  const missingHigh = options.orZero === true ? 0 : NULL_HIGH;
  return {
    from: [name],
    isText: options.isText ?? false,
    fill([source], rows, target, at) {
      if (source === undefined) {
        for (let row = 0; row < rows; row++) {
          target[(at + row) * 2] = 0;
          target[(at + row) * 2 + 1] = missingHigh;
        }
        return;
      }
      const { bits, kinds } = source;
      target.set(rows * 2 === bits.length ? bits : bits.subarray(0, rows * 2), at * 2);
      for (let row = 0; row < rows; row++) {
        if (kinds[row] === INTEGER) continue;
        const value = kinds[row] === REAL ? Math.round(source.reals[row]!) : Number.NaN;
        const isWhole = Number.isSafeInteger(value);
        const high = isWhole ? Math.floor(value / 2 ** 32) : missingHigh;
        target[(at + row) * 2] = isWhole ? value - high * 2 ** 32 : 0;
        target[(at + row) * 2 + 1] = high;
      }
    },
  };
}

/** A function of the two halves of an integer; what is none becomes `missing`. */
function halves(name: string, missing: number, of: (low: number, high: number) => number): ColumnMap {
  return {
    from: [name],
    fill([source], rows, target, at) {
      for (let row = 0; row < rows; row++) {
        target[at + row] =
          source === undefined || source.kinds[row] !== INTEGER
            ? missing
            : of(source.bits[row * 2]!, source.bits[row * 2 + 1]!);
      }
    },
  };
}

/** A number from 0 to 2^31 − 1; anything else is NULL: ids that mean "none" are written as 2^32 − 1. */
export const narrow = (name: string): ColumnMap =>
  halves(name, NULL_I32, (low, high) => (high === 0 && (low | 0) >= 0 ? low : NULL_I32));

/**
 * The process of a `globalPid` or `globalTid`: bits 24 to 47. Upstream: User Guide, "Common SQLite Examples"
 * (Serialized Process and Thread Identifiers).
 */
export const processOf = (name: string): ColumnMap =>
  halves(name, NULL_I32, (low, high) => (low >>> 24) | ((high & 0xffff) << 8));

/** The thread of a `globalTid`: bits 0 to 23. */
export const threadOf = (name: string): ColumnMap => halves(name, NULL_I32, (low) => low & 0xffffff);

/**
 * An enumeration whose numbers are the places of its labels. Unknown numbers become `other`, missing ones `missing`
 * (default: NULL).
 */
export function labelled(name: string, labels: readonly string[], other: string, missing?: string): ColumnMap {
  const otherCode = labels.indexOf(other);
  const missingCode = missing === undefined ? NULL_U8 : labels.indexOf(missing);
  return coded(name, (value) => (value < labels.length ? value : otherCode), missingCode);
}

/** An enumeration whose numbers are anything. */
export function codes(name: string, table: ReadonlyMap<number, number>, other: number): ColumnMap {
  return coded(name, (value) => table.get(value) ?? other, other);
}

function coded(name: string, codeOf: (value: number) => number, missing: number): ColumnMap {
  return halves(name, missing, (low, high) => codeOf(high === 0 ? low : 0xffffffff));
}

/** The same in every row. */
export function always(code: number): ColumnMap {
  return { from: [], fill: (_sources, rows, target, at) => void target.fill(code, at, at + rows) };
}

/** The product of three dimensions, each at most 2^31: below 2^53 for anything that can be launched. */
export function product(x: string, y: string, z: string): ColumnMap {
  return {
    from: [x, y, z],
    fill(sources, rows, target, at) {
      for (let row = 0; row < rows; row++) {
        let value = 1;
        for (const source of sources) {
          const isSize = source?.kinds[row] === INTEGER && source.bits[row * 2 + 1] === 0;
          value *= isSize ? source.bits[row * 2]! : 0;
        }
        const high = value < 2 ** 53 ? Math.floor(value / 2 ** 32) : 0;
        target[(at + row) * 2] = value < 2 ** 53 ? value - high * 2 ** 32 : 0;
        target[(at + row) * 2 + 1] = high;
      }
    },
  };
}
