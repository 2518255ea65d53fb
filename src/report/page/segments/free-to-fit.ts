/**
 * Which live blocks are in the way of a request: the cheapest neighbouring blocks that would have to be free for a hole
 * of its size. Pure. All sizes and places are bytes.
 */
import type { DeviceColumns, PageDevice, PageMark } from '../../../model/picture/page-data.js';
import type { Hole, LayoutAt, SegmentAt } from './holes-at.js';

export interface Request {
  readonly bytes: number;
  /** Null: unknown, any stream is searched. */
  readonly stream: number | null;
  readonly isSmall: boolean;
  /** Entry of the OOM. */
  readonly seq: number;
}

/** A range of `live.blocks` of one segment, and the hole that is there once they are free. */
export interface Enlargement {
  /** Index into `LayoutAt.segments`. */
  readonly segment: number;
  readonly first: number;
  readonly end: number;
  readonly liveBytes: number;
  readonly place: number;
  readonly holeBytes: number;
}

/** The request of the first OOM at or after entry `seq`, or else of the last one. Null without an OOM. */
export function requestNear({ marks }: PageDevice, seq: number): Request | null {
  const failed = marks.filter((mark): mark is PageMark & { readonly bytes: number } => {
    return mark.kind === 'oom' && mark.bytes !== null;
  });
  failed.sort((a, b) => a.seq - b.seq);
  const mark = failed.find((one) => one.seq >= seq) ?? failed.at(-1);
  if (mark === undefined) return null;
  const { bytes, seq: at, request } = mark;
  return { bytes, seq: at, stream: request?.stream ?? null, isSmall: request?.isSmall ?? bytes <= 1024 ** 2 };
}

/** Torch searches one stream, class of size and pool. Whether a request is for a private pool is unknown. */
export const serves = (segment: SegmentAt, { stream, isSmall }: Request): boolean =>
  !segment.isPrivate &&
  segment.isSmall === isSmall &&
  (stream === null || segment.stream < 0 || segment.stream === stream);

/** The largest hole that torch would search for the request; null without one. */
export function largestFor({ segments, holes }: LayoutAt, request: Request): Hole | null {
  let largest: Hole | null = null;
  for (const hole of holes)
    if (serves(segments[hole.segment]!, request) && hole.bytes > (largest?.bytes ?? 0)) largest = hole;
  return largest;
}

/**
 * The run of neighbouring live blocks of least bytes that must be free for a hole of the request's size; of equals the
 * fewest blocks, then the lowest place. Null where no segment is large enough, or a hole is there already.
 */
export function cheapestRun(columns: DeviceColumns, state: LayoutAt, request: Request): Enlargement | null {
  if ((largestFor(state, request)?.bytes ?? 0) >= request.bytes) return null;
  let cheapest: Enlargement | null = null;
  state.segments.forEach((segment, index) => {
    if (segment.bytes < request.bytes || !serves(segment, request)) return;
    const run = cheapestOfSegment(columns, state, index, request.bytes);
    if (run !== null && (cheapest === null || isCheaper(run, cheapest))) cheapest = run;
  });
  return cheapest;
}

const isCheaper = (a: Enlargement, b: Enlargement): boolean =>
  a.liveBytes < b.liveBytes || (a.liveBytes === b.liveBytes && a.end - a.first < b.end - b.first);

/** Both ends of the run only move up: with a later first block, the last one is never earlier. */
function cheapestOfSegment(columns: DeviceColumns, state: LayoutAt, index: number, bytes: number): Enlargement | null {
  const segment = state.segments[index]!;
  const sizes = columns.blocks.bytes;
  const live = state.live.blocks;
  let cheapest: Enlargement | null = null;
  let liveBytes = 0;
  let end = segment.firstBlock;
  for (let first = segment.firstBlock; first < segment.endBlock; first += 1) {
    const from = endOfBlockBefore(columns, state, segment, first);
    while (end < segment.endBlock && startOfBlock(columns, state, segment, end) - from < bytes) {
      liveBytes += sizes[live[end]!]!;
      end += 1;
    }
    const place = from;
    const holeBytes = startOfBlock(columns, state, segment, end) - from;
    if (holeBytes < bytes) break;
    const run = { segment: index, first, end, liveBytes, place, holeBytes };
    if (cheapest === null || isCheaper(run, cheapest)) cheapest = run;
    liveBytes -= sizes[live[first]!]!;
  }
  return cheapest;
}

/** The hole that is there once `count` blocks next to it are free, each time the smaller neighbour. */
export function enlarged(columns: DeviceColumns, state: LayoutAt, hole: Hole, count: number): Enlargement {
  const segment = state.segments[hole.segment]!;
  const sizes = columns.blocks.bytes;
  const live = state.live.blocks;
  let first = hole.nextBlock;
  let end = hole.nextBlock;
  let liveBytes = 0;
  for (let freed = 0; freed < count && (first > segment.firstBlock || end < segment.endBlock); freed += 1) {
    const before = first > segment.firstBlock ? sizes[live[first - 1]!]! : Number.POSITIVE_INFINITY;
    const after = end < segment.endBlock ? sizes[live[end]!]! : Number.POSITIVE_INFINITY;
    if (before < after) first -= 1;
    else end += 1;
    liveBytes += Math.min(before, after);
  }
  const place = endOfBlockBefore(columns, state, segment, first);
  const holeBytes = startOfBlock(columns, state, segment, end) - place;
  return { segment: hole.segment, first, end, liveBytes, place, holeBytes };
}

/** Where block `at` of the segment begins; behind the last one, the end of the segment. */
function startOfBlock({ blocks }: DeviceColumns, { live }: LayoutAt, segment: SegmentAt, at: number): number {
  return at < segment.endBlock ? blocks.place[live.blocks[at]!]! : segment.place + segment.bytes;
}

function endOfBlockBefore({ blocks }: DeviceColumns, { live }: LayoutAt, segment: SegmentAt, at: number): number {
  if (at === segment.firstBlock) return segment.place;
  const before = live.blocks[at - 1]!;
  return blocks.place[before]! + blocks.bytes[before]!;
}
