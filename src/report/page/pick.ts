/**
 * Which bucket of which level a pixel column shows: of the finest level that covers the column's entries, the bucket
 * with the most active bytes. A pixel is a state that existed; nothing is averaged or interpolated. Pure.
 */
import { columnStart, type Level } from '../../model/picture/levels.js';
import type { PageDevice } from '../../model/picture/page-data.js';

export interface Picks {
  readonly width: number;
  /** Index into the levels; −1 outside the trace. */
  readonly level: Int16Array;
  readonly column: Int32Array;
  /** Of all buckets of the pixel column, in bytes. */
  readonly reservedMost: Float64Array;
  /** The most pixel columns that show one bucket of several entries, and how many entries that is. */
  longest: number;
  longestEntries: number;
}

export function newPicks(width: number): Picks {
  return {
    width,
    level: new Int16Array(width),
    column: new Int32Array(width),
    reservedMost: new Float64Array(width),
    longest: 0,
    longestEntries: 1,
  };
}

/** Most bytes of any column of the levels. */
export const highestOf = (levels: readonly Level[], of: 'active' | 'reservedMost'): number =>
  levels.reduce((most, level) => level[of].reduce((a, b) => Math.max(a, b), most), 0);

export const entriesPerColumn = ({ from, to, columns }: Level): number => (to - from + 1) / columns;

/** The column that contains an entry of the level. */
export const columnOf = ({ from, to, columns }: Level, seq: number): number =>
  Math.ceil(((seq - from + 1) * columns) / (to - from + 1)) - 1;

/** `levels`: the finest first; `seqOf`: the entry at 0 to 1 across the pixels. */
export function pickColumns(levels: readonly Level[], seqOf: (x: number) => number, picks: Picks): void {
  const { width } = picks;
  picks.longest = 0;
  picks.longestEntries = 1;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const level of levels) {
    first = Math.min(first, level.from);
    last = Math.max(last, level.to);
  }
  let run = 0;
  let right = seqOf(0);
  for (let x = 0; x < width; x += 1) {
    const left = right;
    right = seqOf((x + 1) / width);
    const from = Math.max(first, Math.floor(left));
    const to = Math.min(last, Math.max(Math.floor(left), Math.ceil(right) - 1));
    const index = from > to ? -1 : levels.findIndex((level) => level.from <= from && level.to >= to);
    picks.level[x] = index;
    if (index < 0) {
      run = 0;
      continue;
    }
    const level = levels[index]!;
    let column = columnOf(level, from);
    const end = columnOf(level, to);
    // A bucket belongs to the pixel that it begins in. A pixel in which none begins shows the one that goes on; so does
    // the first pixel of a level, because no pixel before it has shown that bucket.
    const goesOn = x > 0 && picks.level[x - 1] === index;
    if (goesOn && column < end && columnStart(level, column) < left) column += 1;
    let reserved = level.reservedMost[column]!;
    let best = column;
    for (column += 1; column <= end; column += 1) {
      if (level.active[column]! > level.active[best]!) best = column;
      if (level.reservedMost[column]! > reserved) reserved = level.reservedMost[column]!;
    }
    run = goesOn && picks.column[x - 1] === best ? run + 1 : 1;
    picks.column[x] = best;
    picks.reservedMost[x] = reserved;
    if (run > picks.longest && entriesPerColumn(level) > 1) {
      picks.longest = run;
      picks.longestEntries = columnStart(level, best + 1) - columnStart(level, best);
    }
  }
}

const singlePick = newPicks(1);

/** The entry of the state that a pixel from `from` to `to` shows; the first one if that state is from before it. */
export function highestEntry(levels: readonly Level[], from: number, to: number): number {
  pickColumns(levels, (x) => from + x * (to - from), singlePick);
  const first = Math.floor(from);
  if (singlePick.level[0]! < 0) return first;
  const at = levels[singlePick.level[0]!]!.at[singlePick.column[0]!]!;
  return at >= first && at < to ? at : first;
}

/**
 * The entries around `first` to `last` at which the page holds every live block and segment, so that any state can be
 * computed; null if one of them is not such an entry.
 */
export function wholeRange(page: PageDevice, first: number, last: number): { from: number; to: number } | null {
  if (page.segments !== page.allSegments) return null;
  if (page.blocks === page.allBlocks) return { from: page.firstSeq, to: page.lastSeq };
  return page.wholeRanges.find(({ from, to }) => from <= first && to >= last) ?? null;
}
