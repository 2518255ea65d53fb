/**
 * What memory_viz shows of a snapshot, from the store. Upstream: torch `torch/utils/viz/MemoryViz.js`,
 * `process_alloc_data` and `calculate_fragmentation`. Its timeline adds up requested bytes, ours actual ones, so its
 * axis ends below our peak.
 */

import { momentAt } from '../../../derive/trace/state-at.js';
import type { MemoryVizFigures } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';

export async function memoryVizFigures(store: Store, snapshotId: number, device: number): Promise<MemoryVizFigures> {
  const row = (await store.one('peak.memory_viz', { snapshot_id: snapshotId, device }))!;
  const { key } = await momentAt(store, snapshotId, device, { kind: 'end' });
  const holes = (await store.one('peak.hole_squares', { ...key }))!;
  const initial = row.freed_in_trace_bytes + row.ghost_bytes;
  return {
    device,
    // Without entries one ghost is drawn as the only action, which shows them all.
    plotted_peak_bytes: initial + (row.peak_delta_bytes ?? 0),
    initially_allocated_bytes: initial,
    initially_allocated: row.freed_in_trace + row.ghosts,
    fragmentation_index: holes.fragmentation_index,
  };
}
