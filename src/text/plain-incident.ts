/** Incidents of formats whose records are independent: without tracebacks and figures, nothing to join. */
import type { IncidentRow } from '../model/tables.js';

/** Enough for a message of the scheduler or the kernel, and a bound for what a record may carry. */
const MOST_TEXT = 2048;

/** The fields of such a record; all others are unknown. */
export type PlainIncident = Pick<IncidentRow, 'kind' | 'grammar' | 'text' | 'line' | 'offset'> &
  Partial<Pick<IncidentRow, 'host' | 'device' | 'pid' | 'exitCode' | 'lastLine' | 'timeText' | 'timeUs'>>;

/** A row of the store's `incident`, all fields given. The text is excerpt, and is one line. */
export function plainIncident(known: PlainIncident): IncidentRow {
  const text = known.text.replace(/\s{1,1000}/g, ' ').trim();
  return {
    rank: null,
    rankOrigin: null,
    localRank: null,
    host: null,
    device: null,
    pid: null,
    exitCode: null,
    attempt: 1,
    lastLine: known.line,
    timeText: null,
    timeUs: null,
    exception: null,
    tracebackLine: null,
    frame: null,
    bytes: {},
    processes: [],
    ...known,
    text: text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text,
  };
}
