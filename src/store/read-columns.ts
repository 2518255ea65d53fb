/** Streaming a large result as typed arrays, straight from DuckDB's vectors: no object, no value, no BigInt per row. */
import type { DuckDBMaterializedResult } from '@duckdb/node-api';
import { NULL_I32, NULL_U8 } from '../model/columns.js';
import { BATCH_ROWS } from '../model/tables.js';
import { DuckDBTypeId, bindings as duckdb, type Vector } from './duckdb.js';
import type { ResultStream } from './result-stream.js';

/**
 * `i32`: from INTEGER; NULL is {@link NULL_I32}. `u8`: from UTINYINT, BOOLEAN or an ENUM of up to 255 labels (its
 * code); NULL is {@link NULL_U8}. `f64`: from any integer up to 64 bits or DOUBLE, exact below 2^53; NULL is NaN.
 */
export interface ArrayKinds {
  readonly i32: Int32Array;
  readonly f64: Float64Array;
  readonly u8: Uint8Array;
}
export type ReadSpec = Readonly<Record<string, keyof ArrayKinds>>;

export interface ReadBatch<Spec extends ReadSpec> {
  readonly rows: number;
  /** `rows` long; the memory is reused, so a batch is valid until the next one is asked for. */
  readonly columns: { readonly [Name in keyof Spec]: ArrayKinds[Spec[Name]] };
}

type Copy = (vector: Vector, rows: number, at: number) => void;

/** Batches of up to 65,536 rows of `stream`, whose columns must be those of `spec` by name; others are ignored. */
export async function* readColumns<Spec extends ReadSpec>(
  stream: ResultStream,
  spec: Spec,
): AsyncGenerator<ReadBatch<Spec>, void, void> {
  const { result } = stream;
  const names = result.columnNames();
  const readers = Object.entries(spec).map(([name, kind]) => {
    const index = names.indexOf(name);
    if (index < 0) throw new Error(`the result has no column ${name}`);
    const array = newArray(kind);
    return { name, index, array, copy: copier(kind, array, result.columnTypeId(index), name) };
  });
  const vectorRows = duckdb.vector_size();
  const batch = (rows: number): ReadBatch<Spec> => ({
    rows,
    columns: Object.fromEntries(
      readers.map(({ name, array }) => [name, array.subarray(0, rows)]),
    ) as ReadBatch<Spec>['columns'],
  });
  let filled = 0;
  for await (const chunk of stream.chunks()) {
    const rows = chunk.rowCount;
    for (const { index, copy } of readers) copy(duckdb.data_chunk_get_vector(chunk.chunk, index), rows, filled);
    filled += rows;
    if (filled + vectorRows <= BATCH_ROWS) continue;
    yield batch(filled);
    filled = 0;
  }
  if (filled > 0) yield batch(filled);
}

/** All rows of a result that is in memory, as arrays of the caller's own. */
export function readWhole<Spec extends ReadSpec>(result: DuckDBMaterializedResult, spec: Spec): ReadBatch<Spec> {
  const rows = result.rowCount;
  const columns = newColumns(spec, rows);
  readInto(result, spec, columns, 0);
  return { rows, columns };
}

/** Arrays for `rows` rows. */
export function newColumns<Spec extends ReadSpec>(spec: Spec, rows: number): ReadBatch<Spec>['columns'] {
  const arrays = Object.entries(spec).map(([name, kind]) => [name, newArray(kind, rows)]);
  return Object.fromEntries(arrays) as ReadBatch<Spec>['columns'];
}

/** The rows of a result that is in memory into `columns`, from row `at` on. */
export function readInto<Spec extends ReadSpec>(
  result: DuckDBMaterializedResult,
  spec: Spec,
  columns: ReadBatch<Spec>['columns'],
  at: number,
): void {
  const names = result.columnNames();
  const readers = Object.entries(spec).map(([name, kind]) => {
    const index = names.indexOf(name);
    if (index < 0) throw new Error(`the result has no column ${name}`);
    return { index, copy: copier(kind, columns[name]!, result.columnTypeId(index), name) };
  });
  let filled = at;
  for (let i = 0; i < result.chunkCount; i += 1) {
    const chunk = result.getChunk(i);
    for (const { index, copy } of readers)
      copy(duckdb.data_chunk_get_vector(chunk.chunk, index), chunk.rowCount, filled);
    filled += chunk.rowCount;
  }
}

