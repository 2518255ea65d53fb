/**
 * A TensorBoard event file: records of length, checksum, message and checksum. Upstream: tensorflow
 * `core/lib/io/record_writer.h`; tensorboard `compat/proto/event.proto` and `summary.proto`. torch's SummaryWriter
 * writes one event a scalar, its value a float.
 */
import { maskedCrc32c } from './crc32c.js';

export interface Scalar {
  readonly tag: string;
  readonly value: number;
  readonly step: number;
  /** UTC, µs. */
  readonly timeUs: number;
}

/** What torch's SummaryWriter makes of `add_text`: a tensor of one string. */
export interface Text {
  readonly name: string;
  readonly text: string;
  /** UTC, µs. */
  readonly timeUs: number;
}

/**
 * Fields of the messages with their wire types: 0 varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes.
 */
const WALL_TIME = (1 << 3) | 1;
const STEP = (2 << 3) | 0;
const FILE_VERSION = (3 << 3) | 2;
const SUMMARY = (5 << 3) | 2;
const VALUE = (1 << 3) | 2;
const TAG = (1 << 3) | 2;
const SIMPLE_VALUE = (2 << 3) | 5;
const TENSOR = (8 << 3) | 2;
const METADATA = (9 << 3) | 2;
const PLUGIN_DATA = (1 << 3) | 2;
const PLUGIN_NAME = (1 << 3) | 2;
const TENSOR_TYPE = (1 << 3) | 0;
const TENSOR_SHAPE = (2 << 3) | 2;
const STRING_VALUE = (8 << 3) | 2;
const DT_STRING = 7;
/** A dimension of size 1. */
const ONE = Buffer.from([(2 << 3) | 2, 2, (1 << 3) | 0, 1]);

export function eventFile(createdUs: number, texts: readonly Text[], scalars: readonly Scalar[]): Buffer {
  const head = Buffer.concat([wallTime(createdUs), delimited(FILE_VERSION, Buffer.from('brain.Event:2'))]);
  const events = [...texts.map(textEvent), ...scalars.map(scalarEvent)];
  return Buffer.concat([record(head), ...events.map(record)]);
}

function textEvent({ name, text, timeUs }: Text): Buffer {
  const tensor = Buffer.concat([
    Buffer.from([TENSOR_TYPE, DT_STRING]),
    delimited(TENSOR_SHAPE, ONE),
    delimited(STRING_VALUE, Buffer.from(text)),
  ]);
  const value = Buffer.concat([
    delimited(TAG, Buffer.from(`${name}/text_summary`)),
    delimited(TENSOR, tensor),
    delimited(METADATA, delimited(PLUGIN_DATA, delimited(PLUGIN_NAME, Buffer.from('text')))),
  ]);
  return Buffer.concat([wallTime(timeUs), Buffer.from([STEP, 0]), delimited(SUMMARY, delimited(VALUE, value))]);
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
