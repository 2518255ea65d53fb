/** Bytes by component in a state, for views that have attribution beside something else. */
import type { AllocatorState } from '../../allocator/walk/allocator-state.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import type { CompiledRules } from '../../attribution/match/compile-rules.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import type { DeviceAttribution } from './attribute-device.js';
import { attributeDevice } from './attribute-device.js';
import { readRunFigures } from './blocks/run-figures.js';
import { liveLabels } from './views/live-labels.js';

/**
 * The attribution asked for last, by store: several views of one answer need the same, and it holds every block of a
 * trace.
 */
const last = new WeakMap<
  Store,
  { readonly key: string; readonly rules: CompiledRules; readonly of: DeviceAttribution }
>();

/** {@link attributeDevice} with the figures of the run the snapshot belongs to. */
export async function attributeSnapshot(
  store: Store,
  snapshotId: number,
  device: number,
  rules: CompiledRules = builtInRules(),
): Promise<DeviceAttribution> {
  const key = `${snapshotId} ${device}`;
  const known = last.get(store);
  if (known !== undefined && known.key === key && known.rules === rules) return known.of;
  last.delete(store);
  const run = await store.one('replay.run_of_snapshot', { snapshot_id: snapshotId });
  const figures = run === undefined ? undefined : (await readRunFigures(store, run.run_id)).figuresOf(run.rank);
  const of = await attributeDevice(store, { snapshotId, device }, rules, figures);
  last.set(store, { key, rules, of });
  return of;
}

/** Actual bytes of the live blocks by component; in descending order, those without bytes left out. */
export async function componentsAt(
  store: Store,
  snapshotId: number,
  device: number,
  state: AllocatorState,
): Promise<ReadonlyMap<Component, number>> {
  const of = await attributeSnapshot(store, snapshotId, device);
  const { labelOf } = liveLabels(of, state);
  const sums = new Map<Component, number>();
  const { blocks } = state;
  for (let i = 0; i < blocks.count; i += 1) {
    const { component } = labelOf(i);
    sums.set(component, (sums.get(component) ?? 0) + blocks.sizeBytes[i]!);
  }
  return new Map([...sums].sort((a, b) => b[1] - a[1] || COMPONENTS.indexOf(a[0]) - COMPONENTS.indexOf(b[0])));
}
