/**
 * Copies of files with their names replaced. Text keeps its length, so everything else keeps its place: the offsets of
 * lines, the lengths in a pickle, the pages of a database. Nothing but text is touched.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { MbfError } from '../model/errors.js';
import type { ByteSource } from '../model/parser.js';
import { patchDatabase } from './patch-database.js';
import { rewriteLog, rewriteRecords } from './rewrite-records.js';
import type { Rewrite } from './rewrite-text.js';

export type FileForm = 'text' | 'pickle' | 'sqlite' | 'records' | 'wandb';

/** What a file is, by its first bytes; undefined for forms that cannot be rewritten. */
export function formOf(head: Uint8Array, format: string): FileForm | undefined {
  const start = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (start.startsWith('SQLite format 3\0')) return 'sqlite';
  if (format === 'tensorboard') return 'records';
  if (start.startsWith(':W&B')) return 'wandb';
  if (head[0] === 0x80) return 'pickle';
  // A page of torch's viewer has the pickle as base64.
  if (format === 'torch-snapshot' && !/^\s*[[{]/.test(start)) return undefined;
  return head.includes(0) || /^(?:\xff\xfe|\xfe\xff|PAR1|PK)/.test(start) ? undefined : 'text';
}

/** Writes the rewritten content of `source` to the new file `path`. */
export async function rewriteFile(source: ByteSource, form: FileForm, path: string, rewrite: Rewrite): Promise<void> {
  const fd = openSync(path, 'wx+', 0o644);
  try {
    const write = (bytes: Uint8Array): void => {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    };
    if (form === 'text') await eachBlock(source, (block) => write(Buffer.from(rewrite(block), 'latin1')));
    else if (form === 'pickle') await rewritePickle(source, write, rewrite);
    else if (form === 'records') await rewriteRecords(source, write, rewrite);
    else if (form === 'wandb') await rewriteLog(source, write, rewrite);
    else {
      await copy(source, write);
      const readAt = (target: Uint8Array, position: number): number => {
        let filled = 0;
        for (let count = 1; count > 0 && filled < target.length; filled += count)
          count = readSync(fd, target, filled, target.length - filled, position + filled);
        return filled;
      };
      const writeAt = (bytes: Uint8Array, position: number): void => {
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, position + at);
      };
      patchDatabase({ sizeBytes: fstatSync(fd).size, readAt, writeAt }, rewrite);
    }
  } finally {
    closeSync(fd);
  }
}

/** Gives all texts of a file to `take`, and writes nothing. */
export async function visitTexts(source: ByteSource, form: FileForm, take: (text: string) => void): Promise<void> {
  const look: Rewrite = (text) => {
    take(text);
    return text;
  };
  const nothing = (): void => {};
  if (form === 'text') await eachBlock(source, take);
  else if (form === 'pickle') await rewritePickle(source, nothing, look);
  else if (form === 'records') await rewriteRecords(source, nothing, look);
  else if (form === 'wandb') await rewriteLog(source, nothing, look);
  else {
    const bytes = await source.randomAccess!();
    const { sizeBytes } = bytes;
    patchDatabase({ sizeBytes, readAt: (target, position) => bytes.readAt(target, position), writeAt: nothing }, look);
  }
}

const BLOCK_BYTES = 1024 * 1024;
/** No name has them. */
const ENDS = '\n\r "\',\t';

/**
 * Gives the text in blocks that end behind a line, or else behind a character that is in no name. `take` may keep what
 * it is given.
 */
export async function eachBlock(source: ByteSource, take: (block: string) => void): Promise<void> {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  let kept = '';
  for (;;) {
    const count = await source.read(buffer, 0);
    if (count === 0) break;
    const text = kept + buffer.toString('latin1', 0, count);
    let end = text.lastIndexOf('\n') + 1;
    if (end === 0 && text.length > BLOCK_BYTES) {
      for (const sign of ENDS) end = Math.max(end, text.lastIndexOf(sign) + 1);
      // A run without any: base64 of something, not names.
      if (end === 0) end = text.length;
    }
    if (end > 0) take(text.slice(0, end));
    kept = text.slice(end);
  }
  if (kept !== '') take(kept);
}

async function copy(source: ByteSource, write: (bytes: Uint8Array) => void): Promise<void> {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  for (let count = await source.read(buffer, 0); count > 0; count = await source.read(buffer, 0))
    write(buffer.subarray(0, count));
}

/** Bytes of the operand of each opcode. Upstream: CPython `Lib/pickletools.py`. */
const OPERANDS: ReadonlyMap<number, number> = new Map([
  ...[...'().012N]}abesutdl'].map((code): [number, number] => [code.charCodeAt(0), 0]),
  ...[0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8f, 0x90, 0x91, 0x93, 0x94].map((code): [number, number] => [code, 0]),
  ...[...'Kqh'].map((code): [number, number] => [code.charCodeAt(0), 1]),
  [0x80, 1],
  [0x4d, 2],
  ...[...'Jrj'].map((code): [number, number] => [code.charCodeAt(0), 4]),
  [0x47, 8],
  [0x95, 8],
]);
/** Bytes of the length in front of a counted operand; texts and bytes are rewritten, long integers not. */
const COUNTED: ReadonlyMap<number, { readonly bytes: number; readonly isText: boolean }> = new Map([
  [0x8c, { bytes: 1, isText: true }],
  [0x58, { bytes: 4, isText: true }],
  [0x8d, { bytes: 8, isText: true }],
  [0x55, { bytes: 1, isText: true }],
  [0x54, { bytes: 4, isText: true }],
  [0x43, { bytes: 1, isText: true }],
  [0x42, { bytes: 4, isText: true }],
  [0x8e, { bytes: 8, isText: true }],
  [0x8a, { bytes: 1, isText: false }],
  [0x8b, { bytes: 4, isText: false }],
]);
const LINES = new Set([...'ILFSVgp'].map((code) => code.charCodeAt(0)));
const STOP = 0x2e;
const MOST_OPERAND = 64 * 1024 * 1024;

/** Visits the texts of a pickle; what `rewrite` returns, of equal length, is written in their place. */
async function rewritePickle(source: ByteSource, write: (bytes: Uint8Array) => void, rewrite: Rewrite): Promise<void> {
  let buffer = Buffer.allocUnsafe(2 * BLOCK_BYTES);
  let at = 0;
  let end = 0;
  let base = 0;
  const need = async (bytes: number): Promise<boolean> => {
    while (end - at < bytes) {
      if (at > 0) {
        write(buffer.subarray(0, at));
        buffer.copyWithin(0, at, end);
        base += at;
        end -= at;
        at = 0;
      }
      if (bytes > buffer.length) {
        const grown = Buffer.allocUnsafe(bytes + BLOCK_BYTES);
        buffer.copy(grown, 0, 0, end);
        buffer = grown;
      }
      const count = await source.read(buffer, end);
      if (count === 0) return false;
      end += count;
    }
    return true;
  };
  const fail = (fact: string): never => {
    throw new MbfError('MBF2102', fact, { offset: base + at });
  };
  const cut = (): never => {
    throw new MbfError('MBF2101', 'the file ends inside an operand', { offset: base + end });
  };
  const replace = (from: number, to: number): void => {
    if (from === to) return;
    const text = buffer.toString('latin1', from, to);
    const replaced = rewrite(text);
    if (replaced !== text) buffer.write(replaced, from, 'latin1');
  };
  let hasStopped = false;
  while (!hasStopped && (await need(1))) {
    const code = buffer[at]!;
    const plain = OPERANDS.get(code);
    const counted = COUNTED.get(code);
    if (plain !== undefined) {
      hasStopped = code === STOP;
      if (!(await need(1 + plain))) cut();
      at += 1 + plain;
    } else if (counted !== undefined) {
      const { bytes, isText } = counted;
      if (!(await need(1 + bytes))) cut();
      const length = bytes === 8 ? Number(buffer.readBigUInt64LE(at + 1)) : buffer.readUIntLE(at + 1, bytes);
      if (length > MOST_OPERAND) fail(`an operand of ${length} bytes`);
      if (!(await need(1 + bytes + length))) cut();
      if (isText) replace(at + 1 + bytes, at + 1 + bytes + length);
      at += 1 + bytes + length;
    } else if (LINES.has(code)) {
      let length = 1;
      while (buffer[at + length - 1] !== 10 || length === 1) {
        length += 1;
        if (length > BLOCK_BYTES || !(await need(length))) fail('a line of the pickle has no end');
      }
      if (code === 0x53 || code === 0x56) replace(at + 1, at + length - 1);
      at += length;
    } else fail(`opcode 0x${code.toString(16)} is in no snapshot`);
  }
  // Padding behind the end is kept.
  do {
    write(buffer.subarray(0, end));
    at = 0;
    end = 0;
  } while (await need(1));
}
