/**
 * Columnar batches: how the hot tables travel from a parser through ingest to the store without one object per row.
 *
 * A batch is a set of typed arrays that is filled, handed on synchronously, and used again. 64-bit columns are
 * `Uint32Array`s of low and high halves, so a decoder can write any 64-bit integer without a BigInt, and the store can
 * copy the bytes as they are. Unknown values are a sentinel in memory and NULL in the store.
 */

/**
 * `i64`/`u64`: two 32-bit halves, low first. `f64`, `i32`, `u8`: plain. `u8` columns with `values` are DuckDB ENUMs.
 */
export type ColumnKind = 'i64' | 'u64' | 'f64' | 'i32' | 'u8';

export interface ColumnSpec {
  readonly name: string;
  readonly kind: ColumnKind;
  /**
   * May hold the sentinel of its kind ({@link NULL_I32}, {@link NULL_HIGH} with a low half of 0, {@link NULL_F64},
   * {@link NULL_U8}).
   */
  readonly nullable?: boolean;
  /** The labels of an ENUM column; the byte is the index. */
  readonly values?: readonly string[];
  /** The values are local ids of this dictionary of the file and become ids of the store on the way. */
  readonly refersTo?: 'stack' | 'text';
}

export { ENUMS, LAYOUTS, type TableRows } from '../../queries/layouts.gen.js';

export interface TableLayout {
  readonly table: string;
  readonly columns: readonly ColumnSpec[];
}

export const NULL_I32 = -1;
export const NULL_U8 = 255;
/** Not NaN: a loss may be NaN, and that is a fact. */
export const NULL_F64 = -Number.MAX_VALUE;
/** High half of the 64-bit sentinel (−2^63 with a low half of 0). No byte count or address reaches it. */
export const NULL_HIGH = 0x80000000;

export type ColumnArray = Uint32Array | Int32Array | Float64Array | Uint8Array;

/** Columns follow each other in one buffer, each aligned to 8 bytes. */
function columnBytes(kind: ColumnKind, capacity: number): number {
  const bytes = capacity * (kind === 'u8' ? 1 : kind === 'i32' ? 4 : 8);
  return Math.ceil(bytes / 8) * 8;
}

/** Bytes of a batch of `capacity` rows. */
export function batchBytes(layout: TableLayout, capacity: number): number {
  return layout.columns.reduce((sum, { kind }) => sum + columnBytes(kind, capacity), 0);
}

type ArrayOf = { i64: Uint32Array; u64: Uint32Array; f64: Float64Array; i32: Int32Array; u8: Uint8Array };
/** The arrays of a layout by the names of its columns. */
export type ColumnsOf<Layout extends TableLayout> = {
  readonly [Column in Layout['columns'][number] as Column['name']]: ArrayOf[Column['kind']];
};

export class ColumnBatch {
  readonly layout: TableLayout;
  readonly capacity: number;
  /** Rows filled so far. */
  rows = 0;
  arrays!: readonly ColumnArray[];
  private named!: Readonly<Record<string, ColumnArray>>;

  /**
   * Over `buffer` from byte `at` on if given, which must hold {@link batchBytes}; it carries its rows from thread to
   * thread.
   */
  constructor(layout: TableLayout, capacity: number, buffer = new ArrayBuffer(batchBytes(layout, capacity)), at = 0) {
    this.layout = layout;
    this.capacity = capacity;
    this.moveTo(buffer, at);
  }

  /** Takes the same bytes from another buffer: that of a memory that has grown. */
  moveTo(buffer: ArrayBuffer, at: number): void {
    const { layout, capacity } = this;
    let offset = at;
    this.arrays = layout.columns.map(({ kind }) => {
      const start = offset;
      offset += columnBytes(kind, capacity);
      if (kind === 'u8') return new Uint8Array(buffer, start, capacity);
      if (kind === 'f64') return new Float64Array(buffer, start, capacity);
      return kind === 'i32' ? new Int32Array(buffer, start, capacity) : new Uint32Array(buffer, start, capacity * 2);
    });
    this.named = Object.fromEntries(layout.columns.map(({ name }, i) => [name, this.arrays[i]!]));
  }

  /** All arrays, for loops over many rows. Throws if `layout` is not that of this batch. */
  columns<Layout extends TableLayout>(layout: Layout): ColumnsOf<Layout> {
    if (layout !== this.layout) throw new Error(`a batch of ${this.layout.table} is not one of ${layout.table}`);
    return this.named as unknown as ColumnsOf<Layout>;
  }

  private find(name: string): ColumnArray {
    const array = this.named[name];
    if (array === undefined) throw new Error(`no column ${name} in ${this.layout.table}`);
    return array;
  }

  /** Fills this batch with the rows of `other`, which has the same layout and no more rows than fit. */
  copyFrom(other: ColumnBatch): void {
    this.rows = other.rows;
    for (const [i, array] of other.arrays.entries())
      this.arrays[i]!.set(array.subarray(0, (array.length / other.capacity) * other.rows));
  }

  i64(name: string): Uint32Array {
    return this.find(name) as Uint32Array;
  }
  i32(name: string): Int32Array {
    return this.find(name) as Int32Array;
  }
  u8(name: string): Uint8Array {
    return this.find(name) as Uint8Array;
  }
}

/** Writes a number of magnitude < 2^53 into row `row` of a 64-bit column. */
export function putI64(array: Uint32Array, row: number, value: number): void {
  const high = Math.floor(value / 4294967296);
  array[row * 2] = value - high * 4294967296;
  array[row * 2 + 1] = high;
}

export function putNullI64(array: Uint32Array, row: number): void {
  array[row * 2] = 0;
  array[row * 2 + 1] = NULL_HIGH;
}

/** Reads row `row` of a 64-bit column as a double: exact below 2^53 in magnitude. */
export function getI64(array: Uint32Array, row: number): number {
  return (array[row * 2 + 1]! | 0) * 4294967296 + array[row * 2]!;
}
