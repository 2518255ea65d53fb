/** The figures of other viewers of snapshots, by their definitions. */

import { momentAt } from '../../../derive/trace/state-at.js';
import type { MemoryVizFigures, MosaicFigures } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import { firstTracedDevice } from './bridge.js';

/**
 * What memory_viz shows of a snapshot, from the store. Upstream: torch `torch/utils/viz/MemoryViz.js`,
 * `process_alloc_data` and `calculate_fragmentation`. Its timeline adds up requested bytes, ours actual ones, so its
 * axis ends below our peak.
 */
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

/**
 * The figures of mosaic's peak command (facebookresearch/mosaic, `libmosaic/analyzer/memory_snapshot.py`), by its
 * definitions. Where they differ from ours: only alloc and free_completed count, requested bytes, from zero at the
 * first entry; frees of memory that was there before are ignored, so the peak is that of what the trace allocated.
 * Static memory is what the dump holds at addresses that the trace never names, on any device, in actual bytes: too
 * little where a block from before the recording lay at an address that was used again, and meaningless once the ring
 * lost entries.
 */
export async function mosaicFigures(store: Store, snapshotId: number): Promise<MosaicFigures> {
  const traced = await firstTracedDevice(store, snapshotId);
  if (traced === null) return { device: null, dynamic_peak_bytes: null, static_bytes: null, stacks_at_peak: null };
  const id = { snapshot_id: snapshotId, device: traced.device };
  const peak = (await store.one('peak.mosaic', id))!;
  const fixed = await store.one('peak.static_bytes', id);
  return {
    device: traced.device,
    dynamic_peak_bytes: Number(peak.peak_bytes),
    static_bytes: fixed?.bytes ?? 0,
    stacks_at_peak: peak.peak_stacks,
  };
}
