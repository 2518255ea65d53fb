/**
 * Blocks as rectangles: entries to the right, addresses upwards. Where several blocks meet in a pixel the one with the
 * most bytes × entries is drawn, so that each pixel is a real block. Typed arrays without an object per block: 200,000
 * rectangles are drawn while the cursor moves. Pure.
 */
import type { DeviceColumns, PageDevice, PageSegments } from '../../../model/picture/page-data.js';
import type { Axis } from '../axis.js';
import { orderByAscending } from '../order-by.js';
import { fill, fillRect, hatch, type Raster } from '../raster.js';
import type { Loaded } from '../view-state.js';

/** What of the rows is visible: places in bytes, `high > low`. */
export interface Rows {
  readonly low: number;
  readonly high: number;
}

/**
 * Rectangles of visible blocks in pixels, [x0, x1) × [y0, y1), in the order of drawing: the last one is on top. Only
 * the first `count` are used.
 */
export interface Boxes {
  readonly block: Uint32Array;
  readonly x0: Int32Array;
  /** Where the part begins that waits for a stream; `x1` without one. */
  readonly pendingX: Int32Array;
  readonly x1: Int32Array;
  readonly y0: Int32Array;
  readonly y1: Int32Array;
  /** 1: boxes above it cover it, so it need not be drawn. */
  readonly isHidden: Uint8Array;
  count: number;
}

/** For up to `most` blocks. */
export function newBoxes(most: number): Boxes {
  const column = (): Int32Array => new Int32Array(most);
  return {
    ...{ block: new Uint32Array(most), x0: column(), pendingX: column(), x1: column(), y0: column(), y1: column() },
    ...{ isHidden: new Uint8Array(most), count: 0 },
  };
}

/** Which blocks are drawn. */
export interface MapFilter {
  readonly leastBytes: number;
  /** Only blocks that are live after this entry; null: all. */
  readonly aliveAt: number | null;
  /** Blocks of this stack are on top. */
  readonly stack: number | null;
}

/** Columns of blocks in ascending order of bytes × entries: read one after the other, they are in the caches. */
interface Ordered {
  readonly block: Uint32Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly pending: Int32Array;
  /** Places of the first byte and after the last one. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly stack: Int32Array;
  /** Pixel rows for `rowsKey`, clipped; both 0 outside these rows. They are kept during moves along entries. */
  readonly y0: Int32Array;
  readonly y1: Int32Array;
  rowsKey: string;
}

const orders = new WeakMap<DeviceColumns, Ordered>();

function orderedBlocks({ firstSeq, lastSeq }: PageDevice, columns: DeviceColumns): Ordered {
  let ordered = orders.get(columns);
  if (ordered === undefined) {
    const { count, from, to, pending, bytes, place, stack } = columns.blocks;
    const areas = new Float64Array(count);
    for (let i = 0; i < count; i += 1)
      areas[i] = bytes[i]! * Math.max(0, Math.min(to[i]!, lastSeq + 1) - Math.max(from[i]!, firstSeq - 1));
    const block = orderByAscending(areas);
    const ints = (): Int32Array => new Int32Array(count);
    ordered = {
      ...{ block, from: ints(), to: ints(), pending: ints(), stack: ints(), y0: ints(), y1: ints() },
      ...{ low: new Float64Array(count), high: new Float64Array(count), rowsKey: '' },
    };
    for (let at = 0; at < count; at += 1) {
      const i = block[at]!;
      ordered.from[at] = from[i]!;
      ordered.to[at] = to[i]!;
      ordered.pending[at] = pending[i]!;
      ordered.stack[at] = stack[i]!;
      ordered.low[at] = place[i]!;
      ordered.high[at] = place[i]! + bytes[i]!;
    }
    orders.set(columns, ordered);
  }
  return ordered;
}

