/** Changes of a pickle opcode by opcode: memo numbers, lengths, frames, protocol, and opcodes that import or call. */

import type { Random } from '../../samples/generate/simulate/random.js';
import { OP } from '../../samples/generate/write/pickle-writer.js';
import { below, type Mutator, mutateBytes, oneOf, pickOf, replaced, shortLength } from './mutate-bytes.js';
import { CANARY } from './words.js';

/** Bytes of a fixed argument; those of a length before its content are negative. */
const ARGUMENTS = new Map<number, number>([
  ...([OP.BINFLOAT, OP.FRAME] as const).map((code): [number, number] => [code, 8]),
  ...([OP.BININT, OP.LONG_BINGET, OP.LONG_BINPUT, OP.EXT4] as const).map((code): [number, number] => [code, 4]),
  ...([OP.BININT2, OP.EXT2] as const).map((code): [number, number] => [code, 2]),
  ...([OP.BININT1, OP.BINGET, OP.BINPUT, OP.PROTO, OP.EXT1] as const).map((code): [number, number] => [code, 1]),
  ...([OP.SHORT_BINUNICODE, OP.LONG1, 0x43, 0x55] as const).map((code): [number, number] => [code, -1]),
  ...([OP.BINUNICODE, OP.LONG4, 0x42, 0x54] as const).map((code): [number, number] => [code, -4]),
  ...([OP.BINUNICODE8, OP.BYTEARRAY8, 0x8e] as const).map((code): [number, number] => [code, -8]),
]);
const CODES = Object.values(OP);
/** Enough to change; a long pickle is mostly more of the same. */
const MOST_OPCODES = 20_000;

/** Where each opcode begins, and the end. */
function boundaries(bytes: Buffer): number[] {
  const starts: number[] = [];
  let at = 0;
  while (at < bytes.length && starts.length < MOST_OPCODES) {
    starts.push(at);
    const argument = ARGUMENTS.get(bytes[at]!) ?? 0;
    at += 1;
    if (argument >= 0) at += argument;
    else {
      const width = -argument;
      if (at + width > bytes.length) break;
      at += width + bytes.readUIntLE(at, Math.min(width, 6));
    }
  }
  starts.push(Math.min(at, bytes.length));
  return starts;
}

function randomOpcode(random: Random): Buffer {
  const code = pickOf(random, CODES);
  const argument = ARGUMENTS.get(code) ?? 0;
  const width = Math.abs(argument);
  const value = Buffer.alloc(width);
  if (argument >= 0) {
    for (let i = 0; i < width; i++) value[i] = below(random, 256);
    return Buffer.concat([Buffer.of(code), value]);
  }
  const content = Buffer.alloc(shortLength(random, 40), 0x61);
  const length = random() < 0.7 ? content.length : pickOf(random, [0, 1, 255, 65_535, 2 ** 31, 2 ** 32 - 1, 2 ** 47]);
  value.writeUIntLE(length % 256 ** Math.min(width, 6), 0, Math.min(width, 6));
  return Buffer.concat([Buffer.of(code), value, content]);
}

const CALL = Buffer.concat([
  Buffer.from(`cposix\nsystem\nX`),
  Buffer.from([`touch ${CANARY}`.length, 0, 0, 0]),
  Buffer.from(`touch ${CANARY}`),
  Buffer.from([OP.TUPLE1, OP.REDUCE]),
]);

export const mutatePickle: Mutator = (bytes, random, spare) => {
  if (bytes[0] !== OP.PROTO || bytes.length < 4) return mutateBytes(bytes, random, spare);
  const starts = boundaries(bytes);
  const at = below(random, starts.length - 1);
  const [start, end] = [starts[at]!, starts[at + 1]!];
  const far = starts[Math.min(starts.length - 1, at + shortLength(random, 200))]!;
  const insert = (part: Uint8Array): Buffer => replaced(bytes, start, start, part);
  const instead = (part: Uint8Array, to = end): Buffer => replaced(bytes, start, to, part);
  const set = (offset: number, values: readonly number[]): Buffer => {
    const result = Buffer.from(bytes);
    result[offset] = pickOf(random, values);
    return result;
  };
  return oneOf(random, [
    () => instead(Buffer.alloc(0)),
    () => instead(Buffer.alloc(0), far),
    () => insert(Buffer.from(bytes.subarray(start, far))),
    () => instead(randomOpcode(random)),
    () => insert(randomOpcode(random)),
    () => set(start, CODES),
    // The argument: a memo number, a length, or a value.
    () =>
      end - start < 2
        ? instead(randomOpcode(random))
        : set(start + 1 + below(random, Math.min(8, end - start - 1)), [0, 1, 0x7f, 0x80, 0xff]),
    () => set(1, [0, 1, 2, 3, 4, 5, 6, 255]),
    () => {
      const frame = Buffer.alloc(9, 0);
      frame[0] = OP.FRAME;
      frame.writeUIntLE(pickOf(random, [0, 1, far - start, bytes.length, 2 ** 31, 2 ** 47]), 1, 6);
      return insert(frame);
    },
    () => insert(CALL),
    () => insert(Buffer.alloc(shortLength(random, 100_000), pickOf(random, FLOODS))),
    () => {
      const pieces = boundaries(spare);
      if (pieces.length < 2) return mutateBytes(bytes, random, spare);
      const from = below(random, pieces.length - 1);
      const to = pieces[Math.min(pieces.length - 1, from + shortLength(random, 300))]!;
      return instead(spare.subarray(pieces[from]!, to));
    },
  ]);
};
const FLOODS = [OP.MARK, OP.EMPTY_LIST, OP.EMPTY_DICT, OP.MEMOIZE, OP.DUP, OP.NONE, OP.TUPLE1, OP.POP];
