/** Which blocks a page draws where it cannot hold all of them. Pure. */
import type { BlockColumns } from '../../model/picture/levels.js';

/** Blocks of the first device of a page: at 3 to 8 bytes each after gzip, at most a third of its 2 MB. */
export const MOST_BLOCKS = 60_000;
/** Of them, the share that is drawn only because it is live where every live block is drawn. */
const MOST_WHOLE = 0.5;
/** Entries before a moment in which every live block is drawn too, at best. */
const WIDEST_WHOLE = 50_000;

export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

export interface ChosenBlocks {
  /** Bytes × entries of the smallest block drawn for its size. */
  readonly leastArea: number;
  /** Up to three ranges of entries in which every live block is drawn. */
  readonly whole: readonly SeqRange[];
}

/** Up to three `moments`, in the order of their importance; a moment with too many live blocks gets none. */
export function chooseBlocks(
  blocks: BlockColumns,
  { firstSeq, lastSeq }: { readonly firstSeq: number; readonly lastSeq: number },
  moments: readonly number[],
  mostBlocks = MOST_BLOCKS,
): ChosenBlocks {
  if (blocks.count <= mostBlocks) return { leastArea: 0, whole: [{ from: firstSeq - 1, to: lastSeq }] };
  const wholeRanges: SeqRange[] = [];
  let spent = 0;
  for (const to of moments) {
    for (let width = WIDEST_WHOLE; width >= 0; width = width === 0 ? -1 : Math.floor(width / 4)) {
      const range = { from: Math.max(firstSeq - 1, to - width), to };
      const live = liveIn(blocks, range);
      if (spent + live > MOST_WHOLE * mostBlocks) continue;
      spent += live;
      wholeRanges.push(range);
      break;
    }
  }
  return { whole: wholeRanges, leastArea: leastOfLargest(areasOf(blocks, firstSeq, lastSeq), mostBlocks - spent) };
}

function liveIn({ count, from, to }: BlockColumns, range: SeqRange): number {
  let live = 0;
  for (let i = 0; i < count; i += 1) if (from[i]! <= range.to && to[i]! > range.from) live += 1;
  return live;
}

function areasOf({ count, from, to, bytes }: BlockColumns, firstSeq: number, lastSeq: number): Float64Array {
  const areas = new Float64Array(count);
  for (let i = 0; i < count; i += 1)
    areas[i] = bytes[i]! * (Math.min(to[i]!, lastSeq + 1) - Math.max(from[i]!, firstSeq - 1));
  return areas;
}

/**
 * A value that at most `most` of `values` reach. Positive doubles sort like their bits: a histogram of the upper bits
 * finds it to 0.4 % in one pass, without sorting millions.
 */
function leastOfLargest(values: Float64Array, most: number): number {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const counts = new Uint32Array(1 << 19);
  for (let i = 0; i < values.length; i += 1) counts[words[2 * i + 1]! >>> 12]! += 1;
  let reached = 0;
  let bin = counts.length - 1;
  for (; bin >= 0 && reached + counts[bin]! <= most; bin -= 1) reached += counts[bin]!;
  const least = new Float64Array(1);
  new Uint32Array(least.buffer)[1] = (bin + 1) << 12;
  return least[0]!;
}
