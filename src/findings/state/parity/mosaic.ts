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
import { readStacks } from '../../stacks/read-stacks.js';
import { firstTracedDevice, readReplay } from './replay-columns.js';

/** Below −1, which is an entry without a stack. */
const NOT_LIVE = -2;

export async function mosaicFigures(store: Store, snapshotId: number): Promise<MosaicFigures> {
  const traced = await firstTracedDevice(store, snapshotId);
  if (traced === null) return { device: null, dynamic_peak_bytes: null, static_bytes: null, stacks_at_peak: null };
  const events = await readReplay(store, snapshotId, traced.device);
  // Stack id by place of the address; NOT_LIVE where nothing is.
  const live = new Int32Array(events.places).fill(NOT_LIVE);
  let usage = 0;
  let peak = 0;
  let peakRow = -1;
  const apply = (row: number): void => {
    const place = events.place[row]!;
    if (events.isAlloc[row] === 1) {
      usage += events.sizeBytes[row]!;
      live[place] = events.stackId[row]!;
    } else if (live[place] !== NOT_LIVE) {
      // mosaic subtracts the size on the free's own entry, whatever the allocation's was.
      usage -= events.sizeBytes[row]!;
      live[place] = NOT_LIVE;
    }
  };
  for (let row = 0; row < events.count; row += 1) {
    apply(row);
    if (usage > peak) {
      peak = usage;
      peakRow = row;
    }
  }
  live.fill(NOT_LIVE);
  for (let row = 0; row <= peakRow; row += 1) apply(row);
  // Entries without frames are no stack to mosaic. Its key is file and line run together; names do not count.
  const ids = new Set(live.filter((stackId) => stackId >= 0));
  const keys = new Set<string>();
  for (const frames of (await readStacks(store, ids)).values())
    keys.add(frames.map(({ filename, line }) => `${filename}${line}`).join(''));
  const fixed = await store.one('peak.static_bytes', { snapshot_id: snapshotId, device: traced.device });
  return {
    device: traced.device,
    dynamic_peak_bytes: peak,
    static_bytes: fixed?.bytes ?? 0,
    stacks_at_peak: keys.size,
  };
}
