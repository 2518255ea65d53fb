/** Live blocks whose earlier free would have opened a hole for a request that failed. */

import { isSmall } from '../rounding.js';
import type { AllocatorState } from '../walk/allocator-state.js';

/** Blocks side by side in one segment, with the free memory between and around them. */
export interface HoleWindow {
  /** Rows of `state.blocks`. */
  readonly rows: readonly number[];
  /** Σ of their actual sizes. */
  readonly bytes: number;
  /** Free in one piece once they are gone. */
  readonly opensBytes: number;
}

/**
 * The `count` windows that give up the fewest bytes, no block in two of them. Torch looks for a hole only in the pool,
 * size class and stream of the request, so only there. O(blocks).
 */
export function cheapestWindows(
  state: AllocatorState,
  request: { readonly roundedBytes: number; readonly stream: number | null; readonly pool: number },
  count: number,
): HoleWindow[] {
  const { segments, blocks } = state;
  const small = isSmall(request.roundedBytes) ? 1 : 0;
  const windows: HoleWindow[] = [];
  for (let segment = 0; segment < segments.count; segment += 1) {
    const stream = segments.stream[segment]!;
    const isOther = request.stream !== null && !Number.isNaN(stream) && stream !== request.stream;
    if (segments.small[segment] !== small || segments.pool[segment] !== request.pool || isOther) continue;
    const first = segments.firstBlock[segment]!;
    const end = segments.firstBlock[segment + 1]!;
    const base = segments.address[segment]!;
    const limit = base + segments.totalBytes[segment]!;
    if (limit - base < request.roundedBytes) continue;
    /** Free memory ends where block `row` begins, and begins again where it ends. */
    const endOf = (row: number): number => (row < first ? base : blocks.address[row]! + blocks.sizeBytes[row]!);
    const startOf = (row: number): number => (row < end ? blocks.address[row]! : limit);
    let to = first;
    let bytes = 0;
    for (let from = first; from < end; from += 1) {
      while (to < end && startOf(to) - endOf(from - 1) < request.roundedBytes) {
        bytes += blocks.sizeBytes[to]!;
        to += 1;
      }
      const opensBytes = startOf(to) - endOf(from - 1);
      if (opensBytes < request.roundedBytes) break;
      const rows = Array.from({ length: to - from }, (_, i) => from + i);
      if (rows.length > 0) windows.push({ rows, bytes, opensBytes });
      bytes -= to > from ? blocks.sizeBytes[from]! : 0;
      if (to <= from) to = from + 1;
    }
  }
  windows.sort((a, b) => a.bytes - b.bytes || a.rows.length - b.rows.length || a.rows[0]! - b.rows[0]!);
  const used = new Set<number>();
  const chosen: HoleWindow[] = [];
  for (const window of windows) {
    if (chosen.length === count) break;
    if (window.rows.some((row) => used.has(row))) continue;
    for (const row of window.rows) used.add(row);
    chosen.push(window);
  }
  return chosen;
}
