/** The figures of failure lines, as they were printed. */
import { getOrAdd } from '../../model/group-by.js';
import { INCIDENT_BYTE_FIELDS, type IncidentByteField, type PrintedBytes } from '../../model/tables.js';
import type { Store } from '../../store/store.js';

export interface IncidentFigures {
  readonly bytes: Partial<Record<IncidentByteField, PrintedBytes>>;
  readonly processes: { pid: number; printed: PrintedBytes }[];
}

const FIELD_OF_NAME = new Map<string, IncidentByteField>(
  INCIDENT_BYTE_FIELDS.map((field) => [field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), field]),
);

/** By incident, of a run; an incident without figures has empty ones. */
export async function readIncidentFigures(
  store: Store,
  runId: number,
): Promise<(incidentId: number) => IncidentFigures> {
  const figures = new Map<number, IncidentFigures>();
  for (const { incident_id, field, pid, bytes, precision_bytes } of await store.all('incident.values', {
    run_id: runId,
  })) {
    const incident = getOrAdd(figures, incident_id, () => ({ bytes: {}, processes: [] }));
    const printed = { bytes, text: '', precisionBytes: precision_bytes };
    const name = FIELD_OF_NAME.get(field);
    if (name !== undefined) incident.bytes[name] = printed;
    else if (pid !== null) incident.processes.push({ pid, printed });
  }
  return (incidentId) => figures.get(incidentId) ?? { bytes: {}, processes: [] };
}
