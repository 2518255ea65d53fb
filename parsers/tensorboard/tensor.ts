/**
 * Tensors of one element: the scalars of TensorFlow 2 and of torch's `new_style`, and texts. Upstream: tensorboard
 * `tensor.proto`, `types.proto`.
 */
import type { PbfReader } from 'pbf';
import { FRACTION_BITS } from '../../src/text/scalars/half-unit.js';
import { type Range, range, readMessage } from './event.js';

export interface TensorValue {
  readonly value: number;
  /** Bits of the fraction of its floating point type; null for integers. */
  readonly fractionBits: number | null;
}

/** Numbers of `DataType`. */
const DT = {
  float: 1,
  double: 2,
  int32: 3,
  uint8: 4,
  int16: 5,
  int8: 6,
  string: 7,
  int64: 9,
  bool: 10,
  bfloat16: 14,
  uint16: 17,
  half: 19,
  uint32: 22,
  uint64: 23,
} as const;

/** More elements than a scalar has: reading stops there. */
const MOST_DIMENSIONS = 16;

interface Tensor {
  readonly type: number;
  /** Product of the dimensions; 1 without any, NaN where unknown. */
  readonly elements: number;
  readonly content: Range | undefined;
  /** Of the `*_val` field: the first number, or the ranges of texts. */
  readonly first: number | undefined;
  readonly texts: readonly Range[];
}

function readTensor(pbf: PbfReader, where: Range, mostTexts: number): Tensor {
  let type = 0;
  let shape: Range | undefined;
  let content: Range | undefined;
  let first: number | undefined;
  const texts: Range[] = [];
  readMessage(pbf, where, (number) => {
    switch (number) {
      case 1:
        type = pbf.readVarint();
        break;
      case 2:
        shape = range(pbf, where.end);
        break;
      case 4:
        content = range(pbf, where.end);
        break;
      case 5:
        first ??= packed(pbf, where.end, 5, () => pbf.readFloat());
        break;
      case 6:
        first ??= packed(pbf, where.end, 1, () => pbf.readDouble());
        break;
      case 7:
      case 10:
        first ??= packed(pbf, where.end, 0, () => pbf.readVarint(true));
        break;
      case 8:
        if (texts.length < mostTexts) texts.push(range(pbf, where.end));
        break;
      case 11:
      case 13:
      case 16:
      case 17:
        first ??= packed(pbf, where.end, 0, () => pbf.readVarint());
        break;
      default:
    }
  });
  return { type, elements: shape === undefined ? 1 : elementsOf(pbf, shape), content, first, texts };
}

/** The first of a repeated field, which may be packed; the rest is passed over. */
function packed(pbf: PbfReader, end: number, type: number, read: () => number): number | undefined {
  if (pbf.type === type) return read();
  const { start, end: stop } = range(pbf, end);
  if (stop === start) return undefined;
  pbf.pos = start;
  const value = read();
  const isInside = pbf.pos <= stop;
  pbf.pos = stop;
  return isInside ? value : undefined;
}

function elementsOf(pbf: PbfReader, shape: Range): number {
  const dimensions: Range[] = [];
  let isUnknown = false;
  readMessage(pbf, shape, (number) => {
    if (number === 2 && dimensions.length < MOST_DIMENSIONS) dimensions.push(range(pbf, shape.end));
    else if (number === 3) isUnknown = pbf.readVarint() !== 0;
  });
  let elements = isUnknown ? Number.NaN : 1;
  for (const dimension of dimensions) {
    let size = 0;
    readMessage(pbf, dimension, (number) => {
      if (number === 1) size = pbf.readVarint(true);
    });
    elements *= size;
  }
  return elements;
}

/** Undefined if it is not a single number. */
export function readScalarTensor(pbf: PbfReader, where: Range): TensorValue | undefined {
  const { type, elements, content, first } = readTensor(pbf, where, 0);
  if (elements !== 1) return undefined;
  const bytes = content === undefined ? undefined : pbf.buf.subarray(content.start, content.end);
  const view =
    bytes === undefined || bytes.length === 0 ? undefined : new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const is = (size: number): boolean => view !== undefined && view.byteLength === size;
  // Writers leave zeros away: a tensor with a type and no value holds one.
  const fallback = first ?? (view === undefined ? 0 : undefined);
  const real = (fractionBits: number, size: number, read: (view: DataView) => number, of = (n: number) => n) => {
    const value = is(size) ? read(view!) : fallback === undefined ? undefined : of(fallback);
    return value === undefined ? undefined : { value, fractionBits };
  };
  const integer = (size: number, read: (view: DataView) => number) => {
    const value = is(size) ? read(view!) : fallback;
    return value === undefined ? undefined : { value, fractionBits: null };
  };
  switch (type) {
    case DT.float:
      return real(FRACTION_BITS.float, 4, (v) => v.getFloat32(0, true));
    case DT.double:
      return real(FRACTION_BITS.double, 8, (v) => v.getFloat64(0, true));
    case DT.half:
      return real(FRACTION_BITS.half, 2, (v) => halfOf(v.getUint16(0, true)), halfOf);
    case DT.bfloat16:
      return real(FRACTION_BITS.bfloat16, 2, (v) => bfloatOf(v.getUint16(0, true)), bfloatOf);
    case DT.int32:
      return integer(4, (v) => v.getInt32(0, true));
    case DT.uint32:
      return integer(4, (v) => v.getUint32(0, true));
    case DT.int64:
      return integer(8, (v) => Number(v.getBigInt64(0, true)));
    case DT.uint64:
      return integer(8, (v) => Number(v.getBigUint64(0, true)));
    case DT.int16:
      return integer(2, (v) => v.getInt16(0, true));
    case DT.uint16:
      return integer(2, (v) => v.getUint16(0, true));
    case DT.int8:
      return integer(1, (v) => v.getInt8(0));
    case DT.uint8:
    case DT.bool:
      return integer(1, (v) => v.getUint8(0));
    default:
      return undefined;
  }
}

/** The one text of a tensor; undefined if it holds several, or none. */
export function readTextTensor(pbf: PbfReader, where: Range): string | undefined {
  const { type, texts } = readTensor(pbf, where, 2);
  const [text] = texts;
  if (type !== DT.string || text === undefined || texts.length !== 1) return undefined;
  return Buffer.from(pbf.buf.buffer, pbf.buf.byteOffset + text.start, text.end - text.start).toString('utf8');
}

/** IEEE 754 half precision. */
function halfOf(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The upper half of a float. */
function bfloatOf(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, (bits & 0xffff) << 16);
  return view.getFloat32(0);
}
