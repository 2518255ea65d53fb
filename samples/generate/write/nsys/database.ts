/** SQLite exports of Nsight Systems: tables of a schema version, and the SQL that creates and fills them. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Schema versions, oldest first, with a release that writes each. */
export const RELEASES = {
  '2.9': { version: '2.9.1', product: '2022.2.1.31' },
  '3.16': { version: '3.16.1', product: '2024.6.2.225' },
  '3.28': { version: '3.28.1', product: '2026.4.1.100' },
} as const;
export type NsysSchema = keyof typeof RELEASES;
export const NSYS_SCHEMAS = Object.keys(RELEASES) as NsysSchema[];

/** Bytes stored as text, UTF-8 or not. */
export interface RawText {
  readonly raw: Uint8Array;
}
export type Cell = number | bigint | string | null | undefined | RawText;
export type Row = Readonly<Record<string, Cell>>;
export type Rows = Readonly<Record<string, readonly Row[]>>;

interface Column {
  readonly name: string;
  /** Type and constraints. */
  readonly type: string;
}
interface TableDefinition {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Constraint after the columns. */
  readonly constraint: string | undefined;
}
export interface Table extends TableDefinition {
  readonly rows: readonly Row[];
}

/** A data file next to this module; the build copies it there. */
export const dataFile = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

const SCHEMA_SQL = dataFile('schema.sql').replaceAll(/^--.*\n/gm, '');

/** The marks of `schema.sql`: first schema, or first and last. */
function isIn(schema: NsysSchema, text: string): boolean {
  const [, first = '2.9', last = '3.28'] = /\/\*([\d.]+)(?: to ([\d.]+))?\*\//.exec(text) ?? [];
  const at = (version: string): number => NSYS_SCHEMAS.indexOf(version as NsysSchema);
  return at(first) <= at(schema) && at(schema) <= at(last);
}

export function tablesOf(schema: NsysSchema): TableDefinition[] {
  return [...SCHEMA_SQL.matchAll(/CREATE TABLE (\w+)(.*?) \(([^;]*)\);/gs)].flatMap(
    ([, name = '', mark = '', body = '']) => {
      if (!isIn(schema, mark)) return [];
      const [columns = '', constraint] = body.split(/,\s*(?=PRIMARY KEY)/);
      const wanted = columns.split(/,\s*/).filter((text) => isIn(schema, text));
      const parts = wanted.map((text) => /^(\w+) ([^/]*\w)/.exec(text)!);
      return [{ name, columns: parts.map(([, column = '', type = '']) => ({ name: column, type })), constraint }];
    },
  );
}

const ALL_TABLES = NSYS_SCHEMAS.flatMap(tablesOf);
const KNOWN_TABLES = new Set(ALL_TABLES.map(({ name }) => name));
/** A row may have columns of another schema, but none that no schema has. */
const KNOWN_COLUMNS = new Set(ALL_TABLES.flatMap(({ columns }) => columns.map(({ name }) => name)));

/** The exporter is lazy: it writes no table of another schema, and no empty one. `isWanted` drops more. */
export function filledTables(
  schema: NsysSchema,
  rows: Rows,
  isWanted: (table: string) => boolean = () => true,
): Table[] {
  for (const name of Object.keys(rows)) checkTable(name);
  return tablesOf(schema).flatMap((table) => {
    const own = rows[table.name] ?? [];
    return own.length > 0 && isWanted(table.name) ? [{ ...table, rows: own }] : [];
  });
}

export function checkTable(name: string): void {
  if (!KNOWN_TABLES.has(name)) throw new Error(`no schema has a table ${name}`);
}

export interface SqlOptions {
  readonly pageBytes?: number | undefined;
  /** Rows of this table are written to a write-ahead log which stays next to the file. */
  readonly walTable?: string | undefined;
  /** Definitions laid out as the exporter does, with comments; of this schema. */
  readonly layout?: NsysSchema;
}

