/** Rows of one source: removing what an earlier ingest wrote, and those of incidents and notes. */

import { INCIDENT_BYTE_FIELDS, type IncidentRow, type Note, type PrintedBytes } from '../../model/tables.js';
import { isOomKind } from '../../model/vocabulary.js';
import { schemaTables } from '../../store/load-queries.js';
import type { Store } from '../../store/store.js';
import type { CellValue } from '../../store/to-duckdb.js';
import type { DroppedIncidents } from '../derive/derive-snapshot.js';
import { removeRawRows } from './raw-tables.js';

/**
 * Removes a source and all its rows, those in `nsys_raw` only if wanted. Texts, frames and stacks stay: they are shared
 * by content.
 */
export async function removeSource(
  store: Store,
  sourceId: number,
  { keepsRaw = false }: { readonly keepsRaw?: boolean } = {},
): Promise<void> {
  const params = { source_id: sourceId };
  const tables = schemaTables().map(({ name, columns }) => ({ name, keys: columns.map((column) => column.name) }));
  const bySource = tables.filter(({ keys }) => keys.includes('source_id'));
  const bySnapshot = tables.filter((table) => table.keys[0] === 'snapshot_id' && !bySource.includes(table));
  for (const { name } of bySnapshot) {
    await store.run(
      `DELETE FROM ${name} WHERE snapshot_id IN (SELECT snapshot_id FROM snapshot WHERE source_id = $source_id)`,
      params,
    );
  }
  await store.run(
    'DELETE FROM incident_value WHERE incident_id IN (SELECT incident_id FROM incident WHERE source_id = $source_id)',
    params,
  );
  if (!keepsRaw) await removeRawRows(store, sourceId);
  for (const { name } of bySource) await store.run(`DELETE FROM ${name} WHERE source_id = $source_id`, params);
}

/** As they are called in `incident`. */
const COPIED = [
  ...(['kind', 'rank', 'rankOrigin', 'localRank', 'host', 'device', 'pid', 'line', 'lastLine', 'timeText'] as const),
  ...(['timeUs', 'exception', 'exitCode', 'attempt', 'grammar', 'text', 'tracebackLine'] as const),
] as const satisfies readonly (keyof IncidentRow)[];

/** Fields of figures with their names in `incident` and in `incident_value`. */
const BYTE_FIELDS = INCIDENT_BYTE_FIELDS.map((field) => {
  const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { field, column: `${name}_bytes`, name };
});

/** The rows of incidents by table; they are numbered from `first`. A log may have ten thousand. */
export function incidentRows(first: number, sourceId: number, incidents: readonly IncidentRow[]) {
  const values: Row[] = [];
  const rows = incidents.map((incident, i): Row => {
    const { offset, frame, frames, bytes, processes } = incident;
    const row: Record<string, CellValue> = {
      incident_id: first + i,
      source_id: sourceId,
      is_oom: isOomKind(incident.kind),
      byte_offset: offset,
      frame_file: frame?.file ?? null,
      frame_line: frame?.line ?? null,
      frame_function: frame?.function ?? null,
      frames: frames === undefined ? null : JSON.stringify(frames),
    };
    for (const field of COPIED) row[field] = incident[field];
    const add = (field: string, pid: number | null, { bytes: exact, text, precisionBytes }: PrintedBytes): void =>
      void values.push({
        ...{ incident_id: first + i, field, pid, bytes: exact, printed: text },
        precision_bytes: Math.ceil(precisionBytes),
      });
    for (const { field, column, name } of BYTE_FIELDS) {
      const printed = bytes[field];
      row[column] = printed?.bytes ?? null;
      if (printed !== undefined) add(name, null, printed);
    }
    for (const { pid, printed } of processes) add('process_named', pid, printed);
    return row;
  });
  return { incident: rows, incident_value: values };
}

type Row = Readonly<Record<string, CellValue>>;

export const noteRows = (sourceId: number, notes: readonly (Note & { readonly count: number })[]) =>
  notes.map(({ offset, ...note }) => ({ source_id: sourceId, ...note, byte_offset: offset }));

export const droppedRows = (sourceId: number, rows: readonly DroppedIncidents[]) =>
  rows.map((row) => ({ source_id: sourceId, ...row }));
