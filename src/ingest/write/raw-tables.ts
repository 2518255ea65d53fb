/**
 * Tables of a file as it has them, in the schema `nsys_raw`, for questions of the user's own. They have the file's
 * names and columns and `source_id` in front; no query of ours reads them. A table that another file has with other
 * columns gets those as well, and a column that another file declares otherwise gets the wider of both types.
 */
import type { RawColumn, RawRows } from '../../model/parser.js';
import { type RawType, rawTypeOf, type SourceColumn } from '../../model/table-source.js';
import { keptTypeOf, type RawAppender } from '../../store/raw-appender.js';
import type { Store } from '../../store/store.js';

export const RAW_SCHEMA = 'nsys_raw';
/** In front of each table. A column of the file's own with this name is left out. */
const SOURCE = 'source_id';

const SQL_TYPES: Readonly<Record<RawType, string>> = { integer: 'BIGINT', real: 'DOUBLE', text: 'VARCHAR' };
/** Each holds every value of those before it, though a real not every digit of an integer. */
const WIDTHS: readonly RawType[] = ['integer', 'real', 'text'];

interface OpenTable {
  readonly name: string;
  readonly appender: RawAppender;
  /** Of each column of the store's table: which column of the file it is, and the type it has. */
  readonly columns: readonly { readonly from: number; readonly type: RawType }[];
}

/**
 * Rows of one source, and the end of those of the source that it replaces. DuckDB commits no transaction that changed
 * the rows of a table before it altered it; so what was there before is removed here, table by table, and not with the
 * rest of the old source.
 */
export class RawTables {
  private readonly store: Store;
  private readonly sourceId: number;
  private readonly replacedId: number | undefined;
  private readonly begun = new Set<string>();
  private open: OpenTable | undefined;

  constructor(store: Store, sourceId: number, replacedId: number | undefined) {
    this.store = store;
    this.sourceId = sourceId;
    this.replacedId = replacedId;
  }

  /** The rows of a table come next. */
  async begin(name: string, columns: readonly SourceColumn[]): Promise<void> {
    this.close();
    const known = await this.makeTable(name, columns);
    if (this.replacedId !== undefined && !this.begun.has(name.toLowerCase()))
      await removeRows(this.store, name, this.replacedId);
    this.begun.add(name.toLowerCase());
    const appender = await this.store.rawAppender(RAW_SCHEMA, name, this.sourceId);
    const storedColumns = known.slice(1).map((column) => ({
      from: columns.findIndex((wanted) => isSame(wanted.name, column.name)),
      type: keptTypeOf(column) ?? 'text',
    }));
    this.open = { name, appender, columns: storedColumns };
  }

  append({ table, columns, rows }: RawRows): void {
    const { open } = this;
    if (open?.name !== table) throw new Error(`rows of ${table} came before their table`);
    open.appender.append(
      open.columns.map(({ from, type }) => {
        const column = columns[from];
        return column === undefined ? undefined : widened(column, type, rows);
      }),
      rows,
    );
  }

  /** To be called once, after the last table. */
  async finish(): Promise<void> {
    this.close();
    if (this.replacedId !== undefined) await removeRawRows(this.store, this.replacedId, this.begun);
  }

  private close(): void {
    this.open?.appender.close();
    this.open = undefined;
  }

  private async makeTable(name: string, columns: readonly SourceColumn[]) {
    const table = `${RAW_SCHEMA}.${quoted(name)}`;
    await this.store.run(`CREATE TABLE IF NOT EXISTS ${table} (${SOURCE} INTEGER)`);
    const before = await this.store.tableColumns(RAW_SCHEMA, name);
    const seen = new Set([SOURCE]);
    for (const { name: column, type: declared } of columns) {
      if (seen.has(column.toLowerCase())) continue;
      seen.add(column.toLowerCase());
      const type = rawTypeOf(declared);
      const known = before.find((other) => isSame(other.name, column));
      if (known === undefined) {
        await this.store.run(`ALTER TABLE ${table} ADD COLUMN ${quoted(column)} ${SQL_TYPES[type]}`);
        continue;
      }
      const old = keptTypeOf(known);
      if (old !== undefined && WIDTHS.indexOf(old) < WIDTHS.indexOf(type))
        await this.store.run(`ALTER TABLE ${table} ALTER COLUMN ${quoted(known.name)} TYPE ${SQL_TYPES[type]}`);
    }
    return this.store.tableColumns(RAW_SCHEMA, name);
  }
}

/** Removes the rows of a source from every raw table, except those whose names in lower case are in `except`. */
export async function removeRawRows(
  store: Store,
  sourceId: number,
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  const tables = await store.select('SELECT table_name FROM information_schema.tables WHERE table_schema = $schema', {
    schema: RAW_SCHEMA,
  });
  for (const { table_name } of tables) {
    const name = String(table_name);
    if (!except.has(name.toLowerCase())) await removeRows(store, name, sourceId);
  }
}

async function removeRows(store: Store, name: string, sourceId: number): Promise<void> {
  await store.run(`DELETE FROM ${RAW_SCHEMA}.${quoted(name)} WHERE ${SOURCE} = $source_id`, { source_id: sourceId });
}

function widened(column: RawColumn, to: RawType, rows: number): RawColumn {
  if (column.type === to || column.type === 'text') return column;
  const { bits, isNull } = column;
  const wide = new BigInt64Array(bits.buffer, bits.byteOffset, rows);
  const reals = new Float64Array(bits.buffer, bits.byteOffset, rows);
  if (to === 'real') return { type: 'real', bits: Float64Array.from(wide, Number), isNull };
  const texts = Array.from({ length: rows }, (_, row) =>
    isNull[row] === 1 ? undefined : String(column.type === 'integer' ? wide[row] : reals[row]),
  );
  return { type: 'text', texts };
}

/** DuckDB's names differ by more than case. */
function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
