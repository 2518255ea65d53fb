/** The labels of a device as rows of `block_label_staging`. */

import { ColumnBatch, LAYOUTS } from '../../model/columns.js';
import { BATCH_ROWS } from '../../model/tables.js';
import type { Store } from '../../store/store.js';

interface DeviceKey {
  readonly snapshot_id: number;
  readonly device: number;
}

/** In a transaction. */
export async function appendBlockLabels(
  store: Store,
  devices: readonly (DeviceKey & { readonly label: Int32Array })[],
): Promise<void> {
  const appender = await store.appender(LAYOUTS.block_label_staging);
  const most = devices.reduce((blocks, { label }) => Math.max(blocks, label.length), 1);
  const batch = new ColumnBatch(LAYOUTS.block_label_staging, Math.min(most, BATCH_ROWS));
  for (const { snapshot_id, device, label } of devices) {
    batch.i32('snapshot_id').fill(snapshot_id);
    batch.i32('device').fill(device);
    for (let from = 0; from < label.length; from += batch.capacity) {
      batch.rows = Math.min(batch.capacity, label.length - from);
      for (let i = 0; i < batch.rows; i += 1) batch.i32('block')[i] = from + i;
      batch.i32('label').set(label.subarray(from, from + batch.rows));
      appender.append(batch);
    }
  }
  appender.close();
}
