/** How long blocks of each size live, as counts in powers of two. Pure. */
import type { BlockColumns } from '../../model/picture/levels.js';
import type { LifetimeCell } from '../../model/picture/page-data.js';

const LEAST_BYTES = 512;
/** Column of blocks that are live at the end of the trace; lives of one entry are in the next one. */
const OPEN_LIFE = -1;
const SIZES = 32;
const LIVES = 32;

export function lifetimeCells({ count, from, to, bytes }: BlockColumns, lastSeq: number): LifetimeCell[] {
  const blocks = new Float64Array(SIZES * LIVES);
  const sums = new Float64Array(SIZES * LIVES);
  for (let i = 0; i < count; i += 1) {
    const size = logOf(bytes[i]! / LEAST_BYTES);
    const life = to[i]! > lastSeq ? OPEN_LIFE : logOf(to[i]! - from[i]!);
    const cell = size * LIVES + life - OPEN_LIFE;
    blocks[cell]! += 1;
    sums[cell]! += bytes[i]!;
  }
  return Array.from(blocks.keys())
    .filter((cell) => blocks[cell]! > 0)
    .map((cell) => ({
      size: Math.floor(cell / LIVES),
      life: (cell % LIVES) + OPEN_LIFE,
      blocks: blocks[cell]!,
      bytes: sums[cell]!,
    }));
}

/** Of a value below 2^32; of one below 1, 0. */
const logOf = (value: number): number => 31 - Math.clz32(Math.max(1, value));
