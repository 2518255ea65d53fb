import type { AllocatorState } from '../../../src/allocator/walk/allocator-state.js';

/** Free blocks in ascending order of address. */
export interface FreeHoles {
  readonly count: number;
  readonly address: Float64Array;
  readonly bytes: Float64Array;
  /** Row of the segment in the state. */
  readonly segment: Int32Array;
}

/**
 * The free blocks, by subtraction: adjacent free blocks always coalesce, so every gap between active blocks of a
 * segment is one free block. A hole behind an uncertain block may be smaller by what that block may be larger.
 */
export function freeHoles(state: AllocatorState): FreeHoles {
  const { segments, blocks } = state;
  const address = new Float64Array(segments.count + blocks.count);
  const bytes = new Float64Array(address.length);
  const segment = new Int32Array(address.length);
  let count = 0;
  for (let i = 0; i < segments.count; i += 1) {
    const end = segments.address[i]! + segments.totalBytes[i]!;
    let from = segments.address[i]!;
    const last = segments.firstBlock[i + 1]!;
    for (let row = segments.firstBlock[i]!; row <= last; row += 1) {
      const to = row === last ? end : blocks.address[row]!;
      if (to > from) {
        address[count] = from;
        bytes[count] = to - from;
        segment[count] = i;
        count += 1;
      }
      if (row < last) from = to + blocks.sizeBytes[row]!;
    }
  }
  return { count, address: address.slice(0, count), bytes: bytes.slice(0, count), segment: segment.slice(0, count) };
}
