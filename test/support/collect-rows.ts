/**
 * What a parser of text makes of bytes: its claim, its rows, its incidents and notes, or the code it refuses them with.
 */
import { PARSERS } from '../../parsers/index.js';
import { logParser } from '../../parsers/log/index.js';
import { detect } from '../../src/ingest/discover/detect.js';
import { MbfError } from '../../src/model/errors.js';
import type { AttemptRow, KeptFinding, LogPlace } from '../../src/model/log-rows.js';
import type { ByteSource, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import type { IncidentRow, Note } from '../../src/model/tables.js';
import { bytesSource } from './decode.js';

export interface Collected {
  readonly rows: readonly PlacedFinding[];
  readonly incidents: readonly IncidentRow[];
  readonly notes: readonly Note[];
  readonly attempts: readonly AttemptRow[];
  readonly summary: ParseSummary | null;
  /** Code of the error it was refused with. */
  readonly refused: string | null;
}

export const collectRows = (parser: ParserSpec, content: string | Uint8Array, name = 'x', chunkBytes?: number) =>
  collectFrom(parser, bytesSource(Buffer.from(content), chunkBytes), name);

/** Rethrows everything but an {@link MbfError}. */
export async function collectFrom(parser: ParserSpec, source: ByteSource, name: string): Promise<Collected> {
  const rows: PlacedFinding[] = [];
  const incidents: IncidentRow[] = [];
  const notes: Note[] = [];
  const attempts: AttemptRow[] = [];
  const sink = strictSink({
    note: (note) => notes.push(note),
    incident: (row) => incidents.push(row),
    attempt: (row) => attempts.push(row),
    logRow: (finding, place) => rows.push({ finding: structuredClone(finding), place }),
  });
  try {
    const summary = await parser.parse(source, sink, { name });
    return { rows, incidents, notes, attempts, summary, refused: null };
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    return { rows, incidents, notes, attempts, summary: null, refused: error.code };
  }
}

/** Refuses all rows but those that `kept` takes. */
export function strictSink(kept: Partial<RowSink>): RowSink {
  const never = (): never => {
    throw new Error('no row of this kind');
  };
  return {
    note: never,
    incident: never,
    logRow: never,
    attempt: never,
    profilerMemory: never,
    snapshot: never,
    ...kept,
  };
}

/** A row that is read, with its place in the file. */
export interface PlacedFinding {
  readonly finding: KeptFinding;
  readonly place: LogPlace;
}

/** The rows in the order in which they come. Every other kind, and damage, is an error. */
export async function placedRows(
  parser: ParserSpec,
  source: ByteSource,
  name: string,
): Promise<{ readonly rows: PlacedFinding[]; readonly notes: Note[]; readonly summary: ParseSummary }> {
  const rows: PlacedFinding[] = [];
  const notes: Note[] = [];
  const sink = strictSink({
    note: (note) => notes.push(note),
    logRow: (finding, place) => rows.push({ finding: structuredClone(finding), place }),
  });
  return { rows, notes, summary: await parser.parse(source, sink, { name }) };
}

/** The incidents and notes of a log; its other rows are not kept. */
export async function logIncidents(
  source: ByteSource,
  name = 'train.log',
): Promise<{ readonly rows: IncidentRow[]; readonly notes: Note[]; readonly summary: ParseSummary }> {
  const rows: IncidentRow[] = [];
  const notes: Note[] = [];
  const sink = strictSink({
    incident: (row) => rows.push(row),
    note: (note) => notes.push(note),
    logRow: () => {},
    attempt: () => {},
  });
  return { rows, notes, summary: await logParser.parse(source, sink, { name }) };
}

/** Id of the parser that the registry gives a file to; null where it skips the file. */
export function claimed(content: string | Uint8Array, name: string): string | null {
  const bytes = Buffer.from(content);
  const head = { bytes: bytes.subarray(0, 65_536), name, sizeBytes: bytes.length };
  const detection = detect(PARSERS, head);
  if (detection.status === 'recognised') return detection.parser.id;
  return detection.status === 'skipped' ? null : detection.status;
}