function layoutRows(ordered: Ordered, rows: Rows, height: number, leastBytes: number): void {
  const key = [rows.low, rows.high, height, leastBytes].join(' ');
  if (ordered.rowsKey === key) return;
  ordered.rowsKey = key;
  const { low, high, y0, y1 } = ordered;
  const perByte = height / (rows.high - rows.low);
  for (let i = 0; i < low.length; i += 1) {
    const isShown = low[i]! < rows.high && high[i]! > rows.low && high[i]! - low[i]! >= leastBytes;
    const top = Math.floor((rows.high - high[i]!) * perByte);
    const bottom = Math.max(top + 1, Math.floor((rows.high - low[i]!) * perByte));
    y0[i] = isShown ? Math.max(0, top) : 0;
    y1[i] = isShown ? Math.min(height, bottom) : 0;
  }
}

/** Fills `boxes`, which must have space for all blocks. */
export function layoutBoxes(
  boxes: Boxes,
  { page, columns }: Loaded,
  axis: Axis,
  rows: Rows,
  { width, height }: { readonly width: number; readonly height: number },
  { leastBytes, aliveAt, stack }: MapFilter,
): void {
  const ordered = orderedBlocks(page, columns);
  layoutRows(ordered, rows, height, leastBytes);
  const { from, to, pending } = ordered;
  const { xOf } = axis;
  const viewFrom = axis.seqOf(0);
  const viewTo = axis.seqOf(1);
  const last = page.lastSeq + 1;
  const viewEnd = Math.min(last, viewTo);
  const endX = Math.floor(xOf(viewEnd) * width);
  const alive = aliveAt ?? Number.NaN;
  boxes.count = 0;
  /** `isSelected`: only blocks of the stack, or only the others. This loop is a large part of the time of a frame. */
  const add = (isSelected: boolean | null): void => {
    let { count } = boxes;
    for (let i = 0; i < from.length; i += 1) {
      const begin = from[i]!;
      const end = to[i]!;
      if (begin >= viewTo || end <= viewFrom || ordered.y1[i] === 0) continue;
      if (begin > alive || end <= alive) continue;
      if (isSelected !== null && (ordered.stack[i] === stack) !== isSelected) continue;
      const x0 = begin <= viewFrom ? 0 : Math.floor(xOf(begin) * width);
      const x1 = Math.max(x0 + 1, end >= viewEnd ? endX : Math.floor(xOf(end) * width));
      const wait = pending[i]!;
      const isPending = wait < end && wait < last;
      boxes.block[count] = ordered.block[i]!;
      boxes.x0[count] = x0;
      boxes.pendingX[count] = isPending ? Math.max(x0, Math.floor(xOf(Math.min(wait, viewTo)) * width)) : x1;
      boxes.x1[count] = Math.min(width, x1);
      boxes.y0[count] = ordered.y0[i]!;
      boxes.y1[count] = ordered.y1[i]!;
      count += 1;
    }
    boxes.count = count;
  };
  if (stack === null) add(null);
  else {
    add(false);
    add(true);
  }
  findHidden(boxes, width, height);
}

/** A bit for each pixel that boxes cover; rows begin with a word of their own. */
let covered = new Uint32Array(0);

/** Most blocks are lower than a pixel, so that of those of one row of pixels only few are seen. */
function findHidden({ x0, x1, y0, y1, isHidden, count }: Boxes, width: number, height: number): void {
  const words = (width + 31) >>> 5;
  if (covered.length < words * height) covered = new Uint32Array(words * height);
  covered.fill(0, 0, words * height);
  for (let at = count - 1; at >= 0; at -= 1) {
    const left = x0[at]!;
    const right = x1[at]!;
    isHidden[at] = 1;
    if (left >= right) continue;
    for (let y = y0[at]!; y < y1[at]!; y += 1) {
      const first = y * words + (left >>> 5);
      const last = y * words + ((right - 1) >>> 5);
      for (let word = first; word <= last; word += 1) {
        let bits = word === first ? ALL_BITS << (left & 31) : ALL_BITS;
        if (word === last) bits &= ALL_BITS >>> (31 - ((right - 1) & 31));
        if ((bits & ~covered[word]!) === 0) continue;
        covered[word]! |= bits;
        isHidden[at] = 0;
      }
    }
  }
}

