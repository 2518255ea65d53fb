/** Binding named parameters. Values are never pasted into SQL text. */
import type { DuckDBPreparedStatement } from '@duckdb/node-api';
import type { QueryField } from './query-file.js';
import { inferType, PARAMETER_TYPES, type SqlValue, toDuckDB } from './to-duckdb.js';

export type SqlParams = Readonly<Record<string, SqlValue>>;

/**
 * Binds every parameter of the statement. `declared` (a query's header) gives the types; without it they follow from
 * the values. A missing value is NULL, unless the header forbids NULL; a value without a parameter throws.
 */
export function bindParameters(
  prepared: DuckDBPreparedStatement,
  params: SqlParams,
  declared?: readonly QueryField[],
): void {
  const names = new Set<string>();
  for (let index = 1; index <= prepared.parameterCount; index += 1) {
    const name = prepared.parameterName(index);
    names.add(name);
    const value = params[name];
    const field = declared?.find((param) => param.name === name);
    if (value === null || value === undefined) {
      if (field !== undefined && !field.nullable) throw new TypeError(`parameter $${name} needs a value`);
      prepared.bindNull(index);
      continue;
    }
    const type = (field && PARAMETER_TYPES.get(field.type)) ?? inferType(value);
    prepared.bindValue(index, toDuckDB(value, type, `$${name}`), type);
  }
  for (const name of Object.keys(params)) {
    // A header may declare a parameter that only documents; a typo in a caller must not pass as NULL.
    if (!names.has(name) && declared?.some((param) => param.name === name) !== true) {
      throw new TypeError(`the statement has no parameter $${name}`);
    }
  }
}
