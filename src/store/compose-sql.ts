/**
 * The text that runs for a query: the statement with what it uses put in. Objects of the library come from their files
 * and not from the store, so that a store of another version, or of a stranger, answers as one of this version does.
 */
import { type Library, loadLibrary, loadQuery } from './load-queries.js';
import { blankText, type QueryFile } from './query-file.js';

/** A query of the program as it runs. */
interface Composed {
  readonly text: string;
  /** Names and words of it, hence of every table that it reads. */
  readonly words: ReadonlySet<string>;
}

const composed = new Map<string, Composed>();

function composedOf(name: string): Composed {
  let known = composed.get(name);
  if (known === undefined) {
    const text = composeSql(loadQuery(name));
    known = { text, words: new Set(text.match(/[A-Za-z_]\w*/g)) };
    composed.set(name, known);
  }
  return known;
}

/** The text of a query of the program. */
export const composedQuery = (name: string): string => composedOf(name).text;

/**
 * The text that answers a query for many rows of parameters, given as a JSON array `$keys` of objects with `each_nth`
 * and the parameters: the rows of the statements one after the other, each with its `each_nth`. The order is that of
 * the query, by columns of its answer: it would be lost inside of LATERAL.
 */
export function togetherQuery(name: string): string {
  const { params, columns } = loadQuery(name);
  const text = composedQuery(name);
  const bare = blankText(text);
  const at = lastOutside(bare, /\bORDER BY\s+/g);
  const [order = '', limit] = at === undefined ? [] : bare.slice(at.end).split(/\sLIMIT\s/);
  const terms = order.split(',').flatMap((term) => term.trim() || []);
  const named = (term: string): boolean => columns.some((column) => column.name === /^\w+/.exec(term)?.[0]);
  if (!terms.every((term) => /^\w+( DESC)?( NULLS (FIRST|LAST))?$/.test(term) && named(term)))
    throw new Error(`${name}: rows for many keys are ordered by columns of the answer, not by ${terms.join(', ')}`);
  // Without a LIMIT its order within is of no use.
  const end = at === undefined || limit !== undefined ? text.length : at.start;
  let answer = '';
  let from = 0;
  for (const { 0: match, 1: param, index } of bare.slice(0, end).matchAll(/\$([A-Za-z_]\w*)/g)) {
    answer += `${text.slice(from, index)}each_key.${param}`;
    from = index + match.length;
  }
  answer += text.slice(from, end);
  const fields = [{ name: 'each_nth', type: 'INTEGER' }, ...params].map((field) => `"${field.name}": "${field.type}"`);
  return `WITH each_key AS (SELECT unnest(from_json($keys, '[{${fields.join(', ')}}]'), recursive := true))
SELECT each_key.each_nth, answer.* FROM each_key CROSS JOIN LATERAL (\n${answer}\n) AS answer
ORDER BY ${['each_key.each_nth', ...terms.map((term) => `answer.${term}`)].join(', ')}`;
}

/** The last match outside of parentheses: in a statement, a clause of its own. */
function lastOutside(bare: string, pattern: RegExp): { readonly start: number; readonly end: number } | undefined {
  let depth = 0;
  let from = 0;
  let last: { readonly start: number; readonly end: number } | undefined;
  for (const match of bare.matchAll(pattern)) {
    for (; from < match.index; from += 1) depth += bare[from] === '(' ? 1 : bare[from] === ')' ? -1 : 0;
    if (depth === 0) last = { start: match.index, end: match.index + match[0].length };
  }
  return last;
}

/** Whether a query reads a table, perhaps through views. */
export const readsTable = (name: string, table: string): boolean => composedOf(name).words.has(table);

/** The text for a reader: the names of the library stay, since the store has them. */
export function ownSql(query: QueryFile): string {
  return composeSql(query, loadQuery, { names: new Set(), get: () => undefined }).trim();
}

/**
 * Used queries and views become common table expressions before the statement, macros are expanded where they are
 * called. The parameters of a used query must be declared by the user too, because they are bound once.
 */
