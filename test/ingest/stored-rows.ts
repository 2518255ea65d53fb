/** All that a store holds, to be compared with another one. */
import { schemaTables } from '../../src/store/load-queries.js';
import type { Store } from '../../src/store/store.js';

/** Of the run itself, and of when it was. */
const LEFT_OUT: ReadonlySet<string> = new Set(['run', 'mbforensics_schema', 'mbforensics_library']);

/** Rows as text, by table, in the order in which they were written. */
export async function storedRows(store: Store): Promise<Map<string, string[]>> {
  const rows = new Map<string, string[]>();
  for (const { name } of schemaTables()) {
    if (LEFT_OUT.has(name)) continue;
    const stored = await store.select(`SELECT * FROM ${name} ORDER BY rowid`);
    rows.set(
      name,
      stored.map(({ ingested_at: _, ...row }) =>
        JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      ),
    );
  }
  return rows;
}
