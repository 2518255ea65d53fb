/** Resident against transient: what of a live set outlives its step. The rule is that of `lifetimes_at`. */
import type { LifetimeBasis } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import type { MomentAt } from '../../trace/state-at.js';
import { stepBoundaries } from '../../trace/steps.js';

export const RESIDENT = 1;

/** What distinguishes resident and transient blocks of a device. */
export async function lifetimeBasis(store: Store, { key }: Pick<MomentAt, 'key'>): Promise<LifetimeBasis> {
  const { snapshot_id, device } = key;
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

/** By block of a state: {@link RESIDENT} where it outlives its step. Undefined where nothing shows it. */
export async function readLifetimes(store: Store, _snapshotId: number, _device: number, at: MomentAt) {
  const basis = await lifetimeBasis(store, at);
  if (basis.rule === 'none') return { basis, classes: undefined };
  const { columns } = await store.readQueryWhole('state.lifetimes', { ...at.key }, { is_resident: 'u8' });
  return { basis, classes: columns.is_resident };
}
