/** Changes that fit any format: bits, ranges, repeats, numbers, and words that readers mistake for structure. */
import { type Random, wholeBetween } from '../../samples/generate/simulate/random.js';
import { wordsOf } from './words.js';

/** A repeated part makes an input at most this long. */
export const MOST_BYTES = 600 * 1024;
export type Mutator = (bytes: Buffer, random: Random, spare: Buffer) => Buffer;

export const pickOf = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
/** What one of these returns. */
export const oneOf = <T>(random: Random, alternatives: readonly (() => T)[]): T => pickOf(random, alternatives)();
export const below = (random: Random, limit: number): number => Math.floor(random() * limit);
/** Mostly short: the square of a uniform number. */
export const shortLength = (random: Random, most: number): number => 1 + Math.floor(random() ** 3 * most);

const NUMBERS = [...wordsOf('numbers'), '9'.repeat(40), '9'.repeat(400), `0.${'0'.repeat(320)}1`];

const LONG_TOKENS = ['a'.repeat(300), ' '.repeat(2000), '\n'.repeat(2000), '['.repeat(300), '{"a":'.repeat(300)];
/** Wrong UTF-8, and the first bytes of formats. */
const RAW_TOKENS = ['fffe', 'c080', 'eda080', 'f888808080', '80', '1f8b0800', '28b52ffd', '800495'];
export const TOKENS: readonly Buffer[] = [
  ...[...wordsOf('tokens'), ...LONG_TOKENS, '? '.repeat(90), 'SQLite format 3\0', 'PAR1', 'DUCK'].map((text) =>
    Buffer.from(text),
  ),
  ...RAW_TOKENS.map((hex) => Buffer.from(hex, 'hex')),
];

export function replaced(bytes: Buffer, from: number, to: number, by: Uint8Array): Buffer {
  const result = Buffer.allocUnsafe(from + by.length + bytes.length - to);
  bytes.copy(result, 0, 0, from);
  result.set(by, from);
  bytes.copy(result, from + by.length, to);
  return result;
}

const flipBits: Mutator = (bytes, random) => {
  const result = Buffer.from(bytes);
  for (let i = shortLength(random, 16); i > 0; i--) {
    const at = below(random, result.length);
    result[at] = result[at]! ^ (1 << below(random, 8));
  }
  return result;
};

const setBytes: Mutator = (bytes, random) => {
  const result = Buffer.from(bytes);
  const at = below(random, result.length);
  const value = pickOf(random, [0, 1, 0x7f, 0x80, 0xff, 0x20, 0x0a, 0x22, below(random, 256)]);
  result.fill(value, at, Math.min(result.length, at + shortLength(random, 64)));
  return result;
};

const removeRange: Mutator = (bytes, random) => {
  const at = below(random, bytes.length);
  return replaced(bytes, at, Math.min(bytes.length, at + shortLength(random, bytes.length / 2)), Buffer.alloc(0));
};

const copyRange: Mutator = (bytes, random) => {
  const from = below(random, bytes.length);
  const part = Buffer.from(bytes.subarray(from, from + shortLength(random, bytes.length / 2)));
  const at = below(random, bytes.length + 1);
  return replaced(bytes, at, at, part);
};

/** A part over and over: what is quadratic takes seconds then. Rarely long, since a long input takes long. */
const repeatRange: Mutator = (bytes, random) => {
  const from = below(random, bytes.length);
  const part = bytes.subarray(from, from + shortLength(random, 200));
  const length = random() < 0.03 ? MOST_BYTES : random() < 0.3 ? 20_000 : 1500;
  const times = Math.max(2, Math.floor(below(random, length) / part.length));
  return replaced(bytes, from, from + part.length, Buffer.concat(Array.from({ length: times }, () => part)));
};

const cutEnd: Mutator = (bytes, random) => bytes.subarray(0, below(random, bytes.length + 1));
const cutStart: Mutator = (bytes, random) => bytes.subarray(shortLength(random, bytes.length - 1));

const insertToken: Mutator = (bytes, random) => {
  const at = below(random, bytes.length + 1);
  const to = random() < 0.5 ? at : Math.min(bytes.length, at + shortLength(random, 20));
  return replaced(bytes, at, to, pickOf(random, TOKENS));
};

