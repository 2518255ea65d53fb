/**
 * Blocks from before the recording that fill a segment. Where the segment has a stack, it is that of the request the
 * segment was made for.
 */

import type { AllocatorState } from '../../../allocator/walk/allocator-state.js';
import type { Lives } from '../../../attribution/blocks/lives.js';
import type { Store } from '../../../store/store.js';
import type { TraceOfDevice } from '../../trace/device-history.js';

/**
 * The request a segment is made for takes all of it but the rounding: up to 2 MiB for large requests, or most of a
 * 20 MiB segment.
 */
const LEAST_SHARE = 0.9;

/**
 * Fills `lives.stackId` of such blocks that have no stack of their own. Rare: a ring buffer lost the allocation, or the
 * history was switched on and off.
 */
export async function inferSegmentStacks(
  store: Store,
  trace: TraceOfDevice,
  { blocks, segments }: AllocatorState,
  lives: Lives,
): Promise<void> {
  const wanted: number[] = [];
  for (let row = 0; row < lives.starts; row += 1) if (lives.stackId[row]! < 0) wanted.push(row);
  if (wanted.length === 0) return;
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  const stacks = new Map(
    (await store.all('export.segment_stacks', { ...id, to_seq: 0 })).map((row) => [Number(row.address), row.stack_id]),
  );
  if (stacks.size === 0) return;
  for (const row of wanted) {
    const segment = blocks.segment[row]!;
    const address = segments.address[segment]!;
    if (blocks.address[row] !== address || segments.expandable[segment] === 1) continue;
    if (blocks.sizeBytes[row]! < LEAST_SHARE * segments.totalBytes[segment]!) continue;
    const stack = stacks.get(address);
    if (stack !== undefined && stack !== null) lives.stackId[row] = stack;
  }
}