function newArray(kind: keyof ArrayKinds, rows = BATCH_ROWS): Int32Array | Float64Array | Uint8Array {
  if (kind === 'i32') return new Int32Array(rows);
  return kind === 'f64' ? new Float64Array(rows) : new Uint8Array(rows);
}

function copier(
  kind: keyof ArrayKinds,
  array: Int32Array | Float64Array | Uint8Array,
  typeId: DuckDBTypeId,
  name: string,
): Copy {
  const source = SOURCES[kind].get(typeId);
  if (source === undefined)
    throw new Error(`column ${name} is ${DuckDBTypeId[typeId]}, which cannot be read as ${kind}`);
  const sentinel = kind === 'i32' ? NULL_I32 : kind === 'u8' ? NULL_U8 : Number.NaN;
  return (vector, rows, at) => {
    const data = duckdb.vector_get_data(vector, rows * source.rowBytes);
    source.copy(data, array, rows, at);
    const validity = duckdb.vector_get_validity(vector, Math.ceil(rows / 64) * 8) as Uint8Array | null;
    if (validity === null) return;
    for (let byte = 0; 8 * byte < rows; byte += 1) {
      const bits = validity[byte]!;
      if (bits === 0xff) continue;
      const end = Math.min(rows, 8 * byte + 8);
      for (let row = 8 * byte; row < end; row += 1) if ((bits & (1 << (row & 7))) === 0) array[at + row] = sentinel;
    }
  };
}

interface Source {
  readonly rowBytes: number;
  copy(data: Uint8Array, target: Int32Array | Float64Array | Uint8Array, rows: number, at: number): void;
}

/** A plain copy with the conversion that typed arrays do themselves. */
function plain(
  view: (
    data: Uint8Array,
    rows: number,
  ) => Int32Array | Float64Array | Uint8Array | Uint32Array | Int16Array | Uint16Array | Int8Array,
  rowBytes: number,
): Source {
  return { rowBytes, copy: (data, target, rows, at) => target.set(view(data, rows), at) };
}

const BYTES = plain((data) => data, 1);
const INT32 = plain((data, rows) => new Int32Array(data.buffer, data.byteOffset, rows), 4);

/** 64-bit integers as two halves: a loop over doubles is some ten times faster than over BigInts. */
function halves(signed: boolean): Source {
  return {
    rowBytes: 8,
    copy(data, target, rows, at) {
      const words = new Uint32Array(data.buffer, data.byteOffset, rows * 2);
      for (let row = 0; row < rows; row += 1) {
        const high = words[row * 2 + 1]!;
        target[at + row] = (signed ? high | 0 : high) * 4294967296 + words[row * 2]!;
      }
    },
  };
}

const SOURCES: Readonly<Record<keyof ArrayKinds, ReadonlyMap<DuckDBTypeId, Source>>> = {
  i32: new Map([[DuckDBTypeId.INTEGER, INT32]]),
  u8: new Map([
    [DuckDBTypeId.UTINYINT, BYTES],
    [DuckDBTypeId.BOOLEAN, BYTES],
    [DuckDBTypeId.ENUM, BYTES],
  ]),
  f64: new Map([
    [DuckDBTypeId.INTEGER, INT32],
    [DuckDBTypeId.UTINYINT, BYTES],
    [DuckDBTypeId.UINTEGER, plain((data, rows) => new Uint32Array(data.buffer, data.byteOffset, rows), 4)],
    [DuckDBTypeId.DOUBLE, plain((data, rows) => new Float64Array(data.buffer, data.byteOffset, rows), 8)],
    [DuckDBTypeId.BIGINT, halves(true)],
    [DuckDBTypeId.UBIGINT, halves(false)],
  ]),
};
