import { createHash } from 'node:crypto';

/** Raise when a parser reads the same bytes differently: unchanged files are then read again. */
export const PARSER_VERSION = 9;

/** Of a file: a log that was read with other formats of the user is read again. */
export function parserVersion(format: string | null | undefined, formats: string | undefined): number {
  if (format !== 'log' || formats === undefined) return PARSER_VERSION;
  return createHash('sha256').update(`${PARSER_VERSION} ${formats}`).digest().readInt32BE() | 0x4000_0000;
}
