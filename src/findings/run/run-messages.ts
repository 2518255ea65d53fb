/** The failure lines of a run, as the verdicts and the what-if questions read them. */
import { INCIDENT_BYTE_FIELDS, type IncidentByteField, type PrintedBytes } from '../../model/tables.js';
import { formatCount } from '../../model/units.js';
import type { IncidentKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import type { Message } from './message.js';

/** A message and the launch it belongs to. */
export interface RunMessage extends Message {
  readonly attempt: number;
}

export async function readMessages(store: Store, runId: number): Promise<RunMessage[]> {
  const rows = await store.all('incident.list', { run_id: runId });
  const values = await store.all('incident.values', { run_id: runId });
  const fieldOf = new Map<string, IncidentByteField>(
    INCIDENT_BYTE_FIELDS.map((field) => [field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), field]),
  );
  const valuesOf = new Map<number, typeof values>();
  for (const value of values) {
    const list = valuesOf.get(value.incident_id);
    if (list === undefined) valuesOf.set(value.incident_id, [value]);
    else list.push(value);
  }
  return rows.map((row) => {
    const bytes: Partial<Record<IncidentByteField, PrintedBytes>> = {};
    const processes: { pid: number; printed: PrintedBytes }[] = [];
    for (const value of valuesOf.get(row.incident_id) ?? []) {
      const printed = { bytes: value.bytes, text: '', precisionBytes: value.precision_bytes };
      const field = fieldOf.get(value.field);
      if (field !== undefined) bytes[field] = printed;
      else if (value.pid !== null) processes.push({ pid: value.pid, printed });
    }
    return {
      kind: row.kind as IncidentKind,
      rank: row.rank,
      device: row.device,
      attempt: row.attempt,
      source: `${row.display_path} line ${formatCount(row.line)}`,
      text: row.text,
      bytes,
      processes,
    };
  });
}

/**
 * The device's total, if all messages of the run that print one agree within their rounding: the devices of a run are
 * alike.
 */
export function totalOfRun(messages: readonly Message[]): (PrintedBytes & { readonly source: string }) | undefined {
  const printed = messages.flatMap(({ bytes, source }) =>
    bytes.total === undefined ? [] : [{ ...bytes.total, source }],
  );
  const [first] = printed;
  if (first === undefined) return undefined;
  const alike = printed.every((one) => Math.abs(one.bytes - first.bytes) <= one.precisionBytes + first.precisionBytes);
  return alike ? first : undefined;
}

/** One message per rank and device, the first; tracebacks are printed twice, and by every layer that catches them. */
export function firstOfEach(messages: readonly Message[]): Message[] {
  const seen = new Map<string, Message>();
  const figures = (message: Message): number => Object.keys(message.bytes).length;
  for (const message of messages) {
    const key = `${message.rank ?? '-'} ${message.device ?? '-'}`;
    const known = seen.get(key);
    // The first line of a wrapped echo may have no figures; the first with figures has more information.
    if (known === undefined || (figures(known) === 0 && figures(message) > 0)) seen.set(key, message);
  }
  const all = [...seen.values()];
  // An echo without rank or device adds nothing to one that has them.
  return all.filter(
    (message) => message.rank !== null || message.device !== null || figures(message) > 0 || all.length === 1,
  );
}
