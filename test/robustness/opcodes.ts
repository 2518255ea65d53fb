/** Parts of pickles, opcode by opcode. */
import { type PyValue, pickled, Raw, text } from '../../samples/generate/write/pickle-writer.js';

export const op = (...codes: number[]): Buffer => Buffer.from(codes);
export const word = (letters: string): Buffer => text(Buffer.from(letters));
/** Any value as the opcodes `pickled` gives it, without memo. */
export const opcodes = (value: PyValue): Buffer => pickled(value, { memo: false, stop: false }).subarray(2);
/** These bytes in the place of one value. */
export const raw = (...parts: readonly Buffer[]): Raw => new Raw(Buffer.concat(parts));