/** A number in digits becomes another one. */
const changeNumber: Mutator = (bytes, random) => {
  const start = below(random, bytes.length);
  for (let at = start; at < bytes.length && at < start + 4000; at++) {
    if (!isDigit(bytes[at]!)) continue;
    let end = at;
    while (end < bytes.length && isDigit(bytes[end]!)) end += 1;
    return replaced(bytes, at, end, Buffer.from(pickOf(random, NUMBERS)));
  }
  return insertToken(bytes, random, bytes);
};
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

const WORDS = [0n, 1n, 0x7fn, 0xffn, 0x7fffn, 0xffffn, 2n ** 31n, 2n ** 32n - 1n, 2n ** 63n, -1n, -2n];
/** A number of 1 to 8 bytes, little or big endian, becomes an extreme or one more or less. */
const changeWord: Mutator = (bytes, random) => {
  const width = pickOf(random, [1, 2, 4, 8]);
  if (bytes.length < width) return bytes;
  const result = Buffer.from(bytes);
  const at = below(random, bytes.length - width + 1);
  const value = pickOf(random, WORDS);
  for (let i = 0; i < width; i++) {
    const shift = BigInt(8 * (random() < 0.5 || width === 1 ? i : width - 1 - i));
    result[at + i] = Number((BigInt.asUintN(64, value) >> shift) & 0xffn);
  }
  return result;
};

const splice: Mutator = (bytes, random, spare) => {
  const from = below(random, spare.length + 1);
  const part = spare.subarray(from, from + shortLength(random, 4000));
  const at = below(random, bytes.length + 1);
  return replaced(bytes, at, random() < 0.5 ? at : Math.min(bytes.length, at + part.length), part);
};

const BLIND: readonly Mutator[] = [
  ...[flipBits, setBytes, removeRange, copyRange, repeatRange, cutEnd, cutStart, insertToken, insertToken],
  ...[changeNumber, changeNumber, changeWord, splice],
];

/** Of any format. */
export const mutateBytes: Mutator = (bytes, random, spare) =>
  bytes.length === 0 ? pickOf(random, TOKENS) : pickOf(random, BLIND)(bytes, random, spare);

const linesOf = (bytes: Buffer): string[] => bytes.toString('latin1').split('\n');
const joined = (lines: readonly string[]): Buffer => Buffer.from(lines.join('\n'), 'latin1');

/** Lines moved, repeated, removed, indented, joined, broken; prefixes and colours as logs have them. */
export const mutateLines: Mutator = (bytes, random, spare) => {
  const lines = linesOf(bytes);
  const at = below(random, lines.length);
  const line = lines[at]!;
  const insert = (...more: string[]): Buffer => joined([...lines.slice(0, at), ...more, ...lines.slice(at)]);
  const change = (text: string): Buffer => joined(lines.with(at, text));
  const column = below(random, line.length + 1);
  return oneOf(random, [
    () => joined(lines.toSpliced(at, wholeBetween(random, 1, 5))),
    () => insert(...Array.from({ length: shortLength(random, 400) }, () => line)),
    () => insert(pickOf(random, linesOf(spare))),
    () => joined(lines.toSpliced(at, 1).toSpliced(below(random, lines.length), 0, line)),
    () => change(`${pickOf(random, [' ', '  ', '\t', '      ', '- '])}${line}`),
    () => change(line.trimStart()),
    () => change(`${pickOf(random, PREFIXES)}${line}`),
    () => change(`${line.slice(0, column)}${pickOf(random, ENDS)}${line.slice(column)}`),
    () => joined([...lines.slice(0, at), line + (lines[at + 1] ?? ''), ...lines.slice(at + 2)]),
    () => joined(lines.map((text) => `${text}\r`)),
    () => change(line.repeat(1 + shortLength(random, 60))),
    () => change(line.split(' ').reverse().join(' ')),
  ]);
};
const PREFIXES = ['[rank7]: ', '3: ', '\u001b[31m', '2026-01-01 00:00:00 ', '(pid=1) ', '# '];
const ENDS = ['\n', '\r', '\r\n', '\\\n', '\0'];
