/** Bytes of a device after one entry: exact where possible, else of the bucket that contains the entry. Pure. */
import { columnStart, type Level } from '../../model/picture/levels.js';
import { levelsFor } from './levels-for.js';
import { columnOf, wholeRange } from './pick.js';
import type { Loaded } from './view-state.js';

/** Figures in bytes. */
export interface StateAt {
  /** Entries of the bucket, and the one after which the figures were true; all the same if the state is exact. */
  readonly from: number;
  readonly to: number;
  readonly at: number;
  readonly active: number;
  readonly pending: number;
  readonly reserved: number;
  readonly privateReserved: number;
  readonly privateActive: number;
  readonly components: Float64Array;
}

/** The state after entry `seq`; null outside all levels. */
export function stateAt(loaded: Loaded, seq: number): StateAt | null {
  const { page } = loaded;
  if (seq >= page.firstSeq && seq <= page.lastSeq && wholeRange(page, seq, seq) !== null)
    return exactState(loaded, seq);
  const level = levelsFor(loaded, seq, seq + 1, 1).find(({ from, to }) => from <= seq && to >= seq);
  return level === undefined ? null : bucketState(level, columnOf(level, seq));
}

export function bucketState(level: Level, column: number): StateAt {
  return {
    from: columnStart(level, column),
    to: columnStart(level, column + 1) - 1,
    ...{ at: level.at[column]!, active: level.active[column]!, pending: level.pending[column]! },
    ...{ reserved: level.reserved[column]!, privateReserved: level.privateReserved[column]! },
    privateActive: level.privateActive[column]!,
    components: Float64Array.from(level.components, (of) => of[column]!),
  };
}

function exactState({ page, columns: { blocks, segments } }: Loaded, seq: number): StateAt {
  const components = new Float64Array(page.components.length);
  let active = 0;
  let pending = 0;
  let reserved = 0;
  let privateReserved = 0;
  let privateActive = 0;
  // Blocks are in the order of `from`.
  for (let i = 0; i < blocks.count && blocks.from[i]! <= seq; i += 1) {
    if (blocks.to[i]! <= seq) continue;
    const bytes = blocks.bytes[i]!;
    active += bytes;
    components[blocks.component[i]!]! += bytes;
    if (blocks.pending[i]! <= seq) pending += bytes;
    if (blocks.isPrivate[i] === 1) privateActive += bytes;
  }
  for (let i = 0; i < segments.count; i += 1) {
    if (segments.from[i]! > seq || segments.to[i]! <= seq) continue;
    reserved += segments.bytes[i]!;
    if (segments.isPrivate[i] === 1) privateReserved += segments.bytes[i]!;
  }
  return {
    ...{ from: seq, to: seq, at: seq },
    ...{ active, pending, reserved, privateReserved, privateActive, components },
  };
}
