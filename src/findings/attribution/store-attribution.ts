/** Attribution in the `derived_*` tables, for SQL: the view `allocation_component` and the macro `components_at`. */

import { RULES_VERSION } from '../../attribution/built-in-rules.js';
import { ColumnBatch, NULL_I32, putI64, putNullI64 } from '../../model/columns.js';
import { BLOCK_LABEL_LAYOUT } from '../../model/derived-tables.js';
import { BATCH_ROWS } from '../../model/tables.js';
import type { Store } from '../../store/store.js';
import type { DeviceAttribution } from './attribute-device.js';
import { attributeSnapshot } from './components-at.js';

/** Devices of all snapshots of the store without an attribution by these rules. */
export function missingAttributions(store: Store) {
  return store.all('attribution.missing', { rules: RULES_VERSION });
}

/**
 * Replaces what the store has of this device, in one transaction. Built-in rules only: what a user's own say is for the
 * question that named them.
 */
export async function storeAttribution(store: Store, snapshotId: number, device: number): Promise<void> {
  const of = await attributeSnapshot(store, snapshotId, device);
  const id = { snapshot_id: snapshotId, device };
  await store.transaction(async () => {
    for (const table of ['derived_attribution', 'derived_label', BLOCK_LABEL_LAYOUT.table])
      await store.run(`DELETE FROM ${table} WHERE snapshot_id = $snapshot_id AND device = $device`, id);
    await writeBlocks(store, of, id);
    await store.insertRows(
      'derived_label',
      of.table.labels.map(({ by, rules, ...label }, number) => ({
        ...id,
        label: number,
        ...label,
        known_by: by,
        rules: rules.join(' '),
      })),
    );
    await store.insertRows('derived_attribution', [
      { ...id, rules: RULES_VERSION, labels: of.table.labels.length, blocks: of.lives.count },
    ]);
  });
}

async function writeBlocks(
  store: Store,
  { lives, history, label }: DeviceAttribution,
  id: { readonly snapshot_id: number; readonly device: number },
): Promise<void> {
  if (lives.count === 0) return;
  const appender = await store.appender(BLOCK_LABEL_LAYOUT);
  const batch = new ColumnBatch(BLOCK_LABEL_LAYOUT, Math.min(lives.count, BATCH_ROWS));
  batch.i32('snapshot_id').fill(id.snapshot_id);
  batch.i32('device').fill(id.device);
  const seqs = batch.i32('alloc_seq');
  const addresses = batch.i64('address');
  const labels = batch.i32('label');
  for (let from = 0; from < lives.count; from += batch.capacity) {
    batch.rows = Math.min(batch.capacity, lives.count - from);
    for (let i = 0; i < batch.rows; i += 1) {
      const row = from + i;
      const isStart = row < lives.starts;
      seqs[i] = isStart ? NULL_I32 : lives.allocSeq[row]!;
      if (isStart) putI64(addresses, i, history.start.blocks.address[row]!);
      else putNullI64(addresses, i);
      labels[i] = label[row]!;
    }
    appender.append(batch);
  }
  appender.close();
}
