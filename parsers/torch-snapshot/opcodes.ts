import { loadData } from '../../src/knowledge/load-data.js';

const DATA = loadData('inputs/pickle-opcodes') as Record<'refused' | 'unsupported', Readonly<Record<string, string>>>;

/** Names by number, for error texts: what could run code, and what no snapshot has. */
export const [REFUSED, UNSUPPORTED] = [DATA.refused, DATA.unsupported].map(
  (names): ReadonlyMap<number, string> => new Map(Object.entries(names).map(([code, name]) => [Number(code), name])),
) as [ReadonlyMap<number, string>, ReadonlyMap<number, string>];

/** Bytes of the fixed-size operand of the opcodes that are read, or of its length. */
export const OPERAND_BYTES: ReadonlyMap<number, number> = new Map([
  [0x80, 1], // PROTO
  [0x71, 1], // BINPUT
  [0x72, 4], // LONG_BINPUT
  [0x68, 1], // BINGET
  [0x6a, 4], // LONG_BINGET
  [0x8c, 1], // SHORT_BINUNICODE
  [0x58, 4], // BINUNICODE
  [0x8d, 8], // BINUNICODE8
  [0x8a, 1], // LONG1
  [0x8b, 4], // LONG4
]);
