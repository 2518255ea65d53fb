/** Rows of one source: removing what an earlier ingest wrote, and writing incidents and notes. */

import { NSYS_LAYOUTS } from '../../model/nsys-rows.js';
import { pick } from '../../model/pick.js';
import { INCIDENT_BYTE_FIELDS, type IncidentByteField, type IncidentRow, type Note } from '../../model/tables.js';
import { isOomKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { removeRawRows } from './raw-tables.js';

const BY_SNAPSHOT = [
  'event',
  'segment',
  'block',
  'annotation',
  'host_event',
  'host_segment',
  'snapshot_feature',
  'snapshot_setting',
  'snapshot_pool',
  'snapshot_device',
  'snapshot_action',
  'trace_oom',
  'event_extra',
  'derived_history',
  'trace_step',
  'block_life',
  'segment_life',
  'derived_bucket',
  'oom_state',
  'oom_rounding',
  'oom_hole',
  'labelled_device',
  'label',
] as const;

const BY_SOURCE = [
  'snapshot',
  'incident',
  'ingest_note',
  'source_attempt',
  'log_iteration',
  'log_memory',
  'log_gauge',
  'log_figure',
  'log_phase',
  'log_config',
  'log_env',
  'profiler_memory',
  'nsys_report',
  'nsys_table',
  'nsys_gpu',
  'nsys_device',
  'nsys_process',
  'nsys_thread',
  'nsys_diagnostic',
  'nsys_option',
  'nsys_text',
  ...Object.values(NSYS_LAYOUTS).map(({ table }) => table),
];

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
  for (const table of BY_SNAPSHOT) {
    await store.run(
      `DELETE FROM ${table} WHERE snapshot_id IN (SELECT snapshot_id FROM snapshot WHERE source_id = $source_id)`,
      params,
    );
  }
  await store.run(
    'DELETE FROM incident_value WHERE incident_id IN (SELECT incident_id FROM incident WHERE source_id = $source_id)',
    params,
  );
  if (!keepsRaw) await removeRawRows(store, sourceId);
  for (const table of [...BY_SOURCE, 'source']) {
    await store.run(`DELETE FROM ${table} WHERE source_id = $source_id`, params);
  }
}

const COLUMN_OF_FIELD: Readonly<Record<IncidentByteField, string>> = {
  requested: 'requested_bytes',
  total: 'total_bytes',
  free: 'free_bytes',
  process: 'process_bytes',
  allocated: 'allocated_bytes',
  reserved: 'reserved_bytes',
  reservedUnallocated: 'reserved_unallocated_bytes',
  privatePool: 'private_pool_bytes',
  allowed: 'allowed_bytes',
  otherProcess: 'other_process_bytes',
};

/** Columns of the tables that have the names of fields. */
const INCIDENT = ['kind', 'rank', 'host', 'device', 'pid', 'line', 'exception', 'grammar', 'text', 'attempt'] as const;
const NOTE = ['kind', 'severity', 'text', 'count', 'line', 'device', 'seq'] as const;

export async function insertIncidents(
  store: Store,
  sourceId: number,
  incidents: readonly IncidentRow[],
): Promise<void> {
  if (incidents.length === 0) return;
  const [row] = await store.select('SELECT coalesce(max(incident_id), 0) AS last FROM incident');
  const first = Number(row!['last']) + 1;
  await store.insertRows(
    'incident',
    incidents.map((incident, i) => ({
      incident_id: first + i,
      source_id: sourceId,
      ...pick(incident, INCIDENT),
      is_oom: isOomKind(incident.kind),
      rank_origin: incident.rankOrigin,
      last_line: incident.lastLine,
      byte_offset: incident.offset,
      time_text: incident.timeText,
      time_us: incident.timeUs,
      local_rank: incident.localRank,
      exit_code: incident.exitCode,
      traceback_line: incident.tracebackLine,
      frame_file: incident.frame?.file ?? null,
      frame_line: incident.frame?.line ?? null,
      frame_function: incident.frame?.function ?? null,
      frames: incident.frames === undefined ? null : JSON.stringify(incident.frames),
      ...Object.fromEntries(
        INCIDENT_BYTE_FIELDS.map((field) => [COLUMN_OF_FIELD[field], incident.bytes[field]?.bytes ?? null]),
      ),
    })),
  );
  await store.insertRows(
    'incident_value',
    incidents.flatMap((incident, i) => [
      ...INCIDENT_BYTE_FIELDS.flatMap((field) => {
        const printed = incident.bytes[field];
        if (printed === undefined) return [];
        const precision_bytes = Math.ceil(printed.precisionBytes);
        return [
          {
            incident_id: first + i,
            field: COLUMN_OF_FIELD[field].replace(/_bytes$/, ''),
            pid: null,
            bytes: printed.bytes,
            printed: printed.text,
            precision_bytes,
          },
        ];
      }),
      ...incident.processes.map(({ pid, printed }) => ({
        incident_id: first + i,
        field: 'process_named',
        pid,
        bytes: printed.bytes,
        printed: printed.text,
        precision_bytes: Math.ceil(printed.precisionBytes),
      })),
    ]),
  );
}

export async function insertNotes(
  store: Store,
  sourceId: number,
  notes: readonly (Note & { readonly count: number })[],
): Promise<void> {
  await store.insertRows(
    'ingest_note',
    notes.map((note) => ({
      source_id: sourceId,
      ...pick(note, NOTE),
      byte_offset: note.offset,
    })),
  );
}