/** What creates the database in an empty file. */
export function databaseSql(tables: readonly Table[], { pageBytes, walTable, layout }: SqlOptions = {}): string {
  const statements = ['PRAGMA synchronous=OFF;'];
  if (pageBytes !== undefined) statements.push(`PRAGMA page_size=${pageBytes};`);
  statements.push('BEGIN;', ...tables.map((table) => definition(table, layout)));
  statements.push(...tables.filter(({ name }) => name !== walTable).flatMap(inserts), 'COMMIT;');
  if (walTable !== undefined) {
    // Without these the program would empty the log when it closes the file.
    statements.push('PRAGMA journal_mode=WAL;', 'PRAGMA wal_autocheckpoint=0;', '.dbconfig no_ckpt_on_close on');
    statements.push('BEGIN;', ...tables.filter(({ name }) => name === walTable).flatMap(inserts), 'COMMIT;');
  }
  return `${statements.join('\n')}\n`;
}

const STRING_ID = /^(?:nameId|textId|filenameId|contentId)$/;

/** Schema 2 declares references, later ones mention them in comments. */
export function definition({ name, columns, constraint }: TableDefinition, layout?: NsysSchema): string {
  const lines = columns.map(({ name: column, type }, i) => {
    if (layout === undefined) return `${column} ${type}`;
    const reference = STRING_ID.test(column) ? 'REFERENCES StringIds(id)' : '';
    const declared = `${column.padEnd(27)} ${type.replaceAll(' ', '   ')}${layout === '2.9' ? ` ${reference}` : ''}`;
    const comma = i < columns.length - 1 || constraint !== undefined ? ',' : '';
    return `${`${declared}${comma}`.padEnd(66)} -- ${reference || 'Some value, see docs (ns).'} -- ${column}`;
  });
  if (constraint !== undefined) lines.push(...(layout === undefined ? [] : ['']), constraint);
  const about = layout === undefined ? '' : `    -- Rows of ${name}, as captured.\n\n`;
  const separator = layout === undefined ? ',\n    ' : '\n    ';
  return `CREATE TABLE ${name} (\n${about}    ${lines.join(separator)}\n);`;
}

const ROWS_PER_INSERT = 250;

function inserts({ name, columns, rows }: Table): string[] {
  const statements: string[] = [];
  for (let first = 0; first < rows.length; first += ROWS_PER_INSERT) {
    const values = rows.slice(first, first + ROWS_PER_INSERT).map((row) => {
      for (const key of Object.keys(row)) if (!KNOWN_COLUMNS.has(key)) throw new Error(`${name} has no column ${key}`);
      return `(${columns.map((column) => literal(row[column.name])).join(',')})`;
    });
    statements.push(`INSERT INTO ${name} VALUES\n${values.join(',\n')};`);
  }
  return statements;
}

function literal(cell: Cell): string {
  if (cell === null || cell === undefined) return 'NULL';
  if (typeof cell === 'string') return `'${cell.replaceAll("'", "''")}'`;
  if (typeof cell === 'object') return `CAST(x'${Buffer.from(cell.raw).toString('hex')}' AS TEXT)`;
  return String(cell);
}

export class MissingSqlite extends Error {}

export function hasSqlite(): boolean {
  return spawnSync('sqlite3', ['--version']).status === 0;
}

/** The `sqlite3` program makes the file. Its bytes differ between versions of SQLite, the rows do not. */
export function writeDatabase(path: string, sql: string): void {
  if (!hasSqlite())
    throw new MissingSqlite(
      'an export of Nsight Systems is written by the sqlite3 program, and there is none: install sqlite3',
    );
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
  const run = spawnSync('sqlite3', ['-batch', '-bail', '-init', devNull, path], { input: sql, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`sqlite3 failed: ${run.stderr}`);
}

export function databaseOf(sql: string): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'nsys-export-'));
  try {
    const path = join(directory, 'export.sqlite');
    writeDatabase(path, sql);
    return readFileSync(path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
