/** The part of a verdict on the components that were live. */
import type { AllocatorState } from '../../allocator/walk/allocator-state.js';
import type { LiveComponents } from '../../model/results/common.js';
import type { Store } from '../../store/store.js';
import { componentsAt } from '../attribution/components-at.js';
import { stateAt } from '../trace/state-at.js';

export async function liveComponents(
  store: Store,
  snapshotId: number,
  device: number,
  moment: LiveComponents['moment'],
  state: AllocatorState,
): Promise<LiveComponents> {
  const sums = await componentsAt(store, snapshotId, device, state);
  const parts = [...sums].map(([component, bytes]) => ({ component, bytes }));
  return { moment, total_bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), parts };
}

export async function componentsAtPeak(
  store: Store,
  snapshotId: number,
  device: number,
  hasTrace: boolean,
): Promise<LiveComponents> {
  const { state } = await stateAt(store, snapshotId, device, { kind: 'peak' });
  return liveComponents(store, snapshotId, device, hasTrace ? 'peak' : 'dump', state);
}
