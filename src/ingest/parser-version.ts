/** Raise when a parser reads the same bytes differently: unchanged files are then read again. */
export const PARSER_VERSION = 8;
