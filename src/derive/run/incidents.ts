/** Failure lines as results: the same fields from a store and from a text just read. */

import { readProcesses, reservedOf, unallocatedOf } from '../../knowledge/oom-figures.js';
import { pick } from '../../model/pick.js';
import type { LogIncident } from '../../model/results/log.js';
import type { IncidentRow } from '../../model/tables.js';
import { type IncidentKind, isOomKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { readIncidentFigures } from './incident-figures.js';

type Figures = Pick<IncidentRow, 'bytes' | 'processes'>;

/**
 * The byte fields of the result. `process_bytes` and `other_process_bytes` stay as printed; who is who is `self_pid`.
 */
function byteFields(figures: Figures) {
  const { bytes, processes } = figures;
  const otherProcessBytes =
    processes.length > 0
      ? processes.reduce((total, { printed }) => total + printed.bytes, 0)
      : (bytes.otherProcess?.bytes ?? null);
  return {
    requested_bytes: bytes.requested?.bytes ?? null,
    total_bytes: bytes.total?.bytes ?? null,
    free_bytes: bytes.free?.bytes ?? null,
    process_bytes: bytes.process?.bytes ?? null,
    allocated_bytes: bytes.allocated?.bytes ?? null,
    reserved_total_bytes: reservedOf(figures)?.bytes ?? null,
    reserved_unallocated_bytes: unallocatedOf(figures)?.bytes ?? null,
    private_pool_bytes: bytes.privatePool?.bytes ?? null,
    allowed_bytes: bytes.allowed?.bytes ?? null,
    other_process_bytes: otherProcessBytes,
    self_pid: readProcesses(figures).selfPid,
  };
}

/** A failure line of a text that is in no store. */
export function incidentOfRow(row: IncidentRow, file: string): LogIncident {
  return {
    kind: row.kind,
    is_oom: isOomKind(row.kind),
    rank: row.rank,
    rank_origin: row.rankOrigin,
    local_rank: row.localRank,
    ...pick(row, ['host', 'device', 'pid']),
    exit_code: row.exitCode,
    ...byteFields(row),
    exception: row.exception,
    frame: row.frame,
    traceback_line: row.tracebackLine,
    time: row.timeText,
    time_us: row.timeUs,
    attempt: row.attempt,
    iteration: null,
    iteration_origin: null,
    file,
    line: row.line,
    last_line: row.lastLine,
    grammar: row.grammar,
    text: row.text,
    survived: false,
    copy_of: null,
  };
}

/** Failure lines of a run, in the order of attempts, files and lines. */
export async function readIncidents(store: Store, runId: number): Promise<LogIncident[]> {
  const figuresOf = await readIncidentFigures(store, runId);
  const rows = await store.all('log.incidents', { run_id: runId });
  return rows.map((row): LogIncident => {
    const { frame_file: file, frame_line: line, frame_function: name } = row;
    // Field by field: to leave some out of a copy takes ten times as long.
    return {
      kind: row.kind as IncidentKind,
      is_oom: row.is_oom,
      rank: row.rank,
      rank_origin: row.rank_origin,
      local_rank: row.local_rank,
      host: row.host,
      device: row.device,
      pid: row.pid,
      exit_code: row.exit_code,
      exception: row.exception,
      traceback_line: row.traceback_line,
      time: row.time,
      time_us: row.time_us,
      attempt: row.attempt,
      iteration: row.iteration,
      iteration_origin: row.iteration_origin as LogIncident['iteration_origin'],
      file: row.file,
      line: row.line,
      last_line: row.last_line,
      grammar: row.grammar,
      text: row.text,
      survived: row.survived,
      ...byteFields(figuresOf(row.incident_id)),
      frame: file === null ? null : { file, line: line ?? 0, function: name ?? '' },
      copy_of: row.copy_of,
    };
  });
}

/** Failure messages that are counted and not kept. */
export async function countDropped(store: Store, runId: number): Promise<number> {
  return (await store.one('incident.dropped', { run_id: runId }))?.count ?? 0;
}
