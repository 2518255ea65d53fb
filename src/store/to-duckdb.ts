/**
 * From plain data to DuckDB's values, with the type that is wanted on the other side. Out of range is an error, never a
 * wrap-around.
 */
import type { DuckDBListType, DuckDBMapType, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  HUGEINT,
  INTEGER,
  SMALLINT,
  TIMESTAMP,
  TINYINT,
  UBIGINT,
  UINTEGER,
  USMALLINT,
  UTINYINT,
  VARCHAR,
} from './duckdb.js';

/** What can be written into a column or bound to a parameter. A Date is a TIMESTAMP in UTC. */
export type SqlValue = null | undefined | boolean | number | bigint | string | Date;

/** What can be written into a column besides: a LIST, and a MAP in the order of its keys. */
export type CellValue = SqlValue | readonly SqlValue[] | { readonly [key: string]: SqlValue };

/** The parameter types a query header may name. */
export const PARAMETER_TYPES: ReadonlyMap<string, DuckDBType> = new Map<string, DuckDBType>([
  ['BOOLEAN', BOOLEAN],
  ['TINYINT', TINYINT],
  ['SMALLINT', SMALLINT],
  ['INTEGER', INTEGER],
  ['BIGINT', BIGINT],
  ['UTINYINT', UTINYINT],
  ['USMALLINT', USMALLINT],
  ['UINTEGER', UINTEGER],
  ['UBIGINT', UBIGINT],
  ['DOUBLE', DOUBLE],
  ['VARCHAR', VARCHAR],
  ['TIMESTAMP', TIMESTAMP],
]);

interface IntegerRange {
  readonly low: bigint;
  readonly high: bigint;
  /** Whether DuckDB's JavaScript form is a bigint. */
  readonly wide: boolean;
}

function range(bits: bigint, signed: boolean): IntegerRange {
  const high = signed ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
  return { low: signed ? -(2n ** (bits - 1n)) : 0n, high, wide: bits >= 64n };
}

const INTEGER_RANGES: ReadonlyMap<DuckDBTypeId, IntegerRange> = new Map([
  [DuckDBTypeId.TINYINT, range(8n, true)],
  [DuckDBTypeId.SMALLINT, range(16n, true)],
  [DuckDBTypeId.INTEGER, range(32n, true)],
  [DuckDBTypeId.BIGINT, range(64n, true)],
  [DuckDBTypeId.HUGEINT, range(128n, true)],
  [DuckDBTypeId.UTINYINT, range(8n, false)],
  [DuckDBTypeId.USMALLINT, range(16n, false)],
  [DuckDBTypeId.UINTEGER, range(32n, false)],
  [DuckDBTypeId.UBIGINT, range(64n, false)],
]);

/** `where` names the column or parameter in the RangeError or TypeError thrown when the value does not fit `type`. */
export function toDuckDB(value: CellValue, type: DuckDBType, where: string): DuckDBValue {
  if (value === null || value === undefined) return null;
  const integers = INTEGER_RANGES.get(type.typeId);
  if (integers !== undefined) return toInteger(value, integers, `${where} (${type})`);
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      if (typeof value === 'boolean') return value;
      break;
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE:
      if (typeof value === 'number') return value;
      break;
    case DuckDBTypeId.VARCHAR:
    case DuckDBTypeId.ENUM:
      // NUL bytes pass through the bindings by length; lone surrogates arrive as U+FFFD, as in every UTF-8 encoder.
      if (typeof value === 'string') return value;
      break;
    case DuckDBTypeId.LIST:
      if (Array.isArray(value)) {
        const { valueType } = type as DuckDBListType;
        return new DuckDBListValue(value.map((item: SqlValue) => toDuckDB(item, valueType, where)));
      }
      break;
    case DuckDBTypeId.MAP:
      if (typeof value === 'object' && !(value instanceof Date)) {
        const { keyType, valueType } = type as DuckDBMapType;
        return new DuckDBMapValue(
          Object.entries(value).map(([key, item]) => ({
            key: toDuckDB(key, keyType, where),
            value: toDuckDB(item as SqlValue, valueType, where),
          })),
        );
      }
      break;
    case DuckDBTypeId.TIMESTAMP:
      if (value instanceof Date) return new DuckDBTimestampValue(BigInt(value.getTime()) * 1000n);
      break;
  }
  throw new TypeError(`${where}: a ${value instanceof Date ? 'Date' : typeof value} is not of type ${type}`);
}

function toInteger(value: CellValue, integers: IntegerRange, where: string): number | bigint {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new RangeError(`${where}: ${value} is not an exact integer`);
  }
  if (typeof value !== 'number' && typeof value !== 'bigint')
    throw new TypeError(`${where}: ${typeof value} is not an integer`);
  const wide = BigInt(value);
  if (wide < integers.low || wide > integers.high) throw new RangeError(`${where}: ${value} is out of range`);
  return integers.wide ? wide : Number(wide);
}

/**
 * The type of a parameter that no header declares. Whole numbers are BIGINT: as DOUBLE they would keep zone maps from
 * being used.
 */
export function inferType(value: Exclude<SqlValue, null | undefined>): DuckDBType {
  if (typeof value === 'string') return VARCHAR;
  if (typeof value === 'boolean') return BOOLEAN;
  if (value instanceof Date) return TIMESTAMP;
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? BIGINT : HUGEINT;
  return Number.isSafeInteger(value) ? BIGINT : DOUBLE;
}
