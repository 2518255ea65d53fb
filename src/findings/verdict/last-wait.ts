/**
 * What the allocator's last resort did just before the OOM. Upstream: `synchronize_and_free_events` in torch
 * `CUDACachingAllocator.cpp`.
 */
import type { Store } from '../../store/store.js';

/** Entries searched before the OOM: a flush of thousands of segments is between the wait and the OOM entry. */
const WINDOW_EVENTS = 32_768;

const FLUSH: ReadonlySet<string> = new Set(['free_completed', 'segment_free', 'segment_unmap']);

/**
 * Requested bytes of the frees that completed in the wait before the OOM at entry `oomSeq`. 0 if the flush found none.
 * A free without a wait is two successive entries with one time; a free that torch waited for completes at least
 * slightly later than it was requested.
 */
export async function bytesFreedByLastWait(
  store: Store,
  snapshotId: number,
  device: number,
  oomSeq: number,
): Promise<number> {
  const backwards = await store.all('snapshot.last_events', {
    snapshot_id: snapshotId,
    device,
    before_seq: oomSeq,
    count: WINDOW_EVENTS,
  });
  let bytes = 0;
  for (const [i, { action, addr, size_bytes, time_us }] of backwards.entries()) {
    if (!FLUSH.has(action)) break;
    if (action !== 'free_completed') continue;
    const before = backwards[i + 1];
    const isPair = before?.action === 'free_requested' && before.addr === addr;
    if (isPair && before.time_us === time_us) break;
    bytes += size_bytes;
  }
  return bytes;
}
