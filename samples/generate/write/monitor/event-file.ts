/**
 * A TensorBoard event file: records of length, checksum, message and checksum. Upstream: tensorflow `core/lib/io/record_writer.h`;
 * tensorboard `compat/proto/event.proto` and `summary.proto`. torch's SummaryWriter writes one event a scalar, its value a float.
 */
import { maskedCrc32c } from './crc32c.js';

export interface Scalar {
  readonly tag: string;
  readonly value: number;
  readonly step: number;
  /** UTC, µs. */
  readonly timeUs: number;
}

/** Fields of the messages with their wire types: 0 varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes. */
const WALL_TIME = (1 << 3) | 1;
const STEP = (2 << 3) | 0;
const FILE_VERSION = (3 << 3) | 2;
const SUMMARY = (5 << 3) | 2;
const VALUE = (1 << 3) | 2;
const TAG = (1 << 3) | 2;
const SIMPLE_VALUE = (2 << 3) | 5;

export function eventFile(createdUs: number, scalars: readonly Scalar[]): Buffer {
  const head = Buffer.concat([wallTime(createdUs), delimited(FILE_VERSION, Buffer.from('brain.Event:2'))]);
  return Buffer.concat([record(head), ...scalars.map((scalar) => record(scalarEvent(scalar)))]);
}

function scalarEvent({ tag, value, step, timeUs }: Scalar): Buffer {
  const figure = Buffer.alloc(5);
  figure.writeUInt8(SIMPLE_VALUE);
  figure.writeFloatLE(value, 1);
  const summary = delimited(VALUE, Buffer.concat([delimited(TAG, Buffer.from(tag)), figure]));
  return Buffer.concat([wallTime(timeUs), Buffer.from([STEP, ...varint(step)]), delimited(SUMMARY, summary)]);
}

function wallTime(us: number): Buffer {
  const field = Buffer.alloc(9);
  field.writeUInt8(WALL_TIME);
  field.writeDoubleLE(us / 1e6, 1);
  return field;
}

function delimited(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([field, ...varint(bytes.length)]), bytes]);
}

/** Seven bits a byte, the lowest first. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return [...bytes, rest];
}

function record(message: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(message.length));
  return Buffer.concat([length, checksum(length), message, checksum(message)]);
}

function checksum(bytes: Buffer): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(maskedCrc32c(bytes));
  return four;
}
