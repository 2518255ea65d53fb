/** The labels of a device as rows of `label` and `block_label_staging`. */
import { ColumnBatch, LAYOUTS } from '../../model/columns.js';
import { BATCH_ROWS } from '../../model/tables.js';
import type { Store } from '../../store/store.js';
import type { DeviceAttribution } from './attribute-device.js';

interface DeviceKey {
  readonly snapshot_id: number;
  readonly device: number;
}

export function labelRows({ table }: Pick<DeviceAttribution, 'table'>, id: DeviceKey) {
  return table.labels.map(({ by, rules, ...label }, number) => ({
    ...id,
    label: number,
    ...label,
    known_by: by,
    rules: rules.join(' '),
  }));
}

/** In a transaction. */
export async function appendBlockLabels(
  store: Store,
  { label }: Pick<DeviceAttribution, 'label'>,
  id: DeviceKey,
): Promise<void> {
  const appender = await store.appender(LAYOUTS.block_label_staging);
  const batch = new ColumnBatch(LAYOUTS.block_label_staging, Math.max(1, Math.min(label.length, BATCH_ROWS)));
  batch.i32('snapshot_id').fill(id.snapshot_id);
  batch.i32('device').fill(id.device);
  for (let from = 0; from < label.length; from += batch.capacity) {
    batch.rows = Math.min(batch.capacity, label.length - from);
    for (let i = 0; i < batch.rows; i += 1) batch.i32('block')[i] = from + i;
    batch.i32('label').set(label.subarray(from, from + batch.rows));
    appender.append(batch);
  }
  appender.close();
}
