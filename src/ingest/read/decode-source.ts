/** One opened file through its parser, whichever thread does it. */
import type { RunFigures } from '../../attribution/blocks/attribution.js';
import { MbfError } from '../../model/errors.js';
import type { ParseContext, ParserSpec, ParseSummary } from '../../model/parser.js';
import { type DerivedSink, deriving } from '../derive/derive-snapshot.js';
import type { OpenedSource } from './byte-source.js';
import type { FileDigest } from './file-digest.js';

export interface DecodedSource {
  readonly summary: ParseSummary;
  readonly digest: FileDigest;
}

export interface DecodeContext extends ParseContext {
  /** What labels of blocks are made with; undefined: none are made. */
  readonly run?: RunFigures | undefined;
}

/** @throws {MbfError} of the parser, or of reading; without `file`. */
export async function decodeSource(
  parser: ParserSpec,
  opened: OpenedSource,
  sink: DerivedSink,
  { run, ...context }: DecodeContext,
): Promise<DecodedSource> {
  const derived = deriving(sink, run);
  const summary = await parser.parse(opened.source, derived, context).catch((error: unknown) => {
    // Of the engine: calls too deep, a text or a list too long. It is the file that asks for it.
    if (!(error instanceof RangeError)) throw error;
    throw new MbfError('MBF2011', `nests too deep or is too large to be read (${error.message})`, {}, error);
  });
  derived.end();
  for (const note of opened.notes()) sink.note(note);
  return { summary, digest: await opened.finish() };
}
