import type { IncidentRow } from '../../src/model/tables.js';
import { readLogBytes } from './read-log.js';

/**
 * The failure messages of a text in memory (a pasted message, a field of a report), in the order of their lines; the
 * same rules as for files. Notes are dropped.
 */
export function incidentsInText(text: string): IncidentRow[] {
  const rows: IncidentRow[] = [];
  readLogBytes(Buffer.from(text, 'utf8'), { incident: (row) => rows.push(row), note: () => {} });
  return rows.sort((a, b) => a.offset - b.offset);
}
