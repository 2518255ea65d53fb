/** The one converter from DuckDB's values to plain data. */
import type { DuckDBValue } from '@duckdb/node-api';
import {
  DuckDBArrayValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
} from './duckdb.js';

export type StoreValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly StoreValue[]
  | { readonly [field: string]: StoreValue };

/**
 * 64- and 128-bit integers: a number if |value| < 2^53, else a bigint. TIMESTAMP (always UTC in the store) and
 * TIMESTAMPTZ: ISO text with `Z`, with a fraction only if there is one. DECIMAL: the nearest double. LIST and ARRAY:
 * arrays. STRUCT: an object. MAP: an array of `{ key, value }`. ENUM, UUID, DATE, INTERVAL, BLOB and the rest: DuckDB's
 * own text. NULL: null.
 */
export function fromDuckDB(value: DuckDBValue): StoreValue {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  if (typeof value === 'bigint') {
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  }
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return isoTimestamp(value);
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(fromDuckDB);
  if (value instanceof DuckDBMapValue) {
    return value.entries.map((entry) => ({ key: fromDuckDB(entry.key), value: fromDuckDB(entry.value) }));
  }
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, field]) => [name, fromDuckDB(field)]));
  }
  return String(value);
}

/** Milliseconds a JavaScript date can hold; DuckDB's timestamps reach further, and to ±infinity. */
const MAX_DATE_MS = 8.64e15;

function isoTimestamp(value: DuckDBTimestampValue | DuckDBTimestampTZValue): string {
  const millis = value.micros / 1000n - (value.micros % 1000n < 0n ? 1n : 0n);
  if (millis > MAX_DATE_MS || millis < -MAX_DATE_MS) return String(value);
  const micros = Number(value.micros - millis * 1000n);
  const text = new Date(Number(millis)).toISOString();
  if (micros !== 0) return `${text.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text;
}
