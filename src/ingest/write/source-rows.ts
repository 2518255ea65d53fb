/** Rows of one source: removing what an earlier ingest wrote, and those of incidents and notes. */

import { INCIDENT_BYTE_FIELDS, type IncidentRow, type Note, type PrintedBytes } from '../../model/tables.js';
import { isOomKind } from '../../model/vocabulary.js';
import { schemaTables } from '../../store/load-queries.js';
import type { Store } from '../../store/store.js';
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

/** The rows of incidents by table; they are numbered from `first`. */
export function incidentRows(first: number, sourceId: number, incidents: readonly IncidentRow[]) {
  return {
    incident: incidents.map(({ offset, frame, frames, bytes, processes: _, ...incident }, i) => ({
      incident_id: first + i,
      source_id: sourceId,
      ...incident,
      is_oom: isOomKind(incident.kind),
      byte_offset: offset,
      frame_file: frame?.file ?? null,
      frame_line: frame?.line ?? null,
      frame_function: frame?.function ?? null,
      frames: frames === undefined ? null : JSON.stringify(frames),
      ...Object.fromEntries(INCIDENT_BYTE_FIELDS.map((field) => [`${field}Bytes`, bytes[field]?.bytes ?? null])),
    })),
    incident_value: incidents.flatMap(({ bytes, processes }, i) => {
      const value = (field: string, pid: number | null, printed: PrintedBytes) => ({
        ...{ incident_id: first + i, field, pid, bytes: printed.bytes, printed: printed.text },
        precision_bytes: Math.ceil(printed.precisionBytes),
      });
      return [
        ...INCIDENT_BYTE_FIELDS.flatMap((field) => {
          const printed = bytes[field];
          // As the column is called.
          const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
          return printed === undefined ? [] : [value(name, null, printed)];
        }),
        ...processes.map(({ pid, printed }) => value('process_named', pid, printed)),
      ];
    }),
  };
}

export const noteRows = (sourceId: number, notes: readonly (Note & { readonly count: number })[]) =>
  notes.map(({ offset, ...note }) => ({ source_id: sourceId, ...note, byte_offset: offset }));
