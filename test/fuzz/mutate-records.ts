/** Framed formats: the content of a record is changed, and its checksum and length are right again. */
import { crc32 } from 'node:zlib';
import { maskedCrc } from '../../parsers/tensorboard/masked-crc.js';
import type { Random } from '../../samples/generate/simulate/random.js';
import { below, type Mutator, mutateBytes, oneOf, pickOf } from './mutate-bytes.js';

/** Records moved, repeated, removed, or with other content. */
function changeRecords(records: Buffer[], random: Random, spare: Buffer): Buffer[] {
  if (records.length === 0) return [Buffer.from(spare.subarray(0, 50))];
  const at = below(random, records.length);
  const record = records[at]!;
  const changed = (): Buffer[] => {
    const content = mutateBytes(record, random, pickOf(random, records));
    return records.with(at, random() < 0.3 ? mutateBytes(content, random, spare) : content);
  };
  return oneOf(random, [
    () => records.toSpliced(at, 1),
    () => records.toSpliced(at, 0, ...Array.from({ length: 1 + below(random, 40) }, () => record)),
    () => records.toSpliced(at, 1).toSpliced(below(random, records.length), 0, record),
    ...[changed, changed, changed],
  ]);
}

/** TFRecord: length, masked CRC-32C of it, data, masked CRC-32C of that. */
export const mutateTfRecords: Mutator = (bytes, random, spare) => {
  const records: Buffer[] = [];
  for (let at = 0; at + 16 <= bytes.length; ) {
    const length = bytes.readUIntLE(at, 6);
    if (at + 16 + length > bytes.length) break;
    records.push(bytes.subarray(at + 12, at + 12 + length));
    at += 16 + length;
  }
  const parts = changeRecords(records, random, spare).flatMap((data) => {
    const header = Buffer.alloc(12);
    header.writeUIntLE(data.length, 0, 6);
    header.writeUInt32LE(maskedCrc(header.subarray(0, 8)), 8);
    const footer = Buffer.alloc(4);
    footer.writeUInt32LE(maskedCrc(data), 0);
    return [header, data, footer];
  });
  return Buffer.concat(parts);
};

const BLOCK = 32_768;
const HEADER = 7;

/** The transaction log of W&B: chunks of records in blocks of 32 KiB, with a CRC-32 each. */
export const mutateWandbLog: Mutator = (bytes, random, spare) => {
  const records: Buffer[] = [];
  let record = Buffer.alloc(0);
  for (let at = HEADER; at + HEADER <= bytes.length; ) {
    const left = BLOCK - (at % BLOCK);
    if (left < HEADER) {
      at += left;
      continue;
    }
    const [length, kind] = [bytes.readUInt16LE(at + 4), bytes[at + 6]!];
    const part = bytes.subarray(at + HEADER, at + HEADER + length);
    record = kind <= 2 ? Buffer.from(part) : Buffer.concat([record, part]);
    if (kind === 1 || kind === 4) records.push(record);
    at += HEADER + length;
  }
  return Buffer.concat([bytes.subarray(0, HEADER), ...framed(changeRecords(records, random, spare))]);
};

function framed(records: readonly Buffer[]): Buffer[] {
  const parts: Buffer[] = [];
  let size = HEADER;
  const push = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
  };
  for (const record of records) {
    let data = record;
    for (let isFirst = true; ; isFirst = false) {
      let left = BLOCK - (size % BLOCK);
      if (left < HEADER) {
        push(Buffer.alloc(left));
        left = BLOCK;
      }
      const part = data.subarray(0, left - HEADER);
      data = data.subarray(part.length);
      const kind = data.length === 0 ? (isFirst ? 1 : 4) : isFirst ? 2 : 3;
      const header = Buffer.alloc(HEADER);
      header.writeUInt32LE(crc32(part, crc32(Buffer.of(kind))), 0);
      header.writeUInt16LE(part.length, 4);
      header[6] = kind;
      push(header);
      push(part);
      if (data.length === 0) break;
    }
  }
  return parts;
}
