/**
 * Query files: one question, one statement, and a header with the parameters and the columns. The grammar:
 *
 *     -- @name   topic.largest_hole            the path: queries/topic/largest-hole.sql
 *     -- @title  One line
 *     -- @param  run_id INTEGER? what it is    bound as $run_id; `?`: may be NULL, and then may be left out
 *     -- @default run_id 1                     of a parameter, as a user would give it; for questions about a lake
 *     -- @uses   _views.segments_at            a query, put before the statement as a CTE of its last name
 *     -- @col    hole_bytes BIGINT? what it is `?`: may be NULL
 *     -- @of     oom_fact: rank device         columns of a table or of the library; no names: all
 *     -- @needs  log_phase log_iteration       while all of these tables are empty, so is the answer
 *     -- @why    Why the question is asked this way
 *     -- further text of the tag above
 *
 * Those of `queries/lake/` name the tables of a lake, in the SQL that DuckDB, Spark and Polars share, see
 * `src/lake/portable/`.
 *
 * Topics that begin with `_` are private: only other queries use them.
 *
 * The files of `queries/library/` define objects of the store that any client can use, with `-- @kind view`, `macro` or
 * `table`. The parameters of a macro are names, without `$`, in order. A table is filled by its statement whenever
 * a run is derived (`src/derive`), and the statement is the view `rule_NAME`; it has a column run_id.
 */
import { PARAMETER_TYPES } from './to-duckdb.js';

export interface QueryField {
  readonly name: string;
  /** As DuckDB's DESCRIBE prints it, but `ENUM` for any enumeration. */
  readonly type: string;
  readonly nullable: boolean;
  readonly text: string;
}

/** The columns of a table, if there is one. */
export type ColumnsOf = (table: string) => readonly QueryField[] | undefined;

export const LIBRARY_TOPIC = 'library.';

export const LIBRARY_KINDS = ['view', 'macro', 'table'] as const;
export type LibraryKind = (typeof LIBRARY_KINDS)[number];

export interface QueryFile {
  readonly name: string;
  /** Of an object of the library; undefined for a query of the program. */
  readonly kind: LibraryKind | undefined;
  readonly title: string;
  readonly why: string;
  readonly params: readonly QueryField[];
  readonly columns: readonly QueryField[];
  /** Of parameters that need not be given, as text. */
  readonly defaults: ReadonlyMap<string, string>;
  readonly uses: readonly string[];
  /** Lists of tables: the answer is empty if all tables of one are. */
  readonly needs: readonly (readonly string[])[];
  /** The statement, without the header and without a semicolon. */
  readonly statement: string;
}

const TAG = /^--\s*@(\w+)\s+(.*?)\s*$/;
const MORE = /^--\s*(.*?)\s*$/;
const FIELD = /^([a-z][a-z0-9_]*)\s+([A-Z][A-Z0-9_]*(?:\([A-Z0-9, ]+\))?(?:\[\])?)(\??)(?:\s+(.*))?$/;
const SINGLE = new Set(['name', 'title', 'why', 'kind']);
const MULTIPLE = new Set(['param', 'default', 'col', 'of', 'uses', 'needs']);

/** `queries/store/largest-hole.sql` → `store.largest_hole`; `path` is relative to `queries/`. */
export function queryNameOfPath(path: string): string {
  return path
    .replace(/\.sql$/, '')
    .replaceAll('\\', '/')
    .replaceAll('-', '_')
    .replace('/', '.');
}

/** The inverse of {@link queryNameOfPath}, with `/` between folder and file. */
export function pathOfQueryName(name: string): string {
  const [topic, file] = name.split('.');
  return `${topic}/${file?.replace(/(?!^)_/g, '-')}.sql`;
}

