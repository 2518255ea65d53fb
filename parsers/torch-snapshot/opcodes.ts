/** Pickle opcodes by number, for error texts. Upstream: CPython `Lib/pickletools.py`. */

/** Opcodes that import, call or build: a snapshot never needs them, and a reader that follows them runs code. */
export const REFUSED: ReadonlyMap<number, string> = new Map([
  [0x63, 'GLOBAL'],
  [0x93, 'STACK_GLOBAL'],
  [0x52, 'REDUCE'],
  [0x62, 'BUILD'],
  [0x69, 'INST'],
  [0x6f, 'OBJ'],
  [0x81, 'NEWOBJ'],
  [0x92, 'NEWOBJ_EX'],
  [0x82, 'EXT1'],
  [0x83, 'EXT2'],
  [0x84, 'EXT4'],
  [0x50, 'PERSID'],
  [0x51, 'BINPERSID'],
  [0x96, 'BYTEARRAY8'],
  [0x97, 'NEXT_BUFFER'],
  [0x98, 'READONLY_BUFFER'],
]);

/** Harmless opcodes no writer of snapshots uses: text forms of protocol 0, bytes, sets. */
export const UNSUPPORTED: ReadonlyMap<number, string> = new Map([
  [0x49, 'INT'],
  [0x4c, 'LONG'],
  [0x46, 'FLOAT'],
  [0x53, 'STRING'],
  [0x54, 'BINSTRING'],
  [0x55, 'SHORT_BINSTRING'],
  [0x56, 'UNICODE'],
  [0x67, 'GET'],
  [0x70, 'PUT'],
  [0x42, 'BINBYTES'],
  [0x43, 'SHORT_BINBYTES'],
  [0x8e, 'BINBYTES8'],
  [0x8f, 'EMPTY_SET'],
  [0x90, 'ADDITEMS'],
  [0x91, 'FROZENSET'],
]);

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
