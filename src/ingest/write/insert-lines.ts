/** Failure lines that are in no store, put into one to be judged: each as the only line of a run. */
import type { IncidentRow } from '../../model/tables.js';
import type { Store } from '../../store/store.js';
import { incidentRows } from './source-rows.js';

/** Replaces everything of the same kind in `scratch`; the runs are numbered from 0. `file`: as results name it. */
export async function insertLines(scratch: Store, rows: readonly IncidentRow[], file: string): Promise<Store> {
  const now = new Date();
  await scratch.transaction(async () => {
    for (const table of ['run', 'source', 'incident', 'incident_value']) await scratch.run(`DELETE FROM ${table}`);
    await scratch.insertRows(
      'run',
      rows.map((_, i) => ({ run_id: i, name: String(i), root_path: '', created_at: now, touched_at: now })),
    );
    await scratch.insertRows(
      'source',
      rows.map((_, i) => ({
        source_id: i,
        run_id: i,
        attempt: 1,
        path: `${file} ${i}`,
        display_path: file,
        format: 'log',
        status: 'ok',
        file_bytes: 0,
        parser_version: 0,
        ingested_at: now,
      })),
    );
    const incidents = rows.map((row, i) => incidentRows(i + 1, i, [row]));
    await scratch.insertRows(
      'incident',
      incidents.flatMap(({ incident }) => incident),
    );
    await scratch.insertRows(
      'incident_value',
      incidents.flatMap(({ incident_value }) => incident_value),
    );
  });
  return scratch;
}
