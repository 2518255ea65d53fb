/** The database library, for this folder. */
import api from '@duckdb/node-api';
import bindings from '@duckdb/node-bindings';

/** The calls of its C interface, where the classes are too slow. */
export { bindings };

export const {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBArrayValue,
  DuckDBDataChunk,
  DuckDBDecimalValue,
  DuckDBEnumType,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  HUGEINT,
  INTEGER,
  ResultReturnType,
  SMALLINT,
  StatementType,
  TIMESTAMP,
  TINYINT,
  UBIGINT,
  UINTEGER,
  USMALLINT,
  UTINYINT,
  VARCHAR,
} = api;

export type DuckDBInstance = api.DuckDBInstance;
export type DuckDBTimestampTZValue = api.DuckDBTimestampTZValue;
export type DuckDBTimestampValue = api.DuckDBTimestampValue;
export type DuckDBTypeId = api.DuckDBTypeId;
export type StatementType = api.StatementType;
export type Vector = bindings.Vector;
