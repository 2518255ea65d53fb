/**
 * Named tables of a file, as an exporter wrote them: what an SQLite database and a folder of Parquet files have in
 * common. A mapping layer asks for columns by name, because their order and number change between releases of the
 * exporter.
 */

/** The type of a cell; SQLite's storage classes. A column may mix them, whatever its declared type. */
export const CELL = { null: 0, integer: 1, real: 2, text: 3, blob: 4 } as const;

/** One column of a batch. */
export interface CellColumn {
  /** {@link CELL} of each row. */
  readonly kinds: Uint8Array;
  /**
   * 64-bit integers in two halves, low first, two's complement; of a real its IEEE 754 bits. Undefined for NULL, text
   * and blob.
   */
  readonly bits: Uint32Array;
  /** The memory of `bits`, read as doubles: for reals. */
  readonly reals: Float64Array;
  /** Of text cells, with U+FFFD for every byte that is not UTF-8; a blob is not read. Undefined in other rows. */
  readonly texts: (string | undefined)[];
}

/** Rows of one scan, in the order of the file. Valid until `take` returns, and then used again. */
export interface CellBatch {
  readonly rows: number;
  /** In the order in which they were asked for. */
  readonly columns: readonly CellColumn[];
}

export interface SourceColumn {
  readonly name: string;
  /** As declared: `INTEGER`, `TEXT`, `REAL`, …; may be empty. */
  readonly type: string;
}

/** What a declared type is kept as where a table is copied whole. */
export type RawType = 'integer' | 'real' | 'text';

/**
 * SQLite's rules of affinity, and the names that DuckDB gives to types of Parquet files, as far as there is a
 * difference.
 */
export function rawTypeOf(declared: string): RawType {
  if (/INT|BOOL/i.test(declared)) return 'integer';
  return /REAL|FLOA|DOUB|DEC/i.test(declared) ? 'real' : 'text';
}

export interface SourceTable {
  readonly name: string;
  readonly columns: readonly SourceColumn[];
}

/** What came of reading one table. */
export interface TableScan {
  /** Rows handed out or counted. */
  readonly rows: number;
  /** The table is damaged: why it could not be read further, and where. The rows before it are whole. */
  readonly problem?: { readonly fact: string; readonly offset?: number | undefined } | undefined;
  /** Text cells that were not UTF-8, among those asked for. */
  readonly badTexts?: number | undefined;
}

export interface TableSource {
  readonly tables: readonly SourceTable[];
  /** The list of tables could be read only in part: why, and where. */
  readonly listProblem?: TableScan['problem'];
  /**
   * Reads `columns` (all of which the table has) of every row. Damage ends it early and is reported; it throws only
   * errors that are not faults of the file's content.
   */
  scan(table: string, columns: readonly string[], take: (batch: CellBatch) => void): Promise<TableScan>;
  /** Counts rows without reading them, as far as the format allows. */
  count(table: string): Promise<TableScan>;
}