export function composeSql(
  query: QueryFile,
  lookup: (name: string) => QueryFile = loadQuery,
  library: Library = loadLibrary(),
): string {
  const tables = new Map<string, string>();
  const open: string[] = [];
  const resolve = (of: QueryFile, statement: string): string => {
    if (open.includes(of.name)) throw new Error(`${query.name}: ${of.name} uses itself`);
    open.push(of.name);
    for (const name of of.uses) {
      const used = lookup(name);
      for (const param of used.params) {
        if (!query.params.some((own) => own.name === param.name && own.type === param.type))
          throw new Error(`${query.name} uses ${name} and must declare its @param ${param.name} ${param.type}`);
      }
      const table = used.name.split('.')[1]!;
      if (!tables.has(table)) tables.set(table, `${table} AS (\n${resolve(used, used.statement)}\n)`);
    }
    const expanded = expandMacros(statement, library, (macro, body) => resolve(macro, body));
    for (const view of viewsIn(expanded, library)) {
      if (view.name === of.name || tables.has(nameOf(view))) continue;
      tables.set(nameOf(view), `${nameOf(view)} AS NOT MATERIALIZED (\n${resolve(view, view.statement)}\n)`);
    }
    open.pop();
    return expanded;
  };
  return withTables(resolve(query, query.statement), tables);
}

/** The objects of these names with all that they use, in an order in which they can be created. */
export function libraryObjectsOf(names: Iterable<string>, library: Library = loadLibrary()): QueryFile[] {
  const objects = new Map<string, QueryFile>();
  const add = (name: string): void => {
    const object = library.get(name.toLowerCase());
    if (object === undefined || objects.has(object.name)) return;
    for (const used of relationsIn(object.statement)) add(used);
    objects.set(object.name, object);
  };
  for (const name of names) add(name);
  return [...objects.values()];
}

/** What a statement of ours reads: names of views are also those of columns, so the word before counts. */
const relationsIn = (sql: string): Set<string> =>
  new Set([...blankText(sql).matchAll(/\b(?:FROM|JOIN)\s+(\w+)/gi)].map(([, name]) => name!));

const nameOf = (object: QueryFile): string => object.name.split('.')[1]!;

function viewsIn(sql: string, library: Library): QueryFile[] {
  return [...relationsIn(sql)].flatMap((name) => library.get(name) ?? []).filter(({ kind }) => kind === 'view');
}

function expandMacros(sql: string, library: Library, resolve: (macro: QueryFile, body: string) => string): string {
  const bare = blankText(sql);
  let text = '';
  let from = 0;
  for (const match of bare.matchAll(/\b([a-z_]\w*)\s*\(/g)) {
    const macro = library.get(match[1]!);
    if (macro?.kind !== 'macro' || match.index < from) continue;
    const { args, end } = argumentsAt(sql, bare, match.index + match[0].length);
    if (args.length !== macro.params.length) throw new Error(`${match[1]} takes ${macro.params.length} arguments`);
    const values = new Map(macro.params.map((param, i) => [param.name, args[i]!]));
    const body = replaceNames(macro.statement, values);
    const alias = /^\s+AS\b/i.test(bare.slice(end)) ? '' : ` AS ${match[1]}`;
    text += `${sql.slice(from, match.index)}(\n${resolve(macro, body)}\n)${alias}`;
    from = end;
  }
  return text + sql.slice(from);
}

/** Arguments from after the opening parenthesis on; `end` is after the closing one. */
function argumentsAt(sql: string, bare: string, start: number): { args: string[]; end: number } {
  const args: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < bare.length; at += 1) {
    const char = bare[at];
    if (char === '(' || char === '[') depth += 1;
    else if (char === ')' && depth === 0) return { args: [...args, sql.slice(from, at).trim()], end: at + 1 };
    else if (char === ')' || char === ']') depth -= 1;
    else if (char === ',' && depth === 0) {
      args.push(sql.slice(from, at).trim());
      from = at + 1;
    }
  }
  throw new Error(`a call is not closed: ${sql.slice(start, start + 40)}`);
}

/** No parameter has the name of a column, so every occurrence is the parameter; a test holds that. */
function replaceNames(sql: string, values: ReadonlyMap<string, string>): string {
  let text = '';
  let from = 0;
  for (const match of blankText(sql).matchAll(/[A-Za-z_]\w*/g)) {
    const value = values.get(match[0]);
    if (value === undefined) continue;
    text += `${sql.slice(from, match.index)}${/^\$?\w+$/.test(value) ? value : `(${value})`}`;
    from = match.index + match[0].length;
  }
  return text + sql.slice(from);
}

function withTables(statement: string, tables: ReadonlyMap<string, string>): string {
  if (tables.size === 0) return statement;
  const list = [...tables.values()].join(',\n');
  // DuckDB 1.5 does not take a parenthesised WITH inside a WITH, so a WITH of the statement is merged into ours.
  const clause = /^\s*WITH\s+(RECURSIVE\s+)?/i.exec(blankText(statement));
  if (clause === null) return `WITH ${list}\n${statement}`;
  return `WITH ${clause[1] ?? ''}${list},\n${statement.slice(clause[0].length)}`;
}
