/**
 * The database library, for this folder. It is loaded with `require`, because it is 120 CommonJS files: `import` first
 * reads each of them for the names it exports, which takes longer (60 ms) than loading them, at every start of the
 * program.
 */
import { createRequire } from 'node:module';
import type * as Api from '@duckdb/node-api';
import type Bindings from '@duckdb/node-bindings';

const load = createRequire(import.meta.url);

const api = load('@duckdb/node-api') as typeof Api;

/** The calls of its C interface, where the classes are too slow. */
export const bindings = load('@duckdb/node-bindings') as typeof Bindings;

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

export type DuckDBInstance = Api.DuckDBInstance;
export type DuckDBTimestampTZValue = Api.DuckDBTimestampTZValue;
export type DuckDBTimestampValue = Api.DuckDBTimestampValue;
export type DuckDBTypeId = Api.DuckDBTypeId;
export type StatementType = Api.StatementType;
export type Vector = Bindings.Vector;
