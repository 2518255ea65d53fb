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

/** `Process 4711 has …`, `(pid: 4711)`: what no two failures share. */
const NAMES_PROCESS = /\b(?:process|pid)\b[ :=]{0,3}\d{2}/i;

/**
 * One failure of a node is in its own file and in the file of all nodes: the same text of the same rank in another
 * file, as often as there. A repeated launch fails with the same words too, so a time or a process must show that they
 * are the same failure.
 */
export function markCopies(incidents: readonly LogIncident[]): LogIncident[] {
  const counts = new Map<string, number>();
  const firsts = new Map<string, { readonly index: number; readonly file: string }>();
  return incidents.map((incident, index) => {
    const { rank, time_us, pid, file } = incident;
    if (time_us === null && pid === null && !NAMES_PROCESS.test(incident.text)) return incident;
    const identity = JSON.stringify([
      incident.attempt,
      incident.kind,
      rank,
      incident.device,
      pid,
      time_us,
      incident.text,
    ]);
    const nth = (counts.get(`${file}\0${identity}`) ?? 0) + 1;
    counts.set(`${file}\0${identity}`, nth);
    const known = firsts.get(`${nth}\0${identity}`);
    if (known === undefined) firsts.set(`${nth}\0${identity}`, { index, file });
    return known === undefined || known.file === file ? incident : { ...incident, copy_of: known.index };
  });
}

/** Failure lines of a run, in the order of attempts, files and lines. */
export async function readIncidents(store: Store, runId: number): Promise<LogIncident[]> {
  const figuresOf = await readIncidentFigures(store, runId);
  const rows = await store.all('log.incidents', { run_id: runId });
  return markCopies(
    rows.map(({ incident_id, frame_file: file, frame_line: line, frame_function: name, ...row }) => ({
      ...row,
      ...byteFields(figuresOf(incident_id)),
      kind: row.kind as IncidentKind,
      iteration_origin: row.iteration_origin as LogIncident['iteration_origin'],
      frame: file === null ? null : { file, line: line ?? 0, function: name ?? '' },
      copy_of: null,
    })),
  );
}
