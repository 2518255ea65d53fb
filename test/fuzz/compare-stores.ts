/** The content of a store, so that two can be compared whatever ids and times an ingest gave. */
import { createHash } from 'node:crypto';
import { openStore } from '../../src/store/open-store.js';

/** When a file was read differs between two ingests of it. */
const TIMES = /^(?:ingested_at|created_at|started_at|mtime_us|mtime_ms|ingested_us|decode_ms|elapsed_ms)$/;

/** A hash of the sorted rows of each table. Ids become their rank: an ingest that was ended may leave gaps. */
export async function contentOf(file: string): Promise<Readonly<Record<string, string>>> {
  const store = await openStore(file, { mode: 'read' });
  try {
    const columns = await store.select(
      'SELECT table_name AS t, column_name AS c, data_type AS d FROM duckdb_columns() WHERE NOT internal AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT internal) ORDER BY 1, column_index',
    );
    const byTable = new Map<string, string[]>();
    for (const { t, c, d } of columns) {
      const [table, column] = [String(t), String(c)];
      if (TIMES.test(column) || /^TIMESTAMP/.test(String(d))) continue;
      const list = byTable.get(table) ?? [];
      byTable.set(table, list);
      list.push(
        /_id$/.test(column) && /INT/.test(String(d))
          ? `dense_rank() OVER (ORDER BY "${column}") AS "${column}"`
          : `"${column}"`,
      );
    }
    const content: Record<string, string> = {};
    for (const [table, list] of byTable) {
      const rows = await store.select(`SELECT ${list.join(', ')} FROM "${table}"`);
      const lines = rows.map((row) =>
        JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
      );
      content[table] = createHash('sha1').update(lines.sort().join('\n')).digest('hex');
    }
    return content;
  } finally {
    await store.close();
  }
}

/** Names of tables whose content differs. */
export function differingTables(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((table) => a[table] !== b[table]);
}