/** Throws an Error with the path and the reason: a malformed query file is our bug, not the user's. */
export function parseQueryFile(path: string, text: string, tableColumns: ColumnsOf = () => undefined): QueryFile {
  const fail = (reason: string): never => {
    throw new Error(`queries/${path}: ${reason}`);
  };
  const { tags, statement } = splitHeader(text, fail);
  const single = (tag: string): string => {
    const [value, ...others] = tags.filter((entry) => entry.tag === tag);
    if (value === undefined || others.length > 0) return fail(`needs one @${tag}`);
    return value.text;
  };
  const fieldsOf = (entry: (typeof tags)[number]): readonly QueryField[] =>
    entry.tag === 'of' ? columnsOf(entry.text, tableColumns, fail) : [parseField(entry.text, fail)];
  const fields = (...wanted: readonly string[]): QueryField[] => {
    const list = tags.filter(({ tag }) => wanted.includes(tag)).flatMap(fieldsOf);
    const names = new Set(list.map((field) => field.name));
    return names.size === list.length ? list : fail(`names a @${wanted[0]} twice`);
  };
  const params = fields('param');
  const name = single('name');
  const all = (tag: string): string[] => tags.filter((entry) => entry.tag === tag).map((entry) => entry.text);
  // The tables of the schema are read with the first query that refers to them.
  let columns = tags.some(({ tag }) => tag === 'of') ? undefined : fields('col');
  const query: QueryFile = {
    name,
    kind: name.startsWith(LIBRARY_TOPIC) ? libraryKind(single('kind'), fail) : undefined,
    title: single('title'),
    why: single('why'),
    params,
    get columns() {
      columns ??= fields('col', 'of');
      return columns;
    },
    defaults: new Map(all('default').map((text) => [text.split(' ', 1)[0]!, text.replace(/^\w+ */, '')])),
    uses: all('uses'),
    needs: all('needs').map((tables) => tables.split(' ')),
    statement,
  };
  if (query.name !== queryNameOfPath(path)) fail(`@name is ${query.name}, the path gives ${queryNameOfPath(path)}`);
  if (columns?.length === 0) fail('needs a @col for each column');
  for (const param of query.kind === 'macro' ? [] : params)
    if (!PARAMETER_TYPES.has(param.type)) fail(`a @param cannot be ${param.type}`);
  const bare = blankText(statement);
  if (bare.includes(';')) fail('holds more than one statement');
  const bound = new Set([...bare.matchAll(/\$([A-Za-z_]\w*)/g)].map((match) => match[1]!));
  for (const name of bound) if (!params.some((param) => param.name === name)) fail(`uses $${name} without a @param`);
  return query;
}

function libraryKind(text: string, fail: (reason: string) => never): LibraryKind {
  return LIBRARY_KINDS.find((kind) => kind === text) ?? fail(`has the @kind ${text}: ${LIBRARY_KINDS.join(', ')}`);
}

function splitHeader(
  text: string,
  fail: (reason: string) => never,
): { tags: readonly { readonly tag: string; readonly text: string }[]; statement: string } {
  const tags: { tag: string; text: string }[] = [];
  const lines = text.split(/\r?\n/);
  let at = 0;
  for (; lines[at]?.startsWith('--'); at += 1) {
    const line = lines[at]!;
    const match = TAG.exec(line);
    if (match !== null) {
      const tag = match[1]!;
      if (!SINGLE.has(tag) && !MULTIPLE.has(tag)) fail(`has an unknown tag @${tag}`);
      tags.push({ tag, text: match[2]! });
      continue;
    }
    const last = tags.at(-1);
    if (last === undefined) fail('must begin with -- @name');
    else last.text = `${last.text} ${MORE.exec(line)?.[1] ?? ''}`.trimEnd();
  }
  const statement = lines.slice(at).join('\n').trim().replace(/;$/, '').trimEnd();
  return statement === '' ? fail('holds no statement') : { tags, statement };
}

function parseField(text: string, fail: (reason: string) => never): QueryField {
  const match = FIELD.exec(text);
  if (match === null) return fail(`cannot read the field "${text}": name TYPE text`);
  return { name: match[1]!, type: match[2]!, nullable: match[3] === '?', text: match[4] ?? '' };
}

/** `TABLE` or `TABLE: name name`. */
function columnsOf(text: string, tableColumns: ColumnsOf, fail: (reason: string) => never): readonly QueryField[] {
  const [table = '', ...names] = text.split(/:? +/);
  const known = tableColumns(table) ?? fail(`names an unknown table @of ${table}`);
  if (names.length === 0) return known;
  return names.map((name) => known.find((field) => field.name === name) ?? fail(`${table} has no column ${name}`));
}

/**
 * SQL with its string literals and comments turned into blanks of the same length, so that positions hold and what is
 * left is code. Quoted identifiers stay: they name things.
 */
export function blankText(sql: string): string {
  return sql.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$/g, (part) =>
    part.startsWith('"') ? part : part.replace(/[^\n]/g, ' '),
  );
}
