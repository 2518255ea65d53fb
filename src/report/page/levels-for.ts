/**
 * The levels that a view draws. Where those of the page are too coarse and the page holds every block of the visible
 * range, one is computed from the blocks, so that a zoom stays exact. Pure but for its cache.
 */
import { buildLevels, type Level } from '../../model/picture/levels.js';
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
  const blocks = rowsIn(columns.blocks, range);
  const segments = rowsIn(columns.segments, range);
  return buildLevels(blocks, segments, page.components.length, [{ from, to, columns: count }], range)[0]!;
}

const finestFirst = (levels: readonly Level[]): Level[] =>
  [...levels].sort((a, b) => entriesPerColumn(a) - entriesPerColumn(b));

/** Rows that are live at an entry of the range, or end with its first one. */
function rowsIn<T extends PageBlocks | PageSegments>(columns: T, { firstSeq, lastSeq }: EntryRange): T {
  const { from, to } = columns;
  const rows = new Uint32Array(columns.count);
  let count = 0;
  for (let i = 0; i < columns.count; i += 1) if (from[i]! <= lastSeq && to[i]! >= firstSeq) rows[count++] = i;
  const gathered = Object.entries(columns as unknown as Readonly<Record<string, number | Float64Array>>).map(
    ([name, column]) => {
      if (typeof column === 'number') return [name, count];
      // Of the same type: columns of flags are smaller than those of bytes.
      const values = new (column.constructor as Float64ArrayConstructor)(count);
      for (let i = 0; i < count; i += 1) values[i] = column[rows[i]!]!;
      return [name, values];
    },
  );
  return Object.fromEntries(gathered) as T;
}
