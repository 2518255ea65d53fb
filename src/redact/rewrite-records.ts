/**
 * Files of checksummed records: TensorBoard's event files (TFRecord) and W&B's transaction log. Records are protocol
 * buffers; their texts are replaced at equal length and the checksums computed anew. A damaged record is dropped.
 */
import { crc32 } from 'node:zlib';
import { maskedCrc } from '../../parsers/tensorboard/masked-crc.js';
import { MbfError } from '../model/errors.js';
import type { ByteSource } from '../model/parser.js';
import { isText, type Rewrite } from './rewrite-text.js';

type Write = (bytes: Uint8Array) => void;

const MOST_RECORD = 256 * 1024 * 1024;
const MOST_DEPTH = 12;

/** Length, its checksum, data, its checksum. */
export async function rewriteRecords(source: ByteSource, write: Write, rewrite: Rewrite): Promise<void> {
  const reader = new Reader(source);
  for (;;) {
    const head = await reader.take(12);
    if (head === undefined) return;
    const length = head.readUInt32LE(0);
    if (head.readUInt32LE(4) !== 0 || length > MOST_RECORD || maskedCrc(head.subarray(0, 8)) !== head.readUInt32LE(8))
      throw new MbfError('MBF2102', 'a record is damaged; only undamaged event files are rewritten');
    const data = await reader.take(length + 4);
    if (data === undefined) return;
    const record = data.subarray(0, length);
    rewriteMessage(record, rewrite, 0);
    data.writeUInt32LE(maskedCrc(record), length);
    write(head);
    write(data);
  }
}

const HEADER = 7;
const BLOCK = 32_768;

/** A header, then blocks of chunks: checksum, length, type, data. A record is one chunk or several. */
export async function rewriteLog(source: ByteSource, write: Write, rewrite: Rewrite): Promise<void> {
  const reader = new Reader(source);
  const parts: Buffer[] = [];
  for (let part = await reader.take(BLOCK, true); part !== undefined; part = await reader.take(BLOCK, true))
    parts.push(part);
  const file = Buffer.concat(parts);
  // Until 0.17.5 wandb-core began the first block behind the header.
  const grids = [0, HEADER].map((grid) => chunksOf(file, grid)).sort((a, b) => b.length - a.length);
  let open: Chunk[] = [];
  for (const chunk of grids[0]!) {
    open = chunk.type === 1 || chunk.type === 2 ? [chunk] : [...open, chunk];
    if (chunk.type !== 1 && chunk.type !== 4) continue;
    const record = Buffer.concat(open.map(({ at, length }) => file.subarray(at + HEADER, at + HEADER + length)));
    rewriteMessage(record, rewrite, 0);
    let done = 0;
    for (const { at, length } of open) {
      record.copy(file, at + HEADER, done, done + length);
      done += length;
      file.writeUInt32LE(crc32(file.subarray(at + 6, at + HEADER + length)), at);
    }
    open = [];
  }
  write(file);
}

interface Chunk {
  readonly at: number;
  readonly length: number;
  readonly type: number;
}

function chunksOf(file: Buffer, grid: number): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = HEADER; at + HEADER <= file.length; ) {
    const left = BLOCK - ((at - grid) % BLOCK);
    if (left < HEADER) {
      at += left;
      continue;
    }
    const length = file.readUInt16LE(at + 4);
    const type = file[at + 6]!;
    const end = at + HEADER + length;
    if (length + HEADER > left || end > file.length || crc32(file.subarray(at + 6, end)) !== file.readUInt32LE(at))
      break;
    chunks.push({ at, length, type });
    at = end;
  }
  return chunks;
}

/** Replaces the texts of a protocol buffer in place. A field of bytes is a message, a text, or both by chance. */
function rewriteMessage(bytes: Buffer, rewrite: Rewrite, depth: number): void {
  const fields = fieldsOf(bytes);
  if (fields !== undefined && depth < MOST_DEPTH)
    for (const { start, end } of fields) rewriteMessage(bytes.subarray(start, end), rewrite, depth + 1);
  const text = bytes.toString('latin1');
  if (depth === 0 || !isText(text)) return;
  const replaced = rewrite(text);
  if (replaced !== text) bytes.write(replaced, 0, 'latin1');
}

/** Places of the fields with a length; undefined if the bytes are not a message. */
function fieldsOf(bytes: Buffer): { readonly start: number; readonly end: number }[] | undefined {
  const fields: { start: number; end: number }[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at];
      if (byte === undefined) return -1;
      at += 1;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    return -1;
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag % 8;
    if (tag < 8 || tag >= 8 * 4096) return undefined;
    if (wire === 0) {
      if (varint() < 0) return undefined;
    } else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      if (length < 0 || at + length > bytes.length) return undefined;
      fields.push({ start: at, end: at + length });
      at += length;
    } else return undefined;
  }
  return at === bytes.length ? fields : undefined;
}

class Reader {
  readonly #source: ByteSource;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** The next bytes; undefined where the file ends before, unless `partly`. */
  async take(bytes: number, partly = false): Promise<Buffer | undefined> {
    const buffer = Buffer.alloc(bytes);
    let filled = 0;
    while (filled < bytes) {
      const count = await this.#source.read(buffer, filled);
      if (count === 0) return partly && filled > 0 ? buffer.subarray(0, filled) : undefined;
      filled += count;
    }
    return buffer;
  }
}
