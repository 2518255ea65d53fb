/**
 * The allocator after one entry, from the blocks of the page: which ranges of segments are free, and which live blocks
 * keep them from the driver. The rules are those of the macros `layout_at` and `free_at`: torch joins neighbouring free
 * blocks; a flush gives back cudaMalloc segments that are wholly free and whole pages of expandable ones. Pure. All
 * sizes and places are bytes.
 */

import { pushAll } from '../../../model/lists.js';
import type { DeviceColumns, PageBlocks, PageDevice } from '../../../model/picture/page-data.js';
import { type Live, liveAt } from '../live-at.js';

/** Pages of expandable segments of small blocks: torch `kSmallBuffer`. */
const SMALL_PAGE_BYTES = 2 * 1024 ** 2;

/** A segment or mapped run. Ranges of blocks are of `live.blocks`, ranges of holes of `holes`. */
export interface SegmentAt {
  /** Index into the columns of segments. */
  readonly index: number;
  readonly place: number;
  readonly bytes: number;
  readonly stream: number;
  readonly isSmall: boolean;
  readonly isPrivate: boolean;
  readonly isExpandable: boolean;
  readonly firstBlock: number;
  readonly endBlock: number;
  readonly firstHole: number;
  readonly endHole: number;
  readonly liveBytes: number;
  readonly freeBytes: number;
  /** Of the free bytes, what a flush of the cache gives back to the driver. */
  readonly releasableBytes: number;
  readonly largestHoleBytes: number;
}

/** Why free memory is not with the driver. `releasable`: it only is cached. */
export type HoleReason = 'private_pool' | 'releasable' | 'between_live_blocks' | 'page_pinned';

export interface Hole {
  /** Index into {@link LayoutAt.segments}. */
  readonly segment: number;
  readonly place: number;
  readonly bytes: number;
  /** The live block behind it, as an index into `live.blocks`; the block before it is one less. */
  readonly nextBlock: number;
  readonly releasableBytes: number;
  readonly reason: HoleReason;
  /** Live blocks that keep it from the driver: a range of `live.blocks`. */
  readonly firstPin: number;
  readonly endPin: number;
}

/** Free bytes that one range of `live.blocks` keeps from the driver. */
export interface Pin {
  readonly bytes: number;
  readonly first: number;
  readonly end: number;
}

export interface LayoutAt {
  readonly live: Live;
  readonly segments: readonly SegmentAt[];
  readonly holes: readonly Hole[];
  /** One of each partly free segment, or page of an expandable one. */
  readonly pins: readonly Pin[];
  readonly reservedBytes: number;
  readonly liveBytes: number;
  readonly pendingBytes: number;
}

let latest: { readonly page: PageDevice; readonly columns: DeviceColumns; readonly state: LayoutAt } | undefined;

/** The state after entry `seq`. The last one is kept: several views ask for the same. */
export function holesAt(page: PageDevice, columns: DeviceColumns, seq: number): LayoutAt {
  if (latest?.columns !== columns || latest.page !== page || latest.state.live.seq !== seq)
    latest = { page, columns, state: newState(page, columns, seq) };
  return latest.state;
}

function newState(page: PageDevice, columns: DeviceColumns, seq: number): LayoutAt {
  const live = liveAt(columns, seq);
  const { blocks, segments } = columns;
  const at = { segments: [] as SegmentAt[], holes: [] as Hole[], pins: [] as Pin[] };
  let reservedBytes = 0;
  let next = 0;
  for (const index of live.segments) {
    const place = segments.place[index]!;
    const end = place + segments.bytes[index]!;
    // Where the trace contradicts itself a block may begin outside of all segments.
    while (next < live.blocks.length && blocks.place[live.blocks[next]!]! < place) next += 1;
    const firstBlock = next;
    const gaps: Gap[] = [];
    let free = place;
    let liveBytes = 0;
    for (; next < live.blocks.length; next += 1) {
      const block = live.blocks[next]!;
      const from = blocks.place[block]!;
      if (from >= end) break;
      if (from > free) gaps.push({ from: free, to: from, nextBlock: next });
      free = Math.max(free, Math.min(end, from + blocks.bytes[block]!));
      liveBytes += blocks.bytes[block]!;
    }
    if (free < end) gaps.push({ from: free, to: end, nextBlock: next });
    const isSmall = segments.isSmall[index] === 1;
    const segment = {
      ...{ index, place, bytes: end - place, stream: segments.stream[index]!, isSmall, firstBlock, endBlock: next },
      ...{ isPrivate: segments.isPrivate[index] === 1, isExpandable: segments.isExpandable[index] === 1, liveBytes },
    };
    addHoles(at, segment, gaps, blocks, live.blocks, isSmall ? SMALL_PAGE_BYTES : page.largePageBytes);
    reservedBytes += segment.bytes;
  }
  let liveBytes = 0;
  let pendingBytes = 0;
  for (const block of live.blocks) {
    liveBytes += blocks.bytes[block]!;
    if (blocks.pending[block]! <= seq) pendingBytes += blocks.bytes[block]!;
  }
  return { live, ...at, reservedBytes, liveBytes, pendingBytes };
}

