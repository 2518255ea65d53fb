/** Named parameters of statements: bound, or as constants in the text. */
import type { DuckDBPreparedStatement, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { blankText, type QueryField } from './query-file.js';
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
    const bound = boundValue(name, params, declared);
    if (bound === null) prepared.bindNull(index);
    else prepared.bindValue(index, bound.value, bound.type);
  }
  checkNames(names, params, declared);
}

/**
 * The statement with its values in the text: DuckDB plans one with parameters when it is prepared, and again when it
 * has the values: a sixth of the time of questions about a small run. Undefined without parameters, and where
 * a value is not an integer, a boolean or a text that could not end a literal: these are bound.
 */
export function withConstants(sql: string, params: SqlParams, declared?: readonly QueryField[]): string | undefined {
  const { names, pieces } = piecesOf(sql);
  checkNames(new Set(names), params, declared);
  if (names.length === 0) return undefined;
  let text = pieces[0]!;
  for (const [i, name] of names.entries()) {
    const constant = constantOf(boundValue(name, params, declared));
    if (constant === undefined) return undefined;
    text += constant + pieces[i + 1]!;
  }
  return text;
}

interface Bound {
  readonly value: DuckDBValue;
  readonly type: DuckDBType;
}

function boundValue(name: string, params: SqlParams, declared: readonly QueryField[] | undefined): Bound | null {
  const value = params[name];
  const field = declared?.find((param) => param.name === name);
  if (value === null || value === undefined) {
    if (field !== undefined && !field.nullable) throw new TypeError(`parameter $${name} needs a value`);
    return null;
  }
  const type = (field && PARAMETER_TYPES.get(field.type)) ?? inferType(value);
  return { value: toDuckDB(value, type, `$${name}`), type };
}

/** A header may declare a parameter that only documents; a typo in a caller must not pass as NULL. */
function checkNames(names: ReadonlySet<string>, params: SqlParams, declared?: readonly QueryField[]): void {
  for (const name of Object.keys(params))
    if (!names.has(name) && declared?.some((param) => param.name === name) !== true)
      throw new TypeError(`the statement has no parameter $${name}`);
}

/** Printable ASCII without ' and $: it ends no literal. */
const PLAIN = /^[ !"#%-&(-~]*$/;

function constantOf(bound: Bound | null): string | undefined {
  if (bound === null) return 'NULL';
  const { value, type } = bound;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return `CAST(${value} AS ${type})`;
  return typeof value === 'string' && PLAIN.test(value) ? `CAST('${value}' AS VARCHAR)` : undefined;
}

interface Pieces {
  readonly names: readonly string[];
  /** Before, between and after the parameters. */
  readonly pieces: readonly string[];
}

const piecesOfText = new Map<string, Pieces>();

function piecesOf(sql: string): Pieces {
  const before = piecesOfText.get(sql);
  if (before !== undefined) return before;
  const names: string[] = [];
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: match, 1: name, index } of blankText(sql).matchAll(/\$([A-Za-z_]\w*)/g)) {
    names.push(name!);
    pieces.push(sql.slice(from, index));
    from = index + match.length;
  }
  const split = { names, pieces: [...pieces, sql.slice(from)] };
  // Those without parameters have ids in the text, and do not come again.
  if (names.length > 0) piecesOfText.set(sql, split);
  return split;
}
