/**
 * What a parser of text makes of bytes: its claim, its rows, its incidents and notes, or the code it refuses them with.
 */
import { PARSERS } from '../../parsers/index.js';
import { logParser } from '../../parsers/log/index.js';
import { detect } from '../../src/ingest/detect.js';
import { MbfError } from '../../src/model/errors.js';
import type { GaugeFinding, KeptFinding, LogPlace, ValueFinding } from '../../src/model/log-rows.js';
import type { ByteSource, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import type { IncidentRow, Note } from '../../src/model/tables.js';
import { bytesSource } from './decode.js';

export interface Collected {
  readonly gauges: (GaugeFinding & { readonly place: LogPlace })[];
  readonly values: (ValueFinding & { readonly place: LogPlace })[];
  readonly others: KeptFinding[];
  readonly incidents: IncidentRow[];
  readonly notes: Note[];
  summary: ParseSummary | null;
  /** Code of the error it was refused with. */
  refused: string | null;
}

/** Rethrows everything but an {@link MbfError}. */
export async function collectRows(
  parser: ParserSpec,
  content: string | Uint8Array,
  { name = 'x', chunkBytes = Number.POSITIVE_INFINITY }: { name?: string; chunkBytes?: number } = {},
): Promise<Collected> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return collectFrom(parser, bytesSource(bytes, chunkBytes), name);
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
    logRow: (finding, place) => rows.push({ finding, place }),
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

export async function collectFrom(parser: ParserSpec, source: ByteSource, name: string): Promise<Collected> {
  const into: Collected = {
    gauges: [],
    values: [],
    others: [],
    incidents: [],
    notes: [],
    summary: null,
    refused: null,
  };
  try {
    into.summary = await parser.parse(
      source,
      strictSink({
        note: (note) => into.notes.push(note),
        incident: (row) => into.incidents.push(row),
        logRow(finding, place) {
          if (finding.row === 'gauge') into.gauges.push({ ...finding, place });
          else if (finding.row === 'value') into.values.push({ ...finding, place });
          else into.others.push(finding);
        },
      }),
      { name },
    );
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    into.refused = error.code;
  }
  return into;
}

/** Id of the parser that the registry gives a file to; null for none. */
export function claimed(content: string | Uint8Array, name: string): string | null {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
  const head = { bytes: bytes.subarray(0, 65_536), name, sizeBytes: bytes.length };
  const detection = detect(PARSERS, head);
  return detection.status === 'recognised' ? detection.parser.id : null;
}

/** Gauges in short: `device metric bytes`. */
export function shortGauges({ gauges }: Collected): string[] {
  return gauges.map(({ metric, bytes, device, gpuId }) => `${device ?? gpuId ?? '-'} ${metric} ${bytes}`);
}

/** Values in short: `device name value unit`, or the word. */
export function shortValues({ values }: Collected): string[] {
  return values.map(({ name, value, unit, text, device }) =>
    `${device ?? '-'} ${name} ${value ?? text} ${unit ?? ''}`.trim(),
  );
}
