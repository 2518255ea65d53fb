/** What is live after an entry, from the blocks of the page, and whether that is everything. Pure. */
import type { DeviceColumns, PageBlocks, PageDevice, PageSegments } from '../../model/picture/page-data.js';
import { orderByAscending } from './order-by.js';
import { wholeRange } from './pick.js';

export interface Live {
  /** The state after this entry. */
  readonly seq: number;
  /** Indices of live blocks in ascending order of their place. */
  readonly blocks: Uint32Array;
  /** Indices of segments in ascending order of their place. */
  readonly segments: Uint32Array;
}

const placeOrders = new WeakMap<DeviceColumns, { readonly blocks: Uint32Array; readonly segments: Uint32Array }>();

/** Blocks and segments that are live after entry `seq`. Linear in the number of blocks of the page. */
export function liveAt(columns: DeviceColumns, seq: number): Live {
  let orders = placeOrders.get(columns);
  if (orders === undefined) {
    orders = { blocks: orderByAscending(columns.blocks.place), segments: orderByAscending(columns.segments.place) };
    placeOrders.set(columns, orders);
  }
  return {
    seq,
    blocks: liveOf(columns.blocks, orders.blocks, seq),
    segments: liveOf(columns.segments, orders.segments, seq),
  };
}

function liveOf({ from, to, count }: PageBlocks | PageSegments, order: Uint32Array, seq: number): Uint32Array {
  const live = new Uint32Array(count);
  let liveCount = 0;
  for (let at = 0; at < count; at += 1) {
    const i = order[at]!;
    if (from[i]! <= seq && seq < to[i]!) live[liveCount++] = i;
  }
  return live.slice(0, liveCount);
}

/** The entry whose state a cursor between entries shows. */
export const entryOf = ({ firstSeq, lastSeq }: PageDevice, cursor: number): number =>
  Math.min(lastSeq, Math.max(firstSeq - 1, Math.floor(cursor)));

/** Whether the page has every block that is live after entry `seq`. */
export const isWholeAt = (page: PageDevice, seq: number): boolean => wholeRange(page, seq, seq) !== null;

/** The entry closest to `seq` after which the page has every live block; null if there is none. */
export function nearestWhole({ wholeRanges, segments, allSegments }: PageDevice, seq: number): number | null {
  if (segments !== allSegments) return null;
  let nearest: number | null = null;
  for (const { from, to } of wholeRanges) {
    const at = Math.min(to, Math.max(from, seq));
    if (nearest === null || Math.abs(at - seq) < Math.abs(nearest - seq)) nearest = at;
  }
  return nearest;
}
