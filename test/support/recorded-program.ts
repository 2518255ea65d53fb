/**
 * What a program allocated and freed, as the snapshot a recording of it leaves: each block in a segment of its own, so
 * that sizes are what was asked for.
 */
import { BASE, type SmallBlock, type SmallEntry, smallSnapshot } from './small-snapshot.js';

export type Act =
  | {
      readonly alloc: string;
      /** A multiple of 512. */
      readonly bytes: number;
      /** Innermost first: `function path/file.py:12`; empty = no frames. */
      readonly stack: readonly string[];
      readonly pool?: readonly [number, number];
    }
  | { readonly free: string; readonly stack?: readonly string[] }
  | { readonly oom: number };

export interface BeforeBlock {
  readonly name: string;
  readonly bytes: number;
  /** As in {@link Act}; the ring lost its entry, the block kept it. */
  readonly stack?: readonly string[];
}

const SEGMENT_STRIDE = 2 ** 32;

/**
 * The pickle. Frees carry the stack of their allocation, as torch writes them, unless one is given (`context="all"`).
 */
export function recordProgram(acts: readonly Act[], before: readonly BeforeBlock[] = []): Buffer {
  interface Made {
    readonly address: number;
    readonly bytes: number;
    readonly stack: readonly string[];
    readonly pool: readonly [number, number];
    live: boolean;
  }
  const made: Made[] = [];
  const named = new Map<string, Made>();
  const make = (name: string, bytes: number, stack: readonly string[], pool: readonly [number, number]): Made => {
    const block = { address: BASE + made.length * SEGMENT_STRIDE, bytes, stack, pool, live: true };
    made.push(block);
    named.set(name, block);
    return block;
  };
  for (const { name, bytes, stack = [] } of before) make(name, bytes, stack, [0, 0]);
  const entries: SmallEntry[] = [];
  for (const act of acts) {
    if ('oom' in act) {
      entries.push({ action: 'oom', addr: 0, size: act.oom, stack: [] });
      continue;
    }
    if ('alloc' in act) {
      const { address } = make(act.alloc, act.bytes, act.stack, act.pool ?? [0, 0]);
      entries.push({ action: 'alloc', addr: address, size: act.bytes, stack: act.stack });
      continue;
    }
    const block = named.get(act.free);
    if (block === undefined || !block.live) throw new Error(`${act.free} is not live`);
    block.live = false;
    const stack = act.stack ?? block.stack;
    entries.push({ action: 'free_requested', addr: block.address, size: block.bytes, stack });
    entries.push({ action: 'free_completed', addr: block.address, size: block.bytes, stack });
  }
  const segments = made.map(({ bytes, stack, pool, live }): SmallBlock[] => [
    { size: bytes, state: live ? 'active_allocated' : 'inactive', stack: live ? stack : [], pool },
  ]);
  return smallSnapshot({ segments, entries });
}
