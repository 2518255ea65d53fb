/** Who keeps free memory from the driver, and what each free range is kept by. Pure. All sizes are bytes. */
import type { DeviceColumns } from '../../../model/picture/page-data.js';
import type { Hole, LayoutAt } from './holes-at.js';

/** Blocks of one stack among others. */
export interface StackShare {
  /** −1: without a stack. */
  readonly stack: number;
  readonly blocks: number;
  readonly bytes: number;
}

export interface PinningStack extends StackShare {
  /** Free memory of segments and pages that hold a block of the stack. */
  readonly keptBytes: number;
  /** Of it, where no other stack has a block: this is given back once the stack's blocks are free. */
  readonly aloneBytes: number;
}

interface Sum {
  blocks: number;
  bytes: number;
}

/** Blocks from `first` to before `end` of `live.blocks` by stack, most bytes first. */
export function sharesOf({ blocks }: DeviceColumns, { live }: LayoutAt, first: number, end: number): StackShare[] {
  const sums = new Map<number, Sum>();
  for (let at = first; at < end; at += 1) {
    const block = live.blocks[at]!;
    const sum = sums.get(blocks.stack[block]!) ?? { blocks: 0, bytes: 0 };
    sum.blocks += 1;
    sum.bytes += blocks.bytes[block]!;
    sums.set(blocks.stack[block]!, sum);
  }
  return [...sums]
    .map(([stack, sum]) => ({ stack, ...sum }))
    .sort((a, b) => b.bytes - a.bytes || b.blocks - a.blocks || a.stack - b.stack);
}

/** Stacks by what they keep from the driver, the most first. Several stacks may keep the same memory. */
export function pinningStacks({ blocks }: DeviceColumns, { live, pins }: LayoutAt): PinningStack[] {
  const ranks = new Map<number, Sum & { keptBytes: number; aloneBytes: number; counted: number }>();
  for (const { bytes, first, end } of pins) {
    const stacks = new Set<number>();
    for (let at = first; at < end; at += 1) {
      const block = live.blocks[at]!;
      const stack = blocks.stack[block]!;
      let rank = ranks.get(stack);
      if (rank === undefined) {
        rank = { blocks: 0, bytes: 0, keptBytes: 0, aloneBytes: 0, counted: -1 };
        ranks.set(stack, rank);
      }
      stacks.add(stack);
      // A block may be in the last page of one pin and in the first of the next.
      if (rank.counted >= at) continue;
      rank.counted = at;
      rank.blocks += 1;
      rank.bytes += blocks.bytes[block]!;
    }
    for (const stack of stacks) {
      const rank = ranks.get(stack)!;
      rank.keptBytes += bytes;
      if (stacks.size === 1) rank.aloneBytes += bytes;
    }
  }
  return [...ranks]
    .map(([stack, { counted: _, ...rank }]) => ({ stack, ...rank }))
    .sort((a, b) => b.keptBytes - a.keptBytes || a.bytes - b.bytes || a.stack - b.stack);
}

/** All holes, the largest first; of equals the one at the lowest place. */
export const holesBySize = ({ holes }: LayoutAt): Hole[] =>
  [...holes].sort((a, b) => b.bytes - a.bytes || a.place - b.place);