interface Gap {
  readonly from: number;
  readonly to: number;
  readonly nextBlock: number;
}

type Segment = Omit<SegmentAt, 'firstHole' | 'endHole' | 'freeBytes' | 'releasableBytes' | 'largestHoleBytes'>;

/** Adds the segment with its holes and what pins them. */
function addHoles(
  at: { readonly segments: SegmentAt[]; readonly holes: Hole[]; readonly pins: Pin[] },
  segment: Segment,
  gaps: readonly Gap[],
  blocks: PageBlocks,
  live: Uint32Array,
  pageBytes: number,
): void {
  const firstHole = at.holes.length;
  const { firstBlock, endBlock, place, isPrivate, isExpandable } = segment;
  const pages = isExpandable && !isPrivate ? pinnedPages(segment, gaps, blocks, live, pageBytes) : null;
  let freeBytes = 0;
  let releasableBytes = 0;
  let largestHoleBytes = 0;
  for (const { from, to, nextBlock } of gaps) {
    const bytes = to - from;
    const hole = { segment: at.segments.length, place: from, bytes, nextBlock };
    let pinned: Omit<Hole, keyof typeof hole>;
    if (isPrivate) pinned = unpinned(0, 'private_pool', nextBlock);
    else if (pages !== null) {
      const low = Math.ceil((from - place) / pageBytes) * pageBytes;
      const high = Math.floor((to - place) / pageBytes) * pageBytes;
      const pagedBytes = Math.max(0, high - low);
      const first =
        pages.get(Math.floor((from - place) / pageBytes)) ?? pages.get(Math.floor((to - place) / pageBytes));
      const last = pages.get(Math.ceil((to - place) / pageBytes) - 1) ?? first;
      pinned =
        pagedBytes === bytes
          ? unpinned(pagedBytes, 'releasable', nextBlock)
          : {
              ...{ releasableBytes: pagedBytes, reason: 'page_pinned' },
              ...{ firstPin: first?.first ?? nextBlock, endPin: last?.end ?? nextBlock },
            };
    } else if (firstBlock === endBlock) pinned = unpinned(bytes, 'releasable', nextBlock);
    else pinned = { releasableBytes: 0, reason: 'between_live_blocks', firstPin: firstBlock, endPin: endBlock };
    at.holes.push({ ...hole, ...pinned });
    freeBytes += bytes;
    releasableBytes += pinned.releasableBytes;
    largestHoleBytes = Math.max(largestHoleBytes, bytes);
  }
  if (pages !== null) pushAll(at.pins, pages.values());
  else if (!isPrivate && freeBytes > 0 && endBlock > firstBlock)
    at.pins.push({ bytes: freeBytes, first: firstBlock, end: endBlock });
  const endHole = at.holes.length;
  at.segments.push({ ...segment, firstHole, endHole, freeBytes, releasableBytes, largestHoleBytes });
}

const unpinned = (
  releasableBytes: number,
  reason: HoleReason,
  at: number,
): Omit<Hole, 'segment' | 'place' | 'bytes' | 'nextBlock'> => ({
  releasableBytes,
  reason,
  firstPin: at,
  endPin: at,
});

/** Partly free pages by their number in the segment. Live blocks are disjoint, so each is in two of them at most. */
function pinnedPages(
  { place, firstBlock, endBlock }: Segment,
  gaps: readonly Gap[],
  blocks: PageBlocks,
  live: Uint32Array,
  pageBytes: number,
): Map<number, Pin> {
  const pages = new Map<number, Pin>();
  let first = firstBlock;
  let end = firstBlock;
  const add = (number: number, bytes: number): void => {
    const from = place + number * pageBytes;
    while (first < endBlock && blocks.place[live[first]!]! + blocks.bytes[live[first]!]! <= from) first += 1;
    end = Math.max(end, first);
    while (end < endBlock && blocks.place[live[end]!]! < from + pageBytes) end += 1;
    pages.set(number, { bytes: (pages.get(number)?.bytes ?? 0) + bytes, first, end });
  };
  for (const gap of gaps) {
    const from = gap.from - place;
    const to = gap.to - place;
    const firstPage = Math.floor(from / pageBytes);
    const endPage = Math.floor(to / pageBytes);
    if (firstPage === endPage) add(firstPage, to - from);
    else {
      if (from % pageBytes > 0) add(firstPage, (firstPage + 1) * pageBytes - from);
      if (to % pageBytes > 0) add(endPage, to - endPage * pageBytes);
    }
  }
  return pages;
}
