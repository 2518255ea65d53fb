/**
 * Examines a file before anything is written: opens it, detects its format, and starts decoding ahead if that is worth
 * a thread.
 */
import { basename } from 'node:path';
import { MbfError } from '../../model/errors.js';
import type { ParseContext, ParserSpec } from '../../model/parser.js';
import type { DerivedSink } from '../derive/derive-snapshot.js';
import { type OpenedSource, openByteSource } from '../read/byte-source.js';
import { type DecodeThreads, type Decoding, threadFor } from '../read/decode-in-thread.js';
import { type DecodeContext, type DecodedSource, decodeSource } from '../read/decode-source.js';
import { type DecodedFile, keepDecoded } from '../read/receive-rows.js';
import { type Claim, detectSource } from './detect.js';
import type { Candidate } from './discover.js';
import { decodeFolder } from './table-folder.js';

interface Common {
  readonly candidate: Candidate;
  /** The assessment of each parser that was asked; undefined if nothing could be read. */
  readonly claims: readonly Claim[] | undefined;
  /** Must be called; may be called twice. */
  close(): Promise<void>;
}

/** A file a parser has claimed. */
export interface Recognised extends Common {
  readonly status: 'recognised';
  readonly parser: ParserSpec;
  /** Undefined for a folder. */
  readonly opened: OpenedSource | undefined;
  /** The error if it yields no row. */
  readonly otherwise?: MbfError | undefined;
  /** See {@link decodeSource}. To be called once, and for one file after the other in the order they were examined. */
  decode(sink: DerivedSink, context: Pick<ParseContext, 'progress'>): Promise<DecodedSource>;
  /** In place of {@link decode}: see {@link Decoding.keep}. */
  keep(context: Pick<ParseContext, 'progress'>): Promise<DecodedFile | undefined>;
}

/** A file to report and not to read: broken, unreadable, or of another kind. */
export interface Unusable extends Common {
  readonly status: 'failed' | 'skipped';
  /** Without `file`. */
  readonly error: MbfError;
  /** Undefined if the file could not be opened. */
  readonly opened: OpenedSource | undefined;
}

export type Examined = Recognised | Unusable;

interface ExamineOptions extends Pick<DecodeContext, 'allTables' | 'formats' | 'run'> {
  /** The assessments of all parsers are wanted. */
  readonly explain?: boolean | undefined;
  /** Of all files of its run. */
  readonly runBytes?: number | undefined;
}

/** @throws only errors that are not faults of the file. */
export async function examine(
  candidate: Candidate,
  parsers: readonly ParserSpec[],
  thread: DecodeThreads,
  { explain, runBytes, ...options }: ExamineOptions = {},
): Promise<Examined> {
  const { path, isNamed } = candidate;
  if (candidate.files !== undefined) return examineFolder(candidate, candidate.files, parsers, options);
  let opened: OpenedSource;
  try {
    opened = await openByteSource(path);
  } catch (error) {
    const close = (): Promise<void> => Promise.resolve();
    return { candidate, status: 'failed', error: inputError(error), claims: undefined, opened: undefined, close };
  }
  const common = { candidate, opened, claims: undefined, close: () => opened.close() };
  try {
    const asked = { isNamed, isBrief: explain !== true };
    const detection = await detectSource(parsers, opened, withoutCompression(basename(path)), asked);
    if (detection.status !== 'recognised') return { ...common, ...detection };
    const { parser, claims, otherwise } = detection;
    const name = basename(path);
    const { sizeBytes, mtimeMs } = opened;
    const kind = threadFor(parser, sizeBytes, opened.compression !== 'none', runBytes);
    const job = { path, parser: parser.id, name, sizeBytes, mtimeMs, ...options };
    const decoding = kind === undefined ? undefined : thread.start(job, kind, runBytes);
    const decode: Recognised['decode'] = (sink, context) =>
      decoding?.run(sink, context) ?? decodeSource(parser, opened, sink, { ...context, ...options, name });
    return { ...common, status: 'recognised', parser, claims, otherwise, decode, keep: keeping(decode, decoding) };
  } catch (error) {
    if (error instanceof MbfError) {
      // As with other forms that this version does not read: not a fault of the file, and whether it is one of ours is
      // unknown.
      const status = error.code === 'MBF2010' && !isNamed ? 'skipped' : 'failed';
      return { ...common, status, error };
    }
    await common.close();
    throw error;
  }
}

/**
 * The format of a file from its first bytes; undefined if no parser reads it. Throws if it is damaged or unreadable.
 */
export async function formatOf(
  { path, isNamed }: Candidate,
  parsers: readonly ParserSpec[],
): Promise<string | undefined> {
  const opened = await openByteSource(path);
  try {
    const asked = { isNamed, isBrief: true };
    const detection = await detectSource(parsers, opened, withoutCompression(basename(path)), asked);
    if (detection.status === 'failed') throw detection.error;
    return detection.status === 'recognised' ? detection.parser.id : undefined;
  } finally {
    await opened.close();
  }
}

/** A folder of tables; its kind is known from the names of its files. */
function examineFolder(
  candidate: Candidate,
  files: readonly string[],
  parsers: readonly ParserSpec[],
  options: Pick<ParseContext, 'allTables'>,
): Examined {
  const { path } = candidate;
  const common = { candidate, opened: undefined, close: () => Promise.resolve() };
  const parser = parsers.find(({ parseTables }) => parseTables !== undefined);
  if (parser === undefined) {
    return {
      ...common,
      status: 'skipped',
      claims: [],
      error: new MbfError('MBF2008', 'no parser reads folders of tables'),
    };
  }
  const claims = [
    { parser, score: 1, why: 'a folder of Parquet files, one a table, with META_DATA_EXPORT among them' },
  ];
  const decode: Recognised['decode'] = (sink, context) =>
    decodeFolder(path, files, parser, sink, { ...context, ...options, name: basename(path) });
  return { ...common, status: 'recognised', parser, claims, decode, keep: keeping(decode) };
}

function keeping(decode: Recognised['decode'], decoding?: Decoding): Recognised['keep'] {
  return (context) => decoding?.keep(context) ?? keepDecoded((sink) => decode(sink, context));
}

function withoutCompression(name: string): string {
  return name.replace(/\.(?:gz|zst|zstd)$/i, '');
}

function inputError(error: unknown): MbfError {
  if (error instanceof MbfError) return error;
  throw error;
}
