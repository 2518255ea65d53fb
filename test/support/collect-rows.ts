/**
 * What a parser of text makes of bytes: its claim, its rows, its incidents and notes, or the code it refuses them with.
 */
import { PARSERS } from '../../parsers/index.js';
import { detect } from '../../src/ingest/detect.js';
import { MbfError } from '../../src/model/errors.js';
import type { GaugeFinding, KeptFinding, LogPlace, ValueFinding } from '../../src/model/log-rows.js';
import type { ByteSource, ParserSpec, ParseSummary } from '../../src/model/parser.js';
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

export async function collectFrom(parser: ParserSpec, source: ByteSource, name: string): Promise<Collected> {
  const never = (): never => {
    throw new Error('no row of this kind');
  };
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
      {
        note: (note) => into.notes.push(note),
        incident: (row) => into.incidents.push(row),
        logRow(finding, place) {
          if (finding.row === 'gauge') into.gauges.push({ ...finding, place });
          else if (finding.row === 'value') into.values.push({ ...finding, place });
          else into.others.push(finding);
        },
        attempt: never,
        profilerMemory: never,
        snapshot: never,
      },
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
