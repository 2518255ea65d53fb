/**
 * Segments as bars on one scale, grouped by the memory that never mixes, and wrapped into rows like words. Pure; sizes
 * are bytes, places on the drawing CSS pixels.
 */
import { groupBy } from '../../../model/group-by.js';
import type { LayoutAt, SegmentAt } from './holes-at.js';

export const BAR_HEIGHT = 13;
export const ROW_HEIGHT = 18;
const TITLE_HEIGHT = 22;
/** Between segments of a row. */
const GAP = 3;
const LEAST_WIDTH = 2;

export interface SegmentGroup
  extends Pick<SegmentAt, 'isSmall' | 'isPrivate' | 'stream' | 'bytes' | 'freeBytes' | 'largestHoleBytes'> {
  readonly segments: number;
  /** Of the title's first pixel. */
  readonly y: number;
}

/** A part of a segment that is in one row: bytes from the segment's start. */
export interface Piece {
  /** Index into `LayoutAt.segments`. */
  readonly segment: number;
  readonly from: number;
  readonly to: number;
  readonly x: number;
  readonly width: number;
  readonly y: number;
}

export interface SegmentRows {
  readonly bytesPerPixel: number;
  readonly groups: readonly SegmentGroup[];
  /** From top to bottom, in each row from left to right. */
  readonly pieces: readonly Piece[];
  /** Segments that did not fit. */
  readonly hidden: number;
  readonly hiddenBytes: number;
}

/**
 * Groups with the most reserved memory first, in each group the segments with the most free memory. `mostReserved`: of
 * the whole trace, so that the scale stays as the cursor moves. A scale that is too large for `height` is reduced a
 * few times, then the last segments are left out.
 */
export function segmentRows(at: LayoutAt, mostReserved: number, width: number, height: number): SegmentRows {
  // A part of the rows stays empty, because segments are not broken where they fit into the next row.
  const rows = Math.max(1, (height / ROW_HEIGHT) * 0.75);
  let bytesPerPixel = Math.max(1, mostReserved / (width * rows));
  let laid = place(at, bytesPerPixel, width, height);
  for (let attempt = 0; attempt < 4 && laid.hidden > 0; attempt += 1) {
    bytesPerPixel *= 1.25;
    laid = place(at, bytesPerPixel, width, height);
  }
  return laid;
}

function place({ segments }: LayoutAt, bytesPerPixel: number, width: number, height: number): SegmentRows {
  const groups: SegmentGroup[] = [];
  const pieces: Piece[] = [];
  let hidden = 0;
  let hiddenBytes = 0;
  let y = 0;
  for (const members of groupsOf(segments)) {
    const sum = (of: (segment: SegmentAt) => number): number =>
      members.reduce((total, index) => total + of(segments[index]!), 0);
    const { isSmall, isPrivate, stream } = segments[members[0]!]!;
    const group = {
      ...{ isSmall, isPrivate, stream, segments: members.length, y },
      bytes: sum((segment) => segment.bytes),
      freeBytes: sum((segment) => segment.freeBytes),
      largestHoleBytes: members.reduce((most, index) => Math.max(most, segments[index]!.largestHoleBytes), 0),
    };
    y += TITLE_HEIGHT;
    if (y + ROW_HEIGHT > height) {
      hidden += members.length;
      hiddenBytes += group.bytes;
      continue;
    }
    groups.push(group);
    let x = 0;
    for (const index of members) {
      const { bytes } = segments[index]!;
      const needed = Math.max(LEAST_WIDTH, bytes / bytesPerPixel);
      if (x > 0 && x + needed > width && (needed <= width || width - x < width / 4)) {
        x = 0;
        y += ROW_HEIGHT;
      }
      // Its last row must be in the drawing too.
      const rows = Math.ceil((x + needed) / width);
      if (y + rows * ROW_HEIGHT > height) {
        hidden += 1;
        hiddenBytes += bytes;
        continue;
      }
      let from = 0;
      while (from < bytes) {
        const to = Math.min(bytes, from + (width - x) * bytesPerPixel);
        pieces.push({ segment: index, from, to, x, width: Math.max(LEAST_WIDTH, (to - from) / bytesPerPixel), y });
        x += Math.max(LEAST_WIDTH, (to - from) / bytesPerPixel) + GAP;
        from = to;
        if (from >= bytes) break;
        x = 0;
        y += ROW_HEIGHT;
      }
      if (x >= width) {
        x = 0;
        y += ROW_HEIGHT;
      }
    }
    if (x > 0) y += ROW_HEIGHT;
    y += 4;
  }
  return { bytesPerPixel, groups, pieces, hidden, hiddenBytes };
}

/** Indices by group. */
function groupsOf(segments: readonly SegmentAt[]): number[][] {
  const groups = groupBy([...segments.keys()], (index) => {
    const { isPrivate, isSmall, stream } = segments[index]!;
    return `${isPrivate} ${isSmall} ${stream}`;
  });
  const reserved = (members: readonly number[]): number =>
    members.reduce((total, index) => total + segments[index]!.bytes, 0);
  for (const members of groups.values())
    members.sort((a, b) => segments[b]!.freeBytes - segments[a]!.freeBytes || segments[a]!.place - segments[b]!.place);
  return [...groups.values()].sort((a, b) => reserved(b) - reserved(a));
}

/** Where bytes from `from` to `to` of a segment are drawn. */
export function partsOf(
  { pieces, bytesPerPixel }: SegmentRows,
  segment: number,
  from: number,
  to: number,
): { readonly x: number; readonly y: number; readonly width: number }[] {
  const parts = [];
  for (const piece of pieces) {
    if (piece.segment !== segment || piece.to <= from || piece.from >= to) continue;
    const start = Math.max(from, piece.from);
    const x = piece.x + (start - piece.from) / bytesPerPixel;
    parts.push({ x, y: piece.y, width: Math.max(1, (Math.min(to, piece.to) - start) / bytesPerPixel) });
  }
  return parts;
}

/** The segment and byte of it at a point; null between bars. */
export function byteAt(
  { pieces, bytesPerPixel }: SegmentRows,
  x: number,
  y: number,
): { readonly segment: number; readonly byte: number } | null {
  for (const piece of pieces) {
    if (y < piece.y || y >= piece.y + BAR_HEIGHT || x < piece.x || x >= piece.x + piece.width) continue;
    return { segment: piece.segment, byte: Math.min(piece.to - 1, piece.from + (x - piece.x) * bytesPerPixel) };
  }
  return null;
}
