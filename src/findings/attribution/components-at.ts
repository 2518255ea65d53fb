/** Bytes by component at a moment, for views that have attribution beside something else. */
import type { AllocatorState } from '../../allocator/walk/allocator-state.js';
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { useLabels } from './use-labels.js';

/** Actual bytes of the live blocks by component; in descending order, those without bytes left out. */
export async function componentsAt(
  store: Store,
  snapshotId: number,
  device: number,
  { afterSeq }: Pick<AllocatorState, 'afterSeq'>,
): Promise<ReadonlyMap<Component, number>> {
  await useLabels(store, snapshotId, device);
  const id = { snapshot_id: snapshotId, device, at_seq: afterSeq ?? BEFORE_TRACE };
  const rows = (await store.all('attribution.bytes', id)) as {
    readonly component: Component;
    readonly bytes: number;
  }[];
  return new Map(
    rows
      .sort((a, b) => b.bytes - a.bytes || COMPONENTS.indexOf(a.component) - COMPONENTS.indexOf(b.component))
      .map(({ component, bytes }) => [component, bytes]),
  );
}
