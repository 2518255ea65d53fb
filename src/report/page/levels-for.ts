/**
 * The levels that a view draws. Where those of the page are too coarse and the page holds every block of the visible
 * range, one is computed from the blocks, so that a zoom stays exact. Pure but for its cache.
 */
import { type BlockColumns, courseOf, type Level, type SegmentColumns } from '../../model/picture/levels.js';
import type { DeviceColumns, PageBlocks, PageSegments } from '../../model/picture/page-data.js';
import { entriesPerColumn, wholeRange } from './pick.js';
import type { Loaded } from './view-state.js';

interface Known {
  /** Of the page. */
  readonly levels: readonly Level[];
  /** With the one that was computed last; the finest first. */
  withExact: readonly Level[];
}

const known = new WeakMap<DeviceColumns, Known>();
/** Columns of a computed level at least: a zoom or a move within it computes nothing. */
const LEAST_COLUMNS = 16_384;

interface EntryRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** The finest first. A visible range on `pixels` has a bucket per pixel at least if the page has its blocks. */
export function levelsFor(loaded: Loaded, from: number, to: number, pixels: number): readonly Level[] {
  const { page, columns } = loaded;
  let cache = known.get(columns);
  if (cache === undefined) {
    const levels = finestFirst(columns.levels);
    cache = { levels, withExact: levels };
    known.set(columns, cache);
  }
  const first = Math.max(page.firstSeq, Math.floor(from));
  const last = Math.min(page.lastSeq, Math.ceil(to) - 1);
  const isEnough = (level: Level): boolean =>
    level.from <= first && level.to >= last && entriesPerColumn(level) <= Math.max(1, (to - from) / pixels);
  const exactRange = last < first ? null : wholeRange(page, first, last);
  if (exactRange === null || cache.withExact.some(isEnough)) return cache.withExact;
  const entries = last - first + 1;
  const start = Math.max(exactRange.from, first - entries);
  const end = Math.min(exactRange.to, last + entries);
  const count = Math.min(end - start + 1, Math.max(LEAST_COLUMNS, 6 * pixels));
  cache.withExact = finestFirst([exactLevel(loaded, start, end, count), ...cache.levels]);
  return cache.withExact;
}

function exactLevel({ page, columns }: Loaded, from: number, to: number, count: number): Level {
  // From one entry before, unless the trace begins here: only then the state before `from` is one of the range.
  const range = { firstSeq: Math.max(page.firstSeq, from - 1), lastSeq: to };
  const blocks = blocksIn(columns.blocks, range);
  const segments = segmentsIn(columns.segments, range);
  return courseOf(blocks, segments, page.components.length, range)([{ from, to, columns: count }])[0]!;
}

const finestFirst = (levels: readonly Level[]): Level[] =>
  [...levels].sort((a, b) => entriesPerColumn(a) - entriesPerColumn(b));

function blocksIn(blocks: PageBlocks, range: EntryRange): BlockColumns {
  const rows = rowsIn(blocks, range);
  const count = rows.length;
  return {
    count,
    from: gather(blocks.from, rows, new Int32Array(count)),
    to: gather(blocks.to, rows, new Int32Array(count)),
    pending: gather(blocks.pending, rows, new Int32Array(count)),
    bytes: gather(blocks.bytes, rows, new Float64Array(count)),
    component: gather(blocks.component, rows, new Uint8Array(count)),
    isPrivate: gather(blocks.isPrivate, rows, new Uint8Array(count)),
  };
}

function segmentsIn(segments: PageSegments, range: EntryRange): SegmentColumns {
  const rows = rowsIn(segments, range);
  const count = rows.length;
  return {
    count,
    from: gather(segments.from, rows, new Int32Array(count)),
    to: gather(segments.to, rows, new Int32Array(count)),
    bytes: gather(segments.bytes, rows, new Float64Array(count)),
    isPrivate: gather(segments.isPrivate, rows, new Uint8Array(count)),
  };
}

/** Those that are live at an entry of the range, or end with its first one. */
function rowsIn({ from, to, count }: PageBlocks | PageSegments, { firstSeq, lastSeq }: EntryRange): Uint32Array {
  const rows = new Uint32Array(count);
  let rowCount = 0;
  for (let i = 0; i < count; i += 1) if (from[i]! <= lastSeq && to[i]! >= firstSeq) rows[rowCount++] = i;
  return rows.subarray(0, rowCount);
}

function gather<T extends Int32Array | Float64Array | Uint8Array>(source: T, rows: Uint32Array, into: T): T {
  for (let i = 0; i < rows.length; i += 1) into[i] = source[rows[i]!]!;
  return into;
}
