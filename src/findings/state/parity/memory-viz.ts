/**
 * What memory_viz shows of a snapshot, from the store. Upstream: torch `torch/utils/viz/MemoryViz.js`,
 * `process_alloc_data` and `calculate_fragmentation`. Its timeline adds up requested bytes, ours actual ones, so its
 * axis ends below our peak.
 */
import { type AllocatorState, freeHoles } from '../../../allocator/walk/allocator-state.js';
import type { MemoryVizFigures } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';

/** Figures of one device; `dump` is its state at the dump. */
export async function memoryVizFigures(
  store: Store,
  snapshotId: number,
  device: number,
  dump: AllocatorState,
): Promise<MemoryVizFigures> {
  const row = (await store.one('peak.memory_viz', { snapshot_id: snapshotId, device }))!;
  const initial = row.freed_in_trace_bytes + row.ghost_bytes;
  return {
    device,
    // Without entries one ghost is drawn as the only action, which shows them all.
    plotted_peak_bytes: initial + (row.peak_delta_bytes ?? 0),
    initially_allocated_bytes: initial,
    initially_allocated: row.freed_in_trace + row.ghosts,
    fragmentation_index: fragmentationIndex(dump),
  };
}

/**
 * Σ (free block)² / (Σ segment)²: 0 = all in use, 1 = one wholly free segment. Undefined as null for a device without
 * segments.
 */
export function fragmentationIndex(state: AllocatorState): number | null {
  let reserved = 0;
  for (let i = 0; i < state.segments.count; i += 1) reserved += state.segments.totalBytes[i]!;
  if (reserved === 0) return null;
  const holes = freeHoles(state);
  let squares = 0;
  for (let i = 0; i < holes.count; i += 1) squares += holes.bytes[i]! ** 2;
  return squares / reserved ** 2;
}
