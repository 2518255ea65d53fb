/** The part of a verdict on the components that were live. */
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import type { LiveComponents } from '../../model/results/common.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { deviceHistory } from '../trace/device-history.js';

/** After an entry; −1 is before the first. Null where blocks are not labelled: an ingest was interrupted. */
export async function liveComponents(
  store: Store,
  snapshotId: number,
  device: number,
  moment: LiveComponents['moment'],
  seq: number,
): Promise<LiveComponents | null> {
  const rows = await store.all('verdict.components_at', { snapshot_id: snapshotId, device, at_seq: seq });
  if (rows.some(({ component }) => component === null)) return null;
  const parts = rows.map(({ component, bytes }) => ({ component: component as Component, bytes }));
  parts.sort((a, b) => b.bytes - a.bytes || COMPONENTS.indexOf(a.component) - COMPONENTS.indexOf(b.component));
  return { moment, total_bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), parts };
}

export async function componentsAtPeak(
  store: Store,
  snapshotId: number,
  device: number,
  hasTrace: boolean,
): Promise<LiveComponents | null> {
  const { seq } = (await deviceHistory(store, snapshotId, device)).peak;
  return liveComponents(store, snapshotId, device, hasTrace ? 'peak' : 'dump', seq ?? BEFORE_TRACE);
}
