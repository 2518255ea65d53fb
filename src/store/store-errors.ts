/**
 * DuckDB's messages, sorted into our error codes. This API of DuckDB lacks error codes: only the message is available.
 */
import { type ErrorCode, MbfError } from '../model/errors.js';

/**
 * Tried in order. The disk comes before corruption, because a full disk also surfaces as "Could not write" inside a
 * FATAL error.
 */
const PATTERNS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/Could not set lock on file/, 'MBF3001'],
  [
    /No space left|File too large|quota exceeded|Read-only file system|Permission denied|Operation not permitted|Input\/output error/i,
    'MBF3005',
  ],
  [/Cannot open file|No such file or directory|Not a directory|Is a directory|name too long/i, 'MBF3005'],
  // A spill without space: DuckDB names the limit and the temporary directory itself.
  [/^Out of Memory Error|failed to offload data block/, 'MBF3005'],
  [/version number \d+|created with a newer version/, 'MBF3003'],
  [/not a valid DuckDB database file/, 'MBF3004'],
  [
    /Corrupt database file|checksum|Could not read enough bytes|replaying WAL|WAL file|^Serialization Error|metadata|^FATAL Error/i,
    'MBF3002',
  ],
];

/** Errors about a statement, whose text may well contain any of the words above (`user_metadata_id` did). */
const STATEMENT_ERROR =
  /^(Failed to extract statements: )?(Parser|Syntax|Binder|Catalog|Conversion|Constraint|Permission|Invalid Input|Invalid Type|Mismatch Type|Not implemented|Out of Range|Dependency) Error/;

/** Of values that a statement met, as opposed to its text. */
const VALUE_ERROR = /^(?:Conversion|Out of Range|Invalid Input|Mismatch Type|Constraint) Error/;

/**
 * An error of a query that is known to work, on a store that is only read: its values are none that an ingest writes.
 * Tables are checked when a store is opened; to check every value would take longer than the answer.
 */
export function asOddData(file: string, query: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isNull = error instanceof MbfError && error.code === 'MBF9001';
  if (!isNull && !VALUE_ERROR.test(error.message)) return error;
  const fact = `it has values that no ingest writes (${query}): ${duckdbMessage(error)}`;
  return new MbfError('MBF3002', fact, { file }, error);
}

/** DuckDB's message without its class name and its link to a page that a login node cannot open. */
export function duckdbMessage(error: Error): string {
  return error.message
    .replace(/^Failed to extract statements: /, '')
    .replace(/\s{0,8}See also https?:\/\/\S+/, '')
    .replace(/\s{0,8}However, you would be able to open this database in read-only mode.*/, '')
    .trim();
}

/**
 * Turns an error of DuckDB or of the file system into an {@link MbfError} of kind `store` that names `file`. While
 * opening, whatever matches no pattern is a damaged file (garbage lengths make DuckDB fail in many ways, "INTERNAL
 * Error" among them); later, it is handed on as it is, because then it is our statement that is wrong.
 */
export function asStoreError(file: string, error: unknown, phase: 'open' | 'use'): unknown {
  if (error instanceof MbfError || !(error instanceof Error)) return error;
  // A commit that runs out of DuckDB's memory or of disk space appears as an error of the transaction.
  const isOutOfSpace = /failed to (?:pin|allocate|offload) /i.test(error.message);
  if (phase === 'use' && STATEMENT_ERROR.test(error.message) && !isOutOfSpace) return error;
  if (isOutOfSpace) return new MbfError('MBF3005', duckdbMessage(error), { file }, error);
  const code = PATTERNS.find(([pattern]) => pattern.test(error.message))?.[1] ?? (phase === 'open' ? 'MBF3002' : null);
  return code === null ? error : new MbfError(code, duckdbMessage(error), { file }, error);
}
