/** Resident against transient: what of a live set outlives its step. The rule is that of `lifetimes_at`. */

import { stepBoundaries } from '../../../derive/trace/steps.js';
import type { LifetimeBasis } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';

/** What distinguishes resident and transient blocks of a device. */
export async function lifetimeBasis(store: Store, snapshot_id: number, device: number): Promise<LifetimeBasis> {
  // A trace of allocations alone was recorded with skip_actions, or shows nothing of how long they live.
  const recorded = (await store.all('snapshot.actions', { snapshot_id })).some(
    (row) => row.device === device && (row.action === 'free_completed' || row.action === 'free_requested'),
  );
  if (!recorded) return { rule: 'none', boundary: null, boundaries: 0 };
  const steps = await stepBoundaries(store, snapshot_id, device);
  return steps === undefined
    ? { rule: 'trace', boundary: null, boundaries: 0 }
    : { rule: 'steps', boundary: steps.source, boundaries: steps.times.length };
}
