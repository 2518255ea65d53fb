/** The failure lines of a run, as the verdicts and the what-if questions read them. */
import type { Place } from '../../model/place.js';
import type { PrintedBytes } from '../../model/tables.js';
import type { IncidentKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { readIncidentFigures } from './incident-figures.js';
import type { Message } from './message.js';

/** A message and the launch it belongs to. */
export interface RunMessage extends Message {
  readonly attempt: number;
  readonly incidentId: number;
}

export async function readMessages(store: Store, runId: number): Promise<RunMessage[]> {
  const rows = await store.all('incident.list', { run_id: runId });
  const figuresOf = await readIncidentFigures(store, runId);
  return rows.map((row) => ({
    kind: row.kind as IncidentKind,
    incidentId: row.incident_id,
    rank: row.rank,
    device: row.device,
    attempt: row.attempt,
    place: { path: row.display_path, line: row.line },
    text: row.text,
    ...figuresOf(row.incident_id),
  }));
}

/**
 * The device's total, if all messages of the run that print one agree within their rounding: the devices of a run are
 * alike.
 */
export function totalOfRun(messages: readonly Message[]): (PrintedBytes & { readonly source: Place }) | undefined {
  const printed = messages.flatMap(({ bytes, place: source }) =>
    bytes.total === undefined ? [] : [{ ...bytes.total, source }],
  );
  const [first] = printed;
  if (first === undefined) return undefined;
  const alike = printed.every((one) => Math.abs(one.bytes - first.bytes) <= one.precisionBytes + first.precisionBytes);
  return alike ? first : undefined;
}

/** One message per rank and device, the first; tracebacks are printed twice, and by every layer that catches them. */
export function firstOfEach<Of extends Message>(messages: readonly Of[]): Of[] {
  const seen = new Map<string, Of>();
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
