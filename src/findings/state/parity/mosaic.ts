/**
 * The figures of mosaic's peak command (facebookresearch/mosaic, `libmosaic/analyzer/memory_snapshot.py`), by its
 * definitions. Where they differ from ours: only alloc and free_completed count, requested bytes, from zero at the
 * first entry; frees of memory that was there before are ignored, so the peak is that of what the trace allocated.
 * Static memory is what the dump holds at addresses that the trace never names, on any device, in actual bytes: too
 * little where a block from before the recording lay at an address that was used again, and meaningless once the ring
 * lost entries.
 */
import type { MosaicFigures } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import { firstTracedDevice } from './bridge.js';

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