const ALL_BITS = 0xffff_ffff;

/** Colours by index of the block. */
export interface BlockColors {
  readonly color: Uint32Array;
  /** 1: hatched. */
  readonly hatched: Uint8Array;
  /** Of the part that waits for a stream, hatched; null: as the rest. */
  readonly pending: number | null;
}

export function drawBoxes(raster: Raster, boxes: Boxes, { color, hatched, pending }: BlockColors): void {
  const { count, block, isHidden } = boxes;
  for (let at = 0; at < count; at += 1) {
    if (isHidden[at] === 1) continue;
    const i = block[at]!;
    const x0 = boxes.x0[at]!;
    const x1 = boxes.x1[at]!;
    const y0 = boxes.y0[at]!;
    const y1 = boxes.y1[at]!;
    const plain = color[i]!;
    if (hatched[i] === 1) hatch(raster, x0, y0, x1, y1, plain);
    else fill(raster, x0, y0, x1, y1, plain);
    if (pending !== null && boxes.pendingX[at]! < x1) hatch(raster, boxes.pendingX[at]!, y0, x1, y1, pending);
  }
}

/** Where in `boxes` the block is that is drawn at a pixel; −1: none. */
export function boxAt({ x0, x1, y0, y1, count }: Boxes, x: number, y: number): number {
  for (let at = count - 1; at >= 0; at -= 1) if (x0[at]! <= x && x < x1[at]! && y0[at]! <= y && y < y1[at]!) return at;
  return -1;
}

/** Outlines are drawn from this width on: smaller ones would hide the block. Pixels. */
const LEAST_OUTLINED = 6;

/** Outlines in `color` of the drawn blocks of a stack. */
export function outlineStack(raster: Raster, boxes: Boxes, stackOf: Int32Array, stack: number, color: number): void {
  // They are the last ones.
  for (let at = boxes.count - 1; at >= 0 && stackOf[boxes.block[at]!] === stack; at -= 1) {
    const [x0, x1, y0, y1] = [boxes.x0[at]!, boxes.x1[at]!, boxes.y0[at]!, boxes.y1[at]!];
    if (x1 - x0 < LEAST_OUTLINED || y1 - y0 < LEAST_OUTLINED) continue;
    fillRect(raster, x0, y0, x1, y0 + 1, color);
    fillRect(raster, x0, y1 - 1, x1, y1, color);
    fillRect(raster, x0, y0, x0 + 1, y1, color);
    fillRect(raster, x1 - 1, y0, x1, y1, color);
  }
}

/** Reserved memory behind the blocks. */
export function drawSegments(
  raster: Raster,
  page: PageDevice,
  segments: PageSegments,
  axis: Axis,
  { low, high }: Rows,
  colors: { readonly free: number; readonly privateFree: number },
): void {
  const { width, height } = raster;
  const perByte = height / (high - low);
  const viewFrom = axis.seqOf(0);
  const viewTo = axis.seqOf(1);
  for (let i = 0; i < segments.count; i += 1) {
    const from = segments.from[i]!;
    const to = Math.min(segments.to[i]!, page.lastSeq + 1);
    if (from >= viewTo || to <= viewFrom) continue;
    const x0 = Math.floor(axis.xOf(Math.max(from, viewFrom)) * width);
    const x1 = Math.floor(axis.xOf(Math.min(to, viewTo)) * width);
    const y0 = Math.floor((high - segments.place[i]! - segments.bytes[i]!) * perByte);
    const y1 = Math.max(y0 + 1, Math.floor((high - segments.place[i]!) * perByte));
    const isPrivate = segments.isPrivate[i] === 1;
    fillRect(raster, x0, y0, Math.max(x0 + 1, x1), y1, isPrivate ? colors.privateFree : colors.free, isPrivate);
  }
}
