/** Questions about a lake: those of `queries/lake/`, and texts of the user's own in the same SQL. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MbfError } from '../model/errors.js';
import { LAKE_FOLDER, loadQuery, packageRoot } from '../store/load-queries.js';
import type { QueryField } from '../store/query-file.js';
import { quotedText } from '../store/schema.js';
import { lakeTables } from './lake-tables.js';
import { checkPortable } from './portable/check-portable.js';
import { tokensOf } from './portable/tokens.js';

export interface Question {
  /** As `lake ask` takes it; the path of a user's file. */
  readonly name: string;
  readonly title: string;
  readonly why: string;
  readonly params: readonly (QueryField & { readonly initial: string | undefined })[];
  /** None of a user's file. */
  readonly columns: readonly QueryField[];
  readonly statement: string;
}

export const questionNames = (): string[] =>
  readdirSync(join(packageRoot(), 'queries', LAKE_FOLDER))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();

export function loadQuestion(name: string): Question {
  const { title, why, params, defaults, columns, statement } = loadQuery(`${LAKE_FOLDER}.${name.replaceAll('-', '_')}`);
  const known = params.map((param) => ({ ...param, initial: defaults.get(param.name) }));
  return { name, title, why, params: known, columns, statement };
}

/** Header lines of a user's file that are the same as in ours. */
const PARAM = /^-- @param[ \t]+(\w+)[ \t]+(VARCHAR|BIGINT)\b([^\n]*)$/gm;
const DEFAULT = /^-- @default[ \t]+(\w+)(?:[ \t]([^\n]*))?$/gm;

/** MBF1014 for a text that is not of the shared SQL, or names a table that no lake has. */
export function ownQuestion(file: string, text: string): Question {
  const defaults = new Map([...text.matchAll(DEFAULT)].map(([, name, value]) => [name!, (value ?? '').trim()]));
  const params = [...text.matchAll(PARAM)].map(([, name, type, about]) => ({
    ...{ name: name!, type: type!, nullable: false, text: about!.trim(), initial: defaults.get(name!) },
  }));
  const { tables, parameters } = checkPortable(text, file);
  const known = new Set(lakeTables().map(({ name }) => name));
  for (const table of tables)
    if (!known.has(table)) throw new MbfError('MBF1014', `no table of a lake is named ${table}`, { file });
  for (const parameter of parameters)
    if (!params.some(({ name }) => name === parameter))
      throw new MbfError('MBF1014', `$${parameter} has no line "-- @param ${parameter} VARCHAR" or BIGINT`, { file });
  return { name: file, title: '', why: '', params, columns: [], statement: text };
}

/**
 * The statement of a question with values in the places of its parameters, for DuckDB, and the tables that it reads.
 * MBF1001 for a value that is missing, is of another type, or belongs to no parameter.
 */
export function statementOf(
  { name, params, statement }: Question,
  values: ReadonlyMap<string, string>,
): { readonly statement: string; readonly tables: readonly string[] } {
  for (const key of values.keys())
    if (!params.some((param) => param.name === key)) {
      const all = params.length === 0 ? 'it has none' : `it has: ${params.map((param) => param.name).join(', ')}`;
      throw new MbfError('MBF1001', `${name} has no parameter ${JSON.stringify(key)}; ${all}`);
    }
  const literals = new Map(params.map((param) => [param.name, literalOf(name, param, values)]));
  const text = tokensOf(statement).reduceRight(
    (sql, { kind, text: word, at }) =>
      kind === 'parameter' ? `${sql.slice(0, at)}${literals.get(word)!}${sql.slice(at + 1 + word.length)}` : sql,
    statement,
  );
  return { statement: text, tables: checkPortable(statement).tables };
}

function literalOf(
  question: string,
  { name, type, initial }: Question['params'][number],
  values: ReadonlyMap<string, string>,
): string {
  const value = values.get(name) ?? initial;
  if (value === undefined) throw new MbfError('MBF1001', `${question} needs a value: --set ${name}=…`);
  if (type === 'VARCHAR') return quotedText(value);
  if (!/^-?\d{1,18}$/.test(value)) throw new MbfError('MBF1001', `${name}=${value}: expected a whole number`);
  // A sign in front of one would begin a comment.
  return value.startsWith('-') ? `(${value})` : value;
}
