/**
 * Tables of a file as it has them, in the schema `nsys_raw`, for questions of the user's own. They have the file's names and columns and `source_id` in front;
 * no query of ours reads them. A table that another file has with other columns gets those as well.
 */
import type { RawRows, RawValue } from '../model/parser.js';
import type { Store } from './store.js';

const SCHEMA = 'nsys_raw';
/** Rows kept before they are written: appending cannot begin before the table is there, and making it is not synchronous. */
const ROWS_AT_ONCE = 65_536;

export class RawTables {
  private readonly store: Store;
  private readonly sourceId: number;
  private readonly tables = new Map<string, RawRows[]>();

  constructor(store: Store, sourceId: number) {
    this.store = store;
    this.sourceId = sourceId;
  }

  keep(rows: RawRows): void {
    const known = this.tables.get(rows.table);
    if (known === undefined) this.tables.set(rows.table, [rows]);
    else known.push(rows);
  }

  async finish(): Promise<void> {
    for (const [name, parts] of this.tables) {
      await this.makeTable(name, parts[0]!);
      let waiting: Record<string, RawValue>[] = [];
      for (const part of parts) {
        for (let row = 0; row < part.rows; row++) {
          const fields: Record<string, RawValue> = { source_id: this.sourceId };
          part.columns.forEach((column, i) => {
            fields[column.name] = asTyped(part.values[i]![row] ?? null, typeOf(column.type));
          });
          waiting.push(fields);
        }
        if (waiting.length < ROWS_AT_ONCE) continue;
        await this.store.insertRows(name, waiting, SCHEMA);
        waiting = [];
      }
      await this.store.insertRows(name, waiting, SCHEMA);
    }
  }

  private async makeTable(name: string, { columns }: RawRows): Promise<void> {
    const table = `${SCHEMA}.${quoted(name)}`;
    await this.store.run(`CREATE TABLE IF NOT EXISTS ${table} (source_id INTEGER)`);
    for (const { name: column, type } of columns) {
      await this.store.run(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${quoted(column)} ${typeOf(type)}`);
    }
  }
}

/** Removes the rows of a source from every raw table. */
export async function removeRawRows(store: Store, sourceId: number): Promise<void> {
  const tables = await store.select('SELECT table_name FROM information_schema.tables WHERE table_schema = $schema', {
    schema: SCHEMA,
  });
  for (const { table_name } of tables) {
    await store.run(`DELETE FROM ${SCHEMA}.${quoted(String(table_name))} WHERE source_id = $source_id`, {
      source_id: sourceId,
    });
  }
}

function typeOf(declared: string): 'BIGINT' | 'DOUBLE' | 'VARCHAR' {
  if (/INT/i.test(declared)) return 'BIGINT';
  return /REAL|FLOA|DOUB/i.test(declared) ? 'DOUBLE' : 'VARCHAR';
}

/** SQLite columns hold what they like; what does not fit the declaration is NULL, or its text. */
function asTyped(value: RawValue, type: 'BIGINT' | 'DOUBLE' | 'VARCHAR'): RawValue {
  if (value === null) return null;
  if (type === 'VARCHAR') return String(value);
  if (type === 'DOUBLE') return typeof value === 'string' ? null : Number(value);
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? value : null;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
