/** The tables of a database, out of its first table. Upstream: sqlite.org/fileformat2.html, 2.6 (sqlite_schema). */
import { CELL, type CellColumn } from '../model/table-source.js';
import { parseCreateTable, type TableDeclaration } from './create-table.js';
import { Damage } from './damage.js';
import { LeafDecoder } from './leaf-decoder.js';
import type { PageReader } from './page-reader.js';
import { planScan } from './scan-plan.js';
import { TableWalk } from './table-walk.js';

const SCHEMA_SQL = 'CREATE TABLE sqlite_schema(type TEXT, name TEXT, tbl_name TEXT, rootpage INTEGER, sql TEXT)';
const SCHEMA_ROOT = 1;
const BATCH_ROWS = 256;

export interface SchemaTable {
  readonly name: string;
  readonly root: number;
  /** Undefined if the text of its CREATE TABLE cannot be read. */
  readonly declaration: TableDeclaration | undefined;
  /** Why its rows cannot be read at all. */
  readonly refusal: string | undefined;
}

export interface Schema {
  /** By name, in the order in which they were created; SQLite's own are left out. */
  readonly tables: ReadonlyMap<string, SchemaTable>;
  /** What ended the list early. */
  readonly damage: Damage | undefined;
}

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly root: number;
  readonly sql: string;
}

export function readSchema(reader: PageReader): Schema {
  const rows: SchemaRow[] = [];
  const damage = readRows(reader, rows);
  const uses = new Map<number, number>();
  for (const { root } of rows) uses.set(root, (uses.get(root) ?? 0) + 1);
  const tables = new Map<string, SchemaTable>();
  for (const { type, name, root, sql } of rows) {
    if (type !== 'table' || name.startsWith('sqlite_') || tables.has(name)) continue;
    const declaration = parseCreateTable(sql);
    const refusal = refusalOf(sql, root, declaration, uses.get(root)! > 1);
    tables.set(name, { name, root, declaration, refusal });
  }
  return { tables, damage };
}

function refusalOf(sql: string, root: number, declaration: TableDeclaration | undefined, isShared: boolean) {
  if (/^create\s+virtual\s/i.test(sql)) return 'a virtual table: its rows are not in the file, or in other tables';
  if (declaration === undefined) return 'the text of its CREATE TABLE cannot be read';
  if (!declaration.hasRowid) return 'a WITHOUT ROWID table, which is stored as an index and not read';
  if (root <= SCHEMA_ROOT) return `the schema states page ${root} as its root, which is none`;
  return isShared ? `the schema states page ${root} as its root, and as that of another table or index` : undefined;
}

function readRows(reader: PageReader, rows: SchemaRow[]): Damage | undefined {
  const plan = planScan(parseCreateTable(SCHEMA_SQL)!, ['type', 'name', 'rootpage', 'sql']);
  const walk = new TableWalk(reader, SCHEMA_ROOT);
  const decoder = new LeafDecoder(reader, plan, BATCH_ROWS, (batch) => {
    const [type, name, root, sql] = batch.columns as [CellColumn, CellColumn, CellColumn, CellColumn];
    for (let row = 0; row < batch.rows; row++) {
      rows.push({
        type: textAt(type, row),
        name: textAt(name, row),
        // Page numbers have 32 bits.
        root: root.kinds[row] === CELL.integer && root.bits[2 * row + 1] === 0 ? root.bits[2 * row]! : 0,
        sql: textAt(sql, row),
      });
    }
  });
  try {
    while (walk.next()) decoder.decode(walk);
    decoder.flush();
    return undefined;
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    decoder.flush();
    return error;
  }
}

function textAt(column: CellColumn, row: number): string {
  return column.kinds[row] === CELL.text ? column.texts[row]! : '';
}
